import { Socket } from 'node:net';

/**
 * A plain socket that is read once more when a write to it fails. A V2 that refuses a body responds, closes, and resets further
 * bytes: its response is then unread, and Node would close the socket without it.
 */
export class UpstreamSocket extends Socket {
  private isReadOnceMore = false;

  override destroy(error?: Error): this {
    if (this.isReadOnceMore || !isWriteError(error)) return super.destroy(error);
    this.isReadOnceMore = true;
    // Sockets are read between two turns; a reader that finds the whole response closes the socket earlier.
    setImmediate(() => setImmediate(() => super.destroy(error)));
    return this;
  }
}

function isWriteError(error: Error | undefined): boolean {
  return error !== undefined && 'syscall' in error && error.syscall === 'write';
}
