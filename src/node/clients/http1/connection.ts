import { performance } from 'node:perf_hooks';
import type { Socket } from 'node:net';
import type { Exchange } from '../../../gateway/exchange.ts';
import { type Failure, failure } from '../../../migrate/failure.ts';
import { gatewayFailure } from '../../../gateway/failures.ts';
import type { BodyMemory } from '../../body-memory.ts';
import { copyOf, ReusedReadBuffer, startReading, stopReading } from '../../node-internals.ts';
import type { ClientConnection, ConnectionProtocol } from '../connections.ts';
import { FairQueue } from '../../fair-turns.ts';
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

/** Limits on the time that clients take, in milliseconds, and on the bytes that they send; a time of 0 is no limit. */
interface H1Limits extends ReaderLimits {
  /** Maximum size of a request head in bytes. */
  readonly headerBytes: number;
  readonly headersTimeout: number;
  readonly idleTimeout: number;
}

/** The server that owns the connections. */
export interface H1Server extends IncomingBodyOptions {
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
  /** True if a client that has closed its side still gets the responses to its complete requests; otherwise it counts as gone. */
  readonly answersHalfClosed: boolean;
  /** Serves a request that has arrived. */
  serve(exchange: Exchange): void;
  /** Writes the gateway's own response to bytes that are not a request, and closes the connection. The response to HEAD has no body. */
  refuse(connection: ClientConnection, refused: Failure, isHead: boolean): void;
  /** Closes a connection whose last response is written, once the peer has read it. */
  linger(connection: ClientConnection): void;
  /** Visits all connections of the server. */
  visit(visitor: (connection: ClientConnection) => void): void;
}

/** Milliseconds by which a kept-alive connection outlives the timeout sent to its client, for a request already on its way. */
const KEEP_ALIVE_GRACE_MS = 1000;
/** Largest body in bytes that is read whole before its exchange begins; larger ones use pooled memory. */
const WHOLE_BODY_BYTES = 8 * 1024;
/** Bytes from which a read may hold very many tiny chunks. */
const LARGE_READ_BYTES = 8 * 1024;
/** Bytes of further requests that are read while one is in flight. */
const READ_AHEAD_BYTES = 16 * 1024;
/** Maximum requests that one connection has served before others get their turn. */
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
 * | small body: part of one has come | `partialRequest`, `unparsed` | added | logs the request as disconnected | becomes `body` after 25 ms |
 * | body: its exchange has begun | `exchange`, `body` | given to the body | the exchange is disconnected | 408 after the body timeout, or below the minimum rate |
 * | busy: the request is whole | `exchange` | wait, up to 16 KiB, in `unparsed` | the exchange is disconnected, or `hasEnded` | V2's timeouts |
 * | early: responded before its body was whole | `body` | dropped | the rest never comes | 30 s |
 * | yielding: more requests than a turn may have | `isYielding`, `unparsed` | wait | closes, and drops the waiting requests | next turn |
 * | closing: the last response, or a refusal | `isClosing` | dropped | closes | lingers for 30 s at most; closes at once after a request that nothing follows (`hasNoRest`) |
 *
 * Requests run one after the other, because the second may depend on the effect of the first and responses must keep the order of their
 * requests (§9.3.2); further requests wait unparsed. A client that closes its side before its response has begun counts as gone (§9.6),
 * because a client that gave up sends the same FIN, unless the rule book says `half-close: answer`. After the last response the
 * connection reads
 * and drops any further bytes: closing with unread bytes would reset it, and the client would lose the response (§9.6).
 */
class H1Connection implements ConnectionProtocol, ExchangeConnection {
  readonly socket: Socket;
  /** When its last response was sent, by the clock of `performance`; before the first one, when the connection was accepted. */
  idleSince = performance.now();
  /** True once a request has arrived on it. */
  isUsed = false;
  private readonly client: ClientConnection;
  private readonly shared: H1Connections;
  private readonly readBuffer: ReusedReadBuffer | undefined;
  private exchange: SocketExchange | undefined = undefined;
  /** Bytes received and not yet parsed: the beginning of a request, or further requests. */
  private unparsed: Buffer | undefined = undefined;
  /** The request that `unparsed` begins with, while part of its body is missing. */
  private partialRequest: H1Request | undefined = undefined;
  /** The beginning of a request with an incomplete head. */
  private partialHead: PartialHead | undefined = undefined;
  /** The body still arriving for an exchange that has begun. */
  private body: SizedBody | ChunkedBody | undefined = undefined;
  /** Bytes of the body that are reserved in the budget. */
  private reservedBytes = 0;
  private isReading = false;
  /** True while further requests wait so that other connections get their turn. */
  private isYielding = false;
  /** True once the client has closed its side while it still waits for responses. */
  private hasEnded = false;
  private isClosing = false;
  /** True if no bytes follow the request in flight: the connection can then close without lingering. */
  private hasNoRest = false;
  /** True once bytes were put back, to be read in a later turn of the event loop. */
  private hasTurn = false;

