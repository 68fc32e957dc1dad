import { ByteCollector } from '../http/byte-collector.ts';
import type { Refusal } from '../rewrite/records.ts';
import type { BodyStream } from '../rewrite/text-stream.ts';

const EMPTY = new Uint8Array();

/** What a request body that is rewritten as it comes has to say before anything is sent. */
export type BegunBody =
  /** The body is refused, and nothing was sent. */
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** It ended before anything could be sent: this is all of it. */
  | { readonly outcome: 'whole'; readonly body: Uint8Array }
  /** Its first bytes can be sent, and the rest follows. */
  | { readonly outcome: 'streamed' };

/** Keeps the beginning of a body for people, up to a number of bytes and one more, which says that it is longer. */
export class KeptBody {
  private readonly limit: number;
  private readonly copy = new ByteCollector();

  constructor(limit: number) {
    this.limit = limit;
  }

  add(part: Uint8Array): void {
    const room = this.limit + 1 - this.copy.length;
    if (room > 0 && part.length > 0) this.copy.add(part.subarray(0, room), true);
  }

  take(): Uint8Array {
    return this.copy.take();
  }
}

/** The body of a request that is rewritten as it comes. Where it must not go on, it breaks, so that V2 never takes it for whole. */
export class RewrittenBody implements AsyncIterable<Uint8Array> {
  /** Bytes for V2 so far. */
  sentBytes = 0;
  private readonly parts: AsyncIterator<Uint8Array>;
  private readonly stream: BodyStream;
  private readonly kept: KeptBody | undefined;
  private readonly onRefused: (refusal: Refusal) => void;
  private first: Uint8Array = EMPTY;
  private isWhole = false;

  /** Keeps a copy of `keeps` bytes for people; `onRefused` is called for a fault behind bytes that were sent. */
  constructor(
    parts: AsyncIterable<Uint8Array>,
    stream: BodyStream,
    keeps: number | undefined,
    onRefused: (refusal: Refusal) => void,
  ) {
    this.parts = parts[Symbol.asyncIterator]();
    this.stream = stream;
    this.kept = keeps === undefined ? undefined : new KeptBody(keeps);
    this.onRefused = onRefused;
  }

  /** Reads the body until some of it can be sent. Rejects where the client's body breaks. */
  async begin(): Promise<BegunBody> {
    for (;;) {
      const { bytes, refusal, isLast } = await this.next();
      if (refusal !== undefined) return { outcome: 'refused', refusal };
      if (isLast) return { outcome: 'whole', body: bytes };
      if (bytes.length === 0) continue;
      // Asking for more may use its memory again.
      this.first = new Uint8Array(bytes);
      return { outcome: 'streamed' };
    }
  }

  /** The client's body, as far as it is kept; undefined where that is not asked for, and for a body that broke off. */
  takeKept(): Uint8Array | undefined {
    return this.isWhole ? this.kept?.take() : undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const { first } = this;
    this.first = EMPTY;
    this.sentBytes += first.length;
    if (first.length > 0) yield first;
    while (!this.isWhole) {
      const { bytes, refusal } = await this.next();
      if (refusal !== undefined) {
        this.onRefused(refusal);
        throw new Error(refusal.code);
      }
      this.sentBytes += bytes.length;
      if (bytes.length > 0) yield bytes;
    }
  }

  private async next(): Promise<{ bytes: Uint8Array; refusal?: Refusal | undefined; isLast: boolean }> {
    const { done, value } = await this.parts.next();
    this.isWhole = done === true;
    if (done === true) return { ...this.stream.end(), isLast: true };
    this.kept?.add(value);
    return { ...this.stream.push(value), isLast: false };
  }
}
