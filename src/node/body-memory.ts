import type { CollectorMemory } from '../http/byte-collector.ts';
import { IS_NODE } from './runtime.ts';
import type { Socket } from 'node:net';

/** Sizes in bytes of pooled buffers. */
const SIZES = [16, 32, 64, 128, 256, 512].map((kibibytes) => kibibytes * 1024);
/** Maximum bytes of free buffers in the pool. */
const FREE_BYTES = 8 * 1024 * 1024;

/**
 * A pool of buffers for bodies in flight; larger buffers go back to the kernel as soon as they are released. Allocating one for each body
 * takes longer than reading and writing the body: V8 searches its whole heap after about twenty megabytes of new buffers.
 */
export class BodyMemory implements CollectorMemory {
  private readonly free = new Map<number, Buffer[]>(SIZES.map((size) => [size, []]));
  private readonly acquired = new WeakSet<Uint8Array>();
  private freeBytes = 0;

  /** Returns a buffer of at least `bytes` bytes, which may still hold old content. */
  acquire(bytes: number): Buffer {
    if (bytes < (SIZES[0] ?? 0) / 2) return Buffer.allocUnsafeSlow(bytes);
    const size = SIZES.find((each) => each >= bytes) ?? bytes;
    const free = this.free.get(size)?.pop();
    if (free !== undefined) this.freeBytes -= size;
    const buffer = free ?? Buffer.allocUnsafeSlow(size);
    this.acquired.add(buffer);
    return buffer;
  }

  /** Takes back a buffer that is no longer in use. Ignores other buffers, and those moved to another thread. */
  release(buffer: Uint8Array): void {
    if (!Buffer.isBuffer(buffer) || !this.acquired.delete(buffer) || buffer.length === 0) return;
    const sameSize = this.free.get(buffer.length);
    if (sameSize === undefined || this.freeBytes + buffer.length > FREE_BYTES) {
      // Other runtimes may still read bytes that their socket reports as flushed.
      if (IS_NODE && buffer.buffer instanceof ArrayBuffer) buffer.buffer.transfer(0);
      return;
    }
    this.freeBytes += buffer.length;
    sameSize.push(buffer);
  }

  own(part: Uint8Array): Buffer {
    const buffer = Buffer.from(part.buffer);
    this.acquired.add(buffer);
    return buffer;
  }
}

export const SMALL_WRITE_BYTES = 4 * 1024;

let room = Buffer.allocUnsafeSlow(SMALL_WRITE_BYTES);

/**
 * Writes two latin1 texts and the bytes between them in one write; returns the result of `socket.write`. Small writes share memory,
 * because the kernel takes nearly all of them at once; new buffers would be garbage outside V8's heap, which makes V8 search the whole
 * heap.
 */
export function writeTogether(
  socket: Socket,
  before: string,
  bytes: Uint8Array,
  after: string,
  done?: () => void,
): boolean {
  const length = before.length + bytes.length + after.length;
  const isShared = IS_NODE && length <= SMALL_WRITE_BYTES && !('encrypted' in socket);
  const target = isShared ? room.subarray(0, length) : Buffer.allocUnsafe(length);
  fill(target, before, bytes, after);
  const isRoom = socket.write(target, done);
  // The socket still reads the bytes that the kernel has not taken.
  if (isShared && socket.writableLength > 0) room = Buffer.allocUnsafeSlow(SMALL_WRITE_BYTES);
  return isRoom;
}

/** Copies two latin1 texts and the bytes between them to the beginning of `target`. */
export function fill(target: Buffer, before: string, bytes: Uint8Array, after: string): void {
  target.write(before, 0, 'latin1');
  target.set(bytes, before.length);
  if (after !== '') target.write(after, before.length + bytes.length, 'latin1');
}
