import { isSameList } from './caches.ts';
import { type FieldRecord, HeaderRun } from '../edits/header-run.ts';
import { type HeaderList, isNamed } from '../http/header-list.ts';
import { inverseHeaderRule, isInverse } from '../rules/inverse.ts';
import type { MovedField } from '../rules/kinds/kind.ts';
import { headerKindOf, headerRuleName } from '../rules/kinds/kinds.ts';
import {
  type Change,
  ChangeIndex,
  type Operation,
  type Policies,
  type RuleBook,
} from '../rules/rule-book.ts';
import type { HeaderRule, StatusPattern } from '../rules/rule.ts';
import { clientFieldAtV2 } from './client-key.ts';
import type { Refusal } from './records.ts';
import { isAbout } from './response-rules.ts';

/** The header fields of a message after the header rules, and the rules' effects. */
export interface RewrittenHeaders {
  readonly headers: HeaderList;
  /** A record for each field name that a rule changed, however often the field occurs; empty if nothing changed. */
  readonly records: readonly HeaderRecord[];
  /** The rule of each record. */
  readonly rules: readonly HeaderRule[];
}

/** The header fields of a request after the header rules, with its query, from which rules may have moved credentials. */
export interface RewrittenRequestHeaders extends RewrittenHeaders {
  /** With its question mark, unless it is empty. */
  readonly query: string;
}

/** One edit of the header section, for people. Never contains a value. */
export type HeaderRecord = FieldRecord<ReturnType<typeof headerRuleName>>;

/**
 * Names whose values are credentials: clients' keys, and values that a rule moves with `as`. Parameter names are decoded, field names in
 * lower case.
 */
export interface Secrets {
  readonly parameters: ReadonlySet<string>;
  readonly fields: ReadonlySet<string>;
}

/** The header plans of a rule book. */
export interface HeaderPlans {
  /** Returns the plan for requests of `operation`; undefined when no header rule applies to them or to their responses. */
  of(operation: Operation | undefined): HeaderPlan | undefined;
}

/** A header rule and its place in a plan. */
interface PlannedRule {
  readonly change: string;
  readonly rule: HeaderRule;
  /** Its name in records. */
  readonly name: HeaderRecord['rule'];
  readonly conflict: Policies['conflict'];
  /** The statuses of responses that it is for; undefined for all. */
  readonly status?: readonly StatusPattern[] | undefined;
  /** The fields of V1's clients that it removes or renames. */
  readonly fields: readonly MovedName[];
  readonly apply: (run: HeaderRun) => Refusal | 'forward' | undefined;
}

/** The name of a field before a rule and after it; undefined if the rule removes the field. */
interface MovedName {
  readonly from: string;
  readonly to: string | undefined;
}

function planned(
  change: string,
  rule: HeaderRule,
  conflict: Policies['conflict'],
  status?: readonly StatusPattern[],
): PlannedRule {
  const kind = headerKindOf(rule);
  const fields = (kind.moves?.(rule) ?? []).flatMap(({ from, to }) =>
    'header' in from ? [{ from: from.header, to }] : [],
  );
  const apply = (run: HeaderRun): Refusal | 'forward' | undefined => kind.apply(rule, run);
  return { change, rule, name: headerRuleName(rule), conflict, status, fields, apply };
}

/** The header rules of one operation, in both directions. Fields that no rule names keep their bytes and their order. */
export class HeaderPlan {
  private readonly rules: readonly PlannedRule[];
  private readonly back: readonly PlannedRule[];
  /** The rules that rename request fields, in reverse order. */
  private readonly renaming: readonly PlannedRule[];

  /** `changes` are those that apply to the operation, in the order of the rule book. */
  constructor(changes: readonly Change[], policies: Policies) {
    this.rules = changes.flatMap(({ id, headers = [], policies: own }) => {
      const { conflict } = { ...policies, ...own };
      return headers.map((rule) => planned(id, rule, conflict));
    });
    this.back = [
      ...changes.toReversed().flatMap((change) => (isInverse(change) ? inverseOf(change) : [])),
      ...changes.flatMap(({ id, responseHeaders = [] }) =>
        responseHeaders.map(({ rule, status }) => planned(id, rule, 'v1', status)),
      ),
    ];
    this.renaming = this.rules.toReversed().filter(({ fields }) => fields.some(({ to }) => to !== undefined));
  }

  /** True if a rule applies to responses, or renames a request field, whose name then occurs in `Vary`. */
  get hasResponseRules(): boolean {
    return this.back.length > 0 || this.renaming.length > 0;
  }

  /** Rewrites the header fields of a V1 request with this raw query, or says why it is refused. */
  request(headers: HeaderList, query: string): RewrittenRequestHeaders | Refusal {
    const run = new HeaderRun<HeaderRecord['rule']>(headers, query);
    const rules: HeaderRule[] = [];
    for (const one of this.rules) {
      run.begin(one);
      const stop = one.apply(run);
      if (stop === 'forward') return { headers, query, records: [], rules: [] };
      if (stop !== undefined) return stop;
      while (rules.length < run.records.length) rules.push(one.rule);
    }
    return { headers: run.finish(), records: run.records, rules, query: run.query };
  }

