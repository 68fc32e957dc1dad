import type { Body, ClientPace, Exchange, ExchangeHandler } from '../../../gateway/exchange.ts';
import { UnwritableHead } from '../../../gateway/upstream.ts';
import type { CollectorMemory } from '../../../http/byte-collector.ts';
import { type RawHeaders, rawHeadersOf } from '../../../http/raw-headers.ts';
import { type HeaderList, isFieldName, isFieldValue, isWritableValue } from '../../../http/header-list.ts';
import { type HeadLimits, readHeadLines, type RequestHead } from '../../../http/request-head.ts';
import type { ResponseHead } from '../../../http/response-head.ts';
import type { BodyMemory } from '../../body-memory.ts';
import { ALREADY_SENT, isFinalStatus, isInterimStatus, ResponseFraming } from '../response-framing.ts';
import {
  IncomingBody,
  type IncomingBodyOptions,
  type IncomingBodyHandler,
  SMALL_REST_BYTES,
  SocketBody,
} from '../request-body.ts';
import type { Flow } from '../../fair-turns.ts';
import { type ReaderLimits, type SlowReader, SlowReaderGuard } from '../rates.ts';
import { ERROR, type ErrorCode, FIRST_WINDOW_BYTES } from './frames.ts';
import { STATIC_FIELDS } from './hpack.ts';
import { type H2Output, PART_BYTES, type WrittenResponse } from './output.ts';
import { isConnectionField, type RequestHeaderBlock } from './header-block.ts';

/** Options shared by every HTTP/2 exchange. Times are milliseconds. */
export interface H2ExchangeOptions extends ReaderLimits, IncomingBodyOptions {
  /** Serves an exchange whose turn has come. */
  serve(exchange: Exchange): void;
}

/** The connection that an exchange is on. */
export interface StreamConnection {
  readonly remote: string;
  readonly options: H2ExchangeOptions;
  readonly output: H2Output;
  readonly isClosed: boolean;
  /** Sends as much of a body as the client takes now; returns the number of bytes. `isLast` is true if the response ends with it. */
  send(exchange: H2Exchange, bytes: Uint8Array, isLast: boolean): number;
  /** Queues a response, part of which waits until the client takes more. */
  wait(exchange: H2Exchange): void;
  /** Ends a stream before its response is whole. */
  refuseStream(exchange: H2Exchange, code: ErrorCode): void;
  /** Forgets a stream that both sides have closed. */
  leave(exchange: H2Exchange): void;
}

/** Bytes of a response that may wait for the client before reading from V2 pauses. */
const MAX_WAITING_BYTES = 64 * 1024;
/** Bytes after which the gateway grows a body's window again. */
const CREDIT_BYTES = FIRST_WINDOW_BYTES >> 1;
/** Milliseconds that the rest of a body may take after an early response. */
const REST_MS = 5000;
/** Milliseconds from an early response to a reset: curl and Node lose a response that arrives together with a reset. */
const RESET_DELAY_MS = 500;
const nothing = Buffer.alloc(0);

