import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Exchange } from '../../gateway/exchange.ts';
import { type Failure, failure } from '../../migrate/failure.ts';
import { FIRST_REQUEST_GRACE_MS } from './connection-ends.ts';
import { onCheckPhase, FairQueue } from './fair-turns.ts';
import { ClientConnection, type ClientConnectionOwner } from './http1/connection.ts';
import { peerName } from './proxy-protocol.ts';
import type { ReaderLimits } from './rates.ts';
import { hasPeer, isReading, startReading, stopReading } from '../node-internals.ts';
import type { IncomingBodyOptions } from './request-body.ts';

/** Limits on the time that clients take, in milliseconds, and on the bytes that they send; a time of 0 is no limit. */
interface ClientLimits extends ReaderLimits {
  /** Maximum size of a request head in bytes. */
  readonly headerBytes: number;
  readonly headersTimeout: number;
  readonly idleTimeout: number;
}

/** The server that owns the connections. */
export interface ClientConnectionsOwner extends IncomingBodyOptions {
  readonly draining: boolean;
  serve(exchange: Exchange): void;
  addressOf(socket: Socket): string;
  /** Responds without a request, and closes; the response to HEAD has no body. */
  refuse(socket: Socket, refused: Failure, isHead: boolean): void;
  /** Closes a connection once the peer has read the response. */
  linger(socket: Socket): void;
}

/** Milliseconds between two checks for connections that have been idle too long. */
const IDLE_CHECK_MS = 250;
/** Bytes that were put back, and that the gateway reads in one turn of the event loop. */
const READ_AGAIN_BYTES = 256 * 1024;
/** Reads that are put back in one turn of the event loop, and reads that wait: beyond, no connection is read until the next turn. */
const PUT_BACK_PER_TURN = 16;
const PUT_BACK = 512;
/** Minimum milliseconds to wait for the rest of a small body, before its exchange begins without it. */
const PARTIAL_BODY_WAIT_MS = 25;
/** Milliseconds by which a kept-alive connection outlives the timeout sent to its client: a request may be on its way by then. */
const KEEP_ALIVE_GRACE_MS = 1000;

/**
 * The connections of HTTP/1.1 and HTTP/1.0.
 */
export class ClientConnections implements ClientConnectionOwner {
  readonly headerBytes: number;
  readonly readerLimits: ReaderLimits;
  readonly keepAliveLines: string;
  readonly bodyOptions: IncomingBodyOptions;
  private readonly limits: ClientLimits;
  private readonly owner: ClientConnectionsOwner;
  private readonly all = new Map<Socket, ClientConnection>();
  /** Those over TLS by their peer: the server knows them by the socket below. */
  private readonly secure = new Map<string, ClientConnection>();
  /** Connections that wait for the rest of a body, with the round of checks in which the wait began. */
  private readonly awaiting = new Map<ClientConnection, number>();
  private readonly reads = new FairQueue<Socket>(READ_AGAIN_BYTES);
  /** Reads that were put back in this turn of the event loop. */
  private putBack = 0;
  /** Connections that are not read until the turn of the event loop is over. */
  private stopped: readonly Socket[] = [];
  private round = 0;
  private idleTimer: NodeJS.Timeout | undefined = undefined;
  private partialBodyTimer: NodeJS.Timeout | undefined = undefined;

  constructor(limits: ClientLimits, owner: ClientConnectionsOwner) {
    this.limits = limits;
    this.owner = owner;
    this.bodyOptions = owner;
    this.headerBytes = limits.headerBytes;
    this.readerLimits = limits;
    const seconds = Math.floor(limits.idleTimeout / 1000);
    this.keepAliveLines = `Connection: keep-alive\r\n${seconds > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ''}`;
  }

  get draining(): boolean {
    return this.owner.draining;
  }

