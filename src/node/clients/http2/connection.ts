import type { Socket } from 'node:net';
import { copyOf, ReusedReadBuffer, bytesFlushed } from '../../node-internals.ts';
import type { ClientConnection, ConnectionProtocol } from '../connections.ts';
import { FairQueue } from '../../fair-turns.ts';
import { type SlowReader, SlowReaderGuard, unacknowledgedBytes } from '../rates.ts';
import {
  ERROR,
  type ErrorCode,
  FIRST_WINDOW_BYTES,
  FRAME,
  FrameBudget,
  FRAME_BYTES,
  FRAME_HEAD_BYTES,
  type FrameConsumer,
  FrameRules,
  MAX_31_BITS,
  readNumber,
  SETTING,
} from './frames.ts';
import { HpackDecoder } from './hpack.ts';
import { H2Output, type H2OutputHandler, H2Responses } from './output.ts';
import { TrailerBlock, noFields, RequestHeaderBlock, type HeaderBlockLimits } from './header-block.ts';
import { H2Exchange, type H2ExchangeOptions, type StreamConnection } from './stream.ts';

/** Options and callbacks that connections share. Times are milliseconds; 0 is no limit. */
interface H2Shared extends H2ExchangeOptions, HeaderBlockLimits {
  readonly headersTimeout: number;
  readonly idleTimeout: number;
  /** True while the server drains. */
  readonly draining: boolean;
  readonly turns: H2TickBudget;
  /** Called when a connection closes because the client broke the protocol, flooded it, or was too slow. */
  onRefused(code: 'bad-request' | 'client-timeout'): void;
  /** Closes a connection once the peer has read the last frame; reads at most `maxBytes` until then. */
  linger(connection: ClientConnection, maxBytes: number): void;
  /** Ends the exchanges of a closed connection in their turns. */
  closed(connection: H2Connection, exchanges: readonly H2Exchange[]): void;
}

/** Maximum streams that a client may have open. */
const MAX_STREAMS = 128;
/** Flow-control window of a connection for all bodies. The gateway reads at once, and each body has a window of its own. */
const WINDOW_BYTES = 1024 * 1024;
/** Bytes after which the gateway grows the window again. */
const CREDIT_BYTES = WINDOW_BYTES >> 1;
/** Bytes of a header block beyond the limit for header sections in which the gateway answers 431 instead of closing the connection. */
const SPARE_BLOCK_BYTES = 48 * 1024;
/** Bytes of a header block that take as long to read as a frame. */
const BLOCK_BYTES_PER_FRAME = 32;
/**
 * Bytes that are read after the connection has failed: more than a client can have in flight once its windows no longer grow. Closing
 * with unread bytes would reset the connection, and the client would not learn the error.
 */
const LAST_BYTES = 2 * WINDOW_BYTES;
/** Maximum runs of skipped streams to remember: a client may skip some between any two streams. */
const MAX_SKIPPED = 256;
/** Maximum streams reset by the gateway to remember: frames that the client sent before it received the reset are not errors. */
const MAX_RESET = 1024;
/** The largest frame that a client may take (RFC 9113 §6.5.2). */
const MAX_FRAME_BYTES = 0xff_ffff;