/** An exchange on an HTTP/2 stream. */
export class H2Exchange
  implements Exchange, ClientPace, IncomingBodyHandler, SlowReader, WrittenResponse, Flow
{
  readonly id: number;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly lines: RawHeaders;
  version: Exchange['version'];
  readonly remote: string;
  readonly secure = true;
  readonly hasBody: boolean;
  readonly handled = ALREADY_SENT;
  readonly borrowsChunks = true;
  readonly releasesChunks = true;
  /** Bytes of its body that the client currently takes (RFC 9113 §6.9.1). */
  sendWindow: number;
  /** The client's window for the response when the stream began. */
  private readonly firstWindow: number;
  /** Bytes of the response sent so far. */
  bytesFlushed = 0;
  private readonly connection: StreamConnection;
  private readonly contentLength: number | undefined;
  private readonly expectsContinue: boolean;
  private readonly body: H2Body;
  /** The body, if all of it had arrived when the exchange began. */
  private whole: Buffer | undefined = undefined;
  /** The body, if part of it was missing then. */
  private incoming: IncomingBody | undefined = undefined;
  /** Limits the wait for the rest of the body after the response. */
  private restTimer: NodeJS.Timeout | undefined = undefined;
  private handler: ExchangeHandler | undefined = undefined;
  /** Bytes of its body that the client may still send. */
  private receiveWindow = FIRST_WINDOW_BYTES;
  /** Bytes read since the last window update. */
  private pendingCredit = 0;
  /** Bytes of the body that may still be read after the response. */
  private restBytes = 0;
  private isPaused = false;
  /** True once its body differs from the announced one: no more of it is read. */
  private isFaulty = false;
  private framing: ResponseFraming | undefined = undefined;
  private responseTrailers: HeaderList = [];
  private readonly waiting: WaitingParts;
  private isHeldBack = false;
  /** True once `end` was called. */
  private isEnding = false;
  /** True once the frame that ends the response is written. */
  private isEndWritten = false;
  private isClosed = false;
  private isOver = false;
  /** Created when the gateway first waits for the client. */
  private guard: SlowReaderGuard | undefined = undefined;

  constructor(
    connection: StreamConnection,
    id: number,
    block: RequestHeaderBlock,
    hasBody: boolean,
    sendWindow: number,
  ) {
    this.connection = connection;
    this.id = id;
    this.method = block.method ?? '';
    this.target = block.target ?? '';
    this.headers = block.fields;
    this.lines = rawHeadersOf(block.fields);
    this.version = block.isMalformed ? 'malformed' : '2';
    this.remote = connection.remote;
    this.hasBody = hasBody;
    this.sendWindow = sendWindow;
    this.firstWindow = sendWindow;
    this.contentLength = block.contentLength;
    this.expectsContinue = block.expectsContinue;
    this.body = new H2Body(this);
    this.waiting = new WaitingParts(connection.options.bodies.memory);
  }

  get bytesIn(): number {
    return this.body.bytes;
  }

  /** At most the first window: the client sends window updates only once it has read that. */
  unacknowledged(): Promise<number> {
    return Promise.resolve(Math.min(this.firstWindow, this.bytesFlushed));
  }

  get isGone(): boolean {
    return !this.isOpen;
  }

  get carrier(): object {
    return this.connection;
  }

  get pace(): ClientPace {
    return this;
  }

  get awaitsClient(): boolean {
    if (this.isOver || this.connection.isClosed) return false;
    return this.isWaiting || this.isEndWritten || (this.isOpen && this.incoming?.isWaitingForClient === true);
  }

  /** Once its last frame is written, everything that its connection still has to send to the client. */
  get rest(): number {
    if (this.isEndWritten) return this.connection.output.waitingBytes;
    if (!this.isWaiting && this.incoming?.complete === false)
      return (this.contentLength ?? Infinity) - this.body.bytes;
    return this.waiting.bytes + (this.isEnding ? 0 : (this.framing?.missing ?? 0));
  }

  get moved(): number {
    return this.body.bytes + this.bytesFlushed;
  }

  async transferred(): Promise<number> {
    return this.moved - (await this.unacknowledged());
  }

  get framedFields(): HeaderList | undefined {
    return this.framing?.fields;
  }

  get dropsContent(): boolean {
    return this.framing?.kind === 'none';
  }

  get trailers(): HeaderList {
    return this.incoming?.trailers ?? [];
  }

  /** Called when its turn has come. */
  begin(): void {
    const { options } = this.connection;
    this.whole = this.hasBody ? this.body.takeWhole() : nothing;
    if (this.whole === undefined) {
      this.incoming = new IncomingBody(this.body, this.contentLength, options, this);
    }
    options.serve(this);
  }

  readHead(limits: HeadLimits, trusted: boolean, targetBytes: number): RequestHead {
    return readHeadLines(this.lines, limits, trusted, targetBytes);
  }

  attach(handler: ExchangeHandler): void {
    this.handler = handler;
    // The stream closed before its turn.
    if (!this.isOpen) setImmediate(H2Exchange.over, this);
  }

  collect(memory: CollectorMemory): void {
    const { handler, whole } = this;
    if (!this.isOpen) return;
    if (whole === undefined) {
      this.writeContinue();
      this.incoming?.collect(memory);
    } else if (handler?.acceptChunk(whole.length) === true) {
      handler.onWholeBody(whole);
    }
  }

  open(lifetime?: 'exchange', forwarding?: 'at-once'): void {
    const { whole } = this;
    if (!this.isOpen) return;
    if (whole === undefined) {
      this.writeContinue();
      this.incoming?.open(lifetime, forwarding);
    } else {
      this.handler?.onBody(whole.length === 0 ? null : whole);
    }
  }

  information(status: number, headers: HeaderList): void {
    if (!this.isOpen || this.framing !== undefined || !isInterimStatus(status)) return;
    const block = writeBlock(status, headers);
    if (block !== undefined) this.connection.output.fields(this.id, block, false);
  }

  head({ status, headers }: ResponseHead): void {
    if (!this.isOpen || this.framing !== undefined) return;
    const framing = new ResponseFraming(this, status, headers);
    const block = writeBlock(status, framing.fields);
    if (block === undefined || !isFinalStatus(status)) throw new UnwritableHead(status);
    this.framing = framing;
    this.isEndWritten = framing.kind === 'none' || (framing.kind === 'length' && framing.isWhole);
    this.connection.output.fields(this.id, block, this.isEndWritten);
  }

  data(chunk: Uint8Array): boolean {
    const { framing } = this;
    if (framing === undefined || !this.isOpen || chunk.length === 0) return true;
    const part = framing.count(chunk.length);
    if (part === 'beyond') this.reset();
    if (part === 'beyond' || part === 'none') return true;
    const sent = this.waiting.bytes === 0 ? this.send(chunk, part === 'last') : 0;
    if (sent === chunk.length) return true;
    this.copyWaiting(chunk.subarray(sent));
    return !this.isHeldBack;
  }

  end(trailers: HeaderList): void {
    if (!this.isOpen || this.isEnding) return;
    if (this.framing?.isWhole === false) {
      this.reset();
      return;
    }
    this.responseTrailers = trailers;
    this.isEnding = true;
    if (this.waiting.bytes === 0) this.finishResponse();
  }

  closeAfterResponse(): void {}

  reset(): void {
    if (!this.isClosed) this.refuse(ERROR.internal);
  }

  // Called by the connection.

  /** Takes a part of the body, valid until it returns, whose frame used `frameBytes` of the windows. */
  receive(part: Buffer, frameBytes: number, isEnd: boolean): void {
    this.receiveWindow -= frameBytes;
    // The stream is half-closed (remote): RFC 9113 §5.1.
    if (this.body.isComplete || !this.hasBody) {
      this.refuse(ERROR.streamClosed);
      return;
    }
    if (this.receiveWindow < 0) {
      this.refuse(ERROR.flowControl);
      return;
    }
    this.pendingCredit += frameBytes;
    if (this.isClosed) {
      this.drop(frameBytes, isEnd);
      return;
    }
    if (this.isFaulty) return;
    // A length that differs from the sum of DATA makes a request malformed (RFC 9113 §8.1.1): V2 would get a wrong framing.
    const bytes = this.body.bytes + part.length;
    const { contentLength } = this;
    if (contentLength !== undefined && (bytes > contentLength || (isEnd && bytes < contentLength))) {
      this.onBadFraming();
      return;
    }
    this.body.receive(part, isEnd);
    this.maybeSendCredit();
  }

  /** Takes the trailers, which end the body; malformed ones make the whole request malformed. */
  receiveTrailers(fields: HeaderList, isMalformed: boolean): void {
    const { contentLength } = this;
    if (this.body.isComplete || !this.hasBody) this.refuse(ERROR.streamClosed);
    else if (this.isClosed) this.leave();
    else if (this.isFaulty) return;
    else if (isMalformed || (contentLength !== undefined && this.body.bytes < contentLength))
      this.onBadFraming();
    else this.body.end(fields);
  }

  /** Ends the stream at once, before the response is whole. */
  refuse(code: ErrorCode): void {
    if (this.isClosed) {
      if (this.restTimer !== undefined) this.leaveRest(code);
      return;
    }
    this.isClosed = true;
    this.connection.refuseStream(this, code);
    setImmediate(H2Exchange.over, this);
  }

  /** Writes one waiting frame; false when the client takes none. */
  resumeWrite(): boolean {
    const { framing, waiting } = this;
    if (waiting.bytes === 0) return false;
    const part = waiting.next(PART_BYTES);
    const isLast = part.length === waiting.bytes && framing?.kind === 'length' && framing.isWhole;
    const sent = this.send(part, isLast);
    waiting.consume(sent);
    if (waiting.bytes === 0) this.guard?.stop();
    if (waiting.bytes === 0 && this.isEnding) this.finishResponse();
    else this.maybeResume();
    return sent > 0;
  }

  /** True while part of its response waits for the client. */
  get isWaiting(): boolean {
    return this.waiting.bytes > 0 && !this.isClosed;
  }

  /**
   * Called when the client closes the stream or its connection. An exchange that has not begun ends right after it begins; one whose
   * response is written ends when the kernel has taken that.
   */
  close(): void {
    clearTimeout(this.restTimer);
    if (this.handler !== undefined && !this.isClosed) this.finish(false);
    this.isClosed = true;
  }

  /** Stops waiting for the rest of the body; a malformed request is a stream error (RFC 9113 §8.1.1). */
  private leaveRest(code: ErrorCode = this.isMalformed ? ERROR.protocol : ERROR.none): void {
    this.leave();
    this.connection.refuseStream(this, code);
  }

  /** The kernel has taken the response. */
  flushed(): void {
    this.finish(true);
  }

  disconnected(): void {
    this.finish(false);
  }

  // The body's flow.

  get destroyed(): boolean {
    return this.isClosed;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.maybeSendCredit();
  }

  // The body's events.

  acceptChunk(bytes: number): boolean {
    return this.handler?.acceptChunk(bytes) ?? false;
  }

  onWholeBody(body: Uint8Array): void {
    if (this.isOpen) this.handler?.onWholeBody(body);
  }

  onBody(body: Body): void {
    if (this.isOpen) this.handler?.onBody(body);
  }

  onStalled(): void {
    this.fault('client-timeout');
  }

  /** True for a request or body that a server must not serve. */
  private get isMalformed(): boolean {
    return this.isFaulty || this.version === 'malformed';
  }

  private get isOpen(): boolean {
    return !this.isClosed && !this.connection.isClosed;
  }

  private fault(fault: 'client-timeout' | 'bad-framing'): void {
    this.incoming?.stop(new Error(fault));
    this.handler?.onClientFault(fault);
  }

  /** Ends a body that differs from the announced one. */
  private onBadFraming(): void {
    this.isFaulty = true;
    if (this.handler === undefined) this.version = 'malformed';
    else this.fault('bad-framing');
  }

  /** Grows the client's window by the bytes read, unless the body is not being read. */
  private maybeSendCredit(): void {
    if (!this.isPaused && !this.body.isComplete && this.isOpen) this.sendCredit();
  }

  private sendCredit(): void {
    // In large steps: an update for each frame would double the number of frames (RFC 9113 §6.9).
    if (this.pendingCredit < CREDIT_BYTES) return;
    this.connection.output.sendWindowUpdate(this.id, this.pendingCredit);
    this.receiveWindow += this.pendingCredit;
    this.pendingCredit = 0;
  }

  /** Sends 100 Continue, so that the client sends its body (RFC 9110 §10.1.1). */
  private writeContinue(): void {
    if (this.expectsContinue) this.information(100, []);
  }

  private send(bytes: Uint8Array, isLast: boolean): number {
    const sent = this.connection.send(this, bytes, isLast);
    this.bytesFlushed += sent;
    if (isLast && sent === bytes.length) this.isEndWritten = true;
    return sent;
  }

  /** Keeps a copy of bytes that the client does not take yet. */
  private copyWaiting(bytes: Uint8Array): void {
    if (this.waiting.bytes === 0) this.connection.wait(this);
    this.waiting.add(bytes);
    this.isHeldBack ||= this.waiting.bytes > MAX_WAITING_BYTES;
    this.guard ??= new SlowReaderGuard(this.connection.options, this);
    this.guard.wait();
  }

  private maybeResume(): void {
    if (!this.isHeldBack || this.waiting.bytes > MAX_WAITING_BYTES / 2) return;
    this.isHeldBack = false;
    this.handler?.drained();
  }

  /** Ends the stream once all of the body is written. */
  private finishResponse(): void {
    const { connection, id } = this;
    const { output } = connection;
    if (!this.isEndWritten) {
      const block =
        this.framing?.hasTrailers === true ? writeBlock(undefined, this.responseTrailers) : undefined;
      if (block === undefined || block.length === 0) output.data(id, nothing, true);
      else output.fields(id, block, true);
      this.isEndWritten = true;
    }
    output.end(this);
    this.isClosed = true;
    if (this.hasBody && !this.body.isComplete) this.awaitRest();
    else connection.leave(this);
  }

  /**
   * Waits for the rest of a request whose response is complete. A short rest is read to its end, because some clients treat a reset as a
   * failure even after a whole response; with a long one the client has to stop sending (RFC 9113 §8.1).
   */
  private awaitRest(): void {
    const { contentLength, body, isMalformed } = this;
    this.incoming?.stop(new Error('early response'));
    const missing = contentLength === undefined ? SMALL_REST_BYTES : contentLength - body.bytes;
    this.restBytes = isMalformed || missing > SMALL_REST_BYTES ? 0 : missing;
    this.readRest();
    this.restTimer = setTimeout(H2Exchange.leaveRest, this.restBytes > 0 ? REST_MS : RESET_DELAY_MS, this);
  }

  /** Drops a part of the body that arrives after the response. */
  private drop(bytes: number, isEnd: boolean): void {
    this.restBytes -= bytes;
    if (isEnd) this.leave();
    else this.readRest();
  }

  private readRest(): void {
    if (this.restBytes > 0) this.sendCredit();
  }

  private leave(): void {
    clearTimeout(this.restTimer);
    this.restTimer = undefined;
    this.connection.leave(this);
  }

  private finish(isFlushed: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.isClosed = true;
    this.guard?.stop();
    this.waiting.clear();
    this.whole = undefined;
    const { incoming, handler } = this;
    // Only when needed: capturing the error's stack takes longer than the rest of this method.
    if (incoming?.complete === false) incoming.stop(new Error('client gone'));
    this.handler = undefined;
    if (isFlushed) handler?.flushed();
    else handler?.disconnected();
    incoming?.rest();
  }

  private static over(this: void, exchange: H2Exchange): void {
    exchange.finish(false);
  }

  private static leaveRest(this: void, exchange: H2Exchange): void {
    exchange.leaveRest();
  }
}

