import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Body, ClientFault, ClientPace, Exchange, ExchangeHandler } from '../../../gateway/exchange.ts';
import { UnwritableHead } from '../../../gateway/upstream.ts';
import type { CollectorMemory } from '../../../http/byte-collector.ts';
import { type HeaderList, isFieldValue } from '../../../http/header-list.ts';
import { type RawHeaders, writeFieldLines } from '../../../http/raw-headers.ts';
import { type HeadLimits, readHeadLines, type RequestHead } from '../../../http/request-head.ts';
import type { ResponseHead } from '../../../http/response-head.ts';
import { type BodyMemory, fill, SMALL_WRITE_BYTES, writeTogether } from '../../body-memory.ts';
import { bytesFlushed, resetConnection } from '../../node-internals.ts';
import { IS_NODE } from '../../runtime.ts';
import { onCheckPhase, throwLater } from '../../fair-turns.ts';
import { type ReaderLimits, type SlowReader, SlowReaderGuard, unacknowledgedBytes } from '../rates.ts';
import {
  IncomingBody,
  type IncomingBodyOptions,
  type IncomingBodyHandler,
  hasLargeRemainder,
  type SocketBody,
  WholeBody,
} from '../request-body.ts';
import { ALREADY_SENT, isFinalStatus, isInterimStatus, ResponseFraming } from '../response-framing.ts';
import type { H1Request } from './request.ts';

export interface ExchangeConnection {
  readonly socket: Socket;
  /** The peer's address. */
  readonly remote: string;
  readonly readerLimits: ReaderLimits;
  /** Memory for parts of responses. */
  readonly memory: BodyMemory;
  /** The header lines that tell the client how long the connection is kept alive. */
  readonly keepAliveLines: string;
  /** True when this response must be the last. */
  readonly isEnding: boolean;
  /** Called when the kernel has taken the response. */
  readonly flushed: () => void;
  /** Called when the response is written; with `isLast` the connection closes, with `willFlush` the last write calls `flushed`. */
  responseEnded(isLast: boolean, willFlush: boolean): void;
}

const nothing = Buffer.alloc(0);
/** Bytes from which a part is written without a copy. Borrowed parts, at most one read, are smaller. */
const LARGE_PART_BYTES = 128 * 1024;

/**
 * An exchange on a socket that the gateway reads and writes itself. Its whole request is present, and a small response is one write.
 */
export class SocketExchange implements Exchange, ClientPace, SlowReader, QueuedResponse {
  readonly method: string;
  readonly target: string;
  readonly lines: RawHeaders;
  readonly version: H1Request['version'];
  readonly secure: boolean;
  readonly hasBody: boolean;
  readonly handled = ALREADY_SENT;
  readonly borrowsChunks = true;
  readonly releasesChunks = true;
  protected readonly connection: ExchangeConnection;
  private readonly body: WholeBody;
  /** The body's pooled memory, released at the end. */
  private bodyBuffer: Uint8Array | undefined = undefined;
  /** False when the client disconnected in the middle of the body. */
  private readonly isWhole: boolean;
  protected handler: ExchangeHandler | undefined = undefined;
  /** True when the connection closes after the response. */
  protected isLast: boolean;
  /** The head, sent with the first part of the body or at the end of the turn. */
  private held = '';
  /** The body's only part, sent with the end. */
  private onlyPart: Uint8Array | undefined = undefined;
  private framing: ResponseFraming | undefined = undefined;
  /** The fields of the response's head, if its framing removed some. */
  framedFields: HeaderList | undefined = undefined;
  /** False until the request has begun: a response before that is the gateway's own. */
  private hasBegun = false;
  private isWritten = false;
  private isOver = false;
  private isWaiting = false;
  /** Created when the gateway first waits for the client. */
  private guard: SlowReaderGuard | undefined = undefined;

  /**
   * `body` is shorter than the request says if the client disconnected before the end; a borrowed one is valid until `begun`.
   */
  constructor(connection: ExchangeConnection, request: H1Request, body: Uint8Array, isBodyBorrowed = false) {
    this.connection = connection;
    this.method = request.method;
    this.target = request.target;
    this.version = request.version;
    this.lines = request.lines;
    this.isLast = request.isLast;
    this.secure = 'encrypted' in connection.socket;
    this.hasBody = request.end > request.bodyAt;
    this.body = new WholeBody(body, isBodyBorrowed);
    this.isWhole = body.length === request.end - request.bodyAt;
  }

