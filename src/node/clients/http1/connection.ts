import { performance } from 'node:perf_hooks';
import type { Socket } from 'node:net';
import type { Exchange } from '../../../gateway/exchange.ts';
import { type Failure, failure } from '../../../migrate/failure.ts';
import type { BodyMemory } from '../../body-memory.ts';
import { copyOf, ReusedReadBuffer } from '../../node-internals.ts';
import type { ReaderLimits } from '../rates.ts';
import { type IncomingBodyOptions, SizedBody } from '../request-body.ts';
import { ChunkedBody } from './chunked.ts';
import { type ExchangeConnection, LongBodyExchange, SocketExchange } from './exchange.ts';
import {
  emptyLinesAt,
  type H1Request,
  PartialHead,
  readRequest,
  RefusedHead,
  SPARE_HEAD_BYTES,
} from './request.ts';

/** Options shared by every connection of a server, and handlers of its events. Times are milliseconds; 0 is no limit. */
export interface ClientConnectionOwner {
  /** Maximum size of a request head in bytes. */
  readonly headerBytes: number;
  readonly readerLimits: ReaderLimits;
  readonly bodyOptions: IncomingBodyOptions;
  readonly keepAliveLines: string;
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
  /** The address of the client. */
  addressOf(socket: Socket): string;
  /** A request has arrived. */
  serve(exchange: Exchange): void;
  /** There is no request to respond to: the gateway responds itself, and the connection closes. The response to HEAD has no body. */
  refuse(connection: ClientConnection, refused: Failure, isHead: boolean): void;
  /** The last response is written: the connection closes once the peer has read it. */
  linger(connection: ClientConnection): void;
  /** Resumes reading in a later turn of the event loop; so many bytes are read by then. */
  queueRead(connection: ClientConnection, bytes: number): void;
  /** Part of a request's body is still missing. */
  awaitBody(connection: ClientConnection): void;
  closed(connection: ClientConnection): void;
}

/** Largest body in bytes that is read whole before its exchange begins; memory of larger ones is used again. */
const WHOLE_BODY_BYTES = 8 * 1024;
/** Bytes of a read that may hold very many tiny chunks. */
const LARGE_READ_BYTES = 8 * 1024;
/** Bytes of further requests that are read while one is in flight. */
const READ_AHEAD_BYTES = 16 * 1024;
/** Requests that are served directly before other connections have their turn. */
const REQUESTS_PER_TURN = 16;
const nothing = Buffer.alloc(0);

/**
 * One connection of HTTP/1.1 or HTTP/1.0 with a client, plain or over TLS (RFC 9112 §9).
 *
 * | state | held in | bytes | the client's FIN | time |
 * |---|---|---|---|---|
 * | new: no request yet | nothing, `isUsed` false | read as a head | closes | 408 after the headers timeout |
 * | idle: kept alive | nothing, `isUsed` true | read as a head | closes | closes after the idle timeout |
 * | head: part of one has come | `partialHead` | added | 400, closes | 408 after the headers timeout |
 * | small body: part of one has come | `partialRequest`, `unparsed` | added | its request is logged as one without a client | becomes `body` after 25 ms |
 * | body: its exchange has begun | `exchange`, `body` | given to the body | the exchange is disconnected | 408 after the body timeout, or below the minimum rate |
 * | busy: the request is whole | `exchange` | wait, up to 16 KiB, in `unparsed` | the exchange is disconnected | that of V2 |
 * | early: responded before its body was whole | `body` | dropped | the rest never comes | 30 s |
 * | yielding: more requests than a turn may have | `isYielding`, `unparsed` | wait | closes, and what waits is not served | next turn |
 * | closing: the last response, or a refusal | `isClosing` | dropped | closes | lingers for 30 s at most |
 *
 * Requests run one after the other, since the second may build on the effect of the first, and responses have the order of their requests
 * (§9.3.2); so further ones wait unparsed. A client that closes its side before its response has begun is taken for gone (§9.6): one that
 * gave up sends the same FIN. Behind the last response bytes are read and dropped, as a close with unread bytes would reset the connection,
 * and the client would lose the response (§9.6).
 */
