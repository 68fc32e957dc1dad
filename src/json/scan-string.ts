const PLAIN = 0;
const QUOTE = 1;
const BACKSLASH = 2;
const CONTROL = 3;
const TWO = 4;
const THREE = 5;
const FOUR = 6;
const NEVER = 7;

/** The class of each byte inside a string: plain, a delimiter, or the first of a UTF-8 sequence (RFC 3629 section 4). */
const CLASS = new Uint8Array(256).map((_, byte) => {
  if (byte === 0x22) return QUOTE;
  if (byte === 0x5c) return BACKSLASH;
  if (byte < 0x20) return CONTROL;
  if (byte < 0x80) return PLAIN;
  if (byte >= 0xc2 && byte <= 0xdf) return TWO;
  if (byte >= 0xe0 && byte <= 0xef) return THREE;
  if (byte >= 0xf0 && byte <= 0xf4) return FOUR;
  return NEVER;
});

/** Returns the offset of the first byte at or after `from` that is not a plain ASCII character of a string. */
function skipPlain(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && CLASS[bytes[i] ?? 0] === PLAIN) i += 1;
  return i;
}

/**
 * Reads the rest of a string, starting inside it at `from`. Returns twice the offset after the closing quote, plus one if it
 * contains an escape; for a fault, minus the offset of the offending byte minus one.
 */
export function scanString(bytes: Uint8Array, from: number): number {
  const n = bytes.length;
  let escaped = 0;
  let i = from;
  for (;;) {
    i = skipPlain(bytes, i, n);
    if (i >= n) return -n - 1;
    const kind = CLASS[bytes[i] ?? 0] ?? NEVER;
    if (kind === QUOTE) return (i + 1) * 2 + escaped;
    if (kind === BACKSLASH) {
      escaped = 1;
      const next = scanEscape(bytes, i, n);
      if (next < 0) return next;
      i = next;
      continue;
    }
    const next = kind >= TWO ? scanSequence(bytes, i, n, kind) : 0;
    if (next === 0) return -i - 1;
    i = next;
  }
}

function scanEscape(bytes: Uint8Array, at: number, n: number): number {
  if (at + 1 >= n) return -n - 1;
  switch (bytes[at + 1] ?? 0) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 2;
    case 0x75:
      for (let i = at + 2; i < at + 6; i += 1) {
        if (i >= n) return -n - 1;
        if (!isHexDigit(bytes[i] ?? 0)) return -at - 1;
      }
      return at + 6;
    default:
      return -at - 1;
  }
}

function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** Returns the offset after the well-formed UTF-8 sequence at `at`, or 0 (Unicode table 3-7). */
function scanSequence(bytes: Uint8Array, at: number, n: number, kind: number): number {
  const length = kind - 2;
  if (kind === NEVER || at + length > n) return 0;
  const lead = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let i = at + 2; i < at + length; i += 1) {
    if (((bytes[i] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return at + length;
}
