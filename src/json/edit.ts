import type { Slab } from './tape.ts';

/** An edit against the original bytes: `insert` replaces the bytes from `start` up to `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly insert: Uint8Array;
}

/** Copies of up to this many bytes are faster in a loop than through `TypedArray.set`, measured on Node 24. */
const MAX_LOOP_COPY_BYTES = 32;

/**
 * Applies `edits` to `bytes` and returns the result, in memory from `slab` or, if it is large, from `larger`; without a slab, in new
 * memory. Throws if edits are out of order, overlap or lie outside the bytes: that is a bug of the caller, and the result would be wrong.
 */
export function applyEdits(
  bytes: Uint8Array,
  edits: readonly Edit[],
  slab?: Slab,
  larger?: (bytes: number) => Uint8Array,
): Uint8Array {
  let length = bytes.length;
  let last = 0;
  for (const { start, end, insert } of edits) {
    if (start < last || end < start || end > bytes.length)
      throw new Error(`An edit of ${start} to ${end} is not between ${last} and ${bytes.length}.`);
    last = end;
    length += insert.length - (end - start);
  }
  const out = slab?.take(length, larger) ?? new Uint8Array(length);
  let from = 0;
  let at = 0;
  for (const edit of edits) {
    at = copyBytes(bytes, from, edit.start, out, at);
    at = copyBytes(edit.insert, 0, edit.insert.length, out, at);
    from = edit.end;
  }
  copyBytes(bytes, from, bytes.length, out, at);
  return out;
}

/** Copies the bytes from `start` up to `end` into `target` at `at`; returns the offset after them. */
function copyBytes(source: Uint8Array, start: number, end: number, target: Uint8Array, at: number): number {
  if (end - start > MAX_LOOP_COPY_BYTES) {
    target.set(source.subarray(start, end), at);
    return at + end - start;
  }
  let to = at;
  for (let i = start; i < end; i += 1) {
    target[to] = source[i] ?? 0;
    to += 1;
  }
  return to;
}
