import type { FoundValue } from './finding.ts';
import { isSameName, nameSimilarity } from './name-similarity.ts';

/** The values of an enumeration that V2 spells otherwise. */
export interface ValueMap {
  readonly pairs: readonly (readonly [from: FoundValue, to: FoundValue])[];
  /** Values that V1 has and for which V2 has none. */
  readonly left: readonly FoundValue[];
  readonly confidence: number;
  readonly evidence: string;
}

/** Pairs the values that only V1 lists with those that only V2 lists; undefined when V2 lists all of V1's, or one lists none. */
export function findValueMap(v1: readonly FoundValue[], v2: readonly FoundValue[]): ValueMap | undefined {
  if (v1.length === 0 || v2.length === 0) return undefined;
  const pairs: (readonly [FoundValue, FoundValue])[] = [];
  const reasons: string[] = [];
  let confidence = 1;
  let old = v1.filter((value) => !v2.includes(value));
  let young = v2.filter((value) => !v1.includes(value));
  if (old.length === 0) return undefined;
  const pairUp = (
    isPair: (one: FoundValue, other: FoundValue) => boolean,
    weight: number,
    reason: string,
  ): void => {
    for (const value of old) {
      const partners = young.filter((other) => isPair(value, other));
      const [partner] = partners;
      const rivals = old.filter((other) => partner !== undefined && isPair(other, partner));
      if (partner === undefined || partners.length > 1 || rivals.length > 1) continue;
      pairs.push([value, partner]);
      young = young.filter((other) => other !== partner);
      confidence = Math.min(confidence, weight);
      if (!reasons.includes(reason)) reasons.push(reason);
    }
    old = old.filter((value) => !pairs.some(([from]) => from === value));
  };
  const sameType = (one: FoundValue, other: FoundValue): boolean => typeof one === typeof other;
  pairUp(
    (one, other) => isSameName(String(one), String(other)),
    0.95,
    'the values differ in case and separators',
  );
  if (v1.length === v2.length) {
    const isSamePlace = (one: FoundValue, other: FoundValue): boolean =>
      v1.indexOf(one) === v2.indexOf(other);
    pairUp(
      (one, other) => sameType(one, other) && isSamePlace(one, other),
      0.85,
      'the values have the same places in lists of the same length',
    );
  }
  pairUp((one, other) => nameSimilarity(String(one), String(other)) >= 0.75, 0.7, 'the values are alike');
  if (old.length === 1 && young.length === 1) pairUp(sameType, 0.75, 'one value is gone and one is new');
  return { pairs, left: old, confidence, evidence: reasons.join('; ') };
}
