import { inverseOf } from '../../rules/kinds/scale.ts';
import type { Path } from '../../rules/rule.ts';
import { type FoundRule, pathText } from './found-rules.ts';
import type { Conversion, FoundValue } from './conversions.ts';

/** A rule with the keys and values that it has in a rule book, in this order; members are paths as a rule book writes them. */
export type BookRule = Readonly<Record<string, BookValue | readonly string[] | readonly BookPair[]>>;
type BookValue = FoundValue | null;
type BookPair = readonly [key: FoundValue, value: BookValue];

type ValuePair = readonly [from: FoundValue, to: FoundValue];

/** Stands for a value that only a person knows. */
export const BLANK = '…';

/** The rules of requests that a finding stands for. */
export function bookRules(found: FoundRule): readonly BookRule[] {
  if (found.rule === 'unwrap') return [{ unwrap: pathText([found.member]) }];
  const path = found.in;
  switch (found.rule) {
    case 'rename': {
      const { member, to, conversions = [], values } = found;
      return [
        { rename: named(path, member), ...anywhere(path), to: pathText([to]) },
        ...conversions.map((one) => conversionRule(one, path, to)),
        ...(values === undefined ? [] : [valueMap(values, pathText([to]), path)]),
      ];
    }
    case 'convert':
      return found.conversions.map((one) => conversionRule(one, path, found.member));
    case 'default':
      // The person who answers the question knows the value.
      return [defaultRule(pathText(path, found.member), found.value ?? BLANK)];
    case 'strip':
      return [{ strip: pathText(path, found.member) }];
    case 'move': {
      const [around, last] = [[...path, ...found.to.slice(0, -1)], found.to.at(-1) ?? ''];
      return [
        { move: pathText(path, found.member), to: pathText([...path, ...found.to]) },
        ...(found.conversions ?? []).map((one) => conversionRule(one, around, last)),
        ...(found.values === undefined ? [] : [valueMap(found.values, pathText([last]), around)]),
      ];
    }
    case 'list':
      return [{ list: pathText(path, found.member), to: pathText([found.to]) }];
    case 'copy':
      return [{ copy: pathText([...path, ...found.from]), to: pathText([...path, ...found.to]) }];
    case 'first':
    case 'lookup':
      return [];
    case 'nest':
      return [{ nest: names(found.members), ...place(path), under: pathText([found.under]) }];
    case 'flatten': {
      const own = [...path, found.member];
      const moves = found.moves.map(([from, to]) => ({
        move: pathText([...own, ...from]),
        to: pathText([...path, to]),
      }));
      // What is left of the object is empty.
      return [...moves, ...(found.isWhole ? [{ strip: pathText(own) }] : [])];
    }
    case 'unbox': {
      const own = [...path, found.member];
      const moves = [...found.beside, [found.from, found.through] as const];
      return [
        ...moves.map(([from, to]) => ({ move: pathText([...own, from]), to: pathText([...path, to]) })),
        { strip: pathText(own) },
        { rename: named(path, found.through), to: pathText([found.member]) },
        ...found.conversions.map((one) => conversionRule(one, path, found.member)),
      ];
    }
    case 'split': {
      const { under } = found;
      const nest = under !== undefined && { nest: names(found.to), ...place(path), under: pathText([under]) };
      return [
        { split: pathText(path, found.member), to: names(found.to), with: ' ' },
        ...(nest === false ? [] : [nest]),
      ];
    }
    case 'map':
      return [valueMap(found.values, pathText([found.member]), path)];
  }
}

