import type * as zod from 'zod';
import {
  declareMember,
  type Blocks,
  type Book,
  formOf,
  type Place,
  type Report,
  type Scalar,
  type SourcePath,
  textAt,
} from './book.ts';
import { mayListMembers, printPath, readPath } from './paths.ts';
import { type NameTable, printScalar, readScalar, scalarOf } from '../../json/names.ts';
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
  /** The separators of values, if a parameter contains a list; absent if it has one value. */
  readonly with?: readonly string[];
  /** The texts that may precede or follow a value of a list, and stay: a minus sign, for example. */
  readonly sign?: readonly string[];
}

/** Replaces each value of the field `field` that `values` lists; the values are compared as text. */
export interface HeaderMapRule {
  readonly rule: 'map';
  readonly field: string;
  readonly values: readonly MappedValue[];
}

/** How `map` changes the bytes of requests. */
export const kind: Kind<MapRule> = { compile };

/** `inverse` restores the values that only one value maps to. */
export const lens: Lens<MapRule, ResponseMapRule> = {
  changesValue: true,
  moves: () => [],
  inverse: (rule, objects) => {
    const values = inverseValues(rule.values);
    if (values.length === 0) return 'shared';
    return [{ rule: 'map', path: [...objects, rule.member], values }];
  },
};

/** How `map` changes queries. If a value stays among others, because the rule does not declare a list, the record has a note. */
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

/** How `map` changes header fields. */
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

/** How messages and guides describe `map`. */
export const words: Words<MapRule, ResponseMapRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  why: 'each value of V2 represents several of V1',
  say: ({ values }, name, where) => `map ${name}${where}: ${mappedWords(values)}`,
  none: ({ member }, place) => `${place} has no ${member} with one of these values.`,
  remark: () => 'the value changes as well',
  done: ({ name }) => `The value of ${name} becomes V2's value for it.`,
};

