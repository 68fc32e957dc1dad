const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the offset behind the closing quote of the string at `at`, or `end` where it has none. Nothing else of it is checked. */
export function stringEnd(bytes: Uint8Array, at: number, end: number): number {
  let i = at + 1;
  while (i < end) {
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    i += byte === BACKSLASH ? 2 : 1;
  }
  return end;
}
