import type { Socket } from 'node:net';
import { afterReads } from '../../after-reads.ts';
import { peerName } from '../busy-peers.ts';
import { FIRST_REQUEST_GRACE_MS } from '../drain-connections.ts';
import { TurnQueue } from '../turn-queue.ts';
import { H2Connection, type H2ConnectionOwner } from './h2-connection.ts';
import type { H2Exchange, H2ExchangeOptions } from './h2-exchange.ts';
import { H2Turns } from './h2-turns.ts';
import type { SectionLimits } from './request-section.ts';

/** Limits on the time that clients take, in milliseconds, and on the sections that they send; a time of 0 is no limit. */
export interface H2Limits extends SectionLimits {
  readonly headersTimeout: number;
  readonly idleTimeout: number;
}

/** The server that owns the connections. */
export interface H2ConnectionsOwner extends H2ExchangeOptions {
  readonly draining: boolean;
  addressOf(socket: Socket): string;
  /** A connection closes without a response: its client broke the protocol, or was too slow. */
  logRefused(code: 'bad-request' | 'client-timeout'): void;
  /** Closes a connection once its client has read the last frame; at most so many further bytes are read. */
  linger(socket: Socket, maxBytes: number): void;
}

/** Milliseconds between two checks of the connections. */
const CHECK_MS = 250;
/** Exchanges that end in one turn of the event loop: more than begin, so that their places are soon free. */
const ENDS_PER_TURN = 40;

/** The HTTP/2 connections of a server. */
export class H2Connections {
  private readonly options: H2ConnectionOwner;
  /** By their peer: the server knows them by the socket below TLS. */
  private readonly all = new Map<string, H2Connection>();
  /** A connection that closes ends a hundred exchanges at once. */
  private readonly ends = new TurnQueue<H2Connection>(ENDS_PER_TURN);
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(limits: H2Limits, owner: H2ConnectionsOwner) {
    this.options = {
      headerBytes: limits.headerBytes,
      headerCount: limits.headerCount,
      headersTimeout: limits.headersTimeout,
      idleTimeout: limits.idleTimeout,
      turns: new H2Turns(),
      bodies: owner.bodies,
      bodyTimeout: owner.bodyTimeout,
      requestTimeout: owner.requestTimeout,
      minDataRate: owner.minDataRate,
      minDataRateGrace: owner.minDataRateGrace,
      get draining() {
        return owner.draining;
      },
      take: (exchange) => owner.take(exchange),
      addressOf: (socket) => owner.addressOf(socket),
      onRefused: (code) => owner.logRefused(code),
      linger: (socket, maxBytes) => owner.linger(socket, maxBytes),
      closed: (connection, exchanges) => this.end(connection, exchanges),
    };
  }

  /** Exchanges of closed connections that have not ended yet. */
  get ending(): number {
    return this.ends.waiting;
  }

  /** Starts reading a new connection. */
  accept(socket: Socket): void {
    const peer = peerName(socket);
    const connection = new H2Connection(socket, this.options);
    this.all.set(peer, connection);
    // The next connection may come from the same port.
    socket.once('close', () => this.all.get(peer) === connection && this.all.delete(peer));
    this.timer ??= setInterval(check, CHECK_MS, this).unref();
  }

  /** True while something is in flight on the connection of a peer. */
  isBusy(socket: Socket): boolean {
    return this.all.get(peerName(socket))?.isBusy === true;
  }

  /** Asks all clients to send no further requests, beyond the first one of a new connection. */
  drain(): void {
    for (const connection of this.all.values()) connection.drain();
  }

  /** Closes the connections with nothing in flight, except new ones: their first request may be on its way. */
  closeIdle(): void {
    const now = performance.now();
    for (const connection of this.all.values()) {
      const isNew = !connection.isUsed && now - connection.since < FIRST_REQUEST_GRACE_MS;
      if (!isNew) connection.closeIdle();
    }
  }

  /** Closes the connections whose clients keep them waiting for too long. */
  check(): void {
    const now = performance.now();
    for (const connection of this.all.values()) connection.check(now);
    if (this.all.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private end(connection: H2Connection, exchanges: readonly H2Exchange[]): void {
    for (const exchange of exchanges) this.ends.add(connection, 1, () => exchange.close());
  }
}

function check(connections: H2Connections): void {
  // After the process stood still, what came in time is read first.
  afterReads(() => connections.check());
}