export class ClientConnection implements ExchangeConnection {
  readonly socket: Socket;
  readonly remote: string;
  /** When its last response was sent, by the clock of `performance`; before the first one, when the connection was accepted. */
  idleSince = performance.now();
  /** True once a request has arrived on it. */
  isUsed = false;
  private readonly owner: ClientConnectionOwner;
  private readonly readBuffer: ReusedReadBuffer | undefined;
  private exchange: SocketExchange | undefined = undefined;
  /** Bytes received and not yet parsed: the beginning of a request, or further ones. */
  private unparsed: Buffer | undefined = undefined;
  /** The request that `unparsed` begins with, while part of its body is missing. */
  private partialRequest: H1Request | undefined = undefined;
  /** The beginning of a request with an incomplete head. */
  private partialHead: PartialHead | undefined = undefined;
  /** The body on its way, of an exchange that has begun. */
  private body: SizedBody | ChunkedBody | undefined = undefined;
  /** Bytes of the body that are reserved in the budget. */
  private reservedBytes = 0;
  private isReading = false;
  /** True while further requests wait for others to have their turn of the event loop. */
  private isYielding = false;
  private isClosing = false;
  /** True once bytes were put back, which are read in their turn of the event loop. */
  private hasTurn = false;

  constructor(socket: Socket, owner: ClientConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    this.remote = owner.addressOf(socket);
    this.readBuffer = ReusedReadBuffer.begin(socket, this.readBorrowed);
    // Without a reused buffer all bytes; with it, those that others had read and put back.
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('close', this.closed);
    socket.on('error', ignore);
  }

  get readerLimits(): ReaderLimits {
    return this.owner.readerLimits;
  }

  get memory(): BodyMemory {
    return this.owner.bodyOptions.bodies.memory;
  }

  get keepAliveLines(): string {
    return this.owner.keepAliveLines;
  }

  get isEnding(): boolean {
    return this.owner.draining;
  }

  /** True while no request is in flight, or has begun to arrive. */
  get isIdle(): boolean {
    return this.exchange === undefined && this.body === undefined && !this.hasBegun && !this.isClosing;
  }

  /** True once all responses are written, and the peer goes on with a body that nobody reads, or has not closed it yet. */
  get isLingering(): boolean {
    return this.exchange === undefined && (this.isClosing || this.body !== undefined);
  }

  /** True while an exchange is in flight: the kernel has not taken all of its response. */
  get isResponding(): boolean {
    return this.exchange !== undefined;
  }

  /** When the incomplete head of a request began, by the clock of `performance`; undefined without one. */
  get partialHeadSince(): number | undefined {
    return this.isClosing ? undefined : this.partialHead?.since;
  }

  private get hasBegun(): boolean {
    return this.unparsed !== undefined || this.partialHead !== undefined;
  }

  /** True while part of a request's body is missing. */
  get isBodyPartial(): boolean {
    return this.partialRequest !== undefined && !this.socket.destroyed;
  }

  /** Begins the exchange whose body is still on its way. */
  beginPartial(): void {
    const { partialRequest, unparsed } = this;
    if (partialRequest !== undefined && unparsed !== undefined) this.beginLong(partialRequest, unparsed);
  }

  /** The connection closes: further bytes are no longer read as requests. */
  stopReading(): void {
    this.isClosing = true;
    this.readBuffer?.end();
    this.body = undefined;
    this.unparsed = undefined;
    this.partialHead = undefined;
  }

  /** The bytes received are not a request: the gateway responds itself, and the connection closes. */
  refuse(refused: Failure, isHead = false): void {
    this.stopReading();
    this.owner.refuse(this, refused, isHead);
  }

  responseEnded(isLast: boolean, willFlush: boolean): void {
    if (isLast) this.stopReading();
    if (willFlush) return;
    // The kernel has already taken all of it, unless the client reads slowly.
    if (this.socket.writableLength === 0) this.flushed();
    else this.socket.write(nothing, this.flushed);
  }

  readonly flushed = (): void => {
    const { exchange, socket } = this;
    if (exchange === undefined || socket.destroyed) return;
    this.exchange = undefined;
    this.idleSince = performance.now();
    if (this.isClosing) this.owner.linger(this);
    exchange.flushed();
    this.release();
    if (!this.isReading) this.parseNext();
  };

  /** Reads bytes that are valid until it returns: a body is collected from them, anything else from a copy. */
  private readonly readBorrowed = (bytes: Buffer): void => {
    if (this.isClosing || this.putBack(bytes)) return;
    if (this.isIdle && this.beginFrom(bytes)) return;
    const rest = this.body === undefined ? bytes : this.readBody(this.body, bytes);
    if (rest !== undefined) this.readHeads(copyOf(rest));
  };

