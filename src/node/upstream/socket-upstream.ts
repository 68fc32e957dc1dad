// Longer than other files: one pool: the queue, the connections and the waiting calls change together.
import { performance } from 'node:perf_hooks';
import type {
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../gateway/upstream.ts';
import { afterReads } from '../after-reads.ts';
import { PieceTurns } from '../piece-turns.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';
import { Destination } from './destination.ts';
import { IdleConnections } from './idle-connections.ts';
import { headOf, PooledCall } from './pooled-call.ts';
import { isLasting, Reconnection, type ReconnectionOwner } from './reconnection.ts';
import { type ConnectionOwner, UpstreamConnection } from './upstream-connection.ts';
import { WaitingCalls } from './waiting-calls.ts';

/**
 * An upstream on sockets of its own: a request with a complete body is one write, and one regular check of all connections
 * replaces their timers. Requests wait in one queue for any connection; while V2 cannot be reached, they wait for it to return.
 */
export function createSocketUpstream(options: UpstreamOptions): NodeUpstream {
  return new SocketPool(options);
}

/**
 * Milliseconds for which no connection is reused once V2 sent unsolicited bytes: a moment later they would have been the response
 * to another client's request, which nothing in HTTP/1.1 can tell from the right one.
 */
const QUARANTINE_MS = 60_000;

/**
 * Milliseconds after which another address is tried in parallel with one that has not accepted the connection yet (RFC 8305 §5).
 */
const NEXT_ADDRESS_MS = 250;
/** Attempts in progress at most while V2 cannot be reached: where each hangs, one more begins now and then. */
const MAX_ATTEMPTS = 32;
const GOLDEN_RATIO = 0.618_034;
/** Milliseconds that responses wait for each tiny chunk: four times what reading it takes. */
const WAIT_PER_CHUNK_MS = 0.0005;

class SocketPool implements ConnectionOwner, NodeUpstream, ReconnectionOwner {
  readonly turns = new PieceTurns(WAIT_PER_CHUNK_MS);
  /** Time of the last check. */
  now = 0;
  private readonly options: UpstreamOptions;
  private readonly destination: Destination;
  private readonly all = new Set<UpstreamConnection>();
  /** Connections in progress. Requests wait for any connection, not for one of their own. */
  private readonly connecting = new Set<UpstreamConnection>();
  private readonly idle: IdleConnections;
  /** Connections whose response completed in this turn of the event loop. */
  private readonly cooling: UpstreamConnection[] = [];
  private readonly waiting = new WaitingCalls();
  /** Calls with a streamed body that do not wait for a connection yet: others would wait for its client. */
  private readonly held = new WaitingCalls();
  /** Number of requests without a client that were given a connection, since they were last ended for others. */
  private background = 0;
  /** Idle connections that were closed to make room, and have not emitted `close` yet. */
  private readonly evicting = new Set<UpstreamConnection>();
  private readonly reconnection = new Reconnection(this);
  /** True when calls are dispatched at the end of this turn. */
  private isDispatchScheduled = false;
  /** Until then, every request has a connection of its own. */
  private quarantinedUntil = 0;
  /** The read buffer that all connections share, one after the other. */
  private readonly buffer = Buffer.allocUnsafeSlow(64 * 1024);
  private opens = 0;
  private timer: NodeJS.Timeout | undefined = undefined;
  private isClosed = false;
  private readonly emptied = Promise.withResolvers<void>();

  constructor(options: UpstreamOptions) {
    this.options = options;
    this.destination = new Destination(options);
    this.idle = new IdleConnections(this.destination.addresses);
  }

  get recoveries(): number {
    return this.reconnection.recoveries;
  }

  private get hasWaitingCalls(): boolean {
    return this.waiting.count + this.held.count > 0;
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    this.now = performance.now();
    const { headersTimeout } = this.options;
    const { spentMs = 0 } = request;
    const times = {
      since: this.now,
      due: headersTimeout > 0 ? this.now + headersTimeout - spentMs : Number.POSITIVE_INFINITY,
    };
    const call = new PooledCall(request, receiver, times);
    const head = headOf(request, this.destination.host);
    if (head === undefined) {
      receiver.fail({ kind: 'rejected', sent: false, cause: 'not a request' });
      return call;
    }
    call.set(head, request);
    return this.enqueue(call);
  }

  renew(tls: UpstreamOptions['tls']): void {
    this.destination.renew(tls);
  }

  opened(connection: UpstreamConnection): void {
    this.connecting.delete(connection);
    if (connection.address !== undefined) connection.address.failedUntil = 0;
    this.reconnection.reached();
    // Now, and not in another turn: a V2 that closes at once differs from one that accepts no connection.
    const call = this.waiting.takeFirst();
    if (call === undefined) this.idle.add(connection);
    else this.put(call, connection);
    this.onRoom();
  }

  failed(connection: UpstreamConnection, fault: UpstreamFault): void {
    this.connecting.delete(connection);
    this.all.delete(connection);
    if (this.isClosed) {
      this.endIfEmpty();
      return;
    }
    this.destination.addresses.failed(connection.address, performance.now());
    this.notReached(connection.began, fault);
    this.onRoom();
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
    this.idle.destroyAll();
  }

  /**
   * Dispatches calls to connections, once all readable sockets have been read. A connection is reused a turn after its response
   * at the earliest, and never in the turn in which V2 sent unsolicited bytes, or closed without notice: bytes after a response
   * would become the response to another request, and a POST on a closed connection a 502.
   */
  dispatch(): void {
    this.isDispatchScheduled = false;
    const { waiting, idle, cooling } = this;
    if (this.hasWaitingCalls) {
      this.now = performance.now();
      this.serveWaiting();
      if (this.admitStreams()) this.serveWaiting();
    }
    const fresh = cooling.length;
    for (const connection of cooling) idle.add(connection);
    cooling.length = 0;
    if (waiting.count === 0) return;
    this.openConnections(fresh);
    this.makeRoom();
    if (fresh > 0 && waiting.count > 0) this.scheduleDispatch();
  }

  closedIdle(age: number): void {
    this.idle.idleLimit.closed(age, performance.now());
  }

  closed(connection: UpstreamConnection): void {
    this.all.delete(connection);
    this.evicting.delete(connection);
    this.idle.remove(connection);
    this.endIfEmpty();
    this.onRoom();
  }

  /** Resolves when the last socket is closed, and every request has been notified. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    this.reconnection.stop();
    this.failWaiting(() => ({ kind: 'unreachable', sent: false, cause: 'closed' }));
    for (const connection of this.all) connection.close();
    this.endIfEmpty();
    await this.emptied.promise;
  }

  private enqueue(call: PooledCall): UpstreamCall {
    if (this.isClosed) {
      call.receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
      return call;
    }
    if (call.isBackground ? !this.hasSpareConnection() : this.isCrowded(call)) {
      call.receiver.fail({ kind: 'crowded', sent: false, cause: 'too many requests wait' });
      return call;
    }
    const away = this.awayFault();
    if (away !== undefined) {
      call.receiver.fail(away);
      return call;
    }
    if (call.parts === undefined) this.waiting.add(call);
    else this.held.add(call);
    this.scheduleDispatch();
    return call;
  }

  /**
   * The fault of each request while V2 is known to be away: it has accepted no connection for the connect time, however many requests
   * found that out. An idle connection still serves one: V2 may accept no new ones, and finish with the old.
   */
  private awayFault(): UpstreamFault | undefined {
    const { outage } = this.reconnection;
    if (outage === undefined || this.idle.count + this.cooling.length > 0) return undefined;
    if (!this.reconnection.isAway(this.now, this.options.connectTimeout)) return undefined;
    return { kind: 'away', sent: false, cause: outage.fault.cause };
  }

  /** True when the queue for an unreachable V2 is full, in requests or in bytes. */
  private isCrowded(next: PooledCall): boolean {
    if (this.reconnection.outage === undefined) return false;
    const { waiting, held } = this;
    const { count, bytes } = this.options.waiting;
    return waiting.count + held.count >= count || waiting.heldBytes + held.heldBytes + next.heldBytes > bytes;
  }

  /** True when a request without a client takes nothing from others: V2 is reachable, and half of the connections are free. */
  private hasSpareConnection(): boolean {
    if (this.reconnection.outage !== undefined || this.hasWaitingCalls) return false;
    const used = this.all.size - this.idle.count - this.cooling.length;
    return used < this.options.connections / 2;
  }

  private hasRoom(): boolean {
    return this.all.size < this.options.connections;
  }

  private onRoom(): void {
    if (this.hasWaitingCalls) this.scheduleDispatch();
  }

  private endIfEmpty(): void {
    if (this.isClosed && this.all.size === 0) this.emptied.resolve();
  }

  /**
   * Lets streamed bodies wait for a connection, the oldest first; returns true if there are any. They leave one connection in eight
   * to other requests, and one in two while some wait: a client may send its body as slowly as it likes.
   */
  private admitStreams(): boolean {
    const { held, waiting } = this;
    if (held.count === 0) return false;
    const { connections } = this.options;
    const share = waiting.count > waiting.streamed ? 2 : 8;
    let room = Math.max(1, connections - Math.ceil(connections / share)) - waiting.streamed;
    for (const { isStreaming } of this.all) if (isStreaming) room -= 1;
    if (room <= 0) return false;
    for (let call = held.first; call !== undefined && room > 0; call = held.first) {
      held.remove(call);
      waiting.addByAge(call);
      room -= 1;
    }
    return true;
  }

  private serveWaiting(): void {
    const { waiting, idle } = this;
    let passedOver: PooledCall | undefined;
    for (let call = waiting.first; call !== undefined && idle.count > 0;) {
      const connection = idle.take(call.isRepeatable, this.now);
      if (connection === undefined) {
        passedOver = call;
      } else {
        waiting.remove(call);
        this.put(call, connection);
      }
      call = passedOver === undefined ? waiting.first : passedOver.next;
    }
  }

  private put(call: PooledCall, connection: UpstreamConnection): void {
    call.connection = connection;
    if (call.isBackground) this.background += 1;
    connection.send(call);
    if (call.isPaused) connection.pause();
    if (this.destination.addresses.count > 1) this.openToOthers();
  }

  /**
   * Opens connections while there is room, except for calls served by the `fresh` ones: connecting takes longer than their turn.
   */
  private openConnections(fresh: number): void {
    if (this.reconnection.outage !== undefined) {
      this.reconnection.next(this.now);
      return;
    }
    if (!this.hasRoom()) return;
    const wanted = this.waiting.count - fresh - this.promisingConnections();
    for (let count = 0; count < wanted && this.hasRoom(); count += 1) this.open();
  }

  /** Number of connections in progress that are likely to succeed: where one takes long, another address may be faster. */
  private promisingConnections(): number {
    if (this.destination.addresses.count === 1) return this.connecting.size;
    let count = 0;
    for (const { began } of this.connecting) if (this.now - began < NEXT_ADDRESS_MS) count += 1;
    return count;
  }

  /** Opens one more connection while some address has none, so that all addresses are used. */
  private openToOthers(): void {
    const { addresses } = this.destination;
    if (this.connecting.size > 0 || !this.hasRoom() || this.hasWaitingCalls) return;
    const used = new Set<unknown>();
    for (const { address } of this.all) used.add(address);
    if (used.size < addresses.aliveCount(this.now)) this.open();
  }

  /** Makes room for calls that need a new connection: idle ones close, the oldest first, and background requests end. */
  private makeRoom(): void {
    const { waiting, idle, evicting } = this;
    if (this.reconnection.outage !== undefined || this.hasRoom()) return;
    if (this.background > 0 && waiting.first?.isBackground === false) {
      this.background = 0;
      for (const connection of this.all) connection.endBackground();
    }
    for (let next = waiting.at(evicting.size); next !== undefined; next = waiting.at(evicting.size)) {
      if (idle.serves(next.isRepeatable, this.now)) return;
      const connection = idle.takeOldest();
      if (connection === undefined) return;
      // A connection closed before it became idle makes no room.
      if (!this.all.has(connection)) continue;
      evicting.add(connection);
      connection.destroy();
    }
  }

  private scheduleDispatch(): void {
    if (this.isDispatchScheduled) return;
    this.isDispatchScheduled = true;
    setImmediate(dispatch, this);
  }

  private open(): void {
    this.startTimer();
    this.opens += 1;
    const spread = (this.opens * GOLDEN_RATIO) % 1;
    const connection = new UpstreamConnection(this, this.destination, this.buffer, spread);
    this.connecting.add(connection);
    this.all.add(connection);
  }

  connectAgain(): void {
    if (this.connecting.size < MAX_ATTEMPTS && this.hasRoom() && !this.isClosed) this.open();
  }

  private notReached(began: number, fault: UpstreamFault): void {
    this.now = performance.now();
    const hasUsableAddress = this.destination.addresses.hasUsableAddress(this.now);
    this.reconnection.failed(began, fault, this.now, hasUsableAddress);
    if (hasUsableAddress) return;
    if (isLasting(fault)) this.failWaiting(() => fault);
    this.failExpired();
    this.reconnection.next(this.now);
  }

  /** Runs the timer while there are connections, and while a call waits for one. */
  private startTimer(): void {
    if (this.timer !== undefined) return;
    const { connectTimeout, headersTimeout, bodyTimeout } = this.options;
    const least = Math.min(...[connectTimeout, headersTimeout, bodyTimeout, 2500].filter((time) => time > 0));
    this.timer = setInterval(checkTimeouts, Math.max(5, least / 10), this);
    this.timer.unref();
  }

  /** Checks all timeouts. */
  checkTimeouts(): void {
    const now = performance.now();
    this.now = now;
    this.idle.idleLimit.update(now);
    for (const connection of this.all) connection.check(now);
    this.failExpired();
    // Dispatches calls queued behind a failed one, and tries another address.
    this.onRoom();
    if (this.all.size > 0 || this.hasWaitingCalls) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Fails calls that have waited too long: for V2 to be reachable, or for a free connection. */
  private failExpired(): void {
    this.failWaiting((call) => this.lateFault(call));
  }

  private failWaiting(faultOf: (call: PooledCall) => UpstreamFault | undefined): void {
    this.waiting.fail(faultOf);
    this.held.fail(faultOf);
  }

  private lateFault(call: PooledCall): UpstreamFault | undefined {
    const { now, options, reconnection } = this;
    const { outage } = reconnection;
    if (outage !== undefined && reconnection.isAway(now, options.connectTimeout)) return outage.fault;
    if (now < call.due) return undefined;
    const wait = this.connecting.size > 0 ? 'no connection in time' : 'no connection free';
    return { kind: 'timeout', sent: false, cause: outage?.fault.cause ?? wait };
  }
}

function dispatch(pool: SocketPool): void {
  pool.dispatch();
}

function checkTimeouts(pool: SocketPool): void {
  // After the process stood still, what came in time is read first.
  afterReads(() => pool.checkTimeouts());
}
