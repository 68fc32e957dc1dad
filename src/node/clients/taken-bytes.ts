import type { Socket } from 'node:net';

/**
 * Returns the bytes of a socket that the system has taken. `writableLength` counts a write until all of it is taken, and a
 * response of megabytes is one write; Node's own idle timer checks the queue of the handle for that reason, and so does this.
 * Under TLS the handle below counts encrypted bytes.
 */
export function takenBytes(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const counts = countsOf(memberOf(handle, '_parent')) ?? countsOf(handle);
  return counts ?? socket.bytesWritten - socket.writableLength;
}

function countsOf(handle: unknown): number | undefined {
  const written = memberOf(handle, 'bytesWritten');
  const queued = memberOf(handle, 'writeQueueSize');
  return typeof written === 'number' && typeof queued === 'number' ? written - queued : undefined;
}

function memberOf(handle: unknown, name: string): unknown {
  return typeof handle === 'object' && handle !== null ? Reflect.get(handle, name) : undefined;
}
