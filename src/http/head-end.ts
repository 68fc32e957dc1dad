const LF = 0x0a;
const CR = 0x0d;

/**
 * Offset of the CRLF CRLF that ends a head (RFC 9112 §2.1), from an offset on; -1 where there is none. Most of the bytes are skipped: one
 * that is neither CR nor LF cannot be among the four.
 */
export function findHeadEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 3; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    if (byte > CR) at += 4;
    else if (byte === CR) at += 1;
    else if (byte !== LF) at += 4;
    else if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at - 3;
    else at += 2;
  }
  return -1;
}
