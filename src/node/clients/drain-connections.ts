/** A server that can be drained. */
export interface DrainingServer {
  /** Connections accepted so far. */
  readonly accepted: number;
  /** Open connections. */
  readonly open: number;
  /** Stops accepting; resolves when the last connection is closed. */
  stopAccepting(): Promise<void>;
  /** Closes the connections with nothing in flight. */
  closeIdle(): void;
  /** Closes every connection, even one with an exchange in flight. */
  cut(): void;
}

/** Milliseconds in which a kept-alive connection may send one more request, whose response says `Connection: close`. */
const IDLE_GRACE_MS = 500;
/** Milliseconds between two checks for idle connections. */
const IDLE_CHECK_MS = 50;
/** Turns of the event loop in which new connections may still arrive before the server stops accepting regardless. */
const MAX_TURNS = 200;
/** Milliseconds of a turn of the event loop in which nothing happens. */
const QUIET_TURN_MS = 0.05;

/**
 * Drains a server within `limit` milliseconds. It goes on accepting for the first `delay` of them, while each response closes its
 * connection: by then load balancers have noticed, and clients hold no connection on which a request could cross with the close.
 */
export async function drainConnections(server: DrainingServer, delay: number, limit: number): Promise<void> {
  const deadline = setTimeout(() => server.cut(), limit);
  const wait = Math.min(delay, limit);
  await pause(wait);
  await acceptQueue(server);
  const closed = server.stopAccepting();
  let idleTimer: NodeJS.Timeout | undefined;
  const grace = setTimeout(
    () => {
      // Runs after the reads of this turn: a request that has already arrived is served like any other.
      setImmediate(() => server.closeIdle());
      idleTimer = setInterval(() => setImmediate(() => server.closeIdle()), IDLE_CHECK_MS);
    },
    Math.min(Math.max(0, IDLE_GRACE_MS - wait), limit - wait),
  );
  await closed;
  // The server stops counting a connection before the connection emits its own `close`.
  while (server.open > 0) await turn();
  clearTimeout(deadline);
  clearTimeout(grace);
  clearInterval(idleTimer);
}

/**
 * Accepts the connections that the system has queued: closing the server would reset them. It returns after a turn of the event
 * loop that brought no connection and little else, so that hardly any time is left in which one could arrive.
 */
async function acceptQueue(server: DrainingServer): Promise<void> {
  for (let count = 0; count < MAX_TURNS; count += 1) {
    // A process that has just slept is not likely to be suspended before it closes its port.
    await pause(1);
    const before = server.accepted;
    const began = performance.now();
    await turn();
    if (server.accepted === before && performance.now() - began < QUIET_TURN_MS) return;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
