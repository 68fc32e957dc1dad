import type { Socket } from 'node:net';
import type { Body } from '../../gateway/exchange.ts';
import type { BufferBudget } from '../../gateway/limits.ts';
import { ByteCollector, type CollectorMemory, newMemory } from '../../http/byte-collector.ts';
import { requestTrailersOf } from '../../http/fields.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { BodyMemory } from '../body-memory.ts';
import { onCheckPhase, type Flow, ReadThrottle, type TickBudget } from '../fair-turns.ts';
import { MinimumRate, type RatedTransfer, type RateLimits } from './rates.ts';

/** The source of a body. A part is valid only until its listener returns. */
interface BodySource extends Flow {
  /** Number of chunks in the current part; undefined for a body that is not chunked. */
  readonly pieces?: number | undefined;
  /** The fields after the last chunk, once that is read. */
  readonly rawTrailers?: HeaderList;
  on(event: 'data', listener: (part: Uint8Array) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
}

/** A connection that reports its close. */
type ClosingConnection = Pick<Socket, 'once' | 'off'>;

/** Receives the events of a request body. */
export interface IncomingBodyHandler {
  /** Called for every collected part with the bytes of memory that it takes; false stops collecting. */
  acceptChunk(bytes: number): boolean;
  onWholeBody(body: Uint8Array): void;
  onBody(body: Body): void;
  /** Called when nothing arrives for the body timeout, or too little for the minimum rate. */
  onStalled(): void;
}

/** Limits shared by all bodies of a server. */
export interface BodyResources {
  /** Bytes of all bodies together that may be read before the bodies take a connection to V2. */
  readonly readAhead: BufferBudget;
  readonly turns: TickBudget;
  /** Turns for bodies in chunks. */
  readonly chunkTurns: TickBudget;
  readonly memory: BodyMemory;
}

/** How bodies are read. */
export interface IncomingBodyOptions extends RateLimits {
  /** Maximum milliseconds between two parts; 0 is no limit. */
  readonly bodyTimeout: number;
  readonly bodies: BodyResources;
}

/**
 * Bytes of a body that are read before it streams: a smaller one holds no connection to V2 while it arrives.
 */
const READ_AHEAD_BYTES = 128 * 1024;
/** Minimum bytes of a part that is forwarded directly; smaller ones wait for others of the same turn. */
const LARGE_PART_BYTES = 16 * 1024;
/** Buffered bytes beyond which reading pauses until they are consumed. */
const BUFFERED_BYTES = 64 * 1024;
/** Maximum bytes that are read and dropped after an early response, so that the client can read it. */
const DISCARDED_BYTES = 256 * 1024 * 1024;
/** Maximum milliseconds for that. */
const DISCARD_MS = 30_000;

/**
 * A request's body on Node. It is either collected whole, or opened: a body that ends during read-ahead is handed over as one buffer,
 * and any other as a sequence with backpressure.
 */
export class IncomingBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array>, RatedTransfer {
  /** Bytes received so far. */
  bytes = 0;
  /** True once the last byte has arrived. */
  complete = false;
  /** The trailers to forward, once it is complete. */
  trailers: HeaderList = [];
  private readonly source: BodySource;
  private readonly flow: ReadThrottle;
  private readonly handler: IncomingBodyHandler;
  private readonly options: IncomingBodyOptions;
  private readonly rate: MinimumRate;
  private mode: 'waiting' | 'collect' | 'open' | 'stream' | 'discard' = 'waiting';
  private listening = false;
  private readonly length: number | undefined;
  private parts: ByteCollector;
  /** Memory for large parts that a waiting consumer gets. */
  private reusedPart: Uint8Array | undefined = undefined;
  /** Memory of the consumer's current part, free once it asks for the next one or the exchange is over. */
  private inUse: Uint8Array | undefined = undefined;
  private isWholeReused = false;
  private isForwardedAtOnce = false;
  /** Bytes of memory taken from the shared read-ahead budget. */
  private readAheadBytes = 0;
  private turn: NodeJS.Immediate | undefined = undefined;
  private isOver = false;
  private timer: NodeJS.Timeout | undefined = undefined;
  private broken: Error | undefined = undefined;
  /** Called when a dropped body exceeds `discardLimit`. */
  private overrun: (() => void) | undefined = undefined;
  private discardLimit = 0;
  /** The connection while the rest is dropped. */
  private connection: ClosingConnection | undefined = undefined;
  private want:
    | { resolve(result: IteratorResult<Uint8Array>): void; reject(error: Error): void }
    | undefined = undefined;

