const BRACE = 0x7b;
const FEED = 0x0a;
const MARK = new TextEncoder().encode('"time":"');
/** Bytes behind the first brace of a line in which its time begins: the first member of an entry, the second of a process line. */
const WITHIN = 64;
/** `2026-11-22T07:00:00.000Z`. */
const LENGTH = 24;

/** Returns the offset after the line that begins at `start`. */
export function lineEnd(bytes: Uint8Array, start: number): number {
  const feed = bytes.indexOf(FEED, start);
  return feed === -1 ? bytes.length : feed + 1;
}

/**
 * Reads the time of the line from `start` up to `end` as a number to compare: later times are larger. Undefined for a line without
 * one. Text before the first brace, such as a container's own time stamp, is skipped.
 */
export function lineTime(bytes: Uint8Array, start: number, end: number): number | undefined {
  const brace = bytes[start] === BRACE ? start : start + bytes.subarray(start, end).indexOf(BRACE);
  if (brace < start) return undefined;
  const last = Math.min(brace + WITHIN, end - MARK.length - LENGTH);
  for (let at = brace + 1; at <= last; at += 1)
    if (isMark(bytes, at)) return comparable(bytes, at + MARK.length);
  return undefined;
}

function isMark(bytes: Uint8Array, at: number): boolean {
  for (let k = 0; k < MARK.length; k += 1) if (bytes[at + k] !== MARK[k]) return false;
  return true;
}

/** Milliseconds of a calendar whose months all have 31 days: in the order of the times, without a date to construct. */
function comparable(bytes: Uint8Array, at: number): number | undefined {
  const day = (number(bytes, at, 4) * 12 + number(bytes, at + 5, 2)) * 31 + number(bytes, at + 8, 2);
  const second =
    (number(bytes, at + 11, 2) * 60 + number(bytes, at + 14, 2)) * 60 + number(bytes, at + 17, 2);
  const time = (day * 86_400 + second) * 1000 + number(bytes, at + 20, 3);
  return Number.isNaN(time) ? undefined : time;
}

function number(bytes: Uint8Array, at: number, digits: number): number {
  let value = 0;
  for (let k = at; k < at + digits; k += 1) {
    const digit = (bytes[k] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}