  private readonly read = (chunk: Buffer): void => {
    if (this.isClosing || this.putBack(chunk)) return;
    const rest = this.body === undefined ? chunk : this.readBody(this.body, chunk);
    if (rest !== undefined) this.readHeads(rest);
  };

  /**
   * Puts the first bytes of a request back when tiny chunks of others fill this turn of the event loop: they may be the head of a body
   * with ten thousand more.
   */
  private putBack(bytes: Buffer): boolean {
    const mayRead =
      this.hasTurn ||
      bytes.length < LARGE_READ_BYTES ||
      !this.isIdle ||
      !this.owner.bodyOptions.bodies.chunkTurns.isFull;
    this.hasTurn = !mayRead;
    if (mayRead) return false;
    // From now on the socket keeps the order of what is put back and what is read.
    this.readBuffer?.end();
    this.socket.pause();
    this.socket.unshift(copyOf(bytes));
    this.owner.queueRead(this, bytes.length);
    return true;
  }

  private readHeads(chunk: Buffer): void {
    const { partialHead, unparsed } = this;
    if (partialHead?.add(chunk) === false) return;
    // A partial head already holds the chunk. It stays until its request begins: it knows since when.
    const before = partialHead?.received() ?? unparsed;
    const bytes =
      partialHead !== undefined || before === undefined ? (before ?? chunk) : Buffer.concat([before, chunk]);
    this.unparsed = bytes;
    if (this.exchange === undefined && !this.isYielding) this.parseNext();
    else if (bytes.length > READ_AHEAD_BYTES) this.socket.pause();
  }

  /** Returns the bytes behind the body; undefined when there are none, and nothing to begin. */
  private readBody(body: SizedBody | ChunkedBody, bytes: Buffer): Buffer | undefined {
    const rest = body.receive(bytes);
    if (body.isFaulty) this.refuseBody();
    if (!body.isComplete) return undefined;
    if (this.body === body) this.body = undefined;
    return rest.length === 0 ? undefined : rest;
  }

  /** The framing of the body is broken: where the next request begins is unknown. */
  private refuseBody(): void {
    const { exchange } = this;
    this.stopReading();
    if (exchange instanceof LongBodyExchange) exchange.fault('bad-framing');
    else this.owner.linger(this);
  }

  /** Its turn of the event loop has come again. */
  private continueParsing(): void {
    this.isYielding = false;
    if (!this.socket.destroyed) this.parseNext();
  }

  /** Starts the buffered requests, one after the other, until one does not complete synchronously. */
  private parseNext(): void {
    const { owner, socket } = this;
    this.isReading = true;
    for (let count = 1; this.unparsed !== undefined && this.exchange === undefined; count += 1) {
      const unparsed = this.partialRequest === undefined ? skipEmptyLines(this.unparsed) : this.unparsed;
      this.unparsed = unparsed;
      if (unparsed === undefined) {
        this.partialHead = undefined;
        break;
      }
      const request = this.partialRequest ?? readRequest(unparsed, owner.headerBytes);
      if (request === undefined) {
        this.unparsed = undefined;
        this.partialHead ??= new PartialHead(unparsed, owner.headerBytes + SPARE_HEAD_BYTES);
        break;
      }
      this.partialHead = undefined;
      if (request instanceof RefusedHead) {
        // The responses to the requests before it are written by now: a refusal in front of them would be taken for theirs (§9.3.2).
        this.refuse(request.failure, request.isHead);
        break;
      }
      if (isLong(request)) {
        this.unparsed = this.beginLong(request, unparsed);
      } else if (request.end > unparsed.length) {
        // A small body comes with its head or right behind it: to wait for it is cheaper than an exchange that streams.
        if (this.partialRequest === undefined) owner.awaitBody(this);
        this.partialRequest = request;
        break;
      } else {
        this.partialRequest = undefined;
        this.unparsed = request.end === unparsed.length ? undefined : unparsed.subarray(request.end);
        this.begin(request, unparsed.subarray(request.bodyAt, request.end));
      }
      if (count === REQUESTS_PER_TURN && this.unparsed !== undefined && this.exchange === undefined) {
        this.isYielding = true;
        setImmediate(ClientConnection.continueParsing, this);
        break;
      }
    }
    this.isReading = false;
    // A pipelining client is read no faster than it is served.
    const isAhead = this.partialRequest === undefined && (this.unparsed?.length ?? 0) > READ_AHEAD_BYTES;
    if (socket.isPaused() && !isAhead) socket.resume();
  }