  constructor(client: ClientConnection, shared: H1Connections) {
    const { socket } = client;
    this.client = client;
    this.socket = socket;
    this.shared = shared;
    this.readBuffer = ReusedReadBuffer.begin(socket, this.readBorrowed);
    // With a reused buffer, `data` only has bytes that were read before and put back; without one, all bytes.
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('close', this.closed);
    socket.on('error', ignore);
  }

  get remote(): string {
    return this.client.remote;
  }

  get readerLimits(): ReaderLimits {
    return this.shared.limits;
  }

  get memory(): BodyMemory {
    return this.shared.server.bodies.memory;
  }

  get keepAliveLines(): string {
    return this.shared.keepAliveLines;
  }

  get isEnding(): boolean {
    return this.shared.server.draining;
  }

  /** True while no request is in flight or has begun to arrive. */
  get isIdle(): boolean {
    return this.exchange === undefined && this.body === undefined && !this.hasBegun && !this.isClosing;
  }

  /** True once all responses are written, while the peer still sends an unread body or has not closed the connection. */
  get isLingering(): boolean {
    return this.exchange === undefined && (this.isClosing || this.body !== undefined);
  }

  /** True while an exchange is in flight, until the kernel has taken its whole response. */
  get isResponding(): boolean {
    return this.exchange !== undefined;
  }

  /** When the incomplete head of a request began, by the clock of `performance`; undefined without one. */
  get partialHeadSince(): number | undefined {
    return this.isClosing ? undefined : this.partialHead?.since;
  }

  /** True while more than an incomplete head is in flight. */
  get isBusy(): boolean {
    return !this.isIdle && !this.isLingering && this.partialHeadSince === undefined;
  }

  /** Closes the connection when the client takes too long for a head, or for its next request. */
  checkTimes(now: number): void {
    const { headersTimeout, idleTimeout } = this.shared.limits;
    const headSince = this.partialHeadSince ?? now;
    if (headersTimeout > 0 && now - headSince > headersTimeout) this.refuse(gatewayFailure('client-timeout'));
    if (!this.isIdle) return;
    const idle = now - this.idleSince;
    if (this.isUsed) {
      if (idleTimeout > 0 && idle > idleTimeout + KEEP_ALIVE_GRACE_MS) this.socket.destroy();
    } else if (headersTimeout > 0 && idle > headersTimeout) {
      this.refuse(gatewayFailure('client-timeout'));
    }
  }

  closeIdle(): void {
    if (this.isIdle) this.socket.destroy();
  }

  private get hasBegun(): boolean {
    return this.unparsed !== undefined || this.partialHead !== undefined;
  }

  /** True while part of a request's body is missing. */
  get isBodyPartial(): boolean {
    return this.partialRequest !== undefined && !this.socket.destroyed;
  }

  /** Begins the exchange although its body has not arrived whole. */
  beginPartial(): void {
    const { partialRequest, unparsed } = this;
    if (partialRequest !== undefined && unparsed !== undefined) this.beginLong(partialRequest, unparsed);
  }

  /** Stops reading further bytes as requests, because the connection closes. */
  stopReading(): void {
    this.isClosing = true;
    this.readBuffer?.end();
    this.body = undefined;
    this.unparsed = undefined;
    this.partialHead = undefined;
  }

  /** Refuses the bytes received with the gateway's own response, and closes the connection. */
  refuse(refused: Failure, isHead = false): void {
    this.stopReading();
    this.shared.server.refuse(this.client, refused, isHead);
  }

  responseEnded(isLast: boolean, willFlush: boolean): void {
    if (isLast) {
      this.hasNoRest &&= this.unparsed === undefined;
      this.stopReading();
    }
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
    if (this.isClosing) this.closeBehindLast();
    exchange.flushed();
    this.release();
    if (!this.isReading && !this.isClosing) this.parseNext();
  };