/** A body on an HTTP/2 stream. */
class H2Body extends SocketBody {
  /** A frame takes as long to read as a chunk of HTTP/1.1. */
  override readonly pieces = 1;
  isComplete = false;
  /** Bytes that have arrived. */
  bytes = 0;
  /** The trailers after it. */
  rawTrailers: HeaderList = [];

  /** Takes a part, which is valid until it returns. */
  receive(part: Buffer, isLast: boolean): void {
    this.bytes += part.length;
    this.isComplete = isLast;
    this.deliver(part);
  }

  /** Completes the body with its trailers. */
  end(trailers: HeaderList): void {
    this.rawTrailers = trailers;
    this.receive(Buffer.alloc(0), true);
  }

  /** Takes the whole body before a listener is set; undefined if it is incomplete or has trailers. */
  takeWhole(): Buffer | undefined {
    if (!this.isComplete || this.rawTrailers.length > 0) return undefined;
    const parts = this.takeEarly();
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }
}

interface Part {
  readonly memory: Buffer;
  from: number;
  readonly to: number;
}

/** Copies of a response's parts that the client does not take yet, in pooled memory. */
export class WaitingParts {
  /** Number of waiting bytes. */
  bytes = 0;
  private readonly memory: BodyMemory;
  private parts: Part[] = [];

