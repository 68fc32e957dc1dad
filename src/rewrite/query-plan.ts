import {
  decodeQueryText,
  type QueryPart,
  queryParts,
  valueOf,
  withName,
  withRawValue,
  withValue,
} from '../http/target.ts';
import { inverseConversion, textConverterOf } from '../rules/kinds/conversion.ts';
import { inverseValues } from '../rules/kinds/map.ts';
import { type Change, ChangeIndex, isRewritten, type Operation, type RuleBook } from '../rules/rule-book.ts';
import {
  type MappedValue,
  mayListMembers,
  type QueryConvertRule,
  type QueryMapRule,
  type QueryRenameRule,
  type QueryRule,
  type QuerySetRule,
} from '../rules/rule.ts';
import type { EditRecord } from './records.ts';

/** A raw query after the query rules, and their effects: one record for each parameter of a rule, however often it occurs. */
export interface RewrittenQuery {
  /** With its question mark; empty without a query. */
  readonly query: string;
  /** Empty when the query is unchanged. */
  readonly records: readonly EditRecord[];
  /** The rules of the records; a name of a body's member that no query rule turns has none. */
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
  /** Both directions of a map, on raw values; undefined for any other rule. */
  readonly map?: ValueMap;
  readonly unmap?: ValueMap;
  /** Both directions of a conversion; undefined for any other rule. */
  readonly convert?: (text: string) => string | undefined;
  readonly restore?: (text: string) => string | undefined;
}

/** The note on a parameter that reaches V2 with a name or value of V1 in it, because no rule says that it has a list. */
export const UNMAPPED = 'unmapped';

/** A map of one direction, on raw values. */
class ValueMap {
  private readonly values: ReadonlyMap<string, string>;
  /** Splits a list, and keeps the separators as they are spelled; undefined where a parameter has one value. */
  private readonly separators: RegExp | undefined;
  /** What may stand before a value, and after it. */
  private readonly affixes: readonly RegExp[] = [];

  constructor(rule: QueryMapRule, values: readonly MappedValue[]) {
    this.values = new Map(values.map(({ from, to }) => [from.text, to.text]));
    if (rule.with === undefined) return;
    // Not proven linear: each is an alternative of fixed texts, tried once at each place at most.
    this.separators = new RegExp(`(${rule.with.map(spellings).join('|')})`, 'i');
    const signs = [' ', ...(rule.sign ?? [])].map(spellings).join('|');
    // Not proven linear: the same, at one end. The end of a percent-encoding is no sign.
    this.affixes = [new RegExp(`^(?:${signs})`, 'i'), new RegExp(`(?<!%[0-9a-f]?)(?:${signs})$`, 'i')];
  }

  /** Returns the raw value with each listed one replaced, undefined where there is none; `isLeft` if one stands where the rule does not look. */
  apply({ raw }: QueryPart): { readonly value: string | undefined; readonly isLeft: boolean } {
    const equals = raw.indexOf('=');
    if (equals === -1) return { value: undefined, isLeft: false };
    const pieces =
      this.separators === undefined ? [raw.slice(equals + 1)] : raw.slice(equals + 1).split(this.separators);
    let isMapped = false;
    let isLeft = false;
    for (let at = 0; at < pieces.length; at += 2) {
      const piece = pieces[at] ?? '';
      const mapped = this.mapped(piece);
      if (mapped === undefined)
        isLeft ||= wordsIn(decodeQueryText(piece)).some((word) => this.values.has(word));
      else [pieces[at], isMapped] = [mapped, true];
    }
    return { value: isMapped ? pieces.join('') : undefined, isLeft };
  }

  /** One value of a list, without what stands before and after it. */
  private mapped(piece: string): string | undefined {
    let [before, value, after] = ['', piece, ''];
    for (let round = 0; round < MAX_AFFIXES; round += 1) {
      const found = this.values.get(decodeQueryText(value));
      if (found !== undefined) return before + encodeURIComponent(found) + after;
      const [start, end] = this.affixes;
      const sign = start?.exec(value)?.[0];
      const last = end?.exec(value.slice(-MAX_SPELLED))?.[0];
      if (sign !== undefined) {
        before += sign;
        value = value.slice(sign.length);
      } else if (last !== undefined) {
        after = last + after;
        value = value.slice(0, -last.length);
      } else return undefined;
    }
    return undefined;
  }
}

/** Maximum signs and blanks around a value, and characters of a sign of 12 that is percent-encoded. */
const MAX_AFFIXES = 6;
const MAX_SPELLED = 36;

/** A pattern for an ASCII text as queries spell it: percent-encoded or not, a space also as a plus sign. */
function spellings(text: string): string {
  return text.replaceAll(/[^]/g, (character) => {
    const encoded = `%${character.charCodeAt(0).toString(16)}`;
    return `(?:${/\w/.test(character) ? '' : '\\'}${character}|${encoded}${character === ' ' ? '|\\+' : ''})`;
  });
}

