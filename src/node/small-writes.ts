import type { Socket } from 'node:net';
import { IS_NODE } from './runtime.ts';

/** Bytes up to which a write is small. */
export const SMALL_WRITE_BYTES = 4 * 1024;

let room = Buffer.allocUnsafeSlow(SMALL_WRITE_BYTES);

/**
 * Writes texts in latin1 and the bytes between them as one write, and returns what `socket.write` does. Small writes share memory, for
 * the kernel takes nearly all of them at once: new memory for each is garbage outside V8's heap, and much of that makes V8 search the
 * whole heap.
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
  // The socket goes on reading what the kernel has not taken.
  if (isShared && socket.writableLength > 0) room = Buffer.allocUnsafeSlow(SMALL_WRITE_BYTES);
  return isRoom;
}

/** Copies texts in latin1 and the bytes between them to the beginning of `target`. */
export function fill(target: Buffer, before: string, bytes: Uint8Array, after: string): void {
  target.write(before, 0, 'latin1');
  target.set(bytes, before.length);
  if (after !== '') target.write(after, before.length + bytes.length, 'latin1');
}
