/** A server that stops. */
export interface DrainingServer {
  /** Connections that it has accepted so far. */
  readonly accepted: number;
  /** Connections that are open. */
  readonly open: number;
  /** Stops accepting; resolves when the last connection is closed. */
  stopAccepting(): Promise<void>;
  /** Closes the connections on which nothing is under way. */
  closeIdle(): void;
  /** Cuts every connection, whatever is on it. */
  cut(): void;
}

/** Milliseconds in which a kept connection may bring one more request, whose response says that it was the last. */
const IDLE_GRACE_MS = 500;
/** Milliseconds between two looks for connections that have become idle. */
const IDLE_LOOK_MS = 50;
/** Turns of the event loop in which new connections may come before the server stops accepting whatever comes. */
const MOST_TURNS = 100;

/**
 * Drains a server within `limit` milliseconds. For the first `delay` of them it goes on accepting, while each response says that it is
 * the last on its connection: by then load balancers know, and clients have no connection left that a request could cross with.
 */
export async function drainConnections(server: DrainingServer, delay: number, limit: number): Promise<void> {
  const deadline = setTimeout(() => server.cut(), limit);
  const wait = Math.min(delay, limit);
  await pause(wait);
  await acceptQueue(server);
  const closed = server.stopAccepting();
  let look: NodeJS.Timeout | undefined;
  const grace = setTimeout(
    () => {
      // Behind the reading of a turn: a request that is there already is no more crossed than any other.
      setImmediate(() => server.closeIdle());
      look = setInterval(() => setImmediate(() => server.closeIdle()), IDLE_LOOK_MS);
    },
    Math.min(Math.max(0, IDLE_GRACE_MS - wait), limit - wait),
  );
  await closed;
  // The server counts a connection out before the connection itself tells of its end.
  while (server.open > 0) await turn();
  clearTimeout(deadline);
  clearTimeout(grace);
  clearInterval(look);
}

/** Lets what the system has accepted be taken in: a server that is closed resets what waits in its queue. */
async function acceptQueue(server: DrainingServer): Promise<void> {
  for (let count = 0; count < MOST_TURNS; count += 1) {
    const before = server.accepted;
    await turn();
    if (server.accepted === before) return;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