  private begin(request: H1Request, body: Buffer, isBorrowed = false): void {
    this.isUsed = true;
    const exchange = new SocketExchange(this, request, body, isBorrowed);
    // Without a body there is nothing to continue with: whether the client waits, or sends one, is not known.
    if (request.expectsContinue) exchange.closeAfterResponse();
    this.exchange = exchange;
    this.owner.serve(exchange);
    exchange.begun();
  }

  /** Begins the request at the beginning of borrowed bytes; false where it has to wait for more of them, or they are none. */
  private beginFrom(bytes: Buffer): boolean {
    const request = readRequest(bytes, this.owner.headerBytes);
    if (request === undefined || request instanceof RefusedHead) return false;
    const isWhole = request.end <= bytes.length && !request.expectsContinue;
    if (isLong(request) && !(isWhole && this.reserve(request.end - request.bodyAt))) {
      this.readPipelined(this.beginLong(request, bytes));
      return true;
    }
    if (!isWhole) return false;
    this.begin(request, bytes.subarray(request.bodyAt, request.end), true);
    if (request.end < bytes.length) this.readPipelined(bytes.subarray(request.end));
    return true;
  }

  /** Reserves bytes in the budget of bodies that are read ahead, until the exchange is over; false when they do not fit. */
  private reserve(bytes: number): boolean {
    if (!this.owner.bodyOptions.bodies.readAhead.acquire(bytes)) return false;
    this.reservedBytes = bytes;
    return true;
  }

  private release(): void {
    this.owner.bodyOptions.bodies.readAhead.release(this.reservedBytes);
    this.reservedBytes = 0;
  }

  /** Reads borrowed bytes behind a request. */
  private readPipelined(rest: Buffer | undefined): void {
    if (rest !== undefined && !this.isClosing) this.readHeads(copyOf(rest));
  }

  /** Returns the bytes behind the body, if all of it has arrived. */
  private beginLong(request: H1Request, bytes: Buffer): Buffer | undefined {
    this.isUsed = true;
    this.partialRequest = undefined;
    this.unparsed = undefined;
    const length = request.end - request.bodyAt;
    const body = Number.isFinite(length)
      ? new SizedBody(this.socket, length)
      : new ChunkedBody(this.socket, this.owner.headerBytes);
    const exchange = new LongBodyExchange(this, request, body, this.owner.bodyOptions);
    this.exchange = exchange;
    this.body = body;
    this.owner.serve(exchange);
    return this.body === body ? this.readBody(body, bytes.subarray(request.bodyAt)) : undefined;
  }

  /** The client disconnected in the middle of a body: its request is logged, as one without a client. */
  private abandonBody(): void {
    const { partialRequest, unparsed } = this;
    this.partialRequest = undefined;
    this.unparsed = undefined;
    if (partialRequest !== undefined && unparsed !== undefined)
      this.begin(partialRequest, unparsed.subarray(partialRequest.bodyAt));
  }

  /** The client closed its side: it has disconnected, unless its response is already on the way. */
  private readonly ended = (): void => {
    const { socket } = this;
    this.abandonBody();
    if (this.partialHead !== undefined) this.refuse(failure('bad-request'));
    else if (this.exchange === undefined) {
      this.stopReading();
      socket.end();
    } else if (this.exchange.isResponded) this.stopReading();
    else socket.destroy();
  };

  private readonly closed = (): void => {
    this.abandonBody();
    this.body = undefined;
    this.unparsed = undefined;
    this.partialHead = undefined;
    this.exchange?.disconnected();
    this.exchange = undefined;
    this.release();
    this.owner.closed(this);
  };

  private static continueParsing(this: void, connection: ClientConnection): void {
    connection.continueParsing();
  }
}

/** True when the exchange begins before its body has arrived: that is too large to wait for, or its client waits. */
function isLong({ bodyAt, end, expectsContinue }: H1Request): boolean {
  return end - bodyAt > (expectsContinue ? 0 : WHOLE_BODY_BYTES);
}

/** The bytes behind the empty lines before a request (RFC 9112 §2.2); undefined when there are no others. */
function skipEmptyLines(bytes: Buffer): Buffer | undefined {
  const at = emptyLinesAt(bytes);
  if (at === 0) return bytes;
  return at === bytes.length ? undefined : bytes.subarray(at);
}

/** An error closes the connection, and `close` is reported. */
function ignore(): void {}