/** The words in a name or a value, whatever separates them, with and without a minus sign in front. */
function wordsIn(value: string): readonly string[] {
  return value
    .split(/[^\p{L}\p{N}_-]+/u)
    .flatMap((word) => (word.startsWith('-') ? [word, word.slice(1)] : word === '' ? [] : [word]));
}

/** The query rules of one operation, in both directions. Every character outside an edit stays. */
export class QueryPlan {
  private readonly rules: readonly CompiledQueryRule[];
  /** True if a rule adds parameters, even to a request without any. */
  private readonly adds: boolean;
  private readonly renamed: ReadonlyMap<string, string>;
  /** The parameters that rules are about, by either name. */
  private readonly ruled: ReadonlySet<string>;

  /** `changes` are those that apply to the operation; `renamed` has the changes that rename members of bodies, by V1's name. */
  constructor(changes: readonly Change[], renamed: ReadonlyMap<string, string> = new Map()) {
    this.renamed = renamed;
    this.rules = changes.flatMap(({ id, query = [] }) =>
      query.map((rule) => {
        if (rule.rule === 'map') {
          const map = new ValueMap(rule, rule.values);
          return { change: id, rule, map, unmap: new ValueMap(rule, inverseValues(rule.values)) };
        }
        if (!('conversion' in rule)) return { change: id, rule };
        const convert = textConverterOf(rule.conversion);
        const restore = textConverterOf(inverseConversion(rule.conversion));
        return { change: id, rule, convert, restore };
      }),
    );
    this.ruled = new Set(
      this.rules.flatMap(({ rule }) =>
        'parameter' in rule ? [rule.parameter, 'to' in rule ? rule.to : ''] : [],
      ),
    );
    this.adds = this.rules.some(({ rule }) => rule.rule === 'set' || rule.rule === 'default');
  }

  /** Rewrites the raw query of a V1 request, which has its question mark unless it is empty. */
  rewrite(query: string): RewrittenQuery {
    if (query === '' && !this.adds) return { query, records: [], rules: [] };
    const run = new QueryRun(query);
    for (const rule of this.rules) run.apply(rule);
    const rewritten = run.finish();
    const left = this.renamed.size === 0 ? [] : this.leftNames(rewritten.query);
    return left.length === 0 ? rewritten : { ...rewritten, records: [...rewritten.records, ...left] };
  }

  /** V1's names of members that V2 gets in the name of a parameter, or in one that lists members, and that no rule is about. */
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

  apply({ change, rule, map, convert }: CompiledQueryRule): void {
    if ('conversion' in rule) return this.convert(change, rule, convert);
    switch (rule.rule) {
      case 'rename':
        return this.rename(change, rule);
      case 'strip':
        for (const name of rule.parameters) this.drop(change, rule, name);
        return;
      case 'map':
        return this.map(change, rule, map);
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

  /** Replaces listed values; where one is left among others, because the rule does not say that it is in a list, the record has a note. */
  private map(change: string, rule: QueryMapRule, map: ValueMap | undefined): void {
    const kept: Parameter[] = [];
    const mapped = (this.byName.get(rule.parameter) ?? []).filter((parameter) => {
      const { value, isLeft } = map?.apply(parameter.part) ?? {};
      if (isLeft === true) kept.push(parameter);
      if (value !== undefined) parameter.part = withRawValue(parameter.part, value);
      return value !== undefined;
    });
    this.record(change, rule, mapped, undefined);
    this.record(change, rule, kept, UNMAPPED);
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

function restored(part: QueryPart, { rule, unmap, restore }: CompiledQueryRule): QueryPart | undefined {
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
      const value = part.name === rule.parameter ? unmap?.apply(part).value : undefined;
      return value === undefined ? part : withRawValue(part, value);
    }
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

/** The changes that rename a member of bodies, by V1's name of it, unless V2 has that name as well. */
function renamedMembers(changes: readonly Change[]): ReadonlyMap<string, string> {
  const renames = changes.flatMap(({ id, request }) =>
    request.flatMap((rule) => (rule.rule === 'rename' ? [{ id, member: rule.member, to: rule.to }] : [])),
  );
  const names = new Set(renames.map(({ to }) => to));
  return new Map(renames.flatMap(({ id, member }) => (names.has(member) ? [] : [[member, id] as const])));
}

/** Compiles the query rules of changes that apply to one operation; undefined if they have none, and no member has another name. */
export function queryPlanOf(
  changes: readonly Change[],
  renamed?: ReadonlyMap<string, string>,
): QueryPlan | undefined {
  const isNeeded = (renamed?.size ?? 0) > 0 || changes.some(({ query = [] }) => query.length > 0);
  return isNeeded ? new QueryPlan(changes, renamed) : undefined;
}
