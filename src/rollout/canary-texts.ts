import type { OwnText } from './shared-state.ts';
import type { TextSums } from './shared-texts.ts';

/** Number of parts of a window. */
export const WINDOW_PARTS = 12;

/** Counts of a canary's stage: in total, and for the last parts of its window, numbered by the clock of the counting process. */
export interface StageCounts {
  readonly windowMs: number;
  /** The part of the latest count. */
  readonly at: number;
  readonly parts: ReadonlyMap<number, readonly number[]>;
  readonly stage: readonly number[];
}

/** Number of the part of a window at `now` (milliseconds). */
export function partOf(now: number, windowMs: number): number {
  return Math.floor((now / windowMs) * WINDOW_PARTS);
}

/**
 * Prints counts as lines of numbers: the window and its part, then each part, then the whole stage, as positions and counts other than 0.
 */
export function printCounts({ windowMs, at, parts, stage }: StageCounts): string {
  return [
    `${windowMs} ${at}`,
    ...[...parts].map(([part, sums]) => `${part}${places(sums)}`),
    `stage${places(stage)}`,
  ].join('\n');
}

function places(sums: readonly number[]): string {
  return sums.map((count, index) => (count === 0 ? '' : ` ${index} ${count}`)).join('');
}

/** Reads counts; undefined if the text has another form. */
export function readCounts(text: string): StageCounts | undefined {
  const [head = '', ...lines] = text.split('\n');
  const [windowMs = 0, at = -1, ...more] = head.split(' ').map(Number);
  const last = lines.pop()?.split(' ');
  if (!(windowMs > 0) || !Number.isSafeInteger(at) || more.length > 0 || last?.[0] !== 'stage')
    return undefined;
  const parts = new Map<number, readonly number[]>();
  for (const line of lines) {
    const [part = Number.NaN, ...pairs] = line.split(' ').map(Number);
    const sums = sumsOf(pairs);
    if (!Number.isSafeInteger(part) || sums === undefined) return undefined;
    parts.set(part, sums);
  }
  const stage = sumsOf(last.slice(1).map(Number));
  return stage && { windowMs, at, parts, stage };
}

/** Maximum places to read of a text, which another program may have written. */
const MAX_PLACES = 1000;

function sumsOf(pairs: readonly number[]): readonly number[] | undefined {
  const sums: number[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const [index = -1, count = -1] = pairs.slice(at, at + 2);
    if (!(index >= 0 && index < MAX_PLACES && count >= 0) || !Number.isSafeInteger(index + count))
      return undefined;
    while (sums.length <= index) sums.push(0);
    sums[index] = (sums[index] ?? 0) + count;
  }
  return sums;
}

/** Adds sums, place by place. */
export function addSums(one: readonly number[], other: readonly number[]): readonly number[] {
  const [long, short] = one.length < other.length ? [other, one] : [one, other];
  return long.map((count, index) => count + (short[index] ?? 0));
}

export function windowSums({ parts }: StageCounts, now: number): readonly number[] {
  let sums: readonly number[] = [];
  for (const [part, counts] of parts) if (part > now - WINDOW_PARTS) sums = addSums(sums, counts);
  return sums;
}

/** The part in which a window ends now, on the clock of the process that printed counts `ageMs` ago. */
export function currentPart({ at, windowMs }: StageCounts, ageMs: number): number {
  return at + Math.floor(ageMs / (windowMs / WINDOW_PARTS));
}

/** Keys of the counts of canaries. */
export const CANARY = 'canary/';

/** How the counts of canaries add up; `time` is the clock of this process, in milliseconds. Other texts are removed with their process. */
export function canarySums(time: () => number): TextSums {
  return {
    add: (own, added) => new Map([...added].map(([key, text]) => [key, sumOf(own(key), text)])),
    adopt: (key, text, ageMs) => (key.startsWith(CANARY) ? adopted(key, text, ageMs, time()) : undefined),
  };
}

function sumOf(own: string | undefined, added: string): string {
  const [one, other] = [own === undefined ? undefined : readCounts(own), readCounts(added)];
  if (other === undefined) return own ?? '';
  if (one === undefined) return added;
  const at = Math.max(one.at, other.at);
  const parts = new Map<number, readonly number[]>();
  for (const counts of [one, other])
    for (const [part, sums] of counts.parts)
      if (part > at - WINDOW_PARTS) parts.set(part, addSums(parts.get(part) ?? [], sums));
  return printCounts({ windowMs: other.windowMs, at, parts, stage: addSums(one.stage, other.stage) });
}

function adopted(key: string, text: string, ageMs: number, now: number): OwnText | undefined {
  const counts = readCounts(text);
  if (counts === undefined) return undefined;
  const at = partOf(now, counts.windowMs);
  const shift = at - currentPart(counts, ageMs);
  const parts = new Map([...counts.parts].map(([part, sums]) => [part + shift, sums]));
  return { key, text: printCounts({ ...counts, at, parts }) };
}