/** One HTTP/2 connection with a client (RFC 9113). */
class H2Connection
  implements
    ConnectionProtocol,
    FrameConsumer,
    StreamConnection,
    H2OutputHandler,
    ReadingConnection,
    SlowReader
{
  readonly socket: Socket;
  readonly remote: string;
  readonly options: H2Shared;
  readonly output: H2Output;
  /** False, because frames mark the end of a response (RFC 9113 §8.1): closing the connection cannot look like it. */
  readonly isResponding = false;
  private readonly client: ClientConnection;
  private readonly responses: H2Responses<H2Exchange>;
  private readonly rules: FrameRules;
  private readonly readBuffer: ReusedReadBuffer | undefined;
  private readonly decoder = new HpackDecoder();
  private readonly streams = new StreamTable<H2Exchange>();
  private readonly flood = new FrameBudget();
  private readonly guard: SlowReaderGuard;
  /** Unread bytes that wait for their turn. */
  private backlog: Buffer[] = [];
  /** Exchanges whose requests came with the current read. */
  private starting: H2Exchange[] = [];
  private lastStream = 0;
  /**
   * First and last number of each run of streams that the client has skipped: later streams have closed them, and no frame may use them
   * (RFC 9113 §5.1.1).
   */
  private readonly skipped: [first: number, last: number][] = [];
  /** See `MAX_RESET`; few connections have any. */
  private resetStreams: Set<number> | undefined = undefined;
  /** Bytes of all bodies that the client may still send. */
  private receiveWindow = WINDOW_BYTES;
  /** Bytes read since the last window update. */
  private pendingCredit = 0;
  /** True once nothing more is read or written. */
  isClosed = false;
  private isEnding = false;
  /** True while the backlog waits until the client has read more responses. */
  private awaitsRoom = false;
  /** Frames so far, and those at the last check. */
  private frames = 0;
  private checkedFrames = 0;
  /** When the connection became idle, by the clock of `performance`. */
  private idleSince = performance.now();
  /** When the gateway began to wait for the rest of a frame. */
  private partialSince: number | undefined = undefined;

  constructor(client: ClientConnection, options: H2Shared) {
    const { socket } = client;
    this.client = client;
    this.socket = socket;
    this.options = options;
    this.remote = client.remote;
    this.output = new H2Output(socket, options.bodies.memory, this);
    this.responses = new H2Responses(this.output);
    this.rules = new FrameRules(this, options.headerBytes + SPARE_BLOCK_BYTES);
    this.guard = new SlowReaderGuard(options, this);
    this.readBuffer = ReusedReadBuffer.begin(socket, this.read);
    // With a reused buffer, `data` has only bytes that were read before and put back; without one, all bytes.
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('close', this.ended);
    socket.on('error', ignore);
    this.output.settings([
      SETTING.maxConcurrentStreams,
      MAX_STREAMS,
      SETTING.maxHeaderListSize,
      options.headerBytes + SPARE_BLOCK_BYTES,
    ]);
    this.output.sendWindowUpdate(0, WINDOW_BYTES - FIRST_WINDOW_BYTES);
  }

  /** True while an exchange is in flight, or bytes wait to be read. */
  get isBusy(): boolean {
    if (this.isClosed) return false;
    return this.streams.size > 0 || this.backlog.length > 0 || this.output.waitingBytes > 0;
  }

  /** True once a request has arrived on it. */
  get isUsed(): boolean {
    return this.lastStream > 0;
  }

  /** True while nothing more may be read. */
  get isStopped(): boolean {
    return this.isClosed || this.options.turns.isFull || this.output.isCongested;
  }

  /** Bytes of the connection that the kernel has taken. */
  get bytesFlushed(): number {
    return bytesFlushed(this.socket);
  }

  unacknowledged(): Promise<number | undefined> {
    return unacknowledgedBytes(this.socket);
  }

  /**
   * Asks the client for no further requests; those already on their way are served. Not sent before the first request, which many clients
   * would then not send, or report as failed.
   */
  drain(): void {
    if (this.isClosed || this.isEnding || !this.isUsed) return;
    this.isEnding = true;
    this.output.goAway(MAX_31_BITS, ERROR.none);
  }

  /** Closes the connection if nothing is in flight. */
  closeIdle(): void {
    if (!this.isBusy && !this.isClosed) this.closeBehind(ERROR.none);
  }

  /** Closes the connection after a timeout; called several times a second. */
  checkTimes(now: number): void {
    const { headersTimeout, idleTimeout } = this.options;
    const isIdle = this.frames === this.checkedFrames;
    this.checkedFrames = this.frames;
    if (!isIdle || this.isBusy || this.rules.isPartial) this.idleSince = now;
    if (this.output.waitingBytes > 0) this.guard.wait();
    this.partialSince = isIdle && this.rules.isPartial ? (this.partialSince ?? now) : undefined;
    if (headersTimeout > 0 && now - (this.partialSince ?? now) > headersTimeout) this.failSlow();
    else if (idleTimeout > 0 && now - this.idleSince > idleTimeout) this.closeIdle();
  }

  // Requests.

  /** Reads bytes that are valid until it returns. */
  private readonly read = (bytes: Buffer): void => {
    if (this.isClosed) return;
    this.flood.read(bytes.length);
    if (this.backlog.length > 0) this.backlog.push(copyOf(bytes));
    else this.readFrames(bytes);
  };

  /** Called when its turn to read has come. */
  resumeRead(): void {
    if (this.isClosed) return;
    const { backlog } = this;
    this.backlog = [];
    for (const bytes of backlog) {
      if (this.isClosed) return;
      if (this.backlog.length > 0) this.backlog.push(bytes);
      else this.readFrames(bytes);
    }
    if (this.backlog.length === 0) this.socket.resume();
  }

  private readFrames(bytes: Buffer): void {
    const read = this.rules.read(bytes);
    this.startExchanges(read === bytes.length ? undefined : bytes.subarray(read));
    if (this.flood.isExceeded) this.fail(ERROR.enhanceYourCalm);
    if (read === bytes.length || this.isClosed) return;
    this.backlog.push(copyOf(bytes.subarray(read)));
    this.socket.pause();
    // Stop reading from a client that does not read its responses.
    this.awaitsRoom = this.output.isCongested;
    if (!this.awaitsRoom) this.options.turns.wait(this);
  }

  /**
   * Begins the exchanges whose requests have arrived; a body that came with its request is whole by now. A request that the unread `rest`
   * of the same read resets does not begin, so that V2 never gets it.
   */
  private startExchanges(rest: Buffer | undefined): void {
    if (this.starting.length === 0) return;
    if (this.options.draining) this.drain();
    const { starting } = this;
    const reset = rest === undefined ? undefined : resetStreams(rest);
    this.starting = reset === undefined ? [] : starting.filter(({ id }) => reset.has(id));
    for (const exchange of starting) if (reset?.has(exchange.id) !== true) exchange.begin();
  }

  onFrame(): void {
    this.frames += 1;
    this.options.turns.count(1);
  }

  onData(stream: number, part: Buffer, frameBytes: number, isEnd: boolean): void {
    if (!this.isKnown(stream)) {
      this.fail(ERROR.protocol);
      return;
    }
    this.receiveWindow -= frameBytes;
    // RFC 9113 §6.9.1. Data for closed streams also counts against the connection.
    if (this.receiveWindow < 0) {
      this.fail(ERROR.flowControl);
      return;
    }
    this.pendingCredit += frameBytes;
    if (this.pendingCredit >= CREDIT_BYTES) {
      this.output.sendWindowUpdate(0, this.pendingCredit);
      this.receiveWindow += this.pendingCredit;
      this.pendingCredit = 0;
    }
    // A smaller part hardly counts as content.
    if (part.length >= FRAME_HEAD_BYTES) this.flood.receive(part.length);
    const exchange = this.streams.get(stream);
    if (exchange !== undefined) exchange.receive(part, frameBytes, isEnd);
    // The client had closed it (RFC 9113 §6.1). Data that crossed with the gateway's own reset is ignored (§5.1).
    else if (this.resetStreams?.has(stream) !== true) this.rejectStream(stream, ERROR.streamClosed);
  }

  /** Reads the fields of a new request, or trailers. Every block is decoded, because later blocks depend on it. */
  onBlock(stream: number, isEnd: boolean, bytes: Buffer, from: number, to: number): void {
    this.flood.receive(to - from);
    // A single byte may be a whole field.
    this.options.turns.count((to - from) / BLOCK_BYTES_PER_FRAME);
    const open = this.streams.get(stream);
    if (open !== undefined) {
      const trailers = new TrailerBlock(this.options);
      if (!this.decoder.read(bytes, from, to, trailers)) this.fail(ERROR.compression);
      else open.receiveTrailers(trailers.fields, trailers.isMalformed || !isEnd);
      return;
    }
    if (this.isKnown(stream)) {
      // The client may not have known yet that the stream is closed.
      if (!this.decoder.read(bytes, from, to, noFields)) this.fail(ERROR.compression);
      else this.rejectStream(stream, ERROR.streamClosed);
      return;
    }
    if (stream < this.lastStream) {
      this.fail(ERROR.protocol);
      return;
    }
    this.skipTo(stream);
    this.lastStream = stream;
    const block = new RequestHeaderBlock(this.options);
    if (!this.decoder.read(bytes, from, to, block)) this.fail(ERROR.compression);
    else if (this.streams.size >= MAX_STREAMS) this.rejectStream(stream, ERROR.refusedStream);
    else this.beginStream(stream, block, isEnd);
  }

  private rejectStream(stream: number, code: ErrorCode): void {
    this.flood.countControlFrame();
    this.resetStream(stream, code);
  }

  private resetStream(stream: number, code: ErrorCode): void {
    this.output.reset(stream, code);
    const streams = (this.resetStreams ??= new Set());
    streams.add(stream);
    if (streams.size <= MAX_RESET) return;
    const [oldest] = streams;
    if (oldest !== undefined) streams.delete(oldest);
  }

  private beginStream(stream: number, block: RequestHeaderBlock, isEnd: boolean): void {
    block.finish(isEnd);
    const exchange = new H2Exchange(this, stream, block, !isEnd, this.responses.firstWindow);
    this.streams.add(stream, exchange);
    this.starting.push(exchange);
    this.options.turns.count(REQUEST_COST);
  }

  onReset(stream: number): void {
    // A reset of an idle stream is an error of the connection (RFC 9113 §6.4).
    if (!this.isKnown(stream)) {
      this.fail(ERROR.protocol);
      return;
    }
    // Rapid reset, CVE-2023-44487: a request costs the client two small frames, and the gateway a whole exchange.
    this.flood.countControlFrame();
    const exchange = this.streams.get(stream);
    this.streams.remove(stream);
    exchange?.close();
  }

  onSetting(setting: number, value: number): void {
    this.options.turns.count(1);
    switch (setting) {
      // RFC 7541 §4.2: the next block has to confirm the size, even though the gateway's blocks never use the table.
      case SETTING.headerTableSize:
        this.output.emptyTable();
        return;
      // The cases below: RFC 9113 §6.5.2.
      case SETTING.enablePush:
        if (value > 1) this.fail(ERROR.protocol);
        return;
      case SETTING.maxFrameSize:
        if (value < FRAME_BYTES || value > MAX_FRAME_BYTES) this.fail(ERROR.protocol);
        return;
      // It also moves the windows of open streams, which may become negative (RFC 9113 §6.9.2).
      case SETTING.initialWindowSize:
        if (!this.responses.resize(value, this.streams)) this.fail(ERROR.flowControl);
        return;
      default:
      // The others are unknown, or concern features that the gateway does not use.
    }
  }

  onSettingsRead(): void {
    // Each requires an acknowledgement (RFC 9113 §6.5.3): CVE-2019-9515.
    this.flood.countControlFrame();
    this.output.acknowledgeSettings();
    this.responses.resumeWrite();
  }

  onPing(bytes: Buffer, from: number, to: number): void {
    // Each requires an acknowledgement (RFC 9113 §6.7): CVE-2019-9512.
    this.flood.countControlFrame();
    this.output.acknowledgePing(bytes, from, to);
  }

  onWindowUpdate(stream: number, more: number): void {
    if (stream === 0) this.growConnectionWindow(more);
    else if (this.isKnown(stream)) this.growStreamWindow(stream, more);
    else this.fail(ERROR.protocol);
    this.responses.resumeWrite();
  }

  private growConnectionWindow(more: number): void {
    // An increment of 0 is an error (RFC 9113 §6.9), and so is a window beyond 2^31-1 (§6.9.1).
    if (more === 0) this.fail(ERROR.protocol);
    else if (!this.responses.growWindow(more)) this.fail(ERROR.flowControl);
  }

  private growStreamWindow(stream: number, more: number): void {
    const exchange = this.streams.get(stream);
    if (exchange === undefined) return;
    exchange.sendWindow += more;
    if (more === 0) exchange.refuse(ERROR.protocol);
    else if (exchange.sendWindow > MAX_31_BITS) exchange.refuse(ERROR.flowControl);
  }

  /** True for a stream that is or was open. */
  private isKnown(stream: number): boolean {
    if (stream % 2 === 0 || stream > this.lastStream) return false;
    return !this.skipped.some(([first, last]) => stream >= first && stream <= last);
  }

  private skipTo(stream: number): void {
    const next = this.lastStream === 0 ? 1 : this.lastStream + 2;
    if (stream <= next) return;
    this.skipped.push([next, stream - 2]);
    if (this.skipped.length > MAX_SKIPPED) this.skipped.shift();
  }

  // Responses.

  send(exchange: H2Exchange, bytes: Uint8Array, isLast: boolean): number {
    const sent = this.responses.send(exchange, bytes, isLast);
    this.flood.sent(sent);
    return sent;
  }

  wait(exchange: H2Exchange): void {
    this.responses.wait(exchange);
  }

  refuseStream(exchange: H2Exchange, code: ErrorCode): void {
    // MadeYouReset, CVE-2025-8671: a client that makes the gateway reset its streams takes as much of its time as one that resets them
    // itself.
    if (code !== ERROR.internal && code !== ERROR.none) this.flood.countControlFrame();
    this.resetStream(exchange.id, code);
    this.leave(exchange);
  }

  onFlushed(): void {
    if (this.output.waitingBytes === 0) this.guard.stop();
    this.responses.resumeWrite();
    if (!this.awaitsRoom || this.output.isCongested) return;
    this.awaitsRoom = false;
    this.options.turns.wait(this);
  }

  leave(exchange: H2Exchange): void {
    this.streams.remove(exchange.id);
  }

  /** Called when the client reads too slowly or not at all. */
  reset(): void {
    this.socket.destroy();
  }

  // Closing.

  /** Closes the connection, because the bytes are a flood or not HTTP/2. */
  fail(code: ErrorCode): void {
    if (this.isClosed) return;
    this.options.onRefused('bad-request');
    this.closeBehind(code);
  }

  private failSlow(): void {
    if (this.isClosed) return;
    this.options.onRefused('client-timeout');
    this.closeBehind(ERROR.none);
  }

  /** Sends the client the reason, and closes the connection once it has read that. */
  private closeBehind(code: ErrorCode): void {
    this.output.goAway(this.lastStream, code);
    this.output.flush();
    this.leaveAll();
    this.readBuffer?.end();
    if (code === ERROR.enhanceYourCalm) this.socket.destroySoon();
    else this.options.linger(this.client, LAST_BYTES);
  }

  private readonly ended = (): void => {
    this.leaveAll();
    if (!this.socket.destroyed) this.socket.destroySoon();
  };

  private leaveAll(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.guard.stop();
    this.output.stop();
    this.backlog = [];
    this.responses.stop();
    this.options.closed(this, [...this.streams]);
  }
}

