import { type QueryPart, queryParts, valueOf, withName, withValue } from '../http/target.ts';
import { inverseConversion, textConverterOf } from '../rules/conversion.ts';
import { inverseValues } from '../rules/inverse.ts';
import { type Change, ChangeIndex, isRewritten, type Operation, type RuleBook } from '../rules/rule-book.ts';
import type {
  MappedValue,
  QueryConvertRule,
  QueryMapRule,
  QueryRenameRule,
  QueryRule,
  QuerySetRule,
} from '../rules/rule.ts';
import type { EditRecord } from './records.ts';

/** A raw query after the query rules, and their effects: one record for each parameter of a rule, however often it occurs. */
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
  /** Both directions of a conversion; undefined for any other rule. */
  readonly convert?: (text: string) => string | undefined;
  readonly restore?: (text: string) => string | undefined;
}

/** The query rules of one operation, in both directions. Every character outside an edit stays. */
export class QueryPlan {
  private readonly rules: readonly CompiledQueryRule[];
  /** True if a rule adds parameters, even to a request without any. */
  private readonly adds: boolean;

  /** `changes` are those that apply to the operation. */
  constructor(changes: readonly Change[]) {
    this.rules = changes.flatMap(({ id, query = [] }) =>
      query.map((rule) => {
        const inverse = rule.rule === 'map' ? inverseValues(rule.values) : [];
        if (!('conversion' in rule)) return { change: id, rule, inverse };
        const convert = textConverterOf(rule.conversion);
        const restore = textConverterOf(inverseConversion(rule.conversion));
        return { change: id, rule, inverse, convert, restore };
      }),
    );
    this.adds = this.rules.some(({ rule }) => rule.rule === 'set' || rule.rule === 'default');
  }

  /** Rewrites the raw query of a V1 request, which has its question mark unless it is empty. */
  rewrite(query: string): RewrittenQuery {
    if (query === '' && !this.adds) return { query, records: [], rules: [] };
    const run = new QueryRun(query);
    for (const rule of this.rules) run.apply(rule);
    return run.finish();
  }

  /** Turns the raw query of a link of V2 back: to V1's names, and to V1's values where only one of them maps to V2's. */
  restore(query: string): string {
    if (query === '') return query;
    let parts = queryParts(query.slice(1));
    for (const rule of this.rules.toReversed()) parts = parts.flatMap((part) => restored(part, rule) ?? []);
    return parts.length === 0 ? '' : `?${joined(parts)}`;
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
  /** Its name in the V1 query; undefined if a rule added it. */
  readonly origin: string | undefined;
  isRemoved: boolean;
}

/** One run of query rules over one query. */
class QueryRun {
  private readonly query: string;
  private readonly parameters: Parameter[];
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
    const parts = query === '' ? [] : queryParts(query.slice(1));
    this.parameters = parts.map((part) => ({ part, origin: part.name, isRemoved: false }));
    for (const parameter of this.parameters) {
      const known = this.byName.get(parameter.part.name);
      if (known === undefined) this.byName.set(parameter.part.name, [parameter]);
      else known.push(parameter);
    }
  }

  apply({ change, rule, convert }: CompiledQueryRule): void {
    if ('conversion' in rule) return this.convert(change, rule, convert);
    switch (rule.rule) {
      case 'rename':
        return this.rename(change, rule);
      case 'strip':
        for (const name of rule.parameters) this.drop(change, rule, name);
        return;
      case 'map':
        return this.map(change, rule);
      case 'set':
      case 'default':
        return this.set(change, rule);
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
        ...(first.origin === undefined ? {} : { from: `?${first.origin}` }),
        ...(first.isRemoved ? {} : { path: `?${first.part.name}` }),
        ...(note === undefined ? {} : { note }),
      })),
      rules: this.records.map(({ rule }) => rule),
    };
  }

  /** Renames each parameter of that name. V1 knew only the old name, so parameters with the new one are dropped. */
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

  /** Gives each parameter of that name the value, or adds one to the end. */
  private set(change: string, rule: QuerySetRule): void {
    const known = this.byName.get(rule.parameter);
    if (known === undefined) {
      const raw = `${encodeURIComponent(rule.parameter)}=${encodeURIComponent(rule.text)}`;
      const added = { part: { raw, name: rule.parameter }, origin: undefined, isRemoved: false };
      this.parameters.push(added);
      this.byName.set(rule.parameter, [added]);
      this.record(change, rule, [added], undefined);
    } else if (rule.rule === 'set') {
      for (const parameter of known) parameter.part = withValue(parameter.part, rule.text);
      this.record(change, rule, known, undefined);
    }
  }

  /** Converts each value; one that cannot be converted stays, with a note. */
  private convert(change: string, rule: QueryConvertRule, convert: CompiledQueryRule['convert']): void {
    const kept: Parameter[] = [];
    const converted = (this.byName.get(rule.parameter) ?? []).filter((parameter) => {
      const value = valueOf(parameter.part);
      if (value === undefined || value === '') return false;
      const outcome = convert?.(value);
      if (outcome === undefined) kept.push(parameter);
      else if (outcome !== value) parameter.part = withValue(parameter.part, outcome);
      return outcome !== undefined && outcome !== value;
    });
    this.record(change, rule, converted, undefined);
    this.record(change, rule, kept, 'value');
  }

  /** Adds a record for each name that the parameters had in the V1 query. */
  private record(
    change: string,
    rule: QueryRule,
    parameters: readonly Parameter[],
    note: string | undefined,
  ): void {
    const origins = new Set<string | undefined>();
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

function restored(part: QueryPart, { rule, inverse, restore }: CompiledQueryRule): QueryPart | undefined {
  if ('conversion' in rule) {
    const value = part.name === rule.parameter ? valueOf(part) : undefined;
    const text = value === undefined ? undefined : restore?.(value);
    return text === undefined ? part : withValue(part, text);
  }
  switch (rule.rule) {
    case 'rename':
      return part.name === rule.to ? withName(part, rule.parameter) : part;
    case 'strip':
      return part;
    case 'set':
    case 'default':
      return part.name === rule.parameter && valueOf(part) === rule.text ? undefined : part;
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