  /** `length` is the body's length according to the request. */
  constructor(
    source: BodySource,
    length: number | undefined,
    options: IncomingBodyOptions,
    handler: IncomingBodyHandler,
  ) {
    this.source = source;
    const { turns, chunkTurns } = options.bodies;
    this.flow = new ReadThrottle(source, source.pieces === undefined ? turns : chunkTurns, () =>
      this.onTurnChange(),
    );
    this.length = length;
    this.parts = new ByteCollector(length);
    this.options = options;
    this.handler = handler;
    this.rate = new MinimumRate(options, this);
  }

  get transferred(): number {
    return this.bytes;
  }

  /** True while the exchange waits for more of it. */
  get isWaitingForClient(): boolean {
    if (this.complete || this.isOver || this.broken !== undefined || this.flow.waitsForTurn) return false;
    return this.mode === 'stream' ? this.want !== undefined : this.mode === 'collect' || this.mode === 'open';
  }

  /** Collects the whole body into `memory`; `handler.acceptChunk` is called for every part. */
  collect(memory: CollectorMemory): void {
    this.parts = new ByteCollector(this.length, memory);
    this.begin('collect');
  }

  /**
   * Reads ahead before the body takes a connection to V2, then hands it over; with the lifetime `exchange` a whole body's memory may be
   * reused after `rest`. With `at-once` the body is handed over after the turn in which its first bytes arrive.
   */
  open(lifetime?: 'exchange', forwarding?: 'at-once'): void {
    this.isWholeReused = lifetime === 'exchange';
    this.isForwardedAtOnce = forwarding === 'at-once';
    this.parts = new ByteCollector(this.length, this.options.bodies.memory);
    this.begin('open');
  }

  /** Reads and drops the rest until its connection closes; calls `overrun` beyond a limit on bytes or time. */
  discard(connection: ClosingConnection, overrun: () => void): void {
    if (this.complete || this.mode === 'discard') return;
    // A collected body's parts are in its handler's memory.
    if (this.mode === 'collect') this.parts = new ByteCollector();
    this.mode = 'discard';
    this.takeParts();
    this.stop(new Error('early response'));
    this.stopTimers();
    this.discardLimit = this.bytes + DISCARDED_BYTES;
    this.overrun = overrun;
    this.timer = setTimeout(overrun, DISCARD_MS);
    this.timer.unref();
    this.connection = connection;
    connection.once('close', this.closed);
    this.listen();
    this.flow.readMore();
    this.source.resume();
  }

  /** Fails the consumer with an error, because the rest will not arrive. */
  stop(error: Error): void {
    this.broken ??= error;
    if (this.mode !== 'discard') this.stopTimers();
    const { want } = this;
    this.want = undefined;
    want?.reject(this.broken);
  }

  /** Stops all timers and releases the memory, because the exchange is over. */
  rest(): void {
    this.isOver = true;
    this.leaveConnection();
    this.stopTimers();
    this.release();
    this.flow.end();
    this.releaseParts();
    this.flow.readMore();
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    this.releaseInUse();
    if (this.parts.length > 0) {
      const value = this.takeParts();
      this.flow.readMore();
      return Promise.resolve({ done: false, value });
    }
    if (this.broken !== undefined) return Promise.reject(this.broken);
    if (this.complete) return Promise.resolve({ done: true, value: undefined });
    this.flow.readMore();
    this.waitForClient();
    return new Promise((resolve, reject) => {
      this.want = { resolve, reject };
    });
  }

  private begin(mode: 'collect' | 'open'): void {
    this.mode = mode;
    this.scheduleTurnEnd();
    this.listen();
  }

  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.flow.start();
    this.source.on('data', (chunk: Uint8Array) => this.receive(chunk));
    this.source.on('end', () => this.end());
  }

  private receive(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.scheduleTurnEnd();
    this.flow.count(chunk.length, this.source.pieces);
    if (this.mode === 'discard') {
      if (this.bytes > this.discardLimit) this.overrun?.();
      return;
    }
    // The handler has released the memory.
    if (this.isOver) return;
    this.timer?.refresh();
    if (this.mode === 'stream' && this.forwardInPlace(chunk)) return;
    const held = this.parts.add(chunk, true);
    if (this.mode === 'collect') {
      // The handler may have released the memory.
      if (!this.handler.acceptChunk(held)) this.parts = new ByteCollector();
    } else if (this.mode === 'open') {
      this.readAhead(held);
    } else if (this.parts.length >= LARGE_PART_BYTES) {
      this.forward();
      if (this.parts.length > BUFFERED_BYTES) this.flow.pause();
    }
  }

  /** Continues to read ahead as long as the budget allows. */
  private readAhead(held: number): void {
    if (this.bytes < READ_AHEAD_BYTES && this.options.bodies.readAhead.acquire(held))
      this.readAheadBytes += held;
    else this.stream();
  }