  /** Starts reading a new connection. */
  accept(socket: Socket): void {
    const connection = new ClientConnection(socket, this);
    this.all.set(socket, connection);
    if ('encrypted' in socket) {
      const peer = peerName(socket);
      this.secure.set(peer, connection);
      // The next connection may come from the same port, before this one reports its end.
      socket.once('close', () => this.secure.get(peer) === connection && this.secure.delete(peer));
    }
    if (this.idleTimer !== undefined) return;
    this.idleTimer = setInterval(ClientConnections.closeExpired, IDLE_CHECK_MS, this);
    this.idleTimer.unref();
  }

  /** True while a request, beyond an incomplete head, is in flight on a connection that the gateway reads; one that lingers is not. */
  isBusy(socket: Socket): boolean {
    const connection = this.of(socket);
    if (connection === undefined || connection.isIdle || connection.isLingering) return false;
    return connection.partialHeadSince === undefined;
  }

  /** True while the response to a request on a connection that the gateway reads is incomplete. */
  isResponding(socket: Socket): boolean {
    return this.of(socket)?.isResponding === true;
  }

  /** Closes the connections with nothing in flight, except new ones: their first request may be on its way. */
  closeIdle(): void {
    const now = performance.now();
    for (const connection of this.all.values()) {
      const isNew = !connection.isUsed && now - connection.idleSince < FIRST_REQUEST_GRACE_MS;
      if (connection.isIdle && !isNew) connection.socket.destroy();
    }
  }

  private of(socket: Socket): ClientConnection | undefined {
    return this.all.get(socket) ?? this.secure.get(peerName(socket));
  }

  addressOf(socket: Socket): string {
    return this.owner.addressOf(socket);
  }

  serve(exchange: Exchange): void {
    this.owner.serve(exchange);
  }

  refuse({ socket }: ClientConnection, refused: Failure, isHead: boolean): void {
    this.owner.refuse(socket, refused, isHead);
  }

  linger(connection: ClientConnection): void {
    this.owner.linger(connection.socket);
  }

  queueRead({ socket }: ClientConnection, bytes: number): void {
    this.reads.add(socket, bytes, () => socket.resume());
    this.putBack += 1;
    if (this.putBack === 1) setImmediate(ClientConnections.readAgain, this);
    const mayReadOthers = this.putBack < PUT_BACK_PER_TURN && this.reads.waiting < PUT_BACK;
    if (mayReadOthers || this.stopped.length > 0) return;
    this.stopped = [...this.all.keys()];
    for (const one of this.stopped) stopReading(one);
  }

  /** The turn of the event loop is over: reads the connections that were stopped, unless Node has stopped them too. */
  private readAgain(): void {
    for (const socket of this.stopped) startReading(socket);
    this.stopped = [];
    this.putBack = 0;
  }

  awaitBody(connection: ClientConnection): void {
    this.awaiting.set(connection, this.round);
    this.partialBodyTimer ??= setTimeout(ClientConnections.beginStalled, PARTIAL_BODY_WAIT_MS, this);
  }

  closed(connection: ClientConnection): void {
    this.all.delete(connection.socket);
  }

  /** Begins the exchanges of requests that were incomplete at the last check, and still are. */
  private beginStalled(): void {
    for (const [connection, round] of this.awaiting) {
      if (connection.isBodyPartial && round === this.round) continue;
      this.awaiting.delete(connection);
      if (connection.isBodyPartial) connection.beginPartial();
    }
    this.round += 1;
    this.partialBodyTimer =
      this.awaiting.size === 0
        ? undefined
        : setTimeout(ClientConnections.beginStalled, PARTIAL_BODY_WAIT_MS, this);
  }

  /** Closes connections that have been idle too long. */
  private closeExpired(): void {
    const now = performance.now();
    const { idleTimeout, headersTimeout } = this.limits;
    for (const connection of this.all.values()) {
      const headSince = connection.partialHeadSince ?? now;
      if (headersTimeout > 0 && now - headSince > headersTimeout)
        connection.refuse(failure('client-timeout'));
      if (!connection.isIdle) continue;
      const idle = now - connection.idleSince;
      if (connection.isUsed) {
        if (idleTimeout > 0 && idle > idleTimeout + KEEP_ALIVE_GRACE_MS) connection.socket.destroy();
      } else if (headersTimeout > 0 && idle > headersTimeout) {
        connection.refuse(failure('client-timeout'));
      }
    }
    if (this.all.size > 0) return;
    clearInterval(this.idleTimer);
    this.idleTimer = undefined;
  }

