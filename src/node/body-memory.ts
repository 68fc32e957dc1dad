import type { CollectorMemory } from '../http/byte-collector.ts';

/** Sizes in bytes of the buffers that are used again. */
const SIZES = [16, 32, 64, 128, 256, 512].map((kibibytes) => kibibytes * 1024);
/** The largest of them. */
export const LARGEST_SHARED_BYTES = Math.max(...SIZES);
/** Maximum bytes of buffers that wait for their next use. */
const KEPT_BYTES = 8 * 1024 * 1024;

/**
 * Memory for bodies on their way, used again and again. New memory for each of them costs more than reading and writing it: V8 looks
 * for what is free among all objects each time that some twenty megabytes of buffers are new.
 */
export class BodyMemory implements CollectorMemory {
  private readonly free = new Map<number, Buffer[]>(SIZES.map((size) => [size, []]));
  private readonly taken = new WeakSet<Buffer>();
  private kept = 0;

  /** Returns a buffer of at least so many bytes, with whatever it held before. */
  take(bytes: number): Buffer {
    const size = bytes < (SIZES[0] ?? 0) / 2 ? undefined : SIZES.find((each) => each >= bytes);
    if (size === undefined) return Buffer.allocUnsafeSlow(bytes);
    const kept = this.free.get(size)?.pop();
    if (kept !== undefined) this.kept -= size;
    const buffer = kept ?? Buffer.allocUnsafeSlow(size);
    this.taken.add(buffer);
    return buffer;
  }

  /** Takes back a buffer that nobody reads or writes any more; any other is ignored. */
  give(buffer: Uint8Array): void {
    if (!Buffer.isBuffer(buffer) || !this.taken.delete(buffer)) return;
    if (this.kept + buffer.length > KEPT_BYTES) return;
    this.kept += buffer.length;
    this.free.get(buffer.length)?.push(buffer);
  }
}