  /** Starts to forward the body while it arrives. */
  private stream(): void {
    this.mode = 'stream';
    this.stopTimers();
    if (this.parts.length > BUFFERED_BYTES) this.flow.pause();
    this.handler.onBody(this);
  }

  private forward(): void {
    const { want } = this;
    if (want === undefined) return;
    this.want = undefined;
    this.stopTimers();
    want.resolve({ done: false, value: this.takeParts() });
  }

  /** Gives a waiting consumer a large part in reused memory; false when the part has to be kept. */
  private forwardInPlace(chunk: Uint8Array): boolean {
    const { want } = this;
    const { length } = chunk;
    if (want === undefined || this.parts.length > 0) return false;
    if (length < LARGE_PART_BYTES || length > BUFFERED_BYTES) return false;
    this.want = undefined;
    this.stopTimers();
    this.reusedPart ??= this.options.bodies.memory.acquire(BUFFERED_BYTES);
    this.reusedPart.set(chunk);
    want.resolve({ done: false, value: this.reusedPart.subarray(0, length) });
    return true;
  }

  private takeParts(): Uint8Array {
    this.release();
    this.releaseInUse();
    this.inUse = this.parts.buffer;
    return this.parts.take();
  }

  private releaseInUse(): void {
    if (this.inUse !== undefined) this.options.bodies.memory.release(this.inUse);
    this.inUse = undefined;
  }

  private releaseParts(): void {
    this.releaseInUse();
    if (this.reusedPart !== undefined) this.options.bodies.memory.release(this.reusedPart);
    this.reusedPart = undefined;
  }

  private release(): void {
    this.options.bodies.readAhead.release(this.readAheadBytes);
    this.readAheadBytes = 0;
  }

  private end(): void {
    this.complete = true;
    this.leaveConnection();
    this.flow.end();
    this.stopTimers();
    this.trailers = requestTrailersOf(this.source.rawTrailers ?? []);
    const { mode } = this;
    if (mode !== 'stream') this.mode = 'waiting';
    if (mode === 'collect') this.handler.onWholeBody(this.parts.take());
    else if (mode === 'open') this.handler.onBody(this.readWhole());
    else if (mode === 'stream') this.endStream();
  }

  /** A body with trailers stays a stream, because they follow its last chunk. */
  private readWhole(): Body {
    if (this.trailers.length > 0) return this;
    if (this.isWholeReused) this.inUse = this.parts.buffer;
    return this.parts.length === 0 ? null : this.parts.take();
  }

  private endStream(): void {
    if (this.parts.length > 0) this.forward();
    const { want } = this;
    this.want = undefined;
    want?.resolve({ done: true, value: undefined });
  }

  private scheduleTurnEnd(): void {
    this.turn ??= setImmediate(IncomingBody.endTurn, this);
  }

  /** At the end of the turn, starts the timers for missing bytes, and forwards small parts as one. */
  private turnOver(): void {
    this.turn = undefined;
    this.flow.endTurn();
    if (this.complete || this.mode === 'discard') return;
    if (this.mode === 'open' && this.isForwardedAtOnce && this.parts.length > 0) this.stream();
    else if (this.mode !== 'stream') this.waitForClient();
    else if (this.parts.length > 0) this.forward();
  }

  /** Stops the client's timers while the body waits for its turn. */
  private onTurnChange(): void {
    if (this.complete || this.mode === 'discard') return;
    if (this.flow.waitsForTurn) this.stopTimers();
    else if (this.mode !== 'stream' || this.want !== undefined) this.waitForClient();
  }

  /** The connection closed while the rest was dropped. */
  private readonly closed = (): void => {
    this.rest();
  };

  private leaveConnection(): void {
    this.connection?.off('close', this.closed);
    this.connection = undefined;
  }

  private waitForClient(): void {
    if (this.isOver || this.mode === 'waiting' || this.broken !== undefined || this.flow.waitsForTurn) return;
    this.rate.start();
    const { bodyTimeout } = this.options;
    if (this.timer === undefined && bodyTimeout > 0)
      this.timer = setTimeout(IncomingBody.stall, bodyTimeout, this);
  }

  private stopTimers(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.rate.stop();
  }

  /** Ends a body that stalls; after a stall of the process itself, bytes that have arrived are read first. */
  private expire(): void {
    const { bytes, timer } = this;
    onCheckPhase(() => {
      if (this.timer === timer && this.bytes === bytes) this.tooSlow();
    });
  }

  tooSlow(): void {
    this.stopTimers();
    this.handler.onStalled();
  }

  private static endTurn(this: void, body: IncomingBody): void {
    body.turnOver();
  }

  private static stall(this: void, body: IncomingBody): void {
    body.expire();
  }
}

const NOTHING = new Uint8Array(0);

