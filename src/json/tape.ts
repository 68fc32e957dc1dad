/**
 * The layout of a tape: one node is eight 32-bit integers, nodes stand in document order, a parent before its
 * children. A node is named by the index of its first integer. Offsets are bytes of the scanned text.
 */
export const NODE_SIZE = 8;

/** `OBJECT`, `ARRAY`, `STRING` or `SCALAR`, plus `ESCAPED_KEY`. */
export const KIND = 0;
/** Where the delimiter before the node starts: white space, then a comma; -1 for the first in its container. */
export const DELIMITER = 1;
/** Where the white space before the node starts, just behind the delimiter or the opening bracket. */
export const LEAD = 2;
/** The opening quote of the key; for what is not a member, where the value starts. */
export const KEY_START = 3;
/** Just behind the closing quote of the key; for what is not a member, where the value starts. */
export const KEY_END = 4;
/** The first byte of the value. */
export const START = 5;
/** Just behind the last byte of the value. */
export const END = 6;
/** The next node in the same container; 0 for the last. */
export const NEXT = 7;

export const OBJECT = 1;
export const ARRAY = 2;
export const STRING = 3;
/** A number, `true`, `false` or `null`. */
export const SCALAR = 4;
/** Added to the kind of a member whose key is spelled with an escape. */
export const ESCAPED_KEY = 8;

/** Returns the first member or element of the container at `node`; 0 when it is empty, or its children are not on the tape. */
export function firstChild(tape: Int32Array, length: number, node: number): number {
  const child = node + NODE_SIZE;
  return child < length && (tape[child + START] ?? 0) < (tape[node + END] ?? 0) ? child : 0;
}
