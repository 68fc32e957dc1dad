/** Returns the offset after the number at `from`, or minus the offset of the offending byte minus one (RFC 8259 section 6). */
export function scanNumber(bytes: Uint8Array, from: number, n: number): number {
  let i = bytes[from] === 0x2d ? from + 1 : from;
  const first = i < n ? (bytes[i] ?? 0) : 0;
  if (!isDigit(first)) return -i - 1;
  i = first === 0x30 ? i + 1 : digits(bytes, i, n);
  if (i < n && bytes[i] === 0x2e) {
    const end = digits(bytes, i + 1, n);
    if (end === i + 1) return -end - 1;
    i = end;
  }
  if (i < n && ((bytes[i] ?? 0) | 0x20) === 0x65) {
    i += 1;
    if (i < n && (bytes[i] === 0x2b || bytes[i] === 0x2d)) i += 1;
    const end = digits(bytes, i, n);
    if (end === i) return -i - 1;
    i = end;
  }
  return i;
}

function digits(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && isDigit(bytes[i] ?? 0)) i += 1;
  return i;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Returns the offset after the literal at `from`, or minus the offset of the offending byte minus one. */
export function scanLiteral(bytes: Uint8Array, from: number, n: number): number {
  const first = from < n ? (bytes[from] ?? 0) : 0;
  if (first === 0x74) return expect4(bytes, from, n, 0x74, 0x72, 0x75, 0x65);
  if (first === 0x66) {
    const end = expect4(bytes, from, n, 0x66, 0x61, 0x6c, 0x73);
    if (end < 0) return end;
    return end < n && bytes[end] === 0x65 ? end + 1 : -end - 1;
  }
  return expect4(bytes, from, n, 0x6e, 0x75, 0x6c, 0x6c);
}

function expect4(
  bytes: Uint8Array,
  from: number,
  n: number,
  a: number,
  b: number,
  c: number,
  d: number,
): number {
  if (from >= n || bytes[from] !== a) return -from - 1;
  if (from + 1 >= n || bytes[from + 1] !== b) return -from - 2;
  if (from + 2 >= n || bytes[from + 2] !== c) return -from - 3;
  if (from + 3 >= n || bytes[from + 3] !== d) return -from - 4;
  return from + 4;
}
