import type { Socket } from 'node:net';
import type { Exchange } from '../../gateway/exchange.ts';
import { type ExchangeConnection, SocketExchange } from './socket-exchange.ts';
import type { ReaderLimits } from './slow-reader-guard.ts';
import { readFastPathRequest, type FastPathRequest } from './fast-path-request.ts';
import { judgeUnusualHead, PartialHead } from './partial-head.ts';

/** What every connection of a server shares, and who is told of them. Times are milliseconds; 0 is no limit. */
export interface ClientConnectionOwner {
  /** Bytes of a request's head. */
  readonly headerBytes: number;
  readonly readerLimits: ReaderLimits;
  readonly keepAliveLines: string;
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
  /** The address of the client. */
  addressOf(socket: Socket): string;
  /** A request is there. */
  take(exchange: Exchange): void;
  /** What came is no request: the connection gets a response of the gateway, and closes. */
  refuse(connection: ClientConnection, code: 'client-timeout' | 'bad-request'): void;
  /** The last response is written: the connection closes when its client has read it. */
  linger(connection: ClientConnection): void;
  /** What comes is for Node's own server, beginning with these bytes. */
  handOver(connection: ClientConnection, bytes: Buffer): void;
  /** Some of a request's body is not there yet. */
  awaitBody(connection: ClientConnection): void;
  closed(connection: ClientConnection): void;
}

/** Bytes of further requests that are read while one is under way. */
const READ_AHEAD_BYTES = 16 * 1024;
/** Requests that are answered at once before other connections have their turn. */
const REQUESTS_PER_TURN = 16;
const nothing = Buffer.alloc(0);

/**
 * One plain connection with a client, read by the gateway itself as long as its requests are usual ones. They run one after the
 * other, since the second may build on what the first made (RFC 9112 §9.3.2).
 */
export class ClientConnection implements ExchangeConnection {
  readonly socket: Socket;
  readonly remote: string;
  /** When its last response was out, by the clock of `performance`; when it came, before the first one. */
  idleSince = performance.now();
  /** True once a request came on it. */
  isUsed = false;
  private readonly owner: ClientConnectionOwner;
  private exchange: SocketExchange | undefined = undefined;
  /** What came and is not read: the beginning of a request, or further ones. */
  private unparsed: Buffer | undefined = undefined;
  /** The request that `rest` begins with, while some of its body is not there yet. */
  private partialRequest: FastPathRequest | undefined = undefined;
  /** The beginning of a request, while its head is not whole. */
  private partialHead: PartialHead | undefined = undefined;
  private isReading = false;
  /** True while further requests wait for others to have their turn of the event loop. */
  private isYielding = false;
  private isClosing = false;

  constructor(socket: Socket, owner: ClientConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    this.remote = owner.addressOf(socket);
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('close', this.closed);
    socket.on('error', ignore);
  }

  get readerLimits(): ReaderLimits {
    return this.owner.readerLimits;
  }

  get keptLines(): string {
    return this.owner.keepAliveLines;
  }

  get isEnding(): boolean {
    return this.owner.draining;
  }

  /** True while nothing is under way, and nothing has begun. */
  get isIdle(): boolean {
    return this.exchange === undefined && !this.hasBegun && !this.isClosing;
  }

  /** Since when the head of a request is not whole, by the clock of `performance`; undefined while none is. */
  get partialHeadSince(): number | undefined {
    return this.isClosing ? undefined : this.partialHead?.since;
  }

  private get hasBegun(): boolean {
    return this.unparsed !== undefined || this.partialHead !== undefined;
  }

  /** True while some of a request's body is not there yet. */
  get isBodyPartial(): boolean {
    return this.partialRequest !== undefined && !this.socket.destroyed;
  }

  /** Gives the connection to Node's server. */
  handOver(): void {
    this.release(this.unparsed ?? nothing);
  }

  /** The connection closes: nothing that comes is a request any more. */
  stopReading(): void {
    this.isClosing = true;
    this.unparsed = undefined;
    this.partialHead = undefined;
  }

  /** What came is no request: it gets a response of the gateway, and the connection closes. */
  refuse(code: 'client-timeout' | 'bad-request'): void {
    this.stopReading();
    this.owner.refuse(this, code);
  }

  responseEnded(isLast: boolean): void {
    if (isLast) this.stopReading();
    // All of it is with the system already, unless the client reads slowly.
    if (this.socket.writableLength === 0) this.flushed();
    else this.socket.write(nothing, this.flushed);
  }