  get headers(): HeaderList {
    return this.lines.fields;
  }

  /** Asks the kernel once; the connection caches the address. */
  get remote(): string {
    return this.connection.remote;
  }

  get bytesIn(): number {
    return this.body.bytes.length;
  }

  /** Bytes of the connection that the kernel has taken; only one response is written on it at a time. */
  get bytesFlushed(): number {
    return bytesFlushed(this.connection.socket);
  }

  unacknowledged(): Promise<number | undefined> {
    return unacknowledgedBytes(this.connection.socket);
  }

  get pace(): ClientPace {
    return this;
  }

  get awaitsClient(): boolean {
    return !this.isGone && this.guard?.isWaiting === true;
  }

  get rest(): number {
    const missing = this.isWritten ? 0 : (this.framing?.missing ?? 0);
    return missing + this.connection.socket.writableLength;
  }

  get moved(): number {
    return this.bytesIn + this.bytesFlushed;
  }

  async transferred(): Promise<number> {
    return this.moved - ((await this.unacknowledged()) ?? 0);
  }

  readHead(limits: HeadLimits, trusted: boolean, targetBytes: number): RequestHead {
    return readHeadLines(this.lines, limits, trusted, targetBytes);
  }

  attach(handler: ExchangeHandler): void {
    this.handler = handler;
  }

  collect(memory: CollectorMemory): void {
    const { handler } = this;
    if (!this.isWhole || handler?.acceptChunk(this.body.bytes.length) !== true) return;
    this.body.copy(memory);
    handler.onWholeBody(this.body.bytes);
  }

  open(lifetime?: 'exchange'): void {
    if (!this.isWhole) return;
    if (lifetime === 'exchange') this.bodyBuffer = this.body.copy(this.connection.memory);
    else this.body.copy();
    const { bytes } = this.body;
    this.handler?.onBody(bytes.length === 0 ? null : bytes);
  }

  /** Called when the request has begun: copies a borrowed body, which is valid only until now. */
  begun(): void {
    this.hasBegun = true;
    this.body.copy();
  }

  information(status: number, headers: HeaderList): void {
    const lines = writeFieldLines(headers);
    if (!isInterimStatus(status) || lines === undefined) return;
    this.writeInterim(`${statusLine(status, undefined)}${lines}\r\n`);
  }

  head(head: ResponseHead): void {
    if (this.framing !== undefined || this.isGone) return;
    const { status, reason, lines: received, fieldText } = head;
    // If V2's lines are forwarded unchanged, framing only needs their length.
    const fields = fieldText === undefined ? head.headers : (received?.first('content-length') ?? []);
    const framing = new ResponseFraming(this, status, fields);
    const lines = fieldText ?? writeFieldLines(framing.fields, received);
    // A line break in a value from V2 would begin a second response that an attacker chooses (response splitting: RFC 9112 §11.1).
    if (lines === undefined || !isFieldValue(reason ?? '') || !isFinalStatus(status))
      throw new UnwritableHead(status);
    this.framing = framing;
    if (framing.fields !== fields) this.framedFields = framing.fields;
    // A body without a length or chunks ends with its connection (RFC 9112 §6.3, rule 8).
    this.isLast ||= this.connection.isEnding || framing.kind === 'close';
    const connectionLines = this.isLast ? 'Connection: close\r\n' : this.connection.keepAliveLines;
    const chunked = framing.kind === 'chunks' ? 'Transfer-Encoding: chunked\r\n' : '';
    this.held = `${statusLine(status, reason)}${lines}${connectionLines}${chunked}\r\n`;
    // An event stream may stay silent for a long time after its head.
    flushOnCheckPhase(this);
  }