/** How a rule book writes `map`: for members, parameters and fields. */
export const book: Book<MapRule, ResponseMapRule, QueryMapRule, HeaderMapRule> = {
  request: {
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            map: valuesIn(blocks).describe(
              'V2 values by V1 value. A key that is the text of a number, true, false or null is that value; double quotes inside the key make it a text: \'"1"\'.',
            ),
            of: blocks.memberPath,
            in: blocks.inside,
          })
          .describe('Replaces the value of a member that is listed; any other value stays.'),
        (source, place) =>
          declareMember(
            place,
            'of',
            { in: source.in, of: source.of },
            (member) => ({ rule: 'map', ...member, values: valuesOf(source.map, place) }),
            pathsOf(source.map, place),
          ),
      ),
    faults: ({ rule, inside, members }, fault) =>
      valueFaults(rule.values, (index) => members[index + 1] ?? inside, fault),
    learn: ({ in: objects, member, values }, facts) =>
      facts.replace(
        objects,
        member,
        values.map(({ from }) => printScalar(from)),
        values.map(({ to }) => printScalar(to)),
      ),
    stale: ({ in: objects, member, values }, facts) =>
      staleValues(values, ({ from }) => facts.replacedBy([...objects, member], printScalar(from))),
    subject: ({ in: objects, member, values }, part) => {
      const value = part === 0 ? undefined : values[part - 1];
      const of = `map of ${printPath([...objects, member])}`;
      return value === undefined ? of : `${of} from ${printScalar(value.from)}`;
    },
    inexact: ({ in: objects, member, values }) => {
      const undone = new Set(inverseValues(values).map(({ from }) => printScalar(from)));
      const shared = new Set(values.map(({ to }) => printScalar(to)).filter((value) => !undone.has(value)));
      return [...shared].map((value) => {
        const sources = values.filter(({ to }) => printScalar(to) === value);
        const names = sources.map(({ from }) => printScalar(from)).join(' and ');
        return `${names} of ${printPath([...objects, member])} both become ${value}, which has no inverse: responses keep ${value}; a response map can choose one`;
      });
    },
  },
  response: {
    mayBeAnywhere: true,
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            map: valuesIn(blocks).describe('V1 values by V2 value; the keys are read as in a request rule.'),
            of: blocks.memberPath,
            status: blocks.status,
          })
          .describe('Replaces the value of a member of a response that is listed; any other value stays.'),
        (source, place) => {
          const values = valuesOf(source.map, place);
          const rule = { rule: 'map', path: readPath(source.of), values, status: place.status } as const;
          return [{ rule, values: pathsOf(source.map, place) }];
        },
      ),
    faults: ({ rule, values = [] }, at, fault) =>
      valueFaults(rule.values, (index) => values[index] ?? at, fault),
    effect: ['maps '],
    // A value that the earlier map makes is mapped on, even if it has that value as well.
    isFurther: ({ values }, earlier) => {
      const made = new Set(earlier.values.map(({ to }) => printScalar(to)));
      const taken = new Set(earlier.values.map(({ from }) => printScalar(from)));
      return values.some(({ from }) => made.has(printScalar(from)) || !taken.has(printScalar(from)));
    },
  },
  query: {
    form: (blocks) => {
      const { z, strict, optional, parameter } = blocks;
      const separator = z
        .string()
        .regex(
          /^[ !"$'-/:-@[-^`{-~]{1,4}$/,
          'must be one to four ASCII characters without letters and digits',
        );
      const sign = z.string().regex(/^[ !"$'-~]{1,12}$/, 'must be one to twelve ASCII characters');
      const schema = strict({
        map: valuesIn(blocks).describe('V2 values by V1 value, both as text.'),
        of: parameter,
        with: optional(
          z.union([separator, z.array(separator).min(1).max(8)], { error: 'a separator or a list of them' }),
          'The separator of the values, if a parameter contains a list: a comma, for example.',
        ),
        sign: optional(
          z.union([sign, z.array(sign).min(1).max(8)], { error: 'a text or a list of texts' }),
          'A text that may precede or follow a value of a list, and stays: - or :desc, for example. Needs with.',
        ),
      }).describe('Replaces the value of a query parameter that is listed; any other value stays.');
      return formOf(schema, (source, place) => {
        const { with: separators, sign } = source;
        const rule: QueryMapRule = {
          rule: 'map',
          parameter: source.of,
          values: textsOf(source.map, place),
          ...(separators === undefined ? {} : { with: [separators].flat() }),
          ...(sign === undefined ? {} : { sign: [sign].flat() }),
        };
        return [{ rule, parts: [[...place.path, 'of'], ...pathsOf(source.map, place)] }];
      });
    },
    faults: ({ rule, parts: [first = [], ...parts] }, fault) => {
      valueFaults(rule.values, (index) => parts[index] ?? first, fault);
      if (rule.sign === undefined || rule.with !== undefined) return;
      const message = `sign has no effect without with; add with and the separator of the values of "${rule.parameter}"`;
      fault(first, message);
    },
    looksFor: ({ parameter }) => [parameter],
    // A list may contain values that an earlier map has replaced only as whole values.
    stale: ({ parameter, values, with: separators }, names) => {
      if (separators !== undefined) return [];
      return staleValues(values, ({ from }) => names.replacedBy(parameter, from.text));
    },
    learn: ({ parameter, values, with: separators }, names) => {
      if (separators !== undefined) return names.change(parameter);
      const [from, to] = [values.map((value) => value.from.text), values.map((value) => value.to.text)];
      return names.replace(parameter, from, to);
    },
    warning: ({ parameter, with: separators }) => {
      if (separators !== undefined || !mayListMembers(parameter)) return undefined;
      return `"${parameter}" may have a list, and map looks up whole values; if it has one, add with: ','`;
    },
  },
  headers: {
    form: (blocks) =>
      formOf(
        blocks
          .strict({
            map: valuesIn(blocks).describe('V2 values by V1 value, both as text.'),
            of: blocks.field,
          })
          .describe('Replaces the value of a header field that is listed; any other value stays.'),
        (source, place) => {
          const rule = { rule: 'map', field: source.of, values: textsOf(source.map, place) } as const;
          return [{ rule, parts: [[...place.path, 'of'], ...pathsOf(source.map, place)] }];
        },
      ),
    faults: ({ rule, parts: [first = [], ...parts] }, fault) =>
      valueFaults(rule.values, (index) => parts[index] ?? first, fault),
    looksFor: ({ field }) => [field],
  },
};

type ValueSource = Readonly<Record<string, Scalar>>;

function valuesIn({ z, wellFormed, scalar }: Blocks): zod.ZodType<ValueSource> {
  return z
    .record(wellFormed, scalar)
    .refine((values) => Object.keys(values).length > 0, 'has no values; write one value and its replacement');
}

/** A number keeps its digits, as in a key: 1.10 differs from 1.1. */
function valuesOf(source: ValueSource, { path, json }: Place): readonly MappedValue[] {
  return Object.entries(source).map(([from, to]) => ({
    from: readScalar(from),
    to: typeof to === 'number' ? readScalar(json([...path, 'map', from])) : scalarOf(to),
  }));
}

/** A query has no types: every value is a text, and double quotes around a key are not part of it, as in a body. */
function textsOf(source: ValueSource, place: Place): readonly MappedValue[] {
  return Object.entries(source).map(([from, to]) => ({
    from: { isString: true, text: readScalar(from).text },
    to: { isString: true, text: textAt(to, [...place.path, 'map', from], place) },
  }));
}

function pathsOf(source: ValueSource, { path }: Place): readonly SourcePath[] {
  return Object.keys(source).map((key) => [...path, 'map', key]);
}

/** A map lists each value once, and changes it. */
function valueFaults(values: readonly MappedValue[], at: (index: number) => SourcePath, fault: Report): void {
  const seen = new Set<string>();
  for (const [index, { from, to }] of values.entries()) {
    const text = printScalar(from);
    if (seen.has(text)) fault(at(index), `map has the value ${text} already; remove one of the two`, 'key');
    seen.add(text);
    if (printScalar(to) === text)
      fault(at(index), `map gives ${text} the value it has; write another, or remove it`);
  }
}

function staleValues(
  values: readonly MappedValue[],
  replacedBy: (value: MappedValue) => string | undefined,
): readonly { readonly part: number; readonly reason: string }[] {
  return values.flatMap((value, index) => {
    const change = replacedBy(value);
    if (change === undefined) return [];
    const reason = `change "${change}" replaces that value already; remove one of the two`;
    return [{ part: index + 1, reason }];
  });
}

/**
 * Returns the values of a map in the other direction. A value that several values map to has no inverse, so it is left out: responses keep
 * it.
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

/** The values of a map in one direction, in their raw spelling. */
class ValueMap {
  private readonly values: ReadonlyMap<string, string>;
  /** Splits a list, and keeps the separators as spelled; undefined if a parameter has one value. */
  private readonly separators: RegExp | undefined;
  /** The texts that may precede or follow a value. */
  private readonly affixes: readonly RegExp[] = [];

  constructor(rule: QueryMapRule, values: readonly MappedValue[]) {
    this.values = new Map(values.map(({ from, to }) => [from.text, to.text]));
    if (rule.with === undefined) return;
    // Not proven linear: each is an alternative of fixed texts, tried at most once at each position.
    this.separators = new RegExp(`(${rule.with.map(spellings).join('|')})`, 'i');
    const signs = [' ', ...(rule.sign ?? [])].map(spellings).join('|');
    // Not proven linear: the same, at one end. The end of a percent-encoding is not a sign.
    this.affixes = [new RegExp(`^(?:${signs})`, 'i'), new RegExp(`(?<!%[0-9a-f]?)(?:${signs})$`, 'i')];
  }

  /**
   * Returns the raw value with each listed value replaced, undefined if there is none; `isLeft` if one occurs in a place that the rule
   * ignores.
   */
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

  /** One value of a list, without the texts before and after it. */
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

/** A pattern for an ASCII text in a query: percent-encoded or not, and a space also as a plus sign. */
export function spellings(text: string): string {
  return text.replaceAll(/[^]/g, (character) => {
    const encoded = `%${character.charCodeAt(0).toString(16)}`;
    return `(?:${/\w/.test(character) ? '' : '\\'}${character}|${encoded}${character === ' ' ? '|\\+' : ''})`;
  });
}