  private readonly flushed = (): void => {
    const { exchange, socket } = this;
    if (exchange === undefined || socket.destroyed) return;
    this.exchange = undefined;
    this.idleSince = performance.now();
    if (this.isClosing) this.owner.linger(this);
    exchange.flushed();
    if (!this.isReading) this.parseNext();
  };

  private readonly read = (chunk: Buffer): void => {
    if (this.isClosing) return;
    const { partialHead, unparsed } = this;
    if (partialHead?.add(chunk) === false) return;
    const before = partialHead?.received() ?? unparsed;
    this.partialHead = undefined;
    // A head that was waited for holds the chunk already.
    const bytes =
      partialHead !== undefined || before === undefined ? (before ?? chunk) : Buffer.concat([before, chunk]);
    this.unparsed = bytes;
    if (this.exchange === undefined && !this.isYielding) this.parseNext();
    else if (bytes.length > READ_AHEAD_BYTES) this.socket.pause();
  };

  /** Its turn has come again. */
  continueParsing(): void {
    this.isYielding = false;
    if (!this.socket.destroyed) this.parseNext();
  }

  /** Begins what is there, one request behind the other, until one is not answered at once. */
  private parseNext(): void {
    const { owner, socket } = this;
    this.isReading = true;
    for (let count = 1; this.unparsed !== undefined && this.exchange === undefined; count += 1) {
      const { unparsed } = this;
      const request = this.partialRequest ?? readFastPathRequest(unparsed, owner.headerBytes);
      if (request === undefined) {
        this.meetUnusual(unparsed);
        break;
      }
      if (request.end > unparsed.length) {
        if (this.partialRequest === undefined) owner.awaitBody(this);
        this.partialRequest = request;
        break;
      }
      this.partialRequest = undefined;
      this.unparsed = request.end === unparsed.length ? undefined : unparsed.subarray(request.end);
      this.begin(request, unparsed.subarray(request.bodyAt, request.end));
      if (count === REQUESTS_PER_TURN && this.unparsed !== undefined && this.exchange === undefined) {
        this.isYielding = true;
        setImmediate(continueParsing, this);
        break;
      }
    }
    this.isReading = false;
    // A client that sends on and on is not read faster than it is answered.
    const isAhead = this.partialRequest === undefined && (this.unparsed?.length ?? 0) > READ_AHEAD_BYTES;
    if (socket.isPaused() && !isAhead) socket.resume();
  }

  /** What came is no usual request: its head is not whole, or it is for Node's server, or for nobody. */
  private meetUnusual(bytes: Buffer): void {
    const { headerBytes } = this.owner;
    switch (judgeUnusualHead(bytes, headerBytes)) {
      case 'partial':
        this.unparsed = undefined;
        this.partialHead = new PartialHead(bytes, headerBytes);
        return;
      case 'unusual':
        this.release(bytes);
        return;
      case 'malformed':
        this.refuse('bad-request');
        return;
    }
  }

  private begin(request: FastPathRequest, body: Buffer): void {
    this.isUsed = true;
    const exchange = new SocketExchange(this, request, body);
    this.exchange = exchange;
    this.owner.take(exchange);
  }

  /** In the middle of a body the client went away: its request is in the log, as one that nobody waits for. */
  private abandonBody(): void {
    const { partialRequest, unparsed } = this;
    this.partialRequest = undefined;
    this.unparsed = undefined;
    if (partialRequest !== undefined && unparsed !== undefined)
      this.begin(partialRequest, unparsed.subarray(partialRequest.bodyAt));
  }

  private release(bytes: Buffer): void {
    const { socket } = this;
    this.unparsed = undefined;
    this.partialRequest = undefined;
    socket.off('data', this.read);
    socket.off('end', this.ended);
    socket.off('close', this.closed);
    socket.off('error', ignore);
    this.owner.handOver(this, bytes);
  }

  /** The client closed its side: it went away, unless its response is on the way already. */
  private readonly ended = (): void => {
    const { socket } = this;
    this.abandonBody();
    if (this.partialHead !== undefined) this.refuse('bad-request');
    else if (this.exchange === undefined) {
      this.stopReading();
      socket.end();
    } else if (this.exchange.isResponded) this.stopReading();
    else socket.destroy();
  };

  private readonly closed = (): void => {
    this.abandonBody();
    this.unparsed = undefined;
    this.partialHead = undefined;
    this.exchange?.gone();
    this.exchange = undefined;
    this.owner.closed(this);
  };
}

function continueParsing(connection: ClientConnection): void {
  connection.continueParsing();
}

/** What breaks is closed, and that is told. */
function ignore(): void {}
