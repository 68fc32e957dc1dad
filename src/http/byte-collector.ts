const nothing = new Uint8Array(0);
/** Bytes of the first buffer that parts are copied into. */
const FIRST_BUFFER_BYTES = 1024;

/**
 * The parts of a body in one buffer that grows. However many parts there are, they take what they hold, and at most twice that: kept
 * one by one, a part of one byte takes 400.
 */
export class ByteCollector {
  /** Bytes that were added. */
  length = 0;
  private readonly expected: number;
  private bytes: Uint8Array = nothing;

  /** `expected` is how many bytes there will be, where that is known: a hint, and never taken at its word. */
  constructor(expected = 0) {
    this.expected = expected;
  }

  /**
   * Adds a part, and returns how many more bytes of memory are held. A first part that fills most of its own buffer is kept as it is,
   * so it must be the collector's from then on.
   */
  add(part: Uint8Array): number {
    const { bytes, length } = this;
    const needed = length + part.length;
    this.length = needed;
    if (length === 0 && part.length * 2 > part.buffer.byteLength) {
      this.bytes = part;
      return part.length;
    }
    if (needed > bytes.length) {
      const most = this.expected >= needed ? this.expected : Infinity;
      this.bytes = new Uint8Array(Math.max(Math.min(needed * 2, most), FIRST_BUFFER_BYTES));
      this.bytes.set(bytes.subarray(0, length));
    }
    this.bytes.set(part, length);
    return this.bytes.length - bytes.length;
  }

  /** Everything that was added; the collector is empty then, and begins with a new buffer. */
  take(): Uint8Array {
    const whole = this.bytes.subarray(0, this.length);
    this.bytes = nothing;
    this.length = 0;
    return whole;
  }
}

/** The parts behind each other, in a buffer of their own. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
