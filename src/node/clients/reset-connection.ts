import type { Socket } from 'node:net';
import { socketBelowTls } from '../node-internals.ts';

/**
 * Ends a connection in the middle of a response. Where the end of the connection ends the response, only a reset shows that the
 * response is incomplete; many clients take the end of TLS without its alert for one in order, so the socket below is reset.
 */
export function resetConnection(socket: Socket): void {
  if (!('encrypted' in socket)) {
    // Bun's sockets may lack it.
    if ('resetAndDestroy' in socket) socket.resetAndDestroy();
  } else {
    socketBelowTls(socket)?.resetAndDestroy();
  }
  socket.destroy();
}
