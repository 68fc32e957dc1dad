import type { Socket } from 'node:net';

/**
 * Has a socket, plain or over TLS, read once more when a write to it fails. A V2 that refuses a body responds, closes, and resets
 * further bytes: its response is then unread, and Node would close the socket without it.
 */
export function readOnceMore<Connection extends Socket>(socket: Connection): Connection {
  const destroy = socket.destroy.bind(socket);
  let isReadOnceMore = false;
  socket.destroy = (error) => {
    if (isReadOnceMore || !isWriteError(error)) return destroy(error);
    isReadOnceMore = true;
    // Sockets are read between two turns; a reader that finds the whole response closes the socket earlier.
    setImmediate(() => setImmediate(() => destroy(error)));
    return socket;
  };
  return socket;
}

function isWriteError(error: Error | undefined): boolean {
  return error !== undefined && 'syscall' in error && error.syscall === 'write';
}