/** Returns the streams that `bytes`, which begin with a frame, reset. */
function resetStreams(bytes: Buffer): ReadonlySet<number> {
  const streams = new Set<number>();
  let at = 0;
  while (at + FRAME_HEAD_BYTES <= bytes.length) {
    if (bytes[at + 3] === FRAME.reset) streams.add(readNumber(bytes, at + 5));
    at += FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
  }
  return streams;
}

/** The socket emits `close` after each error. */
function ignore(): void {}

/** Limits on clients' times, in milliseconds, and on their header sections; a time of 0 is no limit. */
interface H2Limits extends HeaderBlockLimits {
  readonly headersTimeout: number;
  readonly idleTimeout: number;
}

/** The server that owns the connections. */
export interface H2Server extends H2ExchangeOptions {
  readonly draining: boolean;
  /** Logs a connection that closes without a response, because the peer broke the protocol or was too slow. */
  logRefused(code: 'bad-request' | 'client-timeout'): void;
  /** Closes a connection once the peer has read the last frame; reads at most `maxBytes` until then. */
  linger(connection: ClientConnection, maxBytes: number): void;
}

/** Maximum exchanges that end in one turn of the event loop: more than begin in one, so that their places are soon free. */
const ENDS_PER_TURN = 40;

/** Options and turns of the event loop that a server's HTTP/2 connections share. */
export class H2Connections {
  private readonly options: H2Shared;
  /** In turns: one closing connection may end a hundred exchanges. */
  private readonly ends = new FairQueue<H2Connection>(ENDS_PER_TURN);

