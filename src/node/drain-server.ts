import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** Milliseconds in which a kept connection may bring one more request, whose answer says that it was the last. */
const grace = 500;
/** Milliseconds between two looks for connections that have become idle. */
const look = 50;

/**
 * Stops accepting, lets what is in flight end, and cuts what is left after `milliseconds`. A kept connection is not cut
 * at once, as Node's own `close` does: a request may be on its way in it.
 */
export async function drainServer(server: Server, milliseconds: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    // What the kernel has accepted is taken in first: a closed listener resets what waits in its queue.
    setImmediate(() => NetServer.prototype.close.call(server, () => resolve()));
  });
  const deadline = setTimeout(() => server.closeAllConnections(), milliseconds);
  const idle = setTimeout(
    () => {
      server.closeIdleConnections();
      looking = setInterval(() => server.closeIdleConnections(), look);
    },
    Math.min(grace, milliseconds),
  );
  let looking: NodeJS.Timeout | undefined;
  await closed;
  clearTimeout(deadline);
  clearTimeout(idle);
  clearInterval(looking);
}