  /** Lingers only if more bytes may come: without them, closing at once saves a turn of the event loop and three system calls. */
  private closeBehindLast(): void {
    if (!this.hasNoRest) this.shared.server.linger(this.client);
    // Without `close_notify`, an attacker could have cut off the response (RFC 8446 §6.1).
    else if ('encrypted' in this.socket) this.socket.destroySoon();
    else this.socket.destroy();
  }

  /** Reads bytes that are valid until it returns: bodies are collected from them directly, everything else from a copy. */
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
   * Puts a request's first bytes back while tiny chunks from other connections fill this turn of the event loop: its body may have ten
   * thousand more.
   */
  private putBack(bytes: Buffer): boolean {
    const mayRead =
      this.hasTurn ||
      bytes.length < LARGE_READ_BYTES ||
      !this.isIdle ||
      !this.shared.server.bodies.chunkTurns.isFull;
    this.hasTurn = !mayRead;
    if (mayRead) return false;
    // From now on all bytes go through the stream, which keeps their order.
    this.readBuffer?.end();
    this.socket.pause();
    this.socket.unshift(copyOf(bytes));
    this.shared.queueRead(this.socket, bytes.length);
    return true;
  }

  private readHeads(chunk: Buffer): void {
    const { partialHead, unparsed } = this;
    if (partialHead?.add(chunk) === false) return;
    // A partial head has added the chunk already. It stays until its request begins, for its `since`.
    const before = partialHead?.received() ?? unparsed;
    const bytes =
      partialHead !== undefined || before === undefined ? (before ?? chunk) : Buffer.concat([before, chunk]);
    this.unparsed = bytes;
    if (this.exchange === undefined && !this.isYielding) this.parseNext();
    else if (bytes.length > READ_AHEAD_BYTES) this.socket.pause();
  }

  /** Returns the bytes after the body; undefined when there are none. */
  private readBody(body: SizedBody | ChunkedBody, bytes: Buffer): Buffer | undefined {
    const rest = body.receive(bytes);
    if (body.isFaulty) this.refuseBody();
    if (!body.isComplete) return undefined;
    if (this.body === body) this.body = undefined;
    return rest.length === 0 ? undefined : rest;
  }

  /** Ends reading: with broken framing, the start of the next request is unknown. */
  private refuseBody(): void {
    const { exchange } = this;
    this.stopReading();
    if (exchange instanceof LongBodyExchange) exchange.fault('bad-framing');
    else this.shared.server.linger(this.client);
  }

  private continueParsing(): void {
    this.isYielding = false;
    if (!this.socket.destroyed) this.parseNext();
  }

  /** Starts the buffered requests, one after the other, until one does not complete synchronously. */
  private parseNext(): void {
    const { shared, socket } = this;
    const { headerBytes } = shared.limits;
    this.isReading = true;
    for (let count = 1; this.unparsed !== undefined && this.exchange === undefined; count += 1) {
      const unparsed = this.partialRequest === undefined ? skipEmptyLines(this.unparsed) : this.unparsed;
      this.unparsed = unparsed;
      if (unparsed === undefined) {
        this.partialHead = undefined;
        break;
      }
      const request = this.partialRequest ?? readRequest(unparsed, headerBytes);
      if (request === undefined) {
        this.unparsed = undefined;
        this.partialHead ??= new PartialHead(unparsed, headerBytes + SPARE_HEAD_BYTES);
        break;
      }
      this.partialHead = undefined;
      if (request instanceof RefusedHead) {
        // The responses to earlier requests have been written, so none of those requests is matched with the refusal (§9.3.2).
        this.refuse(request.failure, request.isHead);
        break;
      }
      if (isLong(request)) {
        this.unparsed = this.beginLong(request, unparsed);
      } else if (request.end > unparsed.length) {
        // A small body comes with its head or right after it: waiting for it takes less time than a streamed exchange.
        if (this.partialRequest === undefined) shared.awaitBody(this);
        this.partialRequest = request;
        break;
      } else {
        this.partialRequest = undefined;
        this.unparsed = request.end === unparsed.length ? undefined : unparsed.subarray(request.end);
        this.begin(request, unparsed.subarray(request.bodyAt, request.end));
      }
      if (count === REQUESTS_PER_TURN && this.unparsed !== undefined && this.exchange === undefined) {
        this.isYielding = true;
        setImmediate(H1Connection.continueParsing, this);
        break;
      }
    }
    this.isReading = false;
    if (this.hasEnded && this.exchange === undefined && !this.isYielding) this.closeBehindEnd();
    // A pipelining client is read no faster than it is served.
    const isAhead = this.partialRequest === undefined && (this.unparsed?.length ?? 0) > READ_AHEAD_BYTES;
    if (socket.isPaused() && !isAhead) socket.resume();
  }

