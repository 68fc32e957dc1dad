import type { Path } from '../../rules/rule.ts';
import type { Shape } from '../shape.ts';
import { addFinding, type Work } from './comparison.ts';
import { areContraries, type FoundValue, type NamedShape, namedValues } from './conversions.ts';
import type { FoundRule } from './found-rules.ts';
import { areContrary, nameSimilarity, plainName, wordsOf } from './names.ts';

/** The values that have no partner in the other version, for the end of a sentence: V1's in requests, and V2's in responses. */
export function unpairedWords(old: Shape, young: Shape, { isResponse }: Pick<Work, 'isResponse'>): string {
  const map = findValueMap(old.values, young.values);
  const left = (isResponse === true ? map?.fresh : map?.left) ?? [];
  const none =
    left.length === 0 ? '' : `; ${isResponse === true ? 'V1' : 'V2'} has no value for ${namedValues(left)}`;
  return `${none}${placedWords(old, young)}`;
}

/** The pairs of values that only their places in the lists show, for the end of a sentence. */
export function placedWords(old: Shape, young: Shape): string {
  const placed = findValueMap(old.values, young.values)?.placed ?? [];
  const named = placed.slice(0, MAX_PLACED).map(([from, to]) => `${from} with ${to}`);
  const more = placed.length > MAX_PLACED ? ' …' : '';
  return placed.length === 0 ? '' : `; only the places in both lists pair ${named.join(', ')}${more}`;
}

/** Maximum pairs of values that a sentence names. */
const MAX_PLACED = 6;

/** The rule with V2's values for those of V1, and without those pairs that only the places of values show. */
export function valueForms(
  found: FoundRule,
  old: Shape | undefined,
  young: Shape | undefined,
): readonly FoundRule[] {
  const all = withValues(found, old, young);
  const placed = findValueMap(old?.values ?? [], young?.values ?? [])?.placed ?? [];
  if ((all.rule !== 'rename' && all.rule !== 'move') || all.values === undefined || placed.length === 0)
    return [all];
  const values = all.values.filter(([from]) => !placed.some(([one]) => one === from));
  const { values: _, ...plain } = all;
  return [all, values.length === 0 ? plain : { ...plain, values }];
}

/** A rename or a move that a person can choose, with V2's values for those of V1 if both list them: a renamed value that V2 does not know is lost. */
function withValues(found: FoundRule, old: Shape | undefined, young: Shape | undefined): FoundRule {
  if ((found.rule !== 'rename' && found.rule !== 'move') || found.conversions !== undefined) return found;
  if (old === undefined || young === undefined) return found;
  const to = found.rule === 'rename' ? found.to : found.to.join('_');
  if (areContraries({ name: found.member, shape: old }, { name: to, shape: young }))
    return { ...found, values: TURNED };
  const { spelled, guessed } = findValueMap(old.values, young.values) ?? {};
  const values = [...(spelled?.pairs ?? []), ...(guessed?.pairs ?? [])];
  return values.length === 0 ? found : { ...found, values };
}

/** The values of two booleans that say the contrary of each other. */
const TURNED: readonly (readonly [from: FoundValue, to: FoundValue])[] = [
  [true, false],
  [false, true],
];

/** A rule with the values of booleans that say the contrary of each other; any other values have a rule of their own. */
export function turned(found: FoundRule, old: Shape | undefined, young: Shape | undefined): FoundRule {
  const all = withValues(found, old, young);
  return 'values' in all && all.values === TURNED ? all : found;
}

/** Pairs of values for yes and no. */
const YES_AND_NO: readonly (readonly [yes: string, no: string])[] = [
  ['yes', 'no'],
  ['true', 'false'],
  ['on', 'off'],
  ['y', 'n'],
  ['1', '0'],
  ['enabled', 'disabled'],
  ['active', 'inactive'],
];

/** Words before the one that a boolean is named for. */
const AUXILIARY = /^(?:is|has|was|are|be)_/;

/**
 * The pairs of values between a boolean and texts of which one has its name: `urgent`, and `priority` with `routine` and `urgent`. Of several
 * others of V2, the one with the contrary name is false (`paid`, and `PAID`, `UNPAID` and `PART_PAID`), in responses all of them.
 */
export function wordPairs(
  old: NamedShape,
  young: NamedShape,
  isResponse = false,
): readonly (readonly [FoundValue, FoundValue])[] | undefined {
  const [flag, listed] = isBoolean(old.shape) ? [old, young.shape] : [young, old.shape];
  if (!isBoolean(flag.shape) || listed.values.length < 2) return undefined;
  const name = plainName(wordsOf(flag.name).join('_').replace(AUXILIARY, ''));
  const isNamed = (value: FoundValue): boolean => typeof value === 'string' && plainName(value) === name;
  const yes = listed.values.filter(isNamed);
  const others = listed.values.filter((value) => !yes.includes(value));
  const isContrary = (value: FoundValue): boolean => areContrary(flag.name, String(value));
  const no = others.length === 1 ? others : flag === old ? others.filter(isContrary) : [];
  if (yes.length !== 1 || no.length !== 1) return undefined;
  const words = [...yes, ...(isResponse ? others : no)];
  return words.map((value) => {
    const pair = [yes.includes(value), value] as const;
    return flag === old ? pair : [pair[1], pair[0]];
  });
}

