import { parsedJson } from '../../rewrite-log/attributes.ts';

/** A count with the first and last time. */
export interface Span {
  count: number;
  first: string;
  last: string;
}

/** Maximum number of distinct texts; beyond it the cache is reset. */
const CAPACITY = 20_000;
const BUCKETS = 1 << 13;

/** Texts that are compared first: old clients keep sending a few shapes. */
const RECENT = 16;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function firstUse(time: string): Span {
  return { count: 1, first: time, last: time };
}

/** Adds a use to a span. */
export function recordUse(span: Span, time: string): void {
  span.count += 1;
  // Almost always the millisecond of the last use, or a later one.
  if (time === span.last) return;
  if (time > span.last) span.last = time;
  if (span.first === '' || time < span.first) span.first = time;
}

/** Counts a use by name, for at most `limit` names; returns whether it was counted. */
export function countUse(spans: Map<string, Span>, name: string, time: string, limit: number): boolean {
  const known = spans.get(name);
  if (known !== undefined) recordUse(known, time);
  else if (spans.size < limit) spans.set(name, firstUse(time));
  else return false;
  return true;
}

/** A value with the bytes that it was parsed from. */
interface KnownSpan<Value> {
  readonly bytes: Uint8Array;
  /** Undefined when the value has another type. */
  readonly value: Value | undefined;
}

/** Caches parsed JSON values by their bytes: a repeated text is parsed once, and its value is shared. */
export class SpanCache<Value> {
  private readonly isValue: (value: unknown) => value is Value;
  private buckets = emptyBuckets<Value>();
  private recent: KnownSpan<Value>[] = [];
  private size = 0;

  constructor(isValue: (value: unknown) => value is Value) {
    this.isValue = isValue;
  }

  /** Returns the value of the JSON text from `start` up to `end`; undefined when it has another type. */
  of(bytes: Uint8Array, start: number, end: number): Value | undefined {
    return this.find(bytes, start, end).value;
  }

  /**
   * Returns a recent value whose text begins at `start`. JSON text in brackets delimits itself, so a comparison is enough, which
   * is faster than scanning.
   */
  begunAt(bytes: Uint8Array, start: number, limit: number): KnownSpan<Value> | undefined {
    const recent = this.recent;
    for (let k = 0; k < recent.length; k += 1) {
      const known = recent[k];
      if (known === undefined || start + known.bytes.length > limit || !isAt(bytes, start, known.bytes))
        continue;
      if (k > 0) {
        recent[k] = recent[k - 1] ?? known;
        recent[k - 1] = known;
      }
      return known;
    }
    return undefined;
  }

  /** Like `of`, and makes the value available to `begunAt`. */
  remember(bytes: Uint8Array, start: number, end: number): KnownSpan<Value> {
    const known = this.find(bytes, start, end);
    if (this.recent.length >= RECENT) this.recent.pop();
    this.recent.push(known);
    return known;
  }

  private find(bytes: Uint8Array, start: number, end: number): KnownSpan<Value> {
    const slot = hash(bytes, start, end) & (BUCKETS - 1);
    const bucket = this.buckets[slot] ?? [];
    for (const known of bucket) {
      if (known.bytes.length === end - start && isAt(bytes, start, known.bytes)) return known;
    }
    if (this.size >= CAPACITY) {
      this.buckets = emptyBuckets();
      this.recent = [];
      this.size = 0;
    }
    // Not `slice`: on Node's `Buffer` it returns a view, and the memory is reused for the next chunk of a log.
    const own = new Uint8Array(bytes.subarray(start, end));
    const value = parsedJson(decoder.decode(own));
    const known = { bytes: own, value: this.isValue(value) ? value : undefined };
    this.buckets[slot]?.push(known);
    this.size += 1;
    return known;
  }
}

function emptyBuckets<Value>(): KnownSpan<Value>[][] {
  return Array.from({ length: BUCKETS }, () => []);
}

/** True if `text` is in `bytes` at `start`. */
export function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  const { length } = text;
  for (let k = 0; k < length; k += 1) {
    if (bytes[start + k] !== text[k]) return false;
  }
  return true;
}

/** Hashes at most twelve bytes, most of them near the end: equality is checked anyway. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let sum = end - start;
  const step = Math.max(1, sum >> 2);
  for (let i = start + 1; i < end; i += step) sum = Math.imul(sum, 31) + (bytes[i] ?? 0);
  for (let i = Math.max(start, end - 8); i < end; i += 1) sum = Math.imul(sum, 31) + (bytes[i] ?? 0);
  return sum ^ (sum >>> 13);
}
