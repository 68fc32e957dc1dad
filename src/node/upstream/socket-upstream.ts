import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../../gateway/upstream.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';
import { headOf, PooledCall } from './pooled-call.ts';
import { type ConnectionOwner, Destination, UpstreamConnection } from './upstream-connection.ts';

/**
 * An upstream on sockets of its own: a request whose body is there is one write, and timers are one look at all connections now
 * and then. A body that comes in parts waits in the same queue, and goes on the same connections.
 */
export function createSocketUpstream(options: UpstreamOptions): NodeUpstream {
  return new SocketPool(options);
}

/**
 * Milliseconds for which no connection is used twice once V2 wrote what nobody asked for: had it come a moment later, it would have
 * been the response to somebody else's request, which nothing in HTTP/1.1 can tell from the right one.
 */
const QUARANTINE_MS = 60_000;

class SocketPool implements ConnectionOwner, NodeUpstream {
  /** When somebody last looked. */
  now = 0;
  private readonly options: UpstreamOptions;
  private readonly host: string;
  private readonly destination: Destination;
  private readonly all = new Set<UpstreamConnection>();
  private readonly idle: UpstreamConnection[] = [];
  /** Connections whose response came in this turn of the event loop. */
  private readonly cooling: UpstreamConnection[] = [];
  /** In order of time, since all may wait equally long. */
  private readonly waiting: PooledCall[] = [];
  /** True when calls are served at the end of this turn. */
  private isDispatchScheduled = false;
  /** Until then every request has a connection to itself. */
  private quarantinedUntil = 0;
  /** What all connections read into, one after the other. */
  private readonly buffer = Buffer.allocUnsafeSlow(64 * 1024);
  private timer: NodeJS.Timeout | undefined = undefined;
  private isClosed = false;
  private readonly emptied = Promise.withResolvers<void>();

  constructor(options: UpstreamOptions) {
    this.options = options;
    this.host = new URL(options.origin).host;
    this.destination = new Destination(options);
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    this.now = performance.now();
    const { headersTimeout } = this.options;
    const due = headersTimeout > 0 ? this.now + headersTimeout : Number.POSITIVE_INFINITY;
    const call = new PooledCall(this, request.method, receiver, due);
    const head = headOf(request, this.host);
    if (head === undefined) {
      receiver.fail({ kind: 'rejected', sent: false, cause: 'not a request' });
      return call;
    }
    call.write(head, request);
    return this.enqueue(call);
  }

  released(connection: UpstreamConnection): void {
    if (this.now < this.quarantinedUntil) {
      connection.destroy();
      return;
    }
    this.cooling.push(connection);
    this.scheduleDispatch();
  }

  quarantine(): void {
    this.quarantinedUntil = performance.now() + QUARANTINE_MS;
    for (const connection of this.cooling) connection.destroy();
    for (const connection of this.idle) connection.destroy();
  }

  /**
   * Gives calls their connections, once all sockets were read that had something to read. A connection is lent a turn after its
   * response at the soonest, and never in the turn in which V2 wrote what nobody asked for, or closed without saying so: what
   * stands behind a response would be the response to somebody else, and a POST to a connection that is closed a 502.
   */
  dispatch(): void {
    this.isDispatchScheduled = false;
    const { waiting, idle, cooling } = this;
    if (waiting.length > 0) this.now = performance.now();
    for (let call = waiting[0]; call !== undefined; call = waiting[0]) {
      const connection = this.take();
      if (connection === undefined) break;
      waiting.shift();
      call.connection = connection;
      connection.send(call);
      if (call.isPaused) connection.pause();
    }
    for (const connection of cooling) idle.push(connection);
    cooling.length = 0;
    if (waiting.length === 0) return;
    this.openConnections();
    if (idle.length > 0 && waiting.length > 0) this.scheduleDispatch();
  }

  closed(connection: UpstreamConnection): void {
    this.all.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    if (this.isClosed && this.all.size === 0) this.emptied.resolve();
    this.onRoom();
  }

  /** A call that waits for a connection waits no longer. */
  leave(call: PooledCall): void {
    const at = this.waiting.indexOf(call);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  /** Resolves when the last socket is gone, and every request was told of it. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    for (let call = this.waiting.shift(); call !== undefined; call = this.waiting.shift())
      call.receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
    for (const connection of this.all) connection.close();
    if (this.all.size === 0) this.emptied.resolve();
    await this.emptied.promise;
  }

  private enqueue(call: PooledCall): UpstreamCall {
    if (this.isClosed) {
      call.receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
      return call;
    }
    this.waiting.push(call);
    this.scheduleDispatch();
    return call;
  }

  private hasRoom(): boolean {
    return this.all.size < this.options.connections;
  }

  private onRoom(): void {
    if (this.waiting.length > 0) this.scheduleDispatch();
  }

  /** Opens connections while there is room, but for those who are served by what is idle: connecting takes longer than their turn. */
  private openConnections(): void {
    const { waiting } = this;
    const served = this.idle.length;
    while (waiting.length > served && this.hasRoom()) {
      const [call] = waiting.splice(served, 1);
      if (call !== undefined) this.open(call);
    }
  }

  /** The connection that was used last, of those that are free: the others grow old, and close. */
  private take(): UpstreamConnection | undefined {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (last.isFree(this.now)) return last;
      last.destroy();
    }
    return undefined;
  }

  private scheduleDispatch(): void {
    if (this.isDispatchScheduled) return;
    this.isDispatchScheduled = true;
    setImmediate(dispatch, this);
  }

  private open(call: PooledCall): void {
    this.startTimer();
    const connection = new UpstreamConnection(this, this.destination, this.buffer, call);
    call.connection = connection;
    if (call.isPaused) connection.pause();
    this.all.add(connection);
  }

  /** Keeps time while there are connections: where there is none, nobody waits for one. */
  private startTimer(): void {
    if (this.timer !== undefined) return;
    const { connectTimeout, headersTimeout, bodyTimeout } = this.options;
    const least = Math.min(...[connectTimeout, headersTimeout, bodyTimeout, 2500].filter((time) => time > 0));
    this.timer = setInterval(checkTimeouts, Math.max(5, least / 10), this);
    this.timer.unref();
  }

  /** Looks at everything that may be late. */
  checkTimeouts(): void {
    const now = performance.now();
    this.now = now;
    for (const connection of this.all) connection.check(now);
    for (let call = this.waiting[0]; call !== undefined && call.due <= now; call = this.waiting[0]) {
      this.waiting.shift();
      call.receiver.fail({ kind: 'timeout', sent: false, cause: 'no connection free' });
    }
    if (this.all.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

function dispatch(pool: SocketPool): void {
  pool.dispatch();
}

function checkTimeouts(pool: SocketPool): void {
  pool.checkTimeouts();
}
