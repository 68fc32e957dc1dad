import { NO_KEY } from '../tally/tally.ts';
import { DAY_MS } from '../tally/time-slots.ts';
import type { ClientRhythm } from './rhythm.ts';

/** A key that seems to have taken the place of another. */
export interface RotatedKey {
  /** Client hash of the key that is used no more. */
  readonly old: string;
  /** Client hash of the one that is used instead. */
  readonly young: string;
  /** Last use of the old key and first use of the young one, milliseconds since 1970. */
  readonly last: number;
  readonly first: number;
}

/** Time for which both keys of a client may be in use: its instances are deployed one after the other. */
const OVERLAP_MS = 2 * DAY_MS;

/** The longest time between both keys, for a client that comes often; a rare one may pause for its longest pause. */
const LEAST_GAP_MS = 2 * DAY_MS;

/** Least likeness of the hours of the day, as the cosine of both profiles. */
const LEAST_LIKENESS = 0.8;

/** Least share of operations that both keys have in common. */
const LEAST_OPERATIONS = 0.75;

/** Requests of each key below which nothing is said. */
const LEAST_REQUESTS = 5;

/**
 * Pairs of keys of which one ends where the other begins, with the same operations at the same hours. A key that could be paired
 * with several is in no pair: which one is not known.
 */
export function rotatedKeys(rhythms: ReadonlyMap<string, ClientRhythm>): readonly RotatedKey[] {
  const all = [...rhythms].filter(
    ([client, { requests }]) => client !== NO_KEY && requests >= LEAST_REQUESTS,
  );
  const byFirst = all.toSorted(([, one], [, other]) => one.first - other.first);
  const end = Math.max(...all.map(([, { last }]) => last));
  const pairs: RotatedKey[] = [];
  for (const [old, before] of all) {
    const gap = Math.max(LEAST_GAP_MS, 1.5 * longestPause(before));
    // Still in use: a pause of its own is no end.
    if (end - before.last < gap) continue;
    let at = firstFrom(byFirst, before.last - OVERLAP_MS);
    for (; at < byFirst.length; at += 1) {
      const [young, after] = byFirst[at] ?? [];
      if (young === undefined || after === undefined || after.first > before.last + gap) break;
      if (young === old || after.first <= before.first) continue;
      if (
        operationsInCommon(before, after) < LEAST_OPERATIONS ||
        hoursInCommon(before, after) < LEAST_LIKENESS
      )
        continue;
      pairs.push({ old, young, last: before.last, first: after.first });
    }
  }
  const olds = timesNamed(pairs.map(({ old }) => old));
  const youngs = timesNamed(pairs.map(({ young }) => young));
  return pairs.filter(({ old, young }) => olds.get(old) === 1 && youngs.get(young) === 1);
}

function firstFrom(byFirst: readonly (readonly [string, ClientRhythm])[], time: number): number {
  let [low, high] = [0, byFirst.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((byFirst[middle]?.[1].first ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function timesNamed(names: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  return times;
}

function longestPause({ cells }: ClientRhythm): number {
  let before: number | undefined;
  let longest = 0;
  for (const cell of cells.values()) {
    if (before !== undefined) longest = Math.max(longest, cell - before);
    before = cell;
  }
  return longest * 900_000;
}

function operationsInCommon({ operations: one }: ClientRhythm, { operations: other }: ClientRhythm): number {
  const common = [...one].filter((operation) => other.has(operation)).length;
  const all = one.size + other.size - common;
  return all === 0 ? 1 : common / all;
}

function hoursInCommon({ hours: one }: ClientRhythm, { hours: other }: ClientRhythm): number {
  let product = 0;
  let [lengthOfOne, lengthOfOther] = [0, 0];
  for (let hour = 0; hour < 24; hour += 1) {
    const [a, b] = [one[hour] ?? 0, other[hour] ?? 0];
    product += a * b;
    lengthOfOne += a * a;
    lengthOfOther += b * b;
  }
  return product / Math.sqrt(lengthOfOne * lengthOfOther);
}