function isBoolean({ types }: Shape): boolean {
  return types.size === 1 && types.has('boolean');
}

/** The pairs of values between a boolean of one version and two listed values of the other version that mean yes and no. */
export function booleanPairs(
  v1: Shape,
  v2: Shape,
): readonly (readonly [FoundValue, FoundValue])[] | undefined {
  if (isBoolean(v1) === isBoolean(v2)) return undefined;
  const listed = isBoolean(v1) ? v2 : v1;
  for (const [yes, no] of YES_AND_NO) {
    const find = (word: string): FoundValue | undefined =>
      listed.values.find((value) => typeof value !== 'boolean' && String(value).toLowerCase() === word);
    const [one, other] = [find(yes), find(no)];
    if (one === undefined || other === undefined || listed.values.length !== 2) continue;
    return isBoolean(v1)
      ? [
          [true, one],
          [false, other],
        ]
      : [
          [one, true],
          [other, false],
        ];
  }
  return undefined;
}

export function addMap(name: string, v1: Shape, v2: Shape, path: Path, work: Work): void {
  const map = findValueMap(v1.values, v2.values);
  if (work.isResponse === true && v1.values.length > 0) {
    const fresh = map?.fresh ?? v2.values.filter((value) => !v1.values.includes(value));
    askValues(
      fresh,
      [...path, name],
      work,
      (values) => `V2 returns ${values}, which V1 never returned. Which values of V1 do they mean?`,
    );
  }
  if (map === undefined) return;
  const { spelled, guessed, left } = map;
  for (const { pairs, confidence, reasons } of [spelled, guessed]) {
    if (pairs.length === 0) continue;
    const found = { rule: 'map', in: path, member: name, values: pairs } as const;
    const doubt = pairs === guessed.pairs ? 'a value that means something else would change' : undefined;
    addFinding({ found, confidence, evidence: reasons.join('; '), doubt, old: work.old }, work);
  }
  if (work.isResponse === true) return;
  askValues(
    left,
    [...path, name],
    work,
    (values) => `V1 allows ${values}, V2 does not. Which values of V2 do they mean?`,
  );
}