  /** Rewrites the header fields of V2's response with this status for the V1 client. */
  response(status: number, headers: HeaderList): RewrittenHeaders {
    const run = new HeaderRun<HeaderRecord['rule']>(headers, '');
    const rules: HeaderRule[] = [];
    for (const one of this.back) {
      if (one.status !== undefined && !isAbout(one.status, status)) continue;
      run.begin(one);
      one.apply(run);
      for (const { from, to } of one.fields)
        if (to !== undefined) run.renameIn('access-control-expose-headers', from, to);
      while (rules.length < run.records.length) rules.push(one.rule);
    }
    for (const one of this.renaming) {
      run.begin(one);
      for (const { from, to } of one.fields) if (to !== undefined) run.renameIn('vary', to, from);
      while (rules.length < run.records.length) rules.push(one.rule);
    }
    return { headers: run.finish(), records: run.records, rules };
  }

  /** Returns V2's names for the fields of a V1 request; fields that a rule adds are not included. */
  v2Names(names: readonly string[]): RuledNames {
    let ruled = names;
    const edits: PlannedRule[] = [];
    for (const one of this.rules) {
      const before = ruled;
      for (const { from, to } of one.fields) {
        const lower = from.toLowerCase();
        // Browsers write these names in lower case, sorted (Fetch, CORS-unsafe request-header names).
        ruled = ruled.flatMap((name) => (isNamed(name, lower) ? (to?.toLowerCase() ?? []) : name));
      }
      if (!isSameList(ruled, before)) edits.push(one);
    }
    return { names: edits.length === 0 ? names : [...new Set(ruled)], edits };
  }

  /** Returns V1's names for the fields that V2 allows, with those that V2 never gets. */
  v1Names(names: readonly string[]): RuledNames {
    const ruled = [...names];
    const edits: PlannedRule[] = [];
    const has = (name: string): boolean => ruled.some((one) => isNamed(one, name.toLowerCase()));
    for (const one of this.rules.toReversed()) {
      const added = one.fields.filter(({ from, to }) => (to === undefined || has(to)) && !has(from));
      if (added.length === 0) continue;
      ruled.push(...added.map(({ from }) => from));
      edits.push(one);
    }
    return { names: ruled, edits };
  }
}

/** Names of header fields after the rules, and the rules that changed them. */
export interface RuledNames {
  readonly names: readonly string[];
  readonly edits: readonly Pick<PlannedRule, 'change' | 'rule' | 'name'>[];
}

/** The rules that undo those of a change in responses, in reverse order. */
function inverseOf({ id, headers = [] }: Change): readonly PlannedRule[] {
  return headers.toReversed().flatMap((rule): readonly PlannedRule[] => {
    const undone = inverseHeaderRule(rule);
    return undone === undefined ? [] : [planned(id, undone, 'v1')];
  });
}

/** Compiles the header rules of `book`, each plan on first use. A change `on: every` applies to every V1 request, with any method. */
export function compileHeaderPlans(book: RuleBook): HeaderPlans {
  const concerned = book.changes.filter(
    ({ headers = [], responseHeaders = [] }) => headers.length + responseHeaders.length > 0,
  );
  if (concerned.length === 0) return { of: () => undefined };
  const changes = new ChangeIndex(concerned);
  const plans = new Map<string | undefined, HeaderPlan | undefined>();
  return {
    of: (operation) => {
      const id = operation?.id;
      if (plans.has(id)) return plans.get(id);
      const applied = changes.of(id, true);
      const plan = applied.length === 0 ? undefined : new HeaderPlan(applied, book.policies);
      plans.set(id, plan);
      return plan;
    },
  };
}

/** The names of credentials that header rules of a book move, and of the key of its clients; undefined without any. */
export function secretsOf(book: Pick<RuleBook, 'changes' | 'client'>): Secrets | undefined {
  const { changes, client } = book;
  const ofClient = client === undefined ? [] : [client, clientFieldAtV2(book)];
  const rules = changes.flatMap(({ headers = [] }) => headers);
  const moved = rules
    .flatMap((rule) => headerKindOf(rule).moves?.(rule) ?? [])
    .filter(({ as }) => as !== undefined);
  if (moved.length + ofClient.length === 0) return undefined;
  const places = [
    ...moved.flatMap(({ from, to = '' }): MovedField['from'][] => [from, { header: to }]),
    ...ofClient,
  ];
  return {
    parameters: new Set(places.flatMap((place) => ('query' in place ? place.query : []))),
    fields: new Set(places.flatMap((place) => ('header' in place ? place.header.toLowerCase() : []))),
  };
}