  data(chunk: Uint8Array, isLast = false): boolean {
    const { framing, held } = this;
    if (framing === undefined || this.isGone || chunk.length === 0) return true;
    const part = framing.count(chunk.length);
    if (part === 'beyond') this.reset();
    if (part === 'beyond' || part === 'none') return true;
    if (held !== '' && isLast) {
      this.onlyPart = chunk;
      return true;
    }
    this.held = '';
    return this.awaited(this.write(held, chunk, ''));
  }

  end(trailers: HeaderList): void {
    const { framing } = this;
    if (framing === undefined || this.isWritten || this.isGone) return;
    // Fewer bytes than the length: only a reset shows the client that the response is incomplete (RFC 9112 §8).
    if (!framing.isWhole) {
      this.reset();
      return;
    }
    this.isWritten = true;
    const last = framing.kind === 'chunks' ? `0\r\n${writeFieldLines(trailers) ?? ''}\r\n` : '';
    const { held, onlyPart } = this;
    this.held = '';
    this.onlyPart = undefined;
    const hasRest = held !== '' || last !== '';
    if (held !== '' && this.mayQueue) {
      const { front, back } = this.framed(held, onlyPart, last);
      if (queueResponse(this, front, onlyPart ?? nothing, back)) return;
    }
    if (hasRest) this.write(held, onlyPart, last, this.onFlushed);
    this.written(hasRest && this.secure);
  }

  writeQueued(bytes: Buffer): boolean {
    const { socket } = this.connection;
    if (this.isGone) return true;
    socket.write(bytes, this.onFlushed);
    return socket.writableLength === 0;
  }

  endQueued(): void {
    if (!this.isGone) this.written(this.secure);
  }

  /** Callback for the last write over TLS, which the kernel never takes at once. */
  private get onFlushed(): (() => void) | undefined {
    return this.secure ? this.connection.flushed : undefined;
  }

  /** Called when the whole response is written; with `willFlush` its last write calls `flushed`. */
  private written(willFlush: boolean): void {
    const { connection } = this;
    if (connection.socket.writableLength > 0) this.awaitReader();
    connection.responseEnded(this.isLast, willFlush);
  }

  /** True when the response may be written later in the turn. */
  protected get mayQueue(): boolean {
    return this.hasBegun;
  }

  closeAfterResponse(): void {
    this.isLast = true;
  }

  reset(): void {
    if (!this.isOver) resetConnection(this.connection.socket);
  }

  /** Writes the held head: nothing followed it within the turn. */
  flushHeld(): void {
    const { held } = this;
    if (held === '' || this.isGone) return;
    this.held = '';
    this.awaited(this.write(held, undefined, ''));
  }

  // Called by the connection.

  /** True once the response is handed to the socket. */
  get isResponded(): boolean {
    return this.isWritten;
  }

  /** Called when the kernel has taken the response. */
  flushed(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.guard?.stop();
    this.handler?.flushed();
    this.leave();
  }

  /** Called when the connection is closed. */
  disconnected(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.guard?.stop();
    this.handler?.disconnected();
    this.leave();
  }

  /** Drops references: objects that refer to the exchange may outlive it for a long time. */
  private leave(): void {
    this.handler = undefined;
    if (this.bodyBuffer !== undefined) this.connection.memory.release(this.bodyBuffer);
    this.bodyBuffer = undefined;
  }

  /** Writes an informational response, unless the head of the response is written. */
  protected writeInterim(text: string): void {
    // HTTP/1.0 has no informational responses (RFC 9110 §15.2).
    if (this.framing === undefined && this.version !== '1.0' && !this.isGone)
      this.connection.socket.write(text, 'latin1');
  }

  /** True once the client no longer reads the response. */
  get isGone(): boolean {
    return this.isOver || this.connection.socket.destroyed;
  }

  get dropsContent(): boolean {
    return this.framing?.kind === 'none';
  }

