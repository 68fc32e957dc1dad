import type { Duplex } from 'node:stream';

/** Milliseconds for which a connection that is closed is still read, so that the client gets to read its response. */
const LINGER_MS = 1000;

/**
 * Destroys a socket whose writing side has ended when the client closes too, or after a while. Closing it at once, with bytes of the
 * client unread, would be a reset, and the client would lose its response.
 */
export function linger(socket: Duplex): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
}