  /** Closes after the last response to a client that has closed its side. */
  private closeBehindEnd(): void {
    if (this.partialHead !== undefined) this.refuse(failure('bad-request'));
    else {
      this.stopReading();
      if (this.socket.writable) this.socket.end();
    }
  }

  private begin(request: H1Request, body: Buffer, isBorrowed = false, hasRest = false): void {
    this.isUsed = true;
    this.hasNoRest = request.hasNoRest && !hasRest;
    const exchange = new SocketExchange(this, request, body, isBorrowed);
    // Without a body there is nothing to continue: the client may wait for 100, or send something anyway.
    if (request.expectsContinue) exchange.closeAfterResponse();
    this.exchange = exchange;
    this.shared.server.serve(exchange);
    exchange.begun();
  }

  /** Begins the request that borrowed bytes begin with; false if it is incomplete or refused. */
  private beginFrom(bytes: Buffer): boolean {
    const request = readRequest(bytes, this.shared.limits.headerBytes);
    if (request === undefined || request instanceof RefusedHead) return false;
    const isWhole = request.end <= bytes.length && !request.expectsContinue;
    if (isLong(request) && !(isWhole && this.reserve(request.end - request.bodyAt))) {
      this.readPipelined(this.beginLong(request, bytes));
      return true;
    }
    if (!isWhole) return false;
    const hasRest = request.end < bytes.length;
    this.begin(request, bytes.subarray(request.bodyAt, request.end), true, hasRest);
    if (hasRest) this.readPipelined(bytes.subarray(request.end));
    return true;
  }

  /** Reserves bytes in the read-ahead budget until the exchange is over; false when they do not fit. */
  private reserve(bytes: number): boolean {
    if (!this.shared.server.bodies.readAhead.acquire(bytes)) return false;
    this.reservedBytes = bytes;
    return true;
  }

  private release(): void {
    this.shared.server.bodies.readAhead.release(this.reservedBytes);
    this.reservedBytes = 0;
  }

  /** Reads borrowed bytes after a request. */
  private readPipelined(rest: Buffer | undefined): void {
    if (rest !== undefined && !this.isClosing) this.readHeads(copyOf(rest));
  }

  /** Begins a request whose body streams; returns the bytes after the body, if all of it has arrived. */
  private beginLong(request: H1Request, bytes: Buffer): Buffer | undefined {
    this.isUsed = true;
    this.hasNoRest = false;
    this.partialRequest = undefined;
    this.unparsed = undefined;
    const length = request.end - request.bodyAt;
    const body = Number.isFinite(length)
      ? new SizedBody(this.socket, length)
      : new ChunkedBody(this.socket, this.shared.limits.headerBytes);
    const exchange = new LongBodyExchange(this, request, body, this.shared.server);
    this.exchange = exchange;
    this.body = body;
    this.shared.server.serve(exchange);
    return this.body === body ? this.readBody(body, bytes.subarray(request.bodyAt)) : undefined;
  }

  /** Begins the exchange of a client that disconnected in the middle of its body, so that the log has it. */
  private abandonBody(): void {
    const { partialRequest, unparsed } = this;
    this.partialRequest = undefined;
    this.unparsed = undefined;
    if (partialRequest !== undefined && unparsed !== undefined)
      this.begin(partialRequest, unparsed.subarray(partialRequest.bodyAt));
  }