  /**
   * Writes a part of the body with the text around it, in one write if that is cheaper; false signals backpressure. `done` is called
   * when the kernel has taken it.
   */
  private write(before: string, part: Uint8Array | undefined, after: string, done?: () => void): boolean {
    const { socket } = this.connection;
    const { front, back } = this.framed(before, part, after);
    if (part !== undefined && part.length >= LARGE_PART_BYTES) {
      socket.cork();
      if (front !== '') socket.write(front, 'latin1');
      let isRoom = socket.write(part, back === '' ? done : undefined);
      if (back !== '') isRoom = socket.write(back, 'latin1', done);
      socket.uncork();
      return isRoom;
    }
    const bytes = part ?? nothing;
    const length = front.length + bytes.length + back.length;
    if (length <= SMALL_WRITE_BYTES) return writeTogether(socket, front, bytes, back, done);
    const { memory } = this.connection;
    const room = memory.acquire(length);
    fill(room, front, bytes, back);
    // By then, the kernel has taken the bytes, or never will.
    return socket.write(room.subarray(0, length), () => {
      memory.release(room);
      done?.();
    });
  }

  /** Adds a chunk's framing to the texts around a part of the body. */
  private framed(
    before: string,
    part: Uint8Array | undefined,
    after: string,
  ): { front: string; back: string } {
    if (this.framing?.kind !== 'chunks' || part === undefined) return { front: before, back: after };
    return { front: `${before}${part.length.toString(16)}\r\n`, back: `\r\n${after}` };
  }

  /** Waits for a client that reads slowly; false signals backpressure. */
  private awaited(isRoom: boolean): boolean {
    const { socket } = this.connection;
    if (isRoom || socket.writableLength === 0 || socket.destroyed) return true;
    if (this.isWaiting) return false;
    this.isWaiting = true;
    this.awaitReader();
    socket.once('drain', () => {
      this.isWaiting = false;
      this.guard?.stop();
      if (!this.isOver && !this.isWritten) this.handler?.drained();
    });
    return false;
  }

  private awaitReader(): void {
    this.guard ??= new SlowReaderGuard(this.connection.readerLimits, this);
    this.guard.wait();
  }
}

