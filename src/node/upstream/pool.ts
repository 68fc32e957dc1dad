import { performance } from 'node:perf_hooks';
import type { Body, BodyParts } from '../../gateway/exchange.ts';
import { mayRepeat } from '../../gateway/resilience.ts';
import type {
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../gateway/upstream.ts';
import { writeFieldLines } from '../../http/raw-headers.ts';
import { isFieldName, isWritableTarget } from '../../http/header-list.ts';
import { expectsContent } from '../../http/request-head.ts';
import { onCheckPhase, TickBudget } from '../fair-turns.ts';
import { type ConnectionHandler, type PendingRequest, UpstreamConnection } from './connection.ts';
import { type Addresses, Origin, type NodeUpstream, type UpstreamOptions } from './origin.ts';

/**
 * An upstream on the gateway's own sockets: a request with a complete body is one write, and one regular check of all connections
 * replaces their timers. Requests wait in one queue for any connection; while V2 is unreachable, they wait for it to return.
 */
export function createSocketUpstream(options: UpstreamOptions): NodeUpstream {
  return new SocketPool(options);
}

/**
 * Milliseconds for which no connection is reused after V2 sent unsolicited bytes: a moment later they would have been the response to
 * another client's request, which HTTP/1.1 cannot tell from the right one (RFC 9112 §9.2). The cause (an attack, a bug in V2, a balancer
 * in between) usually affects other connections that have not shown it yet. A minute, because common balancers (nginx, AWS) keep idle
 * connections to their servers for 60 s by default: by then those are new as well. Connecting each time takes a millisecond meanwhile,
 * which matters less than sending a response to the wrong client.
 */
const QUARANTINE_MS = 60_000;

/**
 * Milliseconds after which another address is tried in parallel with one that has not accepted the connection yet (RFC 8305 §5).
 */
const NEXT_ADDRESS_MS = 250;
/** Maximum attempts in progress for each address while V2 is unreachable: if all hang, another begins from time to time. */
const MAX_ATTEMPTS = 32;
const GOLDEN_RATIO = 0.618_034;
/** Milliseconds that a request waits for a connection until exchanges that occupy one may have to end. */
const SHORT_MS = 100;
/** Milliseconds that responses wait for each tiny chunk: four times what reading it takes. */
const WAIT_PER_CHUNK_MS = 0.0005;

class SocketPool implements ConnectionHandler, NodeUpstream, ReconnectionHandler {
  readonly turns = new TickBudget(WAIT_PER_CHUNK_MS);
  /** Time of the last check. */
  now = 0;
  private readonly options: UpstreamOptions;
  private readonly origin: Origin;
  private readonly all = new Set<UpstreamConnection>();
  /** Connections in progress. Requests wait for any of them. */
  private readonly connecting = new Set<UpstreamConnection>();
  private readonly idle: IdleConnections;
  /** Connections whose response completed in this turn of the event loop. */
  private readonly cooling: UpstreamConnection[] = [];
  private readonly waiting = new WaitingCalls();
  /** Calls with a streamed body that may not wait for a connection yet, because others would wait for their senders. */
  private readonly held = new WaitingCalls();
  /** Number of requests without a client that got a connection, since they last gave way to others. */
  private background = 0;
  /** Idle connections that were closed to make room, and have not emitted `close` yet. */
  private readonly evicting = new Set<UpstreamConnection>();
  private readonly reconnection = new Reconnection(this);
  /** True when calls are dispatched at the end of this turn. */
  private isDispatchScheduled = false;
  /** Until then, every request gets a new connection. */
  private quarantinedUntil = 0;
  /** The read buffer that all connections share. */
  private readonly buffer = Buffer.allocUnsafeSlow(64 * 1024);
  private opens = 0;
  onShort: ((connections: number, count: number) => void) | undefined = undefined;
  onReached: (() => void) | undefined = undefined;
  private shortTimer: NodeJS.Timeout | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private isClosed = false;
  private readonly emptied = Promise.withResolvers<void>();

  constructor(options: UpstreamOptions) {
    this.options = options;
    this.origin = new Origin(options);
    this.idle = new IdleConnections(this.origin.addresses);
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
    const head = headOf(request, this.origin.host);
    if (head === undefined) {
      receiver.fail({ kind: 'rejected', mayHaveArrived: false, cause: 'not a request' });
      return call;
    }
    call.set(head, request);
    return this.enqueue(call);
  }

  renew(tls: UpstreamOptions['tls']): void {
    this.origin.renew(tls);
  }

  opened(connection: UpstreamConnection): void {
    this.connecting.delete(connection);
    if (connection.address !== undefined) connection.address.failedUntil = 0;
    if (this.reconnection.reached()) this.onReached?.();
    // Now, and not in another turn: a V2 that closes at once differs from one that accepts no connections.
    const call = this.waiting.removeFirst();
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
    this.origin.addresses.failed(connection.address, performance.now());
    this.notReached(connection.began, fault);
    this.onRoom();
  }

  released(connection: UpstreamConnection): void {
    // This response was right, but the next one might not be.
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
   * Dispatches calls to connections once all readable sockets have been read. A connection is reused a turn after its response at the
   * earliest, and never in the turn in which V2 sent unsolicited bytes or closed: bytes after a response would become the response to
   * another request, and a POST on a closed connection would get a 502.
   */
  private dispatch(): void {
    this.isDispatchScheduled = false;
    const { waiting, idle, cooling } = this;
    if (this.hasWaitingCalls) {
      this.now = performance.now();
      this.serveWaiting();
      if (this.admitStreams()) this.serveWaiting();
      if (this.isShort) this.shortTimer ??= setTimeout(SocketPool.relieve, SHORT_MS, this).unref();
    }
    // Waiting calls were served from connections idle for a whole turn; those of this turn become idle now.
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

  /** Resolves when the last socket is closed and every request has been notified. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    clearTimeout(this.shortTimer);
    this.reconnection.stop();
    this.failWaiting(() => ({ kind: 'unreachable', mayHaveArrived: false, cause: 'closed' }));
    for (const connection of this.all) connection.close();
    this.endIfEmpty();
    await this.emptied.promise;
  }

  private enqueue(call: PooledCall): UpstreamCall {
    if (this.isClosed) {
      call.receiver.fail({ kind: 'unreachable', mayHaveArrived: false, cause: 'closed' });
      return call;
    }
    if (call.isBackground ? !this.hasSpareConnection() : this.isCrowded(call)) {
      call.receiver.fail({ kind: 'crowded', mayHaveArrived: false, cause: 'too many requests wait' });
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
   * The fault for requests while V2 is away: it has accepted no connection for the connect timeout. Idle connections still serve
   * requests, because V2 may accept no new connections but finish with the old.
   */
  private awayFault(): UpstreamFault | undefined {
    const { outage } = this.reconnection;
    if (outage === undefined || this.idle.count + this.cooling.length > 0) return undefined;
    if (!this.reconnection.isAway(this.now, this.options.connectTimeout)) return undefined;
    return { kind: 'away', mayHaveArrived: false, cause: outage.fault.cause };
  }

  /** True when the queue for an unreachable V2 is full, in requests or in bytes. */
  private isCrowded(next: PooledCall): boolean {
    if (this.reconnection.outage === undefined) return false;
    const { waiting, held } = this;
    const { count, bytes } = this.options.waiting;
    return waiting.count + held.count >= count || waiting.heldBytes + held.heldBytes + next.heldBytes > bytes;
  }

  /** True when a request without a client delays no others: V2 is reachable, and half of the connections are free. */
  private hasSpareConnection(): boolean {
    if (this.reconnection.outage !== undefined || this.hasWaitingCalls) return false;
    const used = this.all.size - this.idle.count - this.cooling.length;
    return used < this.options.connections / 2;
  }

  private hasRoom(): boolean {
    return this.all.size < this.options.connections;
  }

  /** True while requests wait until others give a connection back. */
  private get isShort(): boolean {
    if (this.isClosed || this.reconnection.outage !== undefined) return false;
    return this.held.count > 0 || (this.waiting.count > 0 && !this.hasRoom());
  }

  /** Asks the gateway to free connections, and moves requests of clients with the fewest connections to the front. */
  private relieve(): void {
    this.shortTimer = undefined;
    if (!this.isShort) return;
    this.shortTimer = setTimeout(SocketPool.relieve, SHORT_MS, this).unref();
    const latest = performance.now() - SHORT_MS;
    const count = this.waiting.countSince(latest) + this.held.countSince(latest);
    if (count === 0) return;
    this.onShort?.(this.options.connections, count);
    this.waiting.sort();
    this.held.sort();
  }

  private onRoom(): void {
    if (this.hasWaitingCalls) this.scheduleDispatch();
  }

  private endIfEmpty(): void {
    if (this.isClosed && this.all.size === 0) this.emptied.resolve();
  }

  /**
   * Lets streamed bodies wait for a connection, the oldest first; returns true if any do. They leave one connection in eight to other
   * requests, or one in two while some wait, because a client may send its body as slowly as it likes.
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
      const connection = idle.acquire(call.isRepeatable, this.now);
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
    if (this.origin.addresses.count > 1) this.openToOthers();
  }

  /**
   * Opens connections while there is room, except for calls that the `fresh` ones can serve a turn later.
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

  /** Number of connections in progress that are likely to succeed: if one takes long, another address may be faster. */
  private promisingConnections(): number {
    if (this.origin.addresses.count === 1) return this.connecting.size;
    let count = 0;
    for (const { began } of this.connecting) if (this.now - began < NEXT_ADDRESS_MS) count += 1;
    return count;
  }

  /** Opens one more connection while some address has none, so that all addresses are used. */
  private openToOthers(): void {
    const { addresses } = this.origin;
    if (this.connecting.size > 0 || !this.hasRoom() || this.hasWaitingCalls) return;
    const used = new Set<unknown>();
    for (const { address } of this.all) used.add(address);
    if (used.size < addresses.aliveCount(this.now)) this.open();
  }

  /** Makes room for calls that need a new connection: closes idle ones, the oldest first, and ends background requests. */
  private makeRoom(): void {
    const { waiting, idle, evicting } = this;
    if (this.reconnection.outage !== undefined || this.hasRoom()) return;
    if (this.background > 0 && waiting.first?.isBackground === false) {
      this.background = 0;
      for (const connection of this.all) connection.endBackground();
    }
    for (let next = waiting.at(evicting.size); next !== undefined; next = waiting.at(evicting.size)) {
      if (idle.serves(next.isRepeatable, this.now)) return;
      const connection = idle.removeOldest();
      if (connection === undefined) return;
      // It closed before it became idle, so it makes no room.
      if (!this.all.has(connection)) continue;
      evicting.add(connection);
      connection.destroy();
    }
  }

  private scheduleDispatch(): void {
    if (this.isDispatchScheduled) return;
    this.isDispatchScheduled = true;
    setImmediate(SocketPool.dispatch, this);
  }

  private open(): void {
    this.startTimer();
    this.opens += 1;
    const spread = (this.opens * GOLDEN_RATIO) % 1;
    const connection = new UpstreamConnection(this, this.origin, this.buffer, spread);
    this.connecting.add(connection);
    this.all.add(connection);
  }

  /** Tries every address: V2 may be back at any of them. */
  connectAgain(): void {
    const { count } = this.origin.addresses;
    for (let attempt = 0; attempt < count && !this.isClosed; attempt += 1)
      if (this.connecting.size < MAX_ATTEMPTS * count && this.hasRoom()) this.open();
  }

  private notReached(began: number, fault: UpstreamFault): void {
    this.now = performance.now();
    const hasUsableAddress = this.origin.addresses.hasUsableAddress(this.now);
    this.reconnection.failed(began, fault, this.now, hasUsableAddress);
    if (hasUsableAddress) return;
    // A certificate does not become valid by waiting.
    if (isLasting(fault)) this.failWaiting(() => fault);
    this.failExpired();
    this.reconnection.next(this.now);
  }

  /** Starts the timer, which runs while there are connections or waiting calls. */
  private startTimer(): void {
    if (this.timer !== undefined) return;
    const { connectTimeout, headersTimeout, bodyTimeout } = this.options;
    const least = Math.min(...[connectTimeout, headersTimeout, bodyTimeout, 2500].filter((time) => time > 0));
    this.timer = setInterval(SocketPool.checkTimeouts, Math.max(5, least / 10), this);
    this.timer.unref();
  }

  private static dispatch(this: void, pool: SocketPool): void {
    pool.dispatch();
  }

  private static relieve(this: void, pool: SocketPool): void {
    pool.relieve();
  }

  private static checkTimeouts(this: void, pool: SocketPool): void {
    // After a stall of the process, read first the bytes that arrived in time.
    onCheckPhase(() => pool.checkTimeouts());
  }

  private checkTimeouts(): void {
    const now = performance.now();
    this.now = now;
    this.idle.idleLimit.update(now);
    for (const connection of this.all) connection.check(now);
    this.failExpired();
    // Dispatches calls queued after a failed one, and tries another address.
    this.onRoom();
    if (this.all.size > 0 || this.hasWaitingCalls) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Fails calls that have waited too long for V2 to be reachable, or for a free connection. */
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
    return { kind: 'timeout', mayHaveArrived: false, cause: outage?.fault.cause ?? wait };
  }
}

/** The free connections, the most recently used at the end, so that unneeded ones grow old and close. */
class IdleConnections {
  readonly idleLimit = new IdleLimit();
  private readonly addresses: Addresses;
  private readonly list: UpstreamConnection[] = [];

  constructor(addresses: Addresses) {
    this.addresses = addresses;
  }

  get count(): number {
    return this.list.length;
  }

  add(connection: UpstreamConnection): void {
    this.list.push(connection);
  }

  remove(connection: UpstreamConnection): void {
    const at = this.list.indexOf(connection);
    if (at >= 0) this.list.splice(at, 1);
  }

  /** The connection that has been idle for longest. */
  removeOldest(): UpstreamConnection | undefined {
    return this.list.shift();
  }

  /**
   * The connection for a request: the next address's most recently used one. Undefined if there is none, or if V2 may be about to close
   * it and the request must not be sent twice.
   */
  acquire(isRepeatable: boolean, now: number): UpstreamConnection | undefined {
    const { list, addresses } = this;
    if (addresses.count > 1) this.moveLeastUsedToEnd();
    for (let last = list.at(-1); last !== undefined; last = list.at(-1)) {
      // A connection is reused if it is alive (`isFree`: nothing in flight, not expired, no FIN), and if either V2 is not about to close it
      // or the request may be sent again (RFC 9110 §9.2.2).
      if (last.isFree(now)) {
        // The others have been idle for longer still.
        if (!this.suits(last, isRepeatable, now)) return undefined;
        list.pop();
        if (last.address !== undefined) addresses.took(last.address);
        return last;
      }
      list.pop();
      last.destroy();
    }
    return undefined;
  }

  /** True when some connection could be used. */
  serves(isRepeatable: boolean, now: number): boolean {
    const last = this.list.at(-1);
    return last !== undefined && this.suits(last, isRepeatable, now);
  }

  destroyAll(): void {
    for (const connection of this.list) connection.destroy();
  }

  private suits(connection: UpstreamConnection, isRepeatable: boolean, now: number): boolean {
    return now - connection.idleSince <= this.idleLimit.ms || isRepeatable;
  }

  /** Moves a connection of the least used address to the end. */
  private moveLeastUsedToEnd(): void {
    const { list } = this;
    let best = list.length - 1;
    for (let at = best - 1; at >= 0; at -= 1) {
      if (turnOf(list[at]) < turnOf(list[best])) best = at;
    }
    list.push(...list.splice(best, 1));
  }
}

function turnOf(connection: UpstreamConnection | undefined): number {
  return connection?.address?.turn ?? 0;
}

/** Number of closes to remember, and for how many milliseconds. */
const MAX_CLOSES = 16;
const REMEMBERED_MS = 600_000;
/**
 * Trusted part of the observed keep-alive time: servers check their timers only now and then, and a request takes time to arrive.
 */
const TRUSTED_PART = 0.8;

interface Closing {
  readonly age: number;
  readonly at: number;
}

/**
 * The time for which V2 keeps idle connections, learnt from those that it closed, so that a request that must not be sent twice never
 * uses one that V2 is about to close. Times are milliseconds.
 *
 * For example, V2 keeps idle connections for 5 s. It closes four after 5,003, 5,011, 4,998 and 5,020 ms, and its restart closes one after
 * 300. That is below half of the longest (5,020) and ignored; the shortest of the others is 4,998, and 80 % of it, 3,998 ms, is the limit.
 * After 4 idle seconds, a GET still gets the connection, but a POST a new one.
 */
export class IdleLimit {
  /** Idle time from which a connection is too old; infinite until V2 is seen to close one. */
  ms = Number.POSITIVE_INFINITY;
  private closings: readonly Closing[] = [];

  /** Notes that V2 closed a connection that had been idle for `age`. */
  closed(age: number, now: number): void {
    this.closings = [...this.closings, { age, at: now }].slice(-MAX_CLOSES);
    this.update(now);
  }

  /** Forgets old closes, because V2 may keep connections longer by now. */
  update(now: number): void {
    if (this.closings.length === 0) return;
    this.closings = this.closings.filter(({ at }) => now - at < REMEMBERED_MS);
    const ages = this.closings.map(({ age }) => age);
    // The shortest, because servers check their timers in rounds; but without ages below half of the longest, because a restart closes
    // connections of any age.
    const half = Math.max(...ages) / 2;
    this.ms = TRUSTED_PART * Math.min(...ages.filter((age) => age >= half));
  }
}

const nothing = Buffer.alloc(0);
/** Largest body in bytes that is copied next to its head: beyond it, new memory takes longer than a second buffer. */
const SMALL_BODY_BYTES = 4 * 1024;

/** When a call arrived, and deadline for the first byte of its response, on the queue's clock; `Infinity` for none. */
interface CallTimes {
  readonly since: number;
  readonly due: number;
}

interface CallQueue {
  /** Removes a call, if it waits here. */
  remove(call: PooledCall): void;
}

/**
 * A request that waits for a connection or is on one. A complete body is one write with its head; a body in parts is not read before
 * the head is written.
 */
export class PooledCall implements UpstreamCall, PendingRequest {
  readonly method: string;
  readonly receiver: UpstreamReceiver;
  readonly due: number;
  readonly since: number;
  readonly isBackground: boolean;
  head = '';
  smallBody: Uint8Array = nothing;
  body: Uint8Array | undefined = undefined;
  parts: BodyParts | undefined = undefined;
  length: number | undefined = undefined;
  connection: UpstreamConnection | undefined = undefined;
  /** True when the response is paused, even before there is a connection. */
  isPaused = false;
  rank = 0;
  /** The queue in which it waits, between these two. */
  queue: CallQueue | undefined = undefined;
  previous: PooledCall | undefined = undefined;
  next: PooledCall | undefined = undefined;

  constructor(
    { method, isBackground = false }: UpstreamRequest,
    receiver: UpstreamReceiver,
    times: CallTimes,
  ) {
    this.method = method;
    this.receiver = receiver;
    this.since = times.since;
    this.due = times.due;
    this.isBackground = isBackground;
  }

  /** True if it may be sent on a connection that V2 may be about to close; a body in parts can be read only once. */
  get isRepeatable(): boolean {
    return mayRepeat(this.method, this.parts === undefined);
  }

  /** True once it is on a connection, even if nothing has reached V2. */
  get isSent(): boolean {
    return this.connection !== undefined;
  }

  get isHolding(): boolean {
    return this.connection?.has(this) === true;
  }

  /** Bytes held while it waits. */
  get heldBytes(): number {
    return this.head.length + this.smallBody.length + (this.body?.length ?? 0);
  }

  set(head: string, { body, length }: UpstreamRequest): void {
    this.head = head;
    if (body === null) return;
    if (body instanceof Uint8Array) {
      if (body.length <= SMALL_BODY_BYTES) this.smallBody = body;
      else this.body = body;
      return;
    }
    this.parts = body;
    this.length = length;
  }

  pause(): void {
    this.isPaused = true;
    if (this.connection?.has(this) === true) this.connection.pause();
  }

  resume(): void {
    this.isPaused = false;
    if (this.connection?.has(this) === true) this.connection.resume();
  }

  abort(): void {
    if (this.connection === undefined) this.queue?.remove(this);
    else if (this.connection.has(this)) this.connection.abort();
  }
}

/** The head of a request; undefined when it cannot be written. */
function headOf(request: UpstreamRequest, host: string): string | undefined {
  const { method, target, body, length } = request;
  const fields = request.fieldText ?? writeFieldLines(request.headers, request.lines);
  if (fields === undefined || !isFieldName(method) || !isWritableTarget(target)) return undefined;
  const framing = framingOf(method, body, length);
  return `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${fields}${framing}\r\n`;
}

function framingOf(method: string, body: Body, length: number | undefined): string {
  // A length of 0 only for methods that expect content (RFC 9110 §8.6).
  if (body === null) return expectsContent(method) ? 'content-length: 0\r\n' : '';
  const bytes = body instanceof Uint8Array ? body.length : length;
  return bytes === undefined ? 'transfer-encoding: chunked\r\n' : `content-length: ${bytes}\r\n`;
}

/**
 * A queue of calls that wait for a connection, in order of arrival; those without a client come last. It is a linked list, so that removing
 * a call takes constant time, even when thousands of clients leave at once.
 */
export class WaitingCalls {
  /** Number of calls. */
  count = 0;
  /** Number of calls whose body arrives in parts. */
  streamed = 0;
  /** Bytes that they hold while they wait. */
  heldBytes = 0;
  first: PooledCall | undefined = undefined;
  private last: PooledCall | undefined = undefined;

  at(index: number): PooledCall | undefined {
    let call = this.first;
    for (let before = 0; before < index; before += 1) call = call?.next;
    return call;
  }

  add(call: PooledCall): void {
    let previous = this.last;
    if (!call.isBackground) while (previous?.isBackground === true) previous = previous.previous;
    this.link(previous, call, previous === undefined ? this.first : previous.next);
  }

  /** Adds a call that has waited elsewhere, before all that arrived later. */
  addByAge(call: PooledCall): void {
    let next = this.first;
    while (next !== undefined && !next.isBackground && next.since <= call.since) ({ next } = next);
    this.link(next === undefined ? this.last : next.previous, call, next);
  }

  /** Removes a call, if it waits here. */
  remove(call: PooledCall): void {
    if (call.queue !== this) return;
    const { previous, next } = call;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    call.previous = undefined;
    call.next = undefined;
    call.queue = undefined;
    this.count -= 1;
    if (call.parts !== undefined) this.streamed -= 1;
    this.heldBytes -= call.heldBytes;
  }

  /** Number of calls with a client that have waited since a time. */
  countSince(latest: number): number {
    let count = 0;
    for (let call = this.first; call !== undefined; call = call.next)
      if (!call.isBackground && call.since <= latest) count += 1;
    return count;
  }

  /** Orders the calls by rank, and those of one rank as before. */
  sort(): void {
    const all: PooledCall[] = [];
    for (let call = this.first; call !== undefined; call = call.next) all.push(call);
    all.sort(
      (left, right) => Number(left.isBackground) - Number(right.isBackground) || left.rank - right.rank,
    );
    for (const call of all) this.remove(call);
    for (const call of all) this.add(call);
  }

  removeFirst(): PooledCall | undefined {
    const { first } = this;
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** Fails all queued calls for which `faultOf` returns a fault; handlers may remove others meanwhile. */
  fail(faultOf: (call: PooledCall) => UpstreamFault | undefined): void {
    const failed: [PooledCall, UpstreamFault][] = [];
    for (let call = this.first; call !== undefined; call = call.next) {
      const fault = faultOf(call);
      if (fault !== undefined) failed.push([call, fault]);
    }
    for (const [call, fault] of failed) {
      if (call.queue !== this) continue;
      this.remove(call);
      call.receiver.fail(fault);
    }
  }

  private link(previous: PooledCall | undefined, call: PooledCall, next: PooledCall | undefined): void {
    call.previous = previous;
    call.next = next;
    if (previous === undefined) this.first = call;
    else previous.next = call;
    if (next === undefined) this.last = call;
    else next.previous = call;
    call.queue = this;
    this.count += 1;
    if (call.parts !== undefined) this.streamed += 1;
    this.heldBytes += call.heldBytes;
  }
}

/** The pool that uses a `Reconnection`. */
interface ReconnectionHandler {
  /** Starts another attempt, unless too many are in progress or there is no room for it. */
  connectAgain(): void;
}

/** A time in which none of V2's addresses accepts connections. */
interface Outage {
  /** When the first failed attempt began: requests wait for the connect timeout from then on. */
  readonly since: number;
  /** The error of the last attempt. */
  readonly fault: UpstreamFault;
}

const FIRST_DELAY_MS = 20;
/** Maximum milliseconds, plus the time to connect, until the gateway notices that V2 is back. */
const MAX_DELAY_MS = 100;
/** Milliseconds after which a second attempt joins one that hangs: TCP itself tries again only after 1, 3 and 7 s. */
const HANGING_MS = 200;

/**
 * Reconnects to an unreachable V2 after 20 ms, doubling to 100, even while no request waits, because requests that fail at once do not
 * wait. Times are milliseconds.
 */
class Reconnection {
  /** Set while V2 is unreachable. */
  outage: Outage | undefined = undefined;
  private readonly handler: ReconnectionHandler;
  /** When the first failed attempt since the last success began. */
  private failingSince: number | undefined = undefined;
  private retryAt = 0;
  private delay = FIRST_DELAY_MS;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(handler: ReconnectionHandler) {
    this.handler = handler;
  }

  /** True once no attempt has succeeded for `connectTimeout`; never with 0. */
  isAway(now: number, connectTimeout: number): boolean {
    return this.outage !== undefined && connectTimeout > 0 && now >= this.outage.since + connectTimeout;
  }

  /** A connection was established: true if that ends an outage. */
  reached(): boolean {
    this.failingSince = undefined;
    if (this.outage === undefined) return false;
    this.outage = undefined;
    this.delay = FIRST_DELAY_MS;
    this.stop();
    return true;
  }

  /** Notes that an attempt failed: an outage unless another address may still accept. */
  failed(began: number, fault: UpstreamFault, now: number, hasUsableAddress: boolean): void {
    this.failingSince ??= began;
    if (hasUsableAddress) return;
    this.outage = { since: this.outage?.since ?? this.failingSince, fault };
    this.retryAt = now + this.delay;
    this.delay = Math.min(this.delay * 2, MAX_DELAY_MS);
  }

  /** During an outage, makes the next attempt, now or when it is due. */
  next(now: number): void {
    if (this.outage === undefined) return;
    this.stop();
    if (this.retryAt <= now) {
      this.retryAt = now + HANGING_MS;
      this.handler.connectAgain();
    }
    this.timer = setTimeout(() => this.next(performance.now()), Math.ceil(this.retryAt - now));
    this.timer.unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

/** TLS and certificate errors: reconnecting changes nothing, and waiting hides the fault from the operator. */
const LASTING_CAUSE = /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO_|^HOSTNAME_MISMATCH$|^EPROTO$/;

/** True for a fault that an operator has to fix, so that waiting is useless. */
function isLasting(fault: UpstreamFault): boolean {
  return LASTING_CAUSE.test(fault.cause);
}