  constructor(limits: H2Limits, server: H2Server) {
    this.options = {
      headerBytes: limits.headerBytes,
      headerCount: limits.headerCount,
      headersTimeout: limits.headersTimeout,
      idleTimeout: limits.idleTimeout,
      turns: new H2TickBudget(),
      bodies: server.bodies,
      bodyTimeout: server.bodyTimeout,
      minDataRate: server.minDataRate,
      minDataRateGrace: server.minDataRateGrace,
      get draining() {
        return server.draining;
      },
      serve: (exchange) => server.serve(exchange),
      onRefused: (code) => server.logRefused(code),
      linger: (connection, maxBytes) => server.linger(connection, maxBytes),
      closed: (connection, exchanges) => this.end(connection, exchanges),
    };
  }

  /** Number of exchanges of closed connections that have not ended yet. */
  get ending(): number {
    return this.ends.waiting;
  }

  /** Starts reading a connection. */
  begin(client: ClientConnection): ConnectionProtocol {
    return new H2Connection(client, this.options);
  }

  private end(connection: H2Connection, exchanges: readonly H2Exchange[]): void {
    for (const exchange of exchanges) this.ends.add(connection, 1, () => exchange.close());
  }
}

/** Maximum cost of reading all connections in one turn of the event loop, in frames. */
const FRAMES_PER_TURN = 2048;
/** Maximum requests that begin in one turn of the event loop: one read of a connection brings a hundred. */
const REQUESTS_PER_TURN = 24;
/** The cost of a new request, in frames. */
export const REQUEST_COST = Math.ceil(FRAMES_PER_TURN / REQUESTS_PER_TURN);

