import type { Socket } from 'node:net';
import type { Exchange } from '../gateway/exchange.ts';
import { linger } from './linger.ts';
import { type ExchangeConnection, SocketExchange } from './socket-exchange.ts';
import { readUsualRequest, type UsualRequest } from './usual-request.ts';

/** What every connection of a server shares, and who is told of them. Times are milliseconds; 0 is no limit. */
export interface ClientConnectionOwner {
  /** Bytes of a request's head. */
  readonly headerBytes: number;
  /** For which a client may stop reading its answer. */
  readonly bodyTimeout: number;
  readonly keptLines: string;
  /** True while the server drains: every answer then closes its connection. */
  readonly draining: boolean;
  /** A request is there. */
  take(exchange: Exchange): void;
  /** What comes is for Node's own server, beginning with these bytes. */
  handOver(connection: ClientConnection, bytes: Buffer): void;
  /** Some of a request's body is not there yet. */
  awaitRest(connection: ClientConnection): void;
  closed(connection: ClientConnection): void;
}

/** Bytes of further requests that are read while one is under way. */
const readAhead = 16 * 1024;
const nothing = Buffer.alloc(0);

/**
 * One plain connection with a client, read by the gateway itself as long as its requests are usual ones. They run one after the
 * other, since the second may build on what the first made (RFC 9112 §9.3.2).
 */
export class ClientConnection implements ExchangeConnection {
  readonly socket: Socket;
  readonly remote: string;
  /** When its last answer was out, by the clock of `performance`; when it came, before the first one. */
  idleSince = performance.now();
  /** True once a request came on it. */
  isUsed = false;
  private readonly owner: ClientConnectionOwner;
  private exchange: SocketExchange | undefined = undefined;
  /** What came and is not read: the beginning of a request, or further ones. */
  private rest: Buffer | undefined = undefined;
  private isReading = false;
  private isClosing = false;

  constructor(socket: Socket, owner: ClientConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    this.remote = socket.remoteAddress ?? '';
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('close', this.closed);
    socket.on('error', ignore);
  }

  get bodyTimeout(): number {
    return this.owner.bodyTimeout;
  }

  get keptLines(): string {
    return this.owner.keptLines;
  }

  get isEnding(): boolean {
    return this.owner.draining;
  }

  /** True while nothing is under way, and nothing has begun. */
  get isIdle(): boolean {
    return this.exchange === undefined && this.rest === undefined && !this.isClosing;
  }

  /** True while some of a request's body is not there yet. */
  get isAwaiting(): boolean {
    return this.exchange === undefined && this.rest !== undefined && !this.socket.destroyed;
  }

  /** Gives the connection to Node's server. */
  handOver(): void {
    this.release(this.rest ?? nothing);
  }

  /** The connection closes: nothing that comes is a request any more. */
  hearNoMore(): void {
    this.isClosing = true;
  }

  answered(isLast: boolean): void {
    this.isClosing ||= isLast;
    // All of it is with the system already, unless the client reads slowly.
    if (this.socket.writableLength === 0) this.flushed();
    else this.socket.write(nothing, this.flushed);
  }

  private readonly flushed = (): void => {
    const { exchange, socket } = this;
    if (exchange === undefined || socket.destroyed) return;
    this.exchange = undefined;
    this.idleSince = performance.now();
    if (this.isClosing) {
      socket.end();
      // What waits behind the last request is not heard.
      this.rest = undefined;
      socket.resume();
      linger(socket);
    }
    exchange.flushed();
    if (this.rest !== undefined && !this.isReading) this.readOn(this.rest);
  };

  private readonly read = (chunk: Buffer): void => {
    if (this.isClosing) return;
    const bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    if (this.exchange === undefined) {
      this.readOn(bytes);
      return;
    }
    this.rest = bytes;
    if (bytes.length > readAhead) this.socket.pause();
  };

  /** Begins the request that `bytes` begin with; goes on when it is answered at once. */
  private readOn(bytes: Buffer): void {
    this.isReading = true;
    if (this.socket.isPaused()) this.socket.resume();
    for (let next: Buffer | undefined = bytes; next !== undefined && !this.isClosing;) {
      const request = readUsualRequest(next, this.owner.headerBytes);
      if (request === undefined) {
        this.release(next);
        break;
      }
      if (request.end > next.length) {
        this.rest = next;
        this.owner.awaitRest(this);
        break;
      }
      this.rest = request.end === next.length ? undefined : next.subarray(request.end);
      this.begin(request, next.subarray(request.bodyAt, request.end));
      next = this.exchange === undefined ? this.rest : undefined;
    }
    this.isReading = false;
  }

  private begin(request: UsualRequest, body: Buffer | undefined): void {
    this.isUsed = true;
    const exchange = new SocketExchange(this, request, body);
    this.exchange = exchange;
    this.owner.take(exchange);
  }

  private release(bytes: Buffer): void {
    const { socket } = this;
    this.rest = undefined;
    socket.off('data', this.read);
    socket.off('end', this.ended);
    socket.off('close', this.closed);
    socket.off('error', ignore);
    this.owner.handOver(this, bytes);
  }

  /** The client closed its side: it went away, unless its answer is on the way already. */
  private readonly ended = (): void => {
    const { exchange, rest, socket } = this;
    if (exchange !== undefined) {
      if (exchange.isAnswered) this.isClosing = true;
      else socket.destroy();
      return;
    }
    // In the middle of a body: the request is in the log, as one that nobody waits for.
    const request = rest === undefined ? undefined : readUsualRequest(rest, this.owner.headerBytes);
    if (request !== undefined) {
      this.begin(request, undefined);
      socket.destroy();
      return;
    }
    socket.end();
  };

  private readonly closed = (): void => {
    this.exchange?.gone();
    this.exchange = undefined;
    this.owner.closed(this);
  };
}

/** What breaks is closed, and that is told. */
function ignore(): void {}
