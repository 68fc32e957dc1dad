const empty = new Uint8Array(0);
/** Size of the first buffer that chunks are copied into. */
const FIRST_BUFFER_BYTES = 1024;
/** Size in bytes of a borrowed first chunk from which the buffer is twice as large: it is the beginning of a large body. */
const LARGE_CHUNK_BYTES = 32 * 1024;

/** Provides buffers for bodies. */
export interface CollectorMemory {
  /** Returns a buffer of at least so many bytes. */
  acquire(bytes: number): Uint8Array;
  /** Takes back a buffer that is no longer in use. */
  release(buffer: Uint8Array): void;
  /** Takes over the whole buffer of `part` as one of its own; returns it, for `release`. */
  own(part: Uint8Array): Uint8Array;
}

export const newMemory: CollectorMemory = {
  acquire: (bytes) => new Uint8Array(bytes),
  release: () => {},
  own: (part) => part,
};

/**
 * Collects the chunks of a body in one growing buffer. They use at most one and a half times their size, even many small ones: kept
 * separately, a chunk of one byte takes 400 bytes.
 */
export class ByteCollector {
  /** Bytes added so far. */
  length = 0;
  private readonly expected: number;
  private readonly memory: CollectorMemory;
  private bytes: Uint8Array = empty;

  /** `expected` is the expected total in bytes, if known; it is only a hint, and may be wrong. */
  constructor(expected = 0, memory = newMemory) {
    this.expected = expected;
    this.memory = memory;
  }

  /** The buffer with the added bytes and room for more; it must not be released while they are in use. */
  get buffer(): Uint8Array {
    return this.bytes;
  }

  /**
   * Adds a chunk and returns the number of additional bytes of memory held. A first chunk that fills most of its own buffer is
   * kept without a copy, so the collector must own it from then on, unless it is borrowed.
   */
  add(part: Uint8Array, isBorrowed = false): number {
    const { bytes, length } = this;
    // Released memory may have no length any more.
    const before = bytes.length;
    const needed = length + part.length;
    this.length = needed;
    if (length === 0 && !isBorrowed && part.length * 2 > part.buffer.byteLength) {
      this.bytes = part;
      return part.length;
    }
    if (needed > before) {
      this.bytes = this.memory.acquire(this.room(needed, length === 0 && isBorrowed));
      this.bytes.set(bytes.subarray(0, length));
      this.memory.release(bytes);
    }
    this.bytes.set(part, length);
    return this.bytes.length - before;
  }

  /** The size of the next buffer: a borrowed part that may be the whole body gets no more than it needs. */
  private room(needed: number, isFirstBorrowed: boolean): number {
    if (isFirstBorrowed && (needed < LARGE_CHUNK_BYTES || this.expected <= needed)) return needed;
    const limit = this.expected >= needed ? this.expected : Infinity;
    return Math.max(Math.min(Math.ceil(needed * 1.5), limit), FIRST_BUFFER_BYTES);
  }

  /** Returns everything that was added; the collector is then empty and starts with a new buffer. */
  take(): Uint8Array {
    const whole = this.bytes.subarray(0, this.length);
    this.bytes = empty;
    this.length = 0;
    return whole;
  }
}

/** Concatenates the chunks into a new buffer. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The bytes of a text in latin1: one for each character. */
export function latin1Bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** The text of bytes in latin1. */
export function latin1Text(bytes: Uint8Array): string {
  let text = '';
  // In parts, because a call takes a limited number of arguments.
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}
