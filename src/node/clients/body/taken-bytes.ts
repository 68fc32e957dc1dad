import type { Socket } from 'node:net';
import { handleBelowTls, systemHandle } from '../system-handle.ts';

/**
 * Returns the bytes of a socket that the system has taken. `writableLength` counts a write until all of it is taken, and a
 * response of megabytes is one write; Node's own idle timer checks the queue of the handle for that reason, and so does this.
 * Under TLS the handle below counts encrypted bytes.
 */
export function takenBytes(socket: Socket): number {
  const counts = countsOf(handleBelowTls(socket)) ?? countsOf(systemHandle(socket));
  return counts ?? socket.bytesWritten - socket.writableLength;
}

function countsOf(handle: object | undefined): number | undefined {
  if (handle === undefined) return undefined;
  const written: unknown = Reflect.get(handle, 'bytesWritten');
  const queued: unknown = Reflect.get(handle, 'writeQueueSize');
  return typeof written === 'number' && typeof queued === 'number' ? written - queued : undefined;
}