/** A connection that has bytes to read. */
interface ReadingConnection {
  resumeRead(): void;
}

/**
 * Bounds the requests and frames that all HTTP/2 connections together bring in one turn of the event loop; a frame of one byte costs as
 * much as one of a thousand. Beyond the bound no connection is read until the next turn, which reads the waiting ones in order.
 */
export class H2TickBudget {
  private cost = 0;
  private end: NodeJS.Immediate | undefined = undefined;
  private waiting: ReadingConnection[] = [];

  /** True when nothing more may be read in this turn. */
  get isFull(): boolean {
    return this.cost >= FRAMES_PER_TURN;
  }

  /** Counts the cost of a read, in frames. */
  count(cost: number): void {
    this.cost += cost;
    this.end ??= setImmediate(H2TickBudget.endTurn, this).unref();
  }

  /** Queues a connection with unread bytes; call it once. */
  wait(connection: ReadingConnection): void {
    this.waiting.push(connection);
    this.end ??= setImmediate(H2TickBudget.endTurn, this);
    this.end.ref();
  }

  private static endTurn(this: void, turns: H2TickBudget): void {
    turns.endTurn();
  }

  private endTurn(): void {
    this.end = undefined;
    this.cost = 0;
    const { waiting } = this;
    this.waiting = [];
    for (const [at, connection] of waiting.entries()) {
      if (this.isFull) {
        // Connections that queued in the meantime come after these.
        this.waiting = [...waiting.slice(at), ...this.waiting];
        this.end ??= setImmediate(H2TickBudget.endTurn, this);
        this.end.ref();
        return;
      }
      connection.resumeRead();
    }
  }
}

/** A connection's open streams by number: so few that a search is faster than a table. */
export class StreamTable<Stream> implements Iterable<Stream> {
  private readonly ids: number[] = [];
  private readonly streams: Stream[] = [];

  /** Number of open streams. */
  get size(): number {
    return this.ids.length;
  }

  /** The open stream with a number. */
  get(id: number): Stream | undefined {
    // Most calls are for the latest one.
    const at = this.ids.lastIndexOf(id);
    return at < 0 ? undefined : this.streams[at];
  }

  add(id: number, stream: Stream): void {
    this.ids.push(id);
    this.streams.push(stream);
  }

  remove(id: number): void {
    const at = this.ids.lastIndexOf(id);
    if (at < 0) return;
    this.ids.splice(at, 1);
    this.streams.splice(at, 1);
  }

  [Symbol.iterator](): Iterator<Stream> {
    return this.streams.values();
  }
}
