import type { Socket } from 'node:net';
import type { Exchange } from '../../gateway/exchange.ts';
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
/** Requests that are answered at once before other connections have their turn. */
const turn = 16;
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
  /** The request that `rest` begins with, while some of its body is not there yet. */
  private awaited: UsualRequest | undefined = undefined;
  private isReading = false;
  /** True while further requests wait for others to have their turn of the event loop. */
  private isResting = false;
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
    return this.awaited !== undefined && !this.socket.destroyed;
  }

  /** Gives the connection to Node's server. */
  handOver(): void {
    this.release(this.rest ?? nothing);
  }

  /** The connection closes: nothing that comes is a request any more. */
  hearNoMore(): void {
    this.isClosing = true;
    this.rest = undefined;
  }

  answered(isLast: boolean): void {
    if (isLast) this.hearNoMore();
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
      socket.resume();
      linger(socket);
    }
    exchange.flushed();
    if (!this.isReading) this.readOn();
  };

  private readonly read = (chunk: Buffer): void => {
    if (this.isClosing) return;
    const bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    this.rest = bytes;
    if (this.exchange === undefined && !this.isResting) this.readOn();
    else if (bytes.length > readAhead) this.socket.pause();
  };

  /** Its turn has come again. */
  goOn(): void {
    this.isResting = false;
    if (!this.socket.destroyed) this.readOn();
  }

  /** Begins what is there, one request behind the other, until one is not answered at once. */
  private readOn(): void {
    const { owner, socket } = this;
    this.isReading = true;
    for (let count = 1; this.rest !== undefined && this.exchange === undefined; count += 1) {
      const { rest } = this;
      const request = this.awaited ?? readUsualRequest(rest, owner.headerBytes);
      if (request === undefined) {
        this.release(rest);
        return;
      }
      if (request.end > rest.length) {
        if (this.awaited === undefined) owner.awaitRest(this);
        this.awaited = request;
        break;
      }
      this.awaited = undefined;
      this.rest = request.end === rest.length ? undefined : rest.subarray(request.end);
      this.begin(request, rest.subarray(request.bodyAt, request.end));
      if (count === turn && this.rest !== undefined && this.exchange === undefined) {
        this.isResting = true;
        setImmediate(goOn, this);
        break;
      }
    }
    this.isReading = false;
    // A client that sends on and on is not read faster than it is answered.
    const isAhead = this.awaited === undefined && (this.rest?.length ?? 0) > readAhead;
    if (socket.isPaused() && !isAhead) socket.resume();
  }

  private begin(request: UsualRequest, body: Buffer): void {
    this.isUsed = true;
    const exchange = new SocketExchange(this, request, body);
    this.exchange = exchange;
    this.owner.take(exchange);
  }

  /** In the middle of a body the client went away: its request is in the log, as one that nobody waits for. */
  private giveUp(): void {
    const { awaited, rest } = this;
    this.awaited = undefined;
    this.rest = undefined;
    if (awaited !== undefined && rest !== undefined) this.begin(awaited, rest.subarray(awaited.bodyAt));
  }

  private release(bytes: Buffer): void {
    const { socket } = this;
    this.rest = undefined;
    this.awaited = undefined;
    socket.off('data', this.read);
    socket.off('end', this.ended);
    socket.off('close', this.closed);
    socket.off('error', ignore);
    this.owner.handOver(this, bytes);
  }

  /** The client closed its side: it went away, unless its answer is on the way already. */
  private readonly ended = (): void => {
    const { socket } = this;
    this.giveUp();
    if (this.exchange === undefined) {
      this.hearNoMore();
      socket.end();
    } else if (this.exchange.isAnswered) this.hearNoMore();
    else socket.destroy();
  };

  private readonly closed = (): void => {
    this.giveUp();
    this.rest = undefined;
    this.exchange?.gone();
    this.exchange = undefined;
    this.owner.closed(this);
  };
}

function goOn(connection: ClientConnection): void {
  connection.goOn();
}

/** What breaks is closed, and that is told. */
function ignore(): void {}
