import { type QueryPart, queryParts, valueOf, withName, withValue } from '../http/target.ts';
import { inverseValues } from '../rules/inverse.ts';
import { type Change, ChangeIndex, isRewritten, type Operation, type RuleBook } from '../rules/rule-book.ts';
import type { MappedValue, QueryMapRule, QueryRenameRule, QueryRule } from '../rules/rule.ts';
import type { EditRecord } from './records.ts';

/** A raw query after the query rules, and what they did: a record for each parameter of a rule, however often it occurs. */
export interface RewrittenQuery {
  /** With its question mark; empty without a query. */
  readonly query: string;
  /** Empty when the query is unchanged. */
  readonly records: readonly EditRecord[];
  /** The rule of each record. */
  readonly rules: readonly QueryRule[];
}

/** The query plans of a rule book. */
export interface QueryPlans {
  /** Returns the plan for requests of `operation`; undefined when no query rule applies to them. */
  of(operation: Operation | undefined, method: string): QueryPlan | undefined;
}

interface CompiledQueryRule {
  readonly change: string;
  readonly rule: QueryRule;
  /** V1's values by V2's; empty unless the rule is a map. */
  readonly inverse: readonly MappedValue[];
}

/** The query rules of one operation, in both directions. Every character outside an edit stays. */
export class QueryPlan {
  private readonly rules: readonly CompiledQueryRule[];

  /** `changes` are those that apply to the operation. */
  constructor(changes: readonly Change[]) {
    this.rules = changes.flatMap(({ id, query = [] }) =>
      query.map((rule) => {
        const inverse = rule.rule === 'map' ? inverseValues(rule.values) : [];
        return { change: id, rule, inverse };
      }),
    );
  }

  /** Rewrites the raw query of a V1 request, which has its question mark unless it is empty. */
  rewrite(query: string): RewrittenQuery {
    if (query === '') return { query, records: [], rules: [] };
    const run = new QueryRun(query);
    for (const { change, rule } of this.rules) run.apply(change, rule);
    return run.finish();
  }

  /** Turns the raw query of a link of V2 back: V1's names, and V1's values where only one of them leads to V2's. */
  restore(query: string): string {
    if (query === '') return query;
    let parts = queryParts(query.slice(1));
    for (const rule of this.rules.toReversed()) parts = parts.map((part) => restored(part, rule));
    return `?${joined(parts)}`;
  }

  /** Returns V1's name of a query parameter of V2. */
  v1Name(name: string): string {
    let found = name;
    for (const { rule } of this.rules.toReversed()) {
      if (rule.rule === 'rename' && rule.to === found) found = rule.parameter;
    }
    return found;
  }
}

/** A parameter of the query while rules are applied. */
interface Parameter {
  part: QueryPart;
  /** Its name in the V1 query. */
  readonly origin: string;
  isRemoved: boolean;
}

/** One run of query rules over one query. */
class QueryRun {
  private readonly query: string;
  private readonly parameters: readonly Parameter[];
  /** The parameters that are left, by their current names: a rule costs no more than those that it changes. */
  private readonly byName = new Map<string, Parameter[]>();
  private readonly records: {
    readonly change: string;
    readonly rule: QueryRule;
    readonly first: Parameter;
    readonly note: string | undefined;
  }[] = [];

  constructor(query: string) {
    this.query = query;
    this.parameters = queryParts(query.slice(1)).map((part) => ({
      part,
      origin: part.name,
      isRemoved: false,
    }));
    for (const parameter of this.parameters) {
      const known = this.byName.get(parameter.origin);
      if (known === undefined) this.byName.set(parameter.origin, [parameter]);
      else known.push(parameter);
    }
  }

  apply(change: string, rule: QueryRule): void {
    switch (rule.rule) {
      case 'rename':
        return this.rename(change, rule);
      case 'strip':
        for (const name of rule.parameters) this.drop(change, rule, name);
        return;
      case 'map':
        return this.map(change, rule);
    }
  }