function statusLine(status: number, reason: string | undefined): string {
  return `HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? ''}\r\n`;
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const NO_BODY = Buffer.alloc(0);

/** An exchange that begins before its body has arrived. */
export class LongBodyExchange extends SocketExchange implements IncomingBodyHandler {
  /** Bytes of the body; `Infinity` for a chunked one. */
  private readonly length: number;
  private readonly expectsContinue: boolean;
  private hasContinued = false;
  private readonly incoming: IncomingBody;

  constructor(
    connection: ExchangeConnection,
    request: H1Request,
    source: SocketBody,
    options: IncomingBodyOptions,
  ) {
    super(connection, request, NO_BODY);
    this.length = request.end - request.bodyAt;
    this.expectsContinue = request.expectsContinue;
    this.incoming = new IncomingBody(
      source,
      Number.isFinite(this.length) ? this.length : undefined,
      options,
      this,
    );
  }

  /** The rest of the body arrives after an early response. */
  protected override get mayQueue(): boolean {
    return false;
  }

  override get bytesIn(): number {
    return this.incoming.bytes;
  }

  override get awaitsClient(): boolean {
    return super.awaitsClient || (!this.isGone && this.incoming.isWaitingForClient);
  }

  /** The kernel does not have to be asked before any of a response is written. */
  override transferred(): Promise<number> {
    return super.awaitsClient ? super.transferred() : Promise.resolve(this.moved);
  }

  override get rest(): number {
    return super.awaitsClient || this.incoming.complete ? super.rest : this.length - this.bytesIn;
  }

  /** The trailers to forward, once the body is complete. */
  get trailers(): HeaderList {
    return this.incoming.trailers;
  }

  override collect(memory: CollectorMemory): void {
    this.writeContinue();
    this.incoming.collect(memory);
  }

  override open(lifetime?: 'exchange', forwarding?: 'at-once'): void {
    this.writeContinue();
    this.incoming.open(lifetime, forwarding);
  }

  override head(head: ResponseHead): void {
    if (this.hasLargeRemainder || (this.expectsContinue && !this.hasContinued)) this.closeAfterResponse();
    super.head(head);
  }

  override end(trailers: HeaderList): void {
    super.end(trailers);
    if (this.incoming.complete) return;
    // After the last response the connection itself drops further bytes; after any other, the next request begins where the body ends.
    if (this.isLast) this.stopBody('early response');
    else this.incoming.discard(this.connection.socket, () => this.reset());
  }

  override flushed(): void {
    super.flushed();
    if (this.incoming.complete) this.incoming.rest();
  }

  override disconnected(): void {
    if (!this.incoming.complete) this.incoming.stop(new Error('client gone'));
    super.disconnected();
    this.incoming.rest();
  }

  acceptChunk(bytes: number): boolean {
    return this.handler?.acceptChunk(bytes) ?? false;
  }

  onWholeBody(body: Uint8Array): void {
    this.handler?.onWholeBody(body);
  }

  onBody(body: Body): void {
    this.handler?.onBody(body);
  }

  onStalled(): void {
    this.fault('client-timeout');
  }

  /** Ends the body, because it is broken or late; the response is the last. */
  fault(fault: ClientFault): void {
    this.closeAfterResponse();
    this.incoming.stop(new Error(fault));
    this.handler?.onClientFault(fault);
  }

  private get hasLargeRemainder(): boolean {
    const { incoming, length, bytesIn: received, expectsContinue } = this;
    return !incoming.complete && hasLargeRemainder({ length, received, expectsContinue });
  }

  private writeContinue(): void {
    if (!this.expectsContinue || this.hasContinued) return;
    // Only once the body is read: the client of a refused request does not have to send it (RFC 9110 §10.1.1).
    this.hasContinued = true;
    this.writeInterim(CONTINUE);
  }

  private stopBody(cause: string): void {
    if (!this.incoming.complete) this.incoming.stop(new Error(cause));
    this.incoming.rest();
  }
}

/** A complete response that is not written yet. */
export interface QueuedResponse {
  /** True over TLS, which keeps reading the bytes after a write. */
  readonly secure: boolean;
  /** Writes its bytes; false when the socket still reads them. */
  writeQueued(bytes: Buffer): boolean;
  /** Called after all responses of the turn are written. */
  endQueued(): void;
}

interface Queued {
  readonly response: QueuedResponse;
  readonly bytes: Buffer;
}

/** Bytes for the responses of one turn; further ones are written at once. */
const ROOM_BYTES = 64 * 1024;

let room = Buffer.allocUnsafeSlow(ROOM_BYTES);
let used = 0;
let queue: Queued[] = [];

/**
 * Queues a copy of a small response: two latin1 texts and the bytes between them. Responses that become complete in one turn of the
 * event loop are then written one after the other, with the code in the processor's caches for all but the first. False when there is
 * no room.
 */
export function queueResponse(
  response: QueuedResponse,
  before: string,
  bytes: Uint8Array,
  after: string,
): boolean {
  const length = before.length + bytes.length + after.length;
  if (!IS_NODE || length > SMALL_WRITE_BYTES) return false;
  if (!response.secure && used + length > ROOM_BYTES) return false;
  const target = response.secure ? Buffer.allocUnsafe(length) : room.subarray(used, used + length);
  fill(target, before, bytes, after);
  if (!response.secure) used += length;
  if (queue.length === 0) onCheckPhase(writeAll);
  queue.push({ response, bytes: target });
  return true;
}

function writeAll(): void {
  const all = queue;
  queue = [];
  let isTaken = true;
  for (const { response, bytes } of all) {
    try {
      isTaken = (response.writeQueued(bytes) || response.secure) && isTaken;
    } catch (error) {
      // The other responses still have to be written. The socket may still read these bytes.
      isTaken = false;
      throwLater(error);
    }
  }
  if (!isTaken) room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  used = 0;
  for (const { response } of all) {
    try {
      response.endQueued();
    } catch (error) {
      throwLater(error);
    }
  }
}

/** A response whose head waits for the first part of its body, so that both are one write. */
interface HeldHead {
  /** Writes the head, unless it was already written. */
  flushHeld(): void;
}

let held: HeldHead[] = [];

/** Flushes a head, unless a part of the body follows before all readable sockets of this turn of the event loop have been read. */
export function flushOnCheckPhase(head: HeldHead): void {
  if (held.length === 0) onCheckPhase(flushAll);
  held.push(head);
}

function flushAll(): void {
  const all = held;
  held = [];
  for (const head of all) head.flushHeld();
}