  /** Called when the client has closed its side. It counts as gone, unless its response is already being sent. */
  private readonly ended = (): void => {
    const { socket } = this;
    const isWhole = this.body === undefined && this.partialRequest === undefined;
    const isDue = this.exchange !== undefined || this.isYielding;
    if (isWhole && isDue && !this.isClosing && this.shared.server.answersHalfClosed) {
      this.hasEnded = true;
      return;
    }
    this.abandonBody();
    if (this.partialHead !== undefined) this.refuse(failure('bad-request'));
    else if (this.exchange === undefined) {
      this.stopReading();
      // After the last response, this side has already ended.
      if (socket.writable) socket.end();
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
  };

  private static continueParsing(this: void, connection: H1Connection): void {
    connection.continueParsing();
  }
}

/** Bytes put back earlier that the gateway reads in one turn of the event loop. */
const READ_AGAIN_BYTES = 256 * 1024;
/** Maximum reads put back in one turn of the event loop, and in total: beyond either, no connection is read until the next turn. */
const PUT_BACK_PER_TURN = 16;
const PUT_BACK = 512;
/** Minimum milliseconds to wait for the rest of a small body, before its exchange begins without it. */
const PARTIAL_BODY_WAIT_MS = 25;

/** Limits and turns of the event loop that a server's HTTP/1 connections share. */
export class H1Connections {
  readonly limits: H1Limits;
  readonly server: H1Server;
  readonly keepAliveLines: string;
  /** Connections that wait for the rest of a small body, with the round in which each wait began. */
  private readonly awaiting = new Map<H1Connection, number>();
  private readonly reads = new FairQueue<Socket>(READ_AGAIN_BYTES);
  /** Reads that were put back in this turn of the event loop. */
  private putBack = 0;
  /** Connections that are not read until the turn of the event loop is over. */
  private stopped: Socket[] = [];
  private round = 0;
  private partialBodyTimer: NodeJS.Timeout | undefined = undefined;

  constructor(limits: H1Limits, server: H1Server) {
    this.limits = limits;
    this.server = server;
    const seconds = Math.floor(limits.idleTimeout / 1000);
    this.keepAliveLines = `Connection: keep-alive\r\n${seconds > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ''}`;
  }

  /** Starts reading a connection. */
  begin(client: ClientConnection): H1Connection {
    return new H1Connection(client, this);
  }

  /** Resumes reading in a later turn of the event loop; `bytes` is the size of the read that was put back. */
  queueRead(socket: Socket, bytes: number): void {
    this.reads.add(socket, bytes, () => socket.resume());
    this.putBack += 1;
    if (this.putBack === 1) setImmediate(H1Connections.readAgain, this);
    const mayReadOthers = this.putBack < PUT_BACK_PER_TURN && this.reads.waiting < PUT_BACK;
    if (mayReadOthers || this.stopped.length > 0) return;
    this.server.visit(({ protocol, socket: each }) => {
      if (protocol instanceof H1Connection) this.stopped.push(each);
    });
    for (const each of this.stopped) stopReading(each);
  }

  /** Waits for the rest of a small body. */
  awaitBody(connection: H1Connection): void {
    this.awaiting.set(connection, this.round);
    this.partialBodyTimer ??= setTimeout(H1Connections.beginStalled, PARTIAL_BODY_WAIT_MS, this);
  }

  /** Reads the stopped connections again, unless Node has stopped them as well. */
  private static readAgain(this: void, shared: H1Connections): void {
    for (const socket of shared.stopped) startReading(socket);
    shared.stopped = [];
    shared.putBack = 0;
  }

  /** Begins the exchanges whose requests have been incomplete since an earlier round. */
  private static beginStalled(this: void, shared: H1Connections): void {
    const { awaiting } = shared;
    for (const [connection, round] of awaiting) {
      if (connection.isBodyPartial && round === shared.round) continue;
      awaiting.delete(connection);
      if (connection.isBodyPartial) connection.beginPartial();
    }
    shared.round += 1;
    shared.partialBodyTimer =
      awaiting.size === 0 ? undefined : setTimeout(H1Connections.beginStalled, PARTIAL_BODY_WAIT_MS, shared);
  }
}

/** True when the exchange begins before its body has arrived, because the body is large or the client waits for `100 Continue`. */
function isLong({ bodyAt, end, expectsContinue }: H1Request): boolean {
  return end - bodyAt > (expectsContinue ? 0 : WHOLE_BODY_BYTES);
}

/** Skips empty lines before a request (RFC 9112 §2.2); returns undefined when nothing else is left. */
function skipEmptyLines(bytes: Buffer): Buffer | undefined {
  const at = emptyLinesAt(bytes);
  if (at === 0) return bytes;
  return at === bytes.length ? undefined : bytes.subarray(at);
}

/** The socket emits `close` after each error. */
function ignore(): void {}