/** A body on a connection that the gateway reads itself. */
export abstract class SocketBody implements BodySource {
  /** Number of chunks in the current part; undefined for a body that is not chunked. */
  readonly pieces: number | undefined = undefined;
  /** True once the last byte has arrived. */
  abstract readonly isComplete: boolean;
  /** True once its framing is broken: nothing after it can be read. */
  isFaulty = false;
  private readonly flow: Flow;
  private onData: ((part: Uint8Array) => void) | undefined = undefined;
  private onEnd: (() => void) | undefined = undefined;
  /** Parts that arrived before a listener was set. */
  private early: Buffer[] = [];

  /** `flow` is its connection, or one of several streams there. */
  constructor(flow: Flow) {
    this.flow = flow;
  }

  get destroyed(): boolean {
    return this.flow.destroyed;
  }

  /** Sets an event's listener; parts that have already arrived are reported later in this turn. */
  on(event: 'data', listener: (part: Uint8Array) => void): void;
  on(event: 'end', listener: () => void): void;
  on(event: 'data' | 'end', listener: (part: Uint8Array) => void): void {
    if (event === 'data') this.onData = listener;
    else this.onEnd = () => listener(NOTHING);
    if (this.early.length > 0) process.nextTick(SocketBody.reportEarly, this);
  }

  pause(): void {
    this.flow.pause();
  }

  resume(): void {
    this.flow.resume();
  }

  /** Reports the parts that arrived before a listener was set. */
  private reportEarly(): void {
    const { early } = this;
    if (early.length === 0 || this.onEnd === undefined) return;
    this.early = [];
    this.flow.resume();
    for (const [at, part] of early.entries()) this.report(part, this.isComplete && at === early.length - 1);
  }

  /** Takes the parts that arrived before a listener was set. */
  protected takeEarly(): Buffer[] {
    const { early } = this;
    this.early = [];
    return early;
  }

  /** Reports a part of the body, or keeps a copy until a listener is set; the last part if the body is complete. */
  protected deliver(part: Buffer): void {
    if (this.onEnd !== undefined && this.early.length === 0) {
      this.report(part, this.isComplete);
      return;
    }
    if (part.length === 0 && !this.isComplete) return;
    this.early.push(Buffer.from(part));
    this.flow.pause();
  }

  private report(part: Buffer, isLast: boolean): void {
    if (part.length > 0) this.onData?.(part);
    if (isLast) this.onEnd?.();
  }

  private static reportEarly(this: void, body: SocketBody): void {
    body.reportEarly();
  }
}

/** A body with a length, on a socket that the gateway reads itself (RFC 9112 §6.2). */
export class SizedBody extends SocketBody {
  /** Bytes that have not arrived. */
  private missing: number;

  /** `length` is the number of its bytes. */
  constructor(connection: Socket, length: number) {
    super(connection);
    this.missing = length;
  }

  get isComplete(): boolean {
    return this.missing === 0;
  }

  receive(bytes: Buffer): Buffer {
    const part = bytes.length > this.missing ? bytes.subarray(0, this.missing) : bytes;
    this.missing -= part.length;
    this.deliver(part);
    return bytes.subarray(part.length);
  }
}

/** Maximum bytes of a body that is copied into Node's shared pool. */
const SMALL_BYTES = 4 * 1024;

/** A complete request body. At first it may be borrowed: in the memory of a read, which the next read overwrites. */
export class WholeBody {
  bytes: Uint8Array;
  private isBorrowed: boolean;

  constructor(bytes: Uint8Array, isBorrowed: boolean) {
    this.bytes = bytes;
    this.isBorrowed = isBorrowed;
  }

  /** Copies a borrowed body; returns the copy's buffer if it is from `memory`. */
  copy(memory = newMemory): Uint8Array | undefined {
    if (!this.isBorrowed) return undefined;
    this.isBorrowed = false;
    const { bytes } = this;
    if (bytes.length <= SMALL_BYTES) {
      this.bytes = Buffer.from(bytes);
      return undefined;
    }
    const buffer = memory.acquire(bytes.length);
    buffer.set(bytes);
    this.bytes = buffer.subarray(0, bytes.length);
    return buffer;
  }
}

/** Maximum bytes of a body that are still read after an early response. */
export const SMALL_REST_BYTES = 1024 * 1024;

/** A request whose body has not arrived. */
interface PartialBody {
  /** Bytes of the body; `Infinity` if unknown. */
  readonly length: number;
  readonly received: number;
  /** True for a client that waits for `100 Continue`, and may send no body at all. */
  readonly expectsContinue: boolean;
}

/** True when so much of a body may be missing that its connection must close after an early response (RFC 9112 §9.6). */
export function hasLargeRemainder({ length, received, expectsContinue }: PartialBody): boolean {
  return expectsContinue || length - received > SMALL_REST_BYTES;
}
