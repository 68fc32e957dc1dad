import { joinedParts, QueryRun, UNMAPPED } from '../edits/query-run.ts';
import { type QueryPart, queryParts, valueOf, wordsIn } from '../http/target.ts';
import type { CompiledQueryRule, MovedMember } from '../rules/kinds/kind.ts';
import { lensOf, queryKindOf } from '../rules/kinds/kinds.ts';
import { type Change, ChangeIndex, isRewritten, type Operation, type RuleBook } from '../rules/rule-book.ts';
import { mayListMembers, type QueryRule, type RequestRule } from '../rules/rule.ts';
import type { EditRecord } from './records.ts';

export { UNMAPPED } from '../edits/query-run.ts';

/** A raw query after the query rules, and their effects: one record for each parameter of a rule, however often it occurs. */
export interface RewrittenQuery {
  /** With its question mark; empty without a query. */
  readonly query: string;
  /** Empty when the query is unchanged. */
  readonly records: readonly EditRecord[];
  /** The rules of the records; undefined for a parameter with the name of a body's member, which no query rule renames. */
  readonly rules: readonly QueryRule[];
}

/** The query plans of a rule book. */
export interface QueryPlans {
  /** Returns the plan for requests of `operation`; undefined when no query rule applies to them. */
  of(operation: Operation | undefined, method: string): QueryPlan | undefined;
}

interface PlannedRule extends CompiledQueryRule {
  readonly change: string;
  readonly rule: QueryRule;
}

/** The query rules of one operation, in both directions. Every character outside an edit stays. */
export class QueryPlan {
  private readonly rules: readonly PlannedRule[];
  /** True if a rule adds parameters, even to a request without any. */
  private readonly adds: boolean;
  private readonly renamed: ReadonlyMap<string, string>;
  /** The parameters that rules rename, in reverse order of the rules. */
  private readonly renames: readonly { readonly from: string; readonly to: string }[];
  /** The parameters that rules name, by either name. */
  private readonly ruled: ReadonlySet<string>;

  /** `changes` are those that apply to the operation; `renamed` are the changes that rename members of bodies, by V1's name. */
  constructor(changes: readonly Change[], renamed: ReadonlyMap<string, string> = new Map()) {
    const rules = changes.flatMap(({ query = [] }) => query);
    this.renamed = renamed;
    this.rules = changes.flatMap(({ id, query = [] }) =>
      query.map((rule) => ({ change: id, rule, ...queryKindOf(rule).compile(rule) })),
    );
    this.renames = rules.toReversed().flatMap((rule) => queryKindOf(rule).renames?.(rule) ?? []);
    this.ruled = new Set([
      ...rules.flatMap((rule) => ('parameter' in rule ? rule.parameter : [])),
      ...rules.flatMap((rule) => ('to' in rule ? rule.to : [])),
    ]);
    this.adds = rules.some((rule) => queryKindOf(rule).adds === true);
  }

  /** Rewrites the raw query of a V1 request, which has its question mark unless it is empty. */
  rewrite(query: string): RewrittenQuery {
    if (query === '' && !this.adds) return { query, records: [], rules: [] };
    const run = new QueryRun<QueryRule>(query);
    for (const { change, rule, apply } of this.rules) {
      run.begin(change, rule);
      apply(run);
    }
    const rewritten = run.finish();
    const left = this.renamed.size === 0 ? [] : this.leftNames(rewritten.query);
    return left.length === 0 ? rewritten : { ...rewritten, records: [...rewritten.records, ...left] };
  }

  /**
   * Records V1's names of members that reach V2 as the name of a parameter, or in a parameter that lists members, and that no rule
   * covers.
   */
  private leftNames(query: string): readonly EditRecord[] {
    const records = new Map<string, EditRecord>();
    for (const part of queryParts(query.slice(1))) {
      if (this.ruled.has(part.name)) continue;
      const words = [part.name, ...(mayListMembers(part.name) ? [valueOf(part) ?? ''] : [])].flatMap(wordsIn);
      const change = words.map((word) => this.renamed.get(word)).find((found) => found !== undefined);
      const place = `?${part.name}`;
      if (change !== undefined)
        records.set(place, { change, rule: 'rename', from: place, path: place, note: UNMAPPED });
    }
    return [...records.values()];
  }

  /** Converts the raw query of a link of V2 to V1's names, and to V1's values if only one of them maps to V2's. */
  restore(query: string): string {
    if (query === '') return query;
    let parts: readonly QueryPart[] = queryParts(query.slice(1));
    for (const { restore, restoreAll } of this.rules.toReversed()) {
      if (restore !== undefined) parts = parts.flatMap((part) => restore(part) ?? []);
      if (restoreAll !== undefined) parts = restoreAll(parts);
    }
    return parts.length === 0 ? '' : `?${joinedParts(parts)}`;
  }

  /** Returns V1's name of a query parameter of V2. */
  v1Name(name: string): string {
    let found = name;
    for (const { from, to } of this.renames) if (to === found) found = from;
    return found;
  }
}

/** Compiles the query rules of `book`, each plan on first use. A change `on: every` applies to any POST or PATCH. */
export function compileQueryPlans(book: RuleBook): QueryPlans {
  const renamed = renamedMembers(book.changes);
  if (queryPlanOf(book.changes, renamed) === undefined) return { of: () => undefined };
  const changes = new ChangeIndex(book.changes);
  const plans = new Map<string, QueryPlan | undefined>();
  return {
    of: (operation, method) => {
      const isEvery = isRewritten(method);
      const key = operation?.id ?? (isEvery ? '*' : '');
      if (plans.has(key)) return plans.get(key);
      const applied = changes.of(operation?.id, isEvery);
      // A read may name any member that another operation writes.
      const plan = queryPlanOf(applied, isEvery ? renamedMembers(applied) : renamed);
      plans.set(key, plan);
      return plan;
    },
  };
}

/** The changes that rename a member of bodies, by V1's name of it, unless V2 also has that name. */
function renamedMembers(changes: readonly Change[]): ReadonlyMap<string, string> {
  const renames = changes.flatMap(({ id, request }) =>
    request.flatMap((rule) =>
      renamesOf(rule).map(({ from: [member = ''], to: [to = ''] }) => ({ id, member, to })),
    ),
  );
  const names = new Set(renames.map(({ to }) => to));
  return new Map(renames.flatMap(({ id, member }) => (names.has(member) ? [] : [[member, id] as const])));
}

function renamesOf(rule: RequestRule): readonly MovedMember[] {
  const lens = lensOf(rule);
  return lens.isOfName === true ? lens.moves(rule) : [];
}

/** Compiles the query rules of changes that apply to one operation; undefined if they have none and rename no member. */
export function queryPlanOf(
  changes: readonly Change[],
  renamed?: ReadonlyMap<string, string>,
): QueryPlan | undefined {
  const isNeeded = (renamed?.size ?? 0) > 0 || changes.some(({ query = [] }) => query.length > 0);
  return isNeeded ? new QueryPlan(changes, renamed) : undefined;
}