  constructor(memory: BodyMemory) {
    this.memory = memory;
  }

  add(bytes: Uint8Array): void {
    const memory = this.memory.acquire(bytes.length);
    memory.set(bytes);
    this.parts.push({ memory, from: 0, to: bytes.length });
    this.bytes += bytes.length;
  }

  /** The next bytes, at most `limit`; valid until `consume`. */
  next(limit: number): Uint8Array {
    const [part] = this.parts;
    return part === undefined
      ? new Uint8Array(0)
      : part.memory.subarray(part.from, Math.min(part.to, part.from + limit));
  }

  /** Removes bytes that the client has taken. */
  consume(bytes: number): void {
    const [part] = this.parts;
    if (part === undefined) return;
    part.from += bytes;
    this.bytes -= bytes;
    if (part.from < part.to) return;
    this.parts.shift();
    this.memory.release(part.memory);
  }

  clear(): void {
    for (const { memory } of this.parts) this.memory.release(memory);
    this.parts = [];
    this.bytes = 0;
  }
}

/** The first index of each name in the static table. */
const NAME_INDEXES = new Map<string, number>();
/** The indexes of the statuses in the static table. */
const STATUS_INDEXES = new Map<string, number>();
for (const [at, [name, value]] of STATIC_FIELDS.entries()) {
  if (!NAME_INDEXES.has(name)) NAME_INDEXES.set(name, at + 1);
  if (name === ':status') STATUS_INDEXES.set(value, at + 1);
}
const STATUS_INDEX = NAME_INDEXES.get(':status') ?? 0;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\x01-\x08\x0a-\x1f\x7f]/g;
/** Maximum bytes that a field takes beside its characters: a prefix and two lengths. */
const FIELD_BYTES = 12;