  private static closeExpired(this: void, connections: ClientConnections): void {
    // After the process stood still, what came in time is read first.
    onCheckPhase(() => connections.closeExpired());
  }

  private static readAgain(this: void, connections: ClientConnections): void {
    connections.readAgain();
  }

  private static beginStalled(this: void, connections: ClientConnections): void {
    connections.beginStalled();
  }
}

/** How a server tells which of its connections may close for a new one. */
interface ConnectionLimitOwner {
  /** Closes a connection whose last response is written; false where there is none. */
  closeLingering(): boolean;
  /** True for a connection that is idle, or has received only part of a request head or TLS handshake. */
  isExpendable(socket: Socket): boolean;
}

/** Connections that are checked for each new one, at least; a flood of those pays for no more once the checks of its time are used up. */
const MIN_CHECKS = 64;
/** Checks of all new connections in a stretch of time, each of which takes up to a microsecond. */
const CHECKS = 20_000;
const STRETCH_MS = 100;

/**
 * Limits the number of client connections: at the limit, one that lingers is closed for a new one, or the oldest with nothing in
 * flight.
 */
export class ConnectionLimit {
  readonly sockets = new Set<Socket>();
  /** Connections accepted so far. */
  accepted = 0;
  private readonly limit: number;
  private readonly owner: ConnectionLimitOwner;
  private stretchSince = Number.NEGATIVE_INFINITY;
  private checks = 0;

  constructor(limit: number, owner: ConnectionLimitOwner) {
    this.limit = limit;
    this.owner = owner;
  }

  /** Admits a new connection, or closes it when all others are busy. */
  add(socket: Socket): void {
    this.accepted += 1;
    if (this.sockets.size >= this.limit && !this.makeRoom()) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
  }

  private makeRoom(): boolean {
    if (this.owner.closeLingering()) return true;
    let left = Math.min(this.sockets.size, Math.max(MIN_CHECKS, CHECKS - this.checksUsed()));
    for (const socket of this.sockets) {
      if (left === 0) return false;
      left -= 1;
      this.checks += 1;
      this.sockets.delete(socket);
      if (this.owner.isExpendable(socket)) {
        socket.destroy();
        return true;
      }
      // A busy connection moves to the back, to be checked after all others.
      this.sockets.add(socket);
    }
    return false;
  }

  private checksUsed(): number {
    const now = performance.now();
    if (now - this.stretchSince > STRETCH_MS) {
      this.stretchSince = now;
      this.checks = 0;
    }
    return this.checks;
  }
}

/** Milliseconds between two checks. */
const CHECK_MS = 1000;

/**
 * Closes connections that their clients reset while they are not read, because V2 takes a body slowly, or because more requests than
 * are read ahead have arrived: Node reports nothing of them by then. The end of a connection that was closed in order stands behind
 * the unread bytes, and is found with them.
 */
export class ClientResets {
  private readonly sockets: ReadonlySet<Socket>;
  private timer: NodeJS.Timeout | undefined = undefined;

  /** `sockets` are all connections with clients. */
  constructor(sockets: ReadonlySet<Socket>) {
    this.sockets = sockets;
  }

  /** Checks all connections now and then, as long as there are any. */
  watch(): void {
    this.timer ??= setInterval(ClientResets.check, CHECK_MS, this).unref();
  }

  /** Closes those that are reset. */
  private check(): void {
    for (const socket of this.sockets) if (isReset(socket)) socket.destroy();
    if (this.sockets.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private static check(this: void, resets: ClientResets): void {
    resets.check();
  }
}

/** True where the kernel says so of a connection that is not read: on Linux, one that was reset has no peer. */
function isReset(socket: Socket): boolean {
  const isRead = isReading(socket) === true && !socket.isPaused();
  return !isRead && hasPeer(socket) === false;
}
