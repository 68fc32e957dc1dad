import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../../gateway/upstream.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';
import { StreamCall } from './stream-call.ts';
import { UndiciUpstream } from './undici-upstream.ts';
import { type ConnectionOwner, Destination, UpstreamConnection } from './upstream-connection.ts';
import { headOf, WholeCall } from './whole-call.ts';

/**
 * An upstream on sockets of its own, for requests whose body is there: a request is one write, and timers are one look at all
 * connections now and then. A body that comes in parts is left to undici, on a
 * connection of its own: both draw on the one budget of `connections`, and wait in one queue.
 */
export function createSocketUpstream(options: UpstreamOptions): NodeUpstream {
  return new SocketPool(options);
}

/**
 * Milliseconds for which no connection is used twice once V2 wrote what nobody asked for: had it come a moment later, it would have
 * been the response to somebody else's request, which nothing in HTTP/1.1 can tell from the right one.
 */
const QUARANTINE_MS = 60_000;

/** What waits for a connection. */
type WaitingCall = WholeCall | StreamCall;

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
  private readonly waiting: WaitingCall[] = [];
  /** Connections of bodies that come in parts. */
  private readonly streams: UndiciUpstream;
  /** Idle connections that were closed for such bodies, and are not gone yet. */
  private readonly evicting = new Set<UpstreamConnection>();
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
    this.streams = new UndiciUpstream(options, this.destination, () => this.onRoom());
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    this.now = performance.now();
    const { headersTimeout } = this.options;
    const due = headersTimeout > 0 ? this.now + headersTimeout : Number.POSITIVE_INFINITY;
    const { body } = request;
    if (body !== null && !(body instanceof Uint8Array))
      return this.enqueue(new StreamCall(this, request, receiver, due));
    const call = new WholeCall(this, request.method, receiver, due);
    const head = headOf(request, this.host, body);
    if (head === undefined) {
      receiver.fail({ kind: 'rejected', sent: false, cause: 'not a request' });
      return call;
    }
    call.write(head, body);
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
      if (call instanceof StreamCall) {
        if (!this.hasRoom()) break;
        waiting.shift();
        this.open(call);
        continue;
      }
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
    this.evictIdle();
    if (idle.length > 0 && waiting.length > 0) this.scheduleDispatch();
  }

  closed(connection: UpstreamConnection): void {
    this.all.delete(connection);
    this.evicting.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    if (this.isClosed && this.all.size === 0) this.emptied.resolve();
    this.onRoom();
  }

  /** A call that waits for a connection waits no longer. */
  leave(call: WaitingCall): void {
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
    await Promise.all([this.emptied.promise, this.streams.close()]);
  }

  private enqueue(call: WaitingCall): UpstreamCall {
    if (this.isClosed) {
      call.receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
      return call;
    }
    this.waiting.push(call);
    this.scheduleDispatch();
    return call;
  }

  private hasRoom(): boolean {
    return this.all.size + this.streams.connections < this.options.connections;
  }

  private onRoom(): void {
    if (this.waiting.length > 0) this.scheduleDispatch();
  }

  /** Opens connections while there is room, but for those who are served by what is idle: connecting takes longer than their turn. */
  private openConnections(): void {
    const { waiting } = this;
    let served = this.idle.length;
    for (let at = 0; at < waiting.length && this.hasRoom();) {
      const call = waiting[at];
      if (call instanceof WholeCall && served > 0) {
        served -= 1;
        at += 1;
        continue;
      }
      waiting.splice(at, 1);
      if (call !== undefined) this.open(call);
    }
  }

  /** Closes idle connections, the oldest first, for the bodies in parts that are next: they take no connection that was used. */
  private evictIdle(): void {
    const { waiting, idle, evicting } = this;
    while (waiting[evicting.size] instanceof StreamCall) {
      const connection = idle.shift();
      if (connection === undefined) return;
      // One that was gone before it was idle makes no room.
      if (!this.all.has(connection)) continue;
      evicting.add(connection);
      connection.destroy();
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

  private open(call: WaitingCall): void {
    this.startTimer();
    if (call instanceof StreamCall) {
      call.start(this.streams, this.now);
      return;
    }
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
    if (this.all.size + this.streams.connections > 0) return;
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
