import { type NameTable, printScalar } from '../../json/names.ts';
import type { Field } from '../../edits/header-run.ts';
import { type Parameter, UNMAPPED } from '../../edits/query-run.ts';
import { decodeQueryText, type QueryPart, withRawValue, wordsIn } from '../../http/target.ts';
import { markChanged } from '../../edits/draft.ts';
import { type MappedValue, MappedValues } from '../../edits/mapped-values.ts';
import { aboutMember, type CompiledRule, type Path, PLAIN, type RuleBase, STEPS } from '../../edits/run.ts';
import type { HeaderKind, Kind, Lens, QueryKind, StatusPattern, Words } from './kind.ts';

/** Replaces the value of the member `member` of each object at `in`, if it is a string or scalar that `values` lists. */
export interface MapRule {
  readonly rule: 'map';
  readonly member: string;
  readonly in: Path;
  readonly values: readonly MappedValue[];
}

/** Replaces the value of the member at `path` of a response, if it is a string or scalar that `values` lists: V2's by V1's. */
export interface ResponseMapRule {
  readonly rule: 'map';
  readonly path: Path;
  readonly values: readonly MappedValue[];
  readonly status: readonly StatusPattern[];
}

/** Replaces each value of the query parameter `parameter` that `values` lists; the values are compared as text. */
export interface QueryMapRule {
  readonly rule: 'map';
  readonly parameter: string;
  readonly values: readonly MappedValue[];
  /** The texts between the values, where a parameter has a list of them; absent where it has one. */
  readonly with?: readonly string[];
  /** The texts that may stand before or after a value of a list, and stay: a minus sign, for example. */
  readonly sign?: readonly string[];
}

/** Replaces each value of the field `field` that `values` lists; the values are compared as text. */
export interface HeaderMapRule {
  readonly rule: 'map';
  readonly field: string;
  readonly values: readonly MappedValue[];
}

/** Its work on the bytes of requests. */
export const kind: Kind<MapRule> = { compile };

/** Each value comes back that only one value becomes. */
export const lens: Lens<MapRule, ResponseMapRule> = {
  changesValue: true,
  moves: () => [],
  inverse: (rule, objects) => {
    const values = inverseValues(rule.values);
    if (values.length === 0) return 'shared';
    return [{ rule: 'map', path: [...objects, rule.member], values }];
  },
};

/** Its work on queries. Where a value is left among others, because the rule does not say that it is in a list, the record has a note. */
export const query: QueryKind<QueryMapRule> = {
  compile: (rule) => {
    const { parameter, values } = rule;
    const [there, back] = [new ValueMap(rule, values), new ValueMap(rule, inverseValues(values))];
    return {
      apply: (run) => {
        const kept: Parameter[] = [];
        const mapped = (run.named(parameter) ?? []).filter((one) => {
          const { value, isLeft } = there.apply(one.part);
          if (isLeft) kept.push(one);
          if (value !== undefined) one.part = withRawValue(one.part, value);
          return value !== undefined;
        });
        run.record(mapped);
        run.record(kept, UNMAPPED);
      },
      restore: (part) => {
        const value = part.name === parameter ? back.apply(part).value : undefined;
        return value === undefined ? part : withRawValue(part, value);
      },
    };
  },
};

/** Its work on header fields. */
export const header: HeaderKind<HeaderMapRule> = {
  apply: ({ field, values }, run) => {
    let first: Field | undefined;
    for (const one of run.named(field)) {
      const found = values.find(({ from }) => from.text === one.value);
      if (found === undefined) continue;
      one.value = found.to.text;
      first ??= one;
    }
    if (first !== undefined) run.record(first.origin ?? first.name, { to: first.name });
    return undefined;
  },
};

/** What people read of it. */
export const words: Words<MapRule, ResponseMapRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  why: 'each value of V2 stands for several of V1',
  say: ({ values }, name, where) => `map ${name}${where}: ${mappedWords(values)}`,
  none: ({ member }, place) => `${place} has no ${member} with one of these values.`,
  done: ({ name }) => `The value of ${name} becomes the one that V2 has for it.`,
};

/**
 * Returns the values of a map in the other direction. A value that several values map to has no inverse, so it is left out and
 * stays as it is.
 */
export function inverseValues(values: readonly MappedValue[]): readonly MappedValue[] {
  const times = new Map<string, number>();
  for (const { to } of values) times.set(printScalar(to), (times.get(printScalar(to)) ?? 0) + 1);
  return values
    .filter(({ to }) => times.get(printScalar(to)) === 1)
    .map(({ from, to }) => ({ from: to, to: from }));
}

/** Replaces the value of the named member, if the map lists it. */
function compile(rule: MapRule, base: RuleBase, names: NameTable): CompiledRule {
  const values = new MappedValues(rule.values);
  return aboutMember(rule, base, names, (run, object, member) => {
    const position = values.find(run.draft, member);
    run.lookups.push({ values, node: member.node });
    if (position < 0) return undefined;
    member.literal = values.text(position);
    markChanged(object);
    run.step(base.code + position * STEPS + PLAIN);
    run.recorder?.replace(base, member, values.value(position) ?? null);
    return undefined;
  });
}

function mappedWords(values: readonly MappedValue[]): string {
  return values.map(({ from, to }) => `${printScalar(from)} to ${printScalar(to)}`).join(', ');
}

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
