import { newMemory } from '../../../http/byte-collector.ts';

/** Bytes up to which a kept body has memory that it shares with others of its kind. */
const SMALL_BYTES = 4 * 1024;

/** A request body that has arrived whole. It may be lent at first: in the memory of a read, which the next one writes to. */
export class WholeBody {
  bytes: Uint8Array;
  private isLent: boolean;

  constructor(bytes: Uint8Array, isLent: boolean) {
    this.bytes = bytes;
    this.isLent = isLent;
  }

  /** Copies a lent body; returns the buffer of `memory` that the copy is in, if it is in one. */
  keep(memory = newMemory): Uint8Array | undefined {
    if (!this.isLent) return undefined;
    this.isLent = false;
    const { bytes } = this;
    if (bytes.length <= SMALL_BYTES) {
      this.bytes = Buffer.from(bytes);
      return undefined;
    }
    const buffer = memory.take(bytes.length);
    buffer.set(bytes);
    this.bytes = buffer.subarray(0, bytes.length);
    return buffer;
  }
}
