const empty = new Uint8Array(0);
/** Size of the first buffer that chunks are copied into. */
const FIRST_BUFFER_BYTES = 1024;
/** Size in bytes of a lent first chunk from which the buffer has room for as much again: it is the beginning of a large body. */
const LARGE_CHUNK_BYTES = 32 * 1024;

/**
 * Collects the chunks of a body in one growing buffer. However many chunks there are, they use at most one and a half times their
 * size: kept separately, a chunk of one byte takes 400.
 */
export class ByteCollector {
  /** Bytes added so far. */
  length = 0;
  private readonly expected: number;
  private bytes: Uint8Array = empty;

  /** `expected` is the expected total in bytes, where it is known; only a hint, since it may be wrong. */
  constructor(expected = 0) {
    this.expected = expected;
  }

  /**
   * Adds a chunk and returns the number of additional bytes of memory held. A first chunk that fills most of its own buffer is
   * kept without a copy, so the collector must own it from then on, unless it is lent.
   */
  add(part: Uint8Array, isLent = false): number {
    const { bytes, length } = this;
    const needed = length + part.length;
    this.length = needed;
    if (length === 0 && isLent && (part.length < LARGE_CHUNK_BYTES || this.expected <= part.length)) {
      this.bytes = new Uint8Array(part);
      return part.length;
    }
    if (length === 0 && !isLent && part.length * 2 > part.buffer.byteLength) {
      this.bytes = part;
      return part.length;
    }
    if (needed > bytes.length) {
      const limit = this.expected >= needed ? this.expected : Infinity;
      this.bytes = new Uint8Array(Math.max(Math.min(Math.ceil(needed * 1.5), limit), FIRST_BUFFER_BYTES));
      this.bytes.set(bytes.subarray(0, length));
    }
    this.bytes.set(part, length);
    return this.bytes.length - bytes.length;
  }

  /** Returns everything that was added; the collector is then empty and starts with a new buffer. */
  take(): Uint8Array {
    const whole = this.bytes.subarray(0, this.length);
    this.bytes = empty;
    this.length = 0;
    return whole;
  }
}

/** Concatenates the chunks into a buffer of their own. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
