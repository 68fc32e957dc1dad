import type { FoundValue } from './finding.ts';
import { nameSimilarity } from './name-similarity.ts';

/** The values of an enumeration that V2 has otherwise. */
export interface ValueMap {
  /** Values that V2 spells otherwise. */
  readonly spelled: ValuePairs;
  /** Values that V2 may call otherwise: a wrong pair changes what a request says. */
  readonly guessed: ValuePairs;
  /** Values that V1 has and for which V2 has none. */
  readonly left: readonly FoundValue[];
}

/** Values of V1 with those of V2 in their place. */
interface ValuePairs {
  readonly pairs: (readonly [from: FoundValue, to: FoundValue])[];
  confidence: number;
  readonly reasons: string[];
}

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
      const partners = young.filter((other) => isPair(value, other));
      const [partner] = partners;
      const rivals = old.filter((other) => partner !== undefined && isPair(other, partner));
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
  if (v1.length === v2.length) {
    const isSamePlace = (one: FoundValue, other: FoundValue): boolean =>
      v1.indexOf(one) === v2.indexOf(other);
    pairUp(
      guessed,
      (one, other) => sameType(one, other) && isSamePlace(one, other),
      0.85,
      'the values have the same places in lists of the same length',
    );
  }
  const isAlike = (one: FoundValue, other: FoundValue): boolean =>
    nameSimilarity(String(one), String(other)) >= 0.75;
  pairUp(guessed, isAlike, 0.7, 'the values are alike');
  if (old.length === 1 && young.length === 1)
    pairUp(guessed, sameType, 0.75, 'one value is gone and one is new');
  return { spelled, guessed, left: old };
}

/** A value without case and without separators of words; signs, and what stands between digits, mean something. */
function spelling(value: FoundValue): string {
  return String(value)
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replaceAll(/(?<=\p{L})[\s_-]+(?=[\p{L}\d])|(?<=\d)[\s_-]+(?=\p{L})/gu, '');
}
