const LF = 0x0a;
const CR = 0x0d;
/** Maximum digits of a plain size; other readers handle longer ones. */
const MAX_DIGITS = 8;

/**
 * Reads the lines before chunks that contain only a size, as most do (RFC 9112 §7.1): a fast path, because chunks may have one byte each.
 */
export class PlainChunkSize {
  /** The size of the chunk in bytes, once `read` returned true. */
  value = 0;
  /** Offset of the chunk after the line, once `read` returned true. */
  next = 0;

  /** Reads the line at `at`; false if it is not complete, has extensions or more than 8 digits, or is not the line of a chunk. */
  read(bytes: Uint8Array, at: number): boolean {
    let value = 0;
    let end = at;
    for (let digit = hexValue(bytes[at]); digit >= 0 && end - at < MAX_DIGITS;) {
      value = value * 16 + digit;
      end += 1;
      digit = hexValue(bytes[end]);
    }
    if (end === at || bytes[end] !== CR || bytes[end + 1] !== LF) return false;
    this.value = value;
    this.next = end + 2;
    return true;
  }
}

/** The value of a hexadecimal digit; -1 for any other byte, and after the end. */
export function hexValue(code: number | undefined): number {
  if (code === undefined) return -1;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
