import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterReads } from './fair-turns.ts';

/** A server that can be drained. */
export interface DrainingServer {
  /** Open connections, and exchanges that outlive theirs for a turn of the event loop. */
  readonly open: number;
  /** Stops accepting once nothing is in the listen queue, and resolves; calls `onClosed` when the last connection is closed. */
  stopAccepting(onClosed: () => void): Promise<void>;
  /** Closes the connections with nothing in flight. */
  closeIdle(): void;
  /** Closes every connection, even one with an exchange in flight. */
  cut(): void;
}

/** Milliseconds for which a new connection stays open without a request while the server drains. */
export const FIRST_REQUEST_GRACE_MS = 500;
/**
 * Milliseconds in which a kept-alive connection may send one more request, whose response says `Connection: close`: the shorter of the
 * longest time and a share of the drain time, but not less than the shortest time.
 */
const MIN_IDLE_GRACE_MS = 500;
const MAX_IDLE_GRACE_MS = 5000;
const IDLE_GRACE_SHARE = 0.25;
/** Milliseconds between two checks for idle connections. */
const IDLE_CHECK_MS = 50;

/**
 * Drains a server within `limit` milliseconds. It goes on accepting for the first `delay` of them, by the end of which load balancers
 * have noticed. Each response closes its connection. Idle connections outlive the port, so that few clients hold one on which a request
 * could cross with the close; when none is left, the drain is over.
 */
export async function drainConnections(server: DrainingServer, delay: number, limit: number): Promise<void> {
  const deadline = setTimeout(() => afterReads(() => server.cut()), limit);
  const wait = Math.min(delay, limit);
  await pause(wait);
  const closed = Promise.withResolvers<void>();
  await server.stopAccepting(closed.resolve);
  let idleTimer: NodeJS.Timeout | undefined;
  const grace = setTimeout(
    () => {
      // Runs after the reads of this turn: a request that has already arrived is served like any other.
      setImmediate(() => server.closeIdle());
      idleTimer = setInterval(() => setImmediate(() => server.closeIdle()), IDLE_CHECK_MS);
    },
    Math.min(Math.max(0, idleGrace(limit) - wait), limit - wait),
  );
  await closed.promise;
  // The server stops counting a connection before the connection emits its own `close`.
  while (server.open > 0) await nextTurn();
  clearTimeout(deadline);
  clearTimeout(grace);
  clearInterval(idleTimer);
}

function idleGrace(limit: number): number {
  return Math.max(MIN_IDLE_GRACE_MS, Math.min(MAX_IDLE_GRACE_MS, limit * IDLE_GRACE_SHARE));
}