/** The rules of responses that undo a finding, in their order. */
export function undoingRules(found: FoundRule): readonly BookRule[] {
  if (found.rule === 'unwrap') return [];
  const path = found.in;
  const undone = (
    conversions: readonly Conversion[] = [],
    around: Path,
    member: string,
  ): readonly BookRule[] =>
    conversions.toReversed().map((one) => conversionRule(inverseConversion(one), around, member));
  const mapped = (values: readonly ValuePair[] = [], of: string): readonly BookRule[] =>
    values.length === 0
      ? []
      : [
          valueMap(
            values.map(([from, to]) => [to, from] as const),
            of,
          ),
        ];
  const nulls = (members: readonly string[] = []): readonly BookRule[] =>
    members.map((name) => defaultRule(pathText(path, name), null));
  switch (found.rule) {
    case 'rename':
      return [
        ...mapped(found.values, pathText(path, found.to)),
        ...undone(found.conversions, path, found.to),
        { rename: named(path, found.to), ...anywhere(path), to: pathText([found.member]) },
      ];
    case 'convert':
      return undone(found.conversions, path, found.member);
    case 'default':
      return [{ strip: pathText(path, found.member) }];
    case 'strip':
      return found.twin === undefined
        ? []
        : [{ copy: pathText([...path, ...found.twin]), to: pathText(path, found.member) }];
    case 'copy':
      return [{ strip: pathText([...path, ...found.to]) }];
    case 'lookup': {
      const { key, get, resource, take, member, renames } = found;
      return [
        {
          lookup: pathText(path, key),
          get,
          ...(resource !== undefined && { resource }),
          take: names(take),
          as: pathText([member]),
        },
        ...renames.map(([from, to]) => ({ rename: pathText([...path, member, from]), to: pathText([to]) })),
      ];
    }
    case 'move': {
      const from = pathText([...path, ...found.to]);
      return [
        ...mapped(found.values, from),
        ...undone(found.conversions, [...path, ...found.to.slice(0, -1)], found.to.at(-1) ?? ''),
        { move: from, to: pathText(path, found.member) },
        ...nulls(found.orNull),
      ];
    }
    case 'list':
      return [{ first: pathText(path, found.to), to: pathText([found.member]) }];
    case 'first':
      return [{ list: pathText(path, found.to), to: pathText([found.member]) }];
    case 'nest':
      return [{ unnest: pathText(path, found.under), members: names(found.members) }, ...nulls(found.orNull)];
    case 'flatten':
      return found.moves.map(([from, to]) => ({
        move: pathText([...path, to]),
        to: pathText([...path, found.member, ...from]),
      }));
    case 'unbox': {
      const moves = [[found.from, found.member] as const, ...found.beside].map(([to, from]) => ({
        move: pathText([...path, from]),
        to: pathText([...path, found.member, to]),
      }));
      return [...undone(found.conversions, path, found.member), ...moves];
    }
    case 'split': {
      const { under } = found;
      const join = { join: names(found.to), ...place(path), to: pathText([found.member]), with: ' ' };
      return under === undefined
        ? [join]
        : [{ unnest: pathText(path, under), members: names(found.to) }, join];
    }
    case 'map':
      return mapped(found.values, pathText(path, found.member));
  }
}

/** A `default` of a member by its path. */
export function defaultRule(path: string, value: BookValue): BookRule {
  return { default: [[path, value]] };
}

/** A `map` of the values of a member or a query parameter. */
export function valueMap(pairs: readonly ValuePair[], name: string, path: Path = []): BookRule {
  return { map: pairs, of: name, ...place(path) };
}

function conversionRule({ word, options }: Conversion, path: Path, member: string): BookRule {
  return { [word]: named(path, member), ...anywhere(path), ...Object.fromEntries(options) };
}

function names(members: readonly string[]): readonly string[] {
  return members.map((name) => pathText([name]));
}

/** The member that a rule names: where it is at any depth, `in` says so. */
function named(path: Path, member: string): string {
  return path[0] === '**' ? pathText([member]) : pathText(path, member);
}

function anywhere(path: Path): BookRule {
  return path[0] === '**' ? { in: '**' } : {};
}

function place(path: Path): BookRule {
  return path.length === 0 ? {} : { in: pathText(path) };
}

function inverseConversion({ word, options }: Conversion): Conversion {
  const option = (name: string): FoundValue => options.find(([own]) => own === name)?.[1] ?? '';
  switch (word) {
    case 'quote':
      return { word: 'unquote', options };
    case 'unquote':
      return { word: 'quote', options };
    case 'prefix':
      return { word: 'unprefix', options };
    case 'unprefix':
      return { word: 'prefix', options };
    case 'list':
    case 'entries':
      return { word: 'unlist', options };
    case 'unlist':
      return { word: options.some(([name]) => name === 'value') ? 'entries' : 'list', options };
    case 'date':
      return {
        word,
        options: [
          ['from', option('to')],
          ['to', option('from')],
          ...options.filter(([name]) => name === 'zone'),
        ],
      };
    case 'scale':
      return {
        word,
        options: options.map(([name, value]) => [name, name === 'by' ? inverseBy(value) : value] as const),
      };
  }
}

function inverseBy(by: FoundValue): FoundValue {
  const text = inverseOf(String(by)) ?? '1';
  return text.includes('/') ? text : Number(text);
}
