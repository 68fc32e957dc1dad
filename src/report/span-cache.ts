import { parsedJson } from '../rewrite-log/parsed-json.ts';

/** A value with the bytes it was parsed from. */
export interface KnownSpan<Value> {
  readonly bytes: Uint8Array;
  /** Undefined when it is not what it should be. */
  readonly value: Value | undefined;
}

/** Different texts that are kept; beyond it the cache starts again. */
const CAPACITY = 20_000;
const BUCKETS = 1 << 13;
/** Texts that are compared before anything else; old clients send few shapes, again and again. */
const RECENT = 16;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Parsed JSON values by their bytes: what comes again is parsed once, and shared. */
export class SpanCache<Value> {
  private readonly isValue: (value: unknown) => value is Value;
  private buckets = emptyBuckets<Value>();
  private recent: KnownSpan<Value>[] = [];
  private size = 0;

  constructor(isValue: (value: unknown) => value is Value) {
    this.isValue = isValue;
  }

  /** Returns the value of the JSON text from `start` up to `end`; undefined when it is not what it should be. */
  of(bytes: Uint8Array, start: number, end: number): Value | undefined {
    return this.find(bytes, start, end).value;
  }

  /**
   * Returns a value seen lately whose text begins at `start`. A JSON text in brackets ends where it ends, so that a comparison is
   * enough, and it is faster than a walk.
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

  /** As `of`, and has `begunAt` find it from now on. */
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
    // Not `slice`: that of Node's Buffer is a view, and the memory is used again for the next piece of a log.
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

function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  const { length } = text;
  for (let k = 0; k < length; k += 1) {
    if (bytes[start + k] !== text[k]) return false;
  }
  return true;
}

/** Looks at twelve bytes at most, most of them near the end: equality is checked anyway. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let sum = end - start;
  const step = Math.max(1, sum >> 2);
  for (let i = start + 1; i < end; i += step) sum = Math.imul(sum, 31) + (bytes[i] ?? 0);
  for (let i = Math.max(start, end - 8); i < end; i += 1) sum = Math.imul(sum, 31) + (bytes[i] ?? 0);
  return sum ^ (sum >>> 13);
}