let block = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * Writes the fields of a response, or of trailers without a status, as a block (RFC 7541) that never uses the dynamic table, which would
 * take more time than it saves. Names become lower case, and connection-specific fields are left out. The block is valid until the next
 * call; undefined when a field cannot be written.
 */
export function writeBlock(status: number | undefined, fields: HeaderList): Buffer | undefined {
  let at = status === undefined ? 0 : writeStatus(String(status));
  for (let field = 0; field < fields.length; field += 2) {
    const given = fields[field] ?? '';
    let value = fields[field + 1] ?? '';
    if (!isFieldValue(value)) {
      if (!isWritableValue(value)) return undefined;
      // Clients of HTTP/2 drop a field with a control character (RFC 9113 §8.2.1); those of HTTP/1.1 accept it.
      value = value.replaceAll(CONTROLS, ' ').trim();
    }
    if (!isFieldName(given)) return undefined;
    const name = given.toLowerCase();
    if (name === 'te' || isConnectionField(name)) continue;
    makeRoom(at, name.length + value.length + FIELD_BYTES);
    const index = NAME_INDEXES.get(name) ?? 0;
    at = writeNumber(at, index, 0x0f);
    if (index === 0) at = writeText(at, name);
    at = writeText(at, value);
  }
  return block.subarray(0, at);
}

function writeStatus(status: string): number {
  const index = STATUS_INDEXES.get(status);
  if (index === undefined) return writeText(writeNumber(0, STATUS_INDEX, 0x0f), status);
  block[0] = 0x80 | index;
  return 1;
}

/** Writes a string without Huffman coding (RFC 7541 §5.2). */
function writeText(start: number, text: string): number {
  const at = writeNumber(start, text.length, 0x7f);
  block.write(text, at, 'latin1');
  return at + text.length;
}

/** Writes a number (RFC 7541 §5.1) in the bits of the first byte that `mask` has, and further bytes; its other bits are 0. */
function writeNumber(start: number, value: number, mask: number): number {
  if (value < mask) {
    block[start] = value;
    return start + 1;
  }
  block[start] = mask;
  let at = start + 1;
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) block[at++] = (rest & 0x7f) | 0x80;
  block[at] = rest;
  return at + 1;
}

function makeRoom(at: number, bytes: number): void {
  if (at + bytes <= block.length) return;
  const larger = Buffer.allocUnsafeSlow(2 * (at + bytes));
  block.copy(larger, 0, 0, at);
  block = larger;
}
