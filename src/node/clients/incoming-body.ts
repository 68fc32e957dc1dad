import type { Readable } from 'node:stream';
import type { Body } from '../../gateway/exchange.ts';

/** Who is told of a request body. */
export interface IncomingBodyOwner {
  mayTake(bytes: number): boolean;
  collected(body: Uint8Array): void;
  opened(body: Body): void;
  /** Nothing came for the client's body time. */
  stalled(): void;
}

/** Bytes that are read and thrown away after an early response, so that the client gets to read it. */
const MOST_DISCARDED_BYTES = 1024 * 1024;
/** Milliseconds for which they are. */
const DISCARD_MS = 2000;

/**
 * The body of a request on Node. It is either collected whole, or opened: what arrives within the turn is handed over as
 * one buffer if that is all, and as a sequence with back-pressure if it is not.
 */
export class IncomingBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  /** Bytes taken in so far. */
  bytes = 0;
  /** True once the last byte is in. */
  complete = false;
  private readonly source: Readable;
  private readonly length: number | undefined;
  private readonly owner: IncomingBodyOwner;
  private readonly timeout: number;
  private mode: 'waiting' | 'collect' | 'open' | 'stream' | 'discard' = 'waiting';
  private listening = false;
  private chunks: Uint8Array[] = [];
  private turn: NodeJS.Immediate | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private broken: Error | undefined = undefined;
  private want:
    | { resolve(result: IteratorResult<Uint8Array>): void; reject(error: Error): void }
    | undefined = undefined;

  constructor(source: Readable, length: number | undefined, timeout: number, owner: IncomingBodyOwner) {
    this.source = source;
    this.length = length;
    this.timeout = timeout;
    this.owner = owner;
  }

  /** Takes the whole body in; `owner.mayTake` is asked for every chunk. */
  collect(): void {
    this.begin('collect');
  }

  /** Takes what there is within the turn, then hands over. */
  open(): void {
    this.begin('open');
  }

  /** Reads the rest, up to a limit, and throws it away; `overrun` is called when there is more. */
  discard(overrun: () => void): void {
    if (this.complete || this.mode === 'discard') return;
    this.mode = 'discard';
    this.chunks = [];
    this.rest();
    this.stop(new Error('answered early'));
    const limit = this.bytes + MOST_DISCARDED_BYTES;
    this.timer = setTimeout(overrun, DISCARD_MS);
    this.timer.unref();
    this.source.on('data', () => {
      if (this.bytes > limit) overrun();
    });
    this.listen();
    this.source.resume();
  }

  /** The rest will not come: whoever reads gets the error. */
  stop(error: Error): void {
    this.broken ??= error;
    if (this.mode !== 'discard') this.rest();
    const { want } = this;
    this.want = undefined;
    want?.reject(this.broken);
  }

  /** Ends the timers; called when the exchange is over. */
  rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    clearImmediate(this.turn);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const chunk = this.chunks.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
    if (this.broken !== undefined) return Promise.reject(this.broken);
    if (this.complete) return Promise.resolve({ done: true, value: undefined });
    this.source.resume();
    this.arm();
    return new Promise((resolve, reject) => {
      this.want = { resolve, reject };
    });
  }

  private begin(mode: 'collect' | 'open'): void {
    this.mode = mode;
    this.turn = setImmediate(endTurn, this);
    this.listen();
  }

  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.source.on('data', (chunk: Uint8Array) => this.take(chunk));
    this.source.on('end', () => this.end());
  }

  private take(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.mode === 'discard') return;
    if (this.mode === 'collect') {
      if (this.owner.mayTake(chunk.length)) this.chunks.push(chunk);
    } else if (this.mode === 'open') {
      this.chunks.push(chunk);
      if (this.bytes === this.length) this.hand(this.whole());
    } else {
      this.give(chunk);
    }
    this.timer?.refresh();
  }

  private give(chunk: Uint8Array): void {
    const { want } = this;
    if (want === undefined) {
      this.chunks.push(chunk);
      this.source.pause();
      return;
    }
    this.want = undefined;
    this.rest();
    want.resolve({ done: false, value: chunk });
  }

  private end(): void {
    this.complete = true;
    this.rest();
    if (this.mode === 'collect') {
      const whole = this.whole();
      this.mode = 'waiting';
      this.owner.collected(whole);
    } else if (this.mode === 'open') {
      this.hand(this.whole());
    } else if (this.mode === 'stream') {
      const { want } = this;
      this.want = undefined;
      want?.resolve({ done: true, value: undefined });
    }
  }

  /** The turn is over: what is not here yet takes its time. */
  turnOver(): void {
    if (this.complete) return;
    if (this.mode === 'collect') this.arm();
    if (this.mode !== 'open') return;
    this.mode = 'stream';
    this.source.pause();
    this.owner.opened(this);
  }

  private hand(body: Uint8Array): void {
    this.mode = 'waiting';
    this.rest();
    this.owner.opened(body.length === 0 ? null : body);
  }

  private whole(): Uint8Array {
    const [first = new Uint8Array(0)] = this.chunks;
    const whole = this.chunks.length <= 1 ? first : Buffer.concat(this.chunks);
    this.chunks = [];
    return whole;
  }

  private arm(): void {
    if (this.timer !== undefined || this.timeout === 0) return;
    this.timer = setTimeout(stall, this.timeout, this);
  }

  /** Nothing came in time. */
  expire(): void {
    this.owner.stalled();
  }
}

function endTurn(body: IncomingBody): void {
  body.turnOver();
}

function stall(body: IncomingBody): void {
  body.expire();
}
