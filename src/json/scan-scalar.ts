/** Returns the offset behind the number at `from`, or minus the offset of the offending byte minus one (RFC 8259 section 6). */
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

/** Returns the offset behind the literal at `from`, or minus the offset of the offending byte minus one. */
export function scanLiteral(bytes: Uint8Array, from: number, n: number): number {
  const first = from < n ? (bytes[from] ?? 0) : 0;
  const literal = first === 0x74 ? 'true' : first === 0x66 ? 'false' : 'null';
  for (let k = 0; k < literal.length; k += 1) {
    if (from + k >= n || bytes[from + k] !== literal.charCodeAt(k)) return -(from + k) - 1;
  }
  return from + literal.length;
}