/** Asks about values that only one version has; of a long list, it names the first ones. */
function askValues(
  values: readonly FoundValue[],
  path: Path,
  { questions, isResponse }: Work,
  words: (values: string) => string,
): void {
  const own = [...new Set(values)];
  const texts = own.map((value) => JSON.stringify(value));
  if (texts.length === 0) return;
  const more = texts.length - MAX_VALUES;
  const named = `${texts.slice(0, MAX_VALUES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const list = isResponse === true ? 'response' : 'request';
  questions.push({ path, text: words(named), open: { list, at: path, values: own } });
}

/** Maximum values that a question names. */
const MAX_VALUES = 20;

/** The values of an enumeration that differ between the versions. */
interface ValueMap {
  /** Pairs that differ in spelling only. */
  readonly spelled: ValuePairs;
  /** Pairs that are likely: a wrong pair changes what a request means. */
  readonly guessed: ValuePairs;
  /** Those of the guessed pairs that only the places of values show. */
  readonly placed: ValuePairs['pairs'];
  /** Values of V1 without a value in V2. */
  readonly left: readonly FoundValue[];
  /** Values of V2 without a value in V1. */
  readonly fresh: readonly FoundValue[];
}

/** Pairs of values of V1 and V2 with the same meaning. */
interface ValuePairs {
  readonly pairs: (readonly [from: FoundValue, to: FoundValue])[];
  confidence: number;
  readonly reasons: string[];
}

/** The evidence for pairs of values that only their order shows. */
export const SAME_PLACES = 'the values have the same places in lists of the same length';

/** Pairs the values that only V1 lists with those that only V2 lists; undefined when V2 lists all of V1's, or one lists none. */
export function findValueMap(v1: readonly FoundValue[], v2: readonly FoundValue[]): ValueMap | undefined {
  if (v1.length === 0 || v2.length === 0) return undefined;
  const spelled: ValuePairs = { pairs: [], confidence: 1, reasons: [] };
  const guessed: ValuePairs = { pairs: [], confidence: 1, reasons: [] };
  let old = v1.filter((value) => !v2.includes(value));
  let young = v2.filter((value) => !v1.includes(value));
  if (old.length === 0) return undefined;
  const pairUp = (
    into: ValuePairs,
    isPair: (one: FoundValue, other: FoundValue) => boolean,
    weight: number,
    reason: string,
  ): void => {
    const paired: FoundValue[] = [];
    for (const value of old) {
      const isLikePair: typeof isPair = (one, other) => isSameOrder(one, other) && isPair(one, other);
      const partners = young.filter((other) => isLikePair(value, other));
      const [partner] = partners;
      const rivals = old.filter((other) => partner !== undefined && isLikePair(other, partner));
      if (partner === undefined || partners.length > 1 || rivals.length > 1) continue;
      into.pairs.push([value, partner]);
      paired.push(value);
      young = young.filter((other) => other !== partner);
      into.confidence = Math.min(into.confidence, weight);
      if (!into.reasons.includes(reason)) into.reasons.push(reason);
    }
    old = old.filter((value) => !paired.includes(value));
  };
  const sameType = (one: FoundValue, other: FoundValue): boolean => typeof one === typeof other;
  pairUp(
    spelled,
    (one, other) => sameType(one, other) && spelling(one) === spelling(other),
    0.95,
    'the values differ in case and separators',
  );
  // If the short form of a value is at another place, the places are no evidence.
  const isOrdered = old.every((one) => {
    const short = young.filter((other) => isShortFor(one, other));
    return short.length !== 1 || v1.indexOf(one) === v2.indexOf(short[0] ?? '');
  });
  if (!isOrdered) pairUp(guessed, isShortFor, 0.75, 'one value is short for the other');
  const placed: ValuePairs['pairs'] = [];
  if (v1.length === v2.length && isOrdered) {
    const before = guessed.pairs.length;
    const isRetyped = v1.every((one) => v2.every((other) => !sameType(one, other)));
    const isSamePlace = (one: FoundValue, other: FoundValue): boolean =>
      v1.indexOf(one) === v2.indexOf(other);
    pairUp(
      guessed,
      (one, other) => (isRetyped || sameType(one, other)) && isSamePlace(one, other),
      0.85,
      SAME_PLACES,
    );
    placed.push(...guessed.pairs.slice(before));
  }
  const isAlike = (one: FoundValue, other: FoundValue): boolean =>
    nameSimilarity(String(one), String(other)) >= 0.75;
  pairUp(guessed, isAlike, 0.7, 'the values are similar');
  pairUp(guessed, isInitialOf, 0.7, 'one value is the first letter of the other');
  if (old.length === 1 && young.length === 1)
    pairUp(guessed, sameType, 0.75, 'one value is gone and one is new');
  return { spelled, guessed, placed, left: old, fresh: young };
}

/** A value by which a list is sorted, as a text: the field, and whether it begins with the last. */
export interface SortOrder {
  readonly field: string;
  readonly isDown: boolean;
}

/** The order that a value such as `-created_at`, `name:desc` or `name_asc` tells; undefined for one that tells none. */
export function orderIn(value: string): SortOrder | undefined {
  const signed = /^(?<sign>[+-])(?<field>[A-Za-z].*)$/.exec(value)?.groups;
  if (signed !== undefined) return { field: signed['field'] ?? '', isDown: signed['sign'] === '-' };
  const worded = /^(?<field>\w.*)[:. _-](?<word>asc|desc)(?:ending)?$/i.exec(value)?.groups;
  return worded && { field: worded['field'] ?? '', isDown: /^d/i.test(worded['word'] ?? '') };
}

/** False for two values of which only one tells that a list begins with the last: `-created_at` is not `createdAt`. */
function isSameOrder(one: FoundValue, other: FoundValue): boolean {
  const [first, second] = [one, other].map((value) => orderIn(String(value))?.isDown === true);
  return first === second;
}

/** True if one value is the first letter of the other. */
function isInitialOf(one: FoundValue, other: FoundValue): boolean {
  const [short = '', long = ''] = [one, other]
    .map((value) => spelling(value))
    .toSorted((first, second) => first.length - second.length);
  return short.length === 1 && long.length > 1 && long.startsWith(short);
}

/** True if one value is short for the other: it has some of its letters in order, from the first on. `DLVY` is short for `DeliveryTo`. */
function isShortFor(one: FoundValue, other: FoundValue): boolean {
  const [short = '', long = ''] = [one, other]
    .map((value) => spelling(value))
    .toSorted((first, second) => first.length - second.length);
  if (short.length < 2 || short.length === long.length || short[0] !== long[0]) return false;
  let at = 0;
  for (const letter of long) if (letter === short[at]) at += 1;
  return at === short.length;
}

/** A value without case and separators of words; signs, and characters between digits, stay, because they have a meaning. */
function spelling(value: FoundValue): string {
  return String(value)
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replaceAll(/(?<=\p{L})[\s_-]+(?=[\p{L}\d])|(?<=\d)[\s_-]+(?=\p{L})/gu, '');
}

/** The number of values that the other list has as well, apart from case and separators. */
export function commonSpellings(values: readonly FoundValue[], others: readonly FoundValue[]): number {
  const spelled = new Set(others.map(spelling));
  return values.filter((value) => spelled.has(spelling(value))).length;
}
