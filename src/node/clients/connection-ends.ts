import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { socketBelowTls } from '../node-internals.ts';
import { onCheckPhase } from './fair-turns.ts';

/** Maximum number of lingering connections; beyond it the oldest is closed. */
const MAX_LINGERING = 512;
/** Milliseconds to wait for a client that sends nothing more. */
const SILENCE_MS = 1000;
/** Milliseconds between two checks of a client that goes on sending. */
const CHECK_MS = 5000;
/** Milliseconds for which a client may go on sending, as in nginx. */
const LINGER_MS = 30_000;
/** Minimum bytes per second that it must send. */
const SLOWEST_RATE_BYTES = 240;
/** Maximum bytes that are read and dropped, where the protocol has no lower limit. */
const DROPPED_BYTES = 256 * 1024 * 1024;

/**
 * Connections whose last response is written. Closing one with unread bytes of the client would reset it, and the client would
 * lose its response (RFC 9112 §9.6); so further bytes are read and dropped, at a fair rate and within limits.
 */
export class LingeringConnections {
  private readonly all = new Map<Duplex, Lingering>();

  /** Ends the writing side, and closes the connection when the client does, or when its time is over or `maxBytes` have come. */
  close(socket: Duplex, maxBytes = DROPPED_BYTES): void {
    if (socket.destroyed || this.all.has(socket)) return;
    if (socket.writable) socket.end();
    if (this.all.size >= MAX_LINGERING) this.closeOldest();
    const lingering = new Lingering(socket, maxBytes);
    this.all.set(socket, lingering);
    socket.once('close', () => {
      lingering.stop();
      this.all.delete(socket);
    });
  }

  /** Closes the one that has lingered for longest; false where there is none. */
  closeOldest(): boolean {
    const [oldest] = this.all.keys();
    if (oldest === undefined) return false;
    this.all.delete(oldest);
    oldest.destroy();
    return true;
  }
}

class Lingering {
  private readonly socket: Duplex;
  private readonly maxBytes: number;
  private readonly since = performance.now();
  private bytes = 0;
  private checkedBytes = 0;
  private checkedAt = this.since;
  private timer: NodeJS.Timeout;

  constructor(socket: Duplex, maxBytes: number) {
    this.socket = socket;
    this.maxBytes = maxBytes;
    this.timer = this.checkAfter(SILENCE_MS);
    socket.on('error', () => socket.destroy());
    // Reading may have been paused below the stream: only pause and resume restarts it, and that takes a turn.
    socket.pause();
    socket.resume();
    setImmediate(Lingering.readAndDrop, this);
  }

  /** Node's parser stops reading: the bytes after the last request are none. */
  private readAndDrop(): void {
    this.socket.removeAllListeners('data');
    this.socket.on('data', (chunk: Uint8Array) => this.drop(chunk.length));
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Goes on as long as the client sends at a fair rate. */
  private check(): void {
    const now = performance.now();
    const least = ((now - this.checkedAt) / 1000) * SLOWEST_RATE_BYTES;
    if (this.bytes - this.checkedBytes < least || now - this.since > LINGER_MS) {
      this.socket.destroy();
      return;
    }
    this.checkedBytes = this.bytes;
    this.checkedAt = now;
    this.timer = this.checkAfter(CHECK_MS);
  }

  private drop(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.maxBytes) this.socket.destroy();
  }

  private checkAfter(milliseconds: number): NodeJS.Timeout {
    const timer = setTimeout(Lingering.check, milliseconds, this);
    timer.unref();
    return timer;
  }

  private static readAndDrop(this: void, lingering: Lingering): void {
    lingering.readAndDrop();
  }

  private static check(this: void, lingering: Lingering): void {
    // After the process stood still, what came in time is read first: to close before that would reset the connection.
    onCheckPhase(() => lingering.check());
  }
}

/** A server that can be drained. */
export interface DrainingServer {
  /** Open connections, and exchanges that outlive theirs for a turn of the event loop. */
  readonly open: number;
  /** Stops accepting once nothing is in the listen queue, and resolves; calls `onClosed` when the last connection is closed. */
  stopAccepting(onClosed: () => void): Promise<void>;
  /** Closes the connections with nothing in flight. */
  closeIdle(): void;
  /** Closes every connection, even one with an exchange in flight. */
  destroyAll(): void;
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
  const deadline = setTimeout(() => onCheckPhase(() => server.destroyAll()), limit);
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
