const nothing = new Uint8Array(0);
/** Bytes of the first buffer that parts are copied into. */
const FIRST_BUFFER_BYTES = 1024;

/**
 * Received parts in one buffer that grows: they take what they hold, and at most twice that, in however many parts they came. Kept
 * one by one, a part of one byte takes 400.
 */
export class PartBuffer {
  /** Bytes that were received. */
  length = 0;
  private readonly expected: number;
  private bytes: Uint8Array = nothing;

  /** `expected` is how many bytes there will be, where that is known: a hint, and never taken at its word. */
  constructor(expected = 0) {
    this.expected = expected;
  }

  /** Adds a part, and returns how many more bytes of memory are held. */
  add(part: Uint8Array): number {
    const { bytes, length } = this;
    const needed = length + part.length;
    this.length = needed;
    if (length === 0 && part.length * 2 >= part.buffer.byteLength) {
      this.bytes = part;
      return part.length;
    }
    if (needed > bytes.length || length === 0) {
      const most = this.expected >= needed ? this.expected : Infinity;
      this.bytes = new Uint8Array(Math.max(Math.min(needed * 2, most), FIRST_BUFFER_BYTES));
      this.bytes.set(bytes.subarray(0, length));
    }
    this.bytes.set(part, length);
    return this.bytes.length - bytes.length;
  }

  /** Everything that was received; the buffer begins anew. */
  take(): Uint8Array {
    const whole = this.bytes.subarray(0, this.length);
    this.bytes = nothing;
    this.length = 0;
    return whole;
  }
}