  finish(): RewrittenQuery {
    if (this.records.length === 0) return { query: this.query, records: [], rules: [] };
    const left = this.parameters.filter(({ isRemoved }) => !isRemoved).map(({ part }) => part);
    return {
      query: left.length === 0 ? '' : `?${joined(left)}`,
      records: this.records.map(({ change, rule, first, note }) => ({
        change,
        rule: rule.rule,
        from: `?${first.origin}`,
        ...(first.isRemoved ? {} : { path: `?${first.part.name}` }),
        ...(note === undefined ? {} : { note }),
      })),
      rules: this.records.map(({ rule }) => rule),
    };
  }

  /** Renames each parameter of that name. V1 knew the old name only, so parameters that have the new one are dropped. */
  private rename(change: string, rule: QueryRenameRule): void {
    const renamed = this.byName.get(rule.parameter);
    if (renamed === undefined) return;
    const isConflict = this.drop(change, rule, rule.to, 'conflict');
    for (const parameter of renamed) parameter.part = withName(parameter.part, rule.to);
    this.byName.delete(rule.parameter);
    this.byName.set(rule.to, renamed);
    this.record(change, rule, renamed, isConflict ? 'conflict' : undefined);
  }

  /** Removes each parameter of that name, with one ampersand; true if there was any. */
  private drop(change: string, rule: QueryRule, name: string, note?: string): boolean {
    const dropped = this.byName.get(name);
    if (dropped === undefined) return false;
    for (const parameter of dropped) parameter.isRemoved = true;
    this.byName.delete(name);
    this.record(change, rule, dropped, note);
    return true;
  }

  private map(change: string, rule: QueryMapRule): void {
    const mapped = (this.byName.get(rule.parameter) ?? []).filter((parameter) => {
      const value = valueOf(parameter.part);
      const found = rule.values.find(({ from }) => from.text === value);
      if (found !== undefined) parameter.part = withValue(parameter.part, found.to.text);
      return found !== undefined;
    });
    this.record(change, rule, mapped, undefined);
  }

  /** Adds a record for each name that the parameters had in the V1 query. */
  private record(
    change: string,
    rule: QueryRule,
    parameters: readonly Parameter[],
    note: string | undefined,
  ): void {
    const origins = new Set<string>();
    for (const first of parameters) {
      if (origins.has(first.origin)) continue;
      origins.add(first.origin);
      this.records.push({ change, rule, first, note });
    }
  }
}

function joined(parts: readonly QueryPart[]): string {
  return parts.map(({ raw }) => raw).join('&');
}

function restored(part: QueryPart, { rule, inverse }: CompiledQueryRule): QueryPart {
  switch (rule.rule) {
    case 'rename':
      return part.name === rule.to ? withName(part, rule.parameter) : part;
    case 'strip':
      return part;
    case 'map': {
      const value = part.name === rule.parameter ? valueOf(part) : undefined;
      const found = inverse.find(({ from }) => from.text === value);
      return value === undefined || found === undefined ? part : withValue(part, found.to.text);
    }
  }
}

/** Compiles the query rules of `book`, each plan on first use. A change `on: every` applies to any POST or PATCH. */
export function compileQueryPlans(book: RuleBook): QueryPlans {
  if (queryPlanOf(book.changes) === undefined) return { of: () => undefined };
  const changes = new ChangeIndex(book.changes);
  const plans = new Map<string, QueryPlan | undefined>();
  return {
    of: (operation, method) => {
      const isEvery = isRewritten(method);
      const key = operation?.id ?? (isEvery ? '*' : '');
      if (plans.has(key)) return plans.get(key);
      const plan = queryPlanOf(changes.of(operation?.id, isEvery));
      plans.set(key, plan);
      return plan;
    },
  };
}

/** Compiles the query rules of changes that apply to one operation; undefined if they have none. */
export function queryPlanOf(changes: readonly Change[]): QueryPlan | undefined {
  return changes.some(({ query = [] }) => query.length > 0) ? new QueryPlan(changes) : undefined;
}
