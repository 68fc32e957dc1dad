import { concatBytes } from '../http/byte-collector.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { failure } from '../migrate/failure.ts';
import { failureResponse } from './failure-response.ts';
import { fixedLength } from './platform.ts';
import { toHeaders } from '../http/web-headers.ts';

/** Receives the events of a response in progress. */
export interface EdgeResponseOwner {
  /** True for HEAD: the body is not sent, but its length is declared. */
  readonly isHead: boolean;
  /** Called when more may be written. */
  drained(): void;
  flushed(): void;
  /** Called when the client has disconnected. */
  disconnected(): void;
}

/** Bytes queued for a slow client before backpressure applies. */
const HIGH_WATER_BYTES = 64 * 1024;

/** Statuses whose responses have no body; the `Response` constructor rejects one. */
const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * A response that is written in chunks and returned as a `Response`: buffered when it ends within the same turn of the event
 * loop, otherwise as a stream.
 */
export class EdgeResponse {
  readonly response: Promise<Response>;
  private readonly resolve: (response: Response) => void;
  private owner: EdgeResponseOwner | undefined = undefined;
  private started: ResponseHead | undefined = undefined;
  private chunks: Uint8Array[] = [];
  private writer: WritableStreamDefaultWriter<Uint8Array> | undefined = undefined;
  private lastWrite = Promise.resolve();
  private waiting = 0;
  private backpressured = false;
  private ended = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.response = promise;
    this.resolve = resolve;
  }

  attach(owner: EdgeResponseOwner): void {
    this.owner = owner;
  }

  head(head: ResponseHead): void {
    if (this.started !== undefined || this.ended) return;
    this.started = head;
    queueMicrotask(() => this.streamOrReset());
  }

  data(chunk: Uint8Array): boolean {
    if (this.ended) return true;
    if (this.writer === undefined) {
      this.chunks.push(chunk);
      return true;
    }
    this.write(this.writer, chunk);
    this.backpressured ||= this.waiting > HIGH_WATER_BYTES;
    return !this.backpressured;
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    const { writer, started } = this;
    if (writer !== undefined) {
      writer.close().then(
        () => this.owner?.flushed(),
        () => this.owner?.disconnected(),
      );
      return;
    }
    if (started === undefined) return;
    this.resolve(this.responseOf(started, this.chunks.length === 0 ? null : concatBytes(this.chunks)));
    queueMicrotask(() => this.owner?.flushed());
  }

  /** Breaks the connection off after what there is of the response; without a head, the client gets this failure. */
  reset(refused = failure('internal')): void {
    const isStreamed = this.writer !== undefined;
    this.stream();
    this.ended = true;
    const { writer } = this;
    if (writer === undefined) {
      this.resolve(failureResponse(refused));
      return;
    }
    const abort = (): Promise<void> => writer.abort(new Error('the upstream response was aborted'));
    // What is still queued in a stream that is aborted is lost, and with all of it the head.
    (isStreamed ? abort() : this.lastWrite.then(nextTurn).then(abort)).catch(ignore);
  }

  /** Nothing above this turn would end the exchange for a head that the platform does not accept. */
  private streamOrReset(): void {
    try {
      this.stream();
    } catch (error) {
      this.started = undefined;
      this.reset();
      this.owner?.disconnected();
      throw error;
    }
  }

  /** The turn that sent the headers is over: the rest is streamed. */
  private stream(): void {
    if (this.ended || this.started === undefined || this.writer !== undefined) return;
    const { readable, writable } = this.pipe(this.started.headers);
    const response = this.responseOf(this.started, readable);
    const writer = writable.getWriter();
    this.writer = writer;
    writer.closed.catch(() => this.owner?.disconnected());
    this.resolve(response);
    for (const chunk of this.chunks.splice(0)) this.write(writer, chunk);
  }

  private pipe(headers: HeaderList): TransformStream<Uint8Array, Uint8Array> {
    const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-length');
    return at === -1 ? new TransformStream() : fixedLength(Number(headers[at + 1]));
  }

  private write(writer: WritableStreamDefaultWriter<Uint8Array>, chunk: Uint8Array): void {
    this.waiting += chunk.length;
    this.lastWrite = writer.write(chunk).then(
      () => {
        this.waiting -= chunk.length;
        if (!this.backpressured || this.waiting > HIGH_WATER_BYTES / 2) return;
        this.backpressured = false;
        this.owner?.drained();
      },
      () => this.owner?.disconnected(),
    );
  }

  private responseOf({ status, reason = '', headers }: ResponseHead, body: BodyInit | null): Response {
    const hasNoBody = this.owner?.isHead === true || BODILESS_STATUSES.has(status);
    const init: ManualResponseInit = {
      status,
      ...(reason === '' ? {} : { statusText: reason }),
      headers: toHeaders(headers),
      // The bytes are already encoded as Content-Encoding says.
      encodeBody: 'manual',
    };
    return new Response(hasNoBody ? null : body, init);
  }
}

interface ManualResponseInit extends ResponseInit {
  readonly encodeBody: 'manual';
}

/** What was read from a stream is on its way to the client by then. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** Ignores write failures: the reader has already been notified. */
function ignore(): void {}
