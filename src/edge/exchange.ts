import type { BodyParts, ClientFault, Exchange, ExchangeHandler } from '../gateway/exchange.ts';
import { ByteCollector, concatBytes } from '../http/byte-collector.ts';
import { type HeaderList, headerValue, readDecimal, requestHeaders, toHeaders } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { splitUrl } from '../http/target.ts';
import { failure, type Failure } from '../migrate/failure.ts';
import { hasContent } from '../migrate/migrated.ts';
import { gatewayFailure } from '../gateway/failures.ts';
import type { RefusalForm } from '../rules/refusal-form.ts';
import { identityStream, ownBytes, PartReader, PhaseTimer, READ_BYTES } from './streams.ts';

interface EdgeExchangeOptions {
  /** Milliseconds between two chunks of the request body; 0 is no limit. */
  readonly bodyTimeout: number;
  /** The form of failures for which no exchange can respond. */
  readonly refusals: RefusalForm | undefined;
}

/** The platform's facts about a client; workerd alone provides none. */
interface PlatformFacts {
  readonly httpProtocol?: string;
  /** The client's own value, before the platform replaced it. */
  readonly clientAcceptEncoding?: string;
}

/** An exchange on a platform that provides a `Request` and expects a `Response`. */
export class EdgeExchange implements Exchange, EdgeResponseOwner {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version: Exchange['version'];
  readonly remote: string;
  readonly secure: boolean;
  readonly hasBody: boolean;
  /** Resolves when the exchange is over for the gateway, with any outcome, and its entry is recorded. */
  readonly finished: Promise<void>;
  readonly ended: () => void;
  private readonly request: Request;
  private readonly response: EdgeResponse;
  private readonly body: PartBody | undefined;
  private handler: ExchangeHandler | undefined = undefined;
  private settled = false;

  constructor(request: Request, options: EdgeExchangeOptions) {
    const facts = platformFacts(request);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.ended = resolve;
    this.request = request;
    this.response = new EdgeResponse(this, options.refusals);
    this.method = request.method;
    // `new URL()` would resolve dot segments.
    this.target = splitUrl(request.url).target;
    this.headers = requestHeaders(request.headers, facts.clientAcceptEncoding);
    this.version = VERSIONS[facts.httpProtocol ?? ''] ?? '1.1';
    this.remote = request.headers.get('cf-connecting-ip') ?? '';
    this.secure = request.url.startsWith('https:');
    const length = request.headers.get('content-length');
    this.hasBody = request.body !== null && length !== '0';
    this.body =
      request.body === null
        ? undefined
        : new PartBody(
            request.body,
            length === null ? undefined : readDecimal(length),
            options.bodyTimeout,
            (fault) => this.fault(fault),
          );
  }

  get handled(): Promise<Response> {
    return this.response.response;
  }

  get bytesIn(): number {
    return this.body?.bytes ?? 0;
  }

  /** Aborted when the client disconnects. While a body is read or a response written, that read or write fails as well. */
  get signal(): AbortSignal {
    return this.request.signal;
  }

  get isGone(): boolean {
    return this.request.signal.aborted;
  }

  attach(handler: ExchangeHandler): void {
    this.handler = handler;
  }

  collect(): void {
    const { body, handler } = this;
    if (body === undefined || handler === undefined) return;
    body
      .collect((bytes) => handler.acceptChunk(bytes))
      .then(
        (whole) => {
          if (whole !== undefined) handler.onWholeBody(whole);
        },
        () => this.fault('bad-framing'),
      );
  }

  open(): void {
    const { body, handler } = this;
    if (handler === undefined) return;
    if (body?.isShort !== true) {
      handler.onBody(body ?? null);
      return;
    }
    // Most short bodies arrive in one piece, which costs less as bytes than as a stream, and can be sent again.
    body.begin().then(
      (whole) => handler.onBody(whole ?? body),
      () => this.fault('bad-framing'),
    );
  }

  /** Ignored: a `Response` cannot carry informational responses. */
  information(): void {}

  head(head: ResponseHead): void {
    this.response.head(head);
  }

  data(chunk: Uint8Array): boolean {
    return this.response.data(chunk);
  }

  pass(body: ReadableStream<Uint8Array>): Promise<void> | undefined {
    return this.response.pass(body);
  }

  end(): void {
    this.response.end();
    this.body?.close();
  }

  /** Ignored: the platform manages connections. */
  closeAfterResponse(): void {}

  reset(): void {
    this.response.reset();
    this.body?.close();
    this.disconnected();
  }

  /**
   * Workers report a disconnected client in the same way as invalid framing; if a front end checks the framing, the client has
   * disconnected.
   */
  private fault(fault: ClientFault): void {
    if (fault === 'client-timeout') {
      this.handler?.onClientFault('client-timeout');
      return;
    }
    this.disconnected();
    this.response.reset(failure('bad-framing'));
  }

  drained(): void {
    this.handler?.drained();
  }

  flushed(): void {
    if (this.settled) return;
    this.settled = true;
    this.handler?.flushed();
  }

  disconnected(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.handler === undefined) this.ended();
    else this.handler.disconnected();
  }
}

/** HTTP versions by Cloudflare's names for them. */
const VERSIONS: Readonly<Record<string, Exchange['version']>> = {
  'HTTP/1.0': '1.0',
  'HTTP/1.1': '1.1',
  'HTTP/2': '2',
  'HTTP/3': '3',
};

function platformFacts(request: Request): PlatformFacts {
  if (!('cf' in request)) return {};
  const { cf } = request;
  return typeof cf === 'object' && cf !== null ? cf : {};
}

/** Receives the events of a response in progress. */
interface EdgeResponseOwner {
  /** A response to HEAD has no body, but declares its length. */
  readonly method: string;
  /** Called when more may be written. */
  drained(): void;
  flushed(): void;
  /** Called when the client has disconnected. */
  disconnected(): void;
}

/** Bytes queued for a slow client before backpressure applies. */
const HIGH_WATER_BYTES = 64 * 1024;

/**
 * A response that is written in chunks and returned as a `Response`: from its bytes when it is short, or ends within the same turn of
 * the event loop, otherwise as a stream.
 */
class EdgeResponse {
  readonly response: Promise<Response>;
  private readonly owner: EdgeResponseOwner;
  private readonly refusals: RefusalForm | undefined;
  private readonly resolve: (response: Response) => void;
  private started: ResponseHead | undefined = undefined;
  /** The length from the head; undefined if the head does not state it. */
  private length: number | undefined = undefined;
  private chunks: Uint8Array[] = [];
  /** Bytes of the chunks that wait for the head. */
  private held = 0;
  private writer: WritableStreamDefaultWriter<Uint8Array> | undefined = undefined;
  /** True once the platform itself sends the body. */
  private isPassed = false;
  private lastWrite = Promise.resolve();
  private waiting = 0;
  private backpressured = false;
  private ended = false;

  constructor(owner: EdgeResponseOwner, refusals: RefusalForm | undefined) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.owner = owner;
    this.refusals = refusals;
    this.response = promise;
    this.resolve = resolve;
  }

  head(head: ResponseHead): void {
    if (this.started !== undefined || this.ended) return;
    this.started = head;
    this.length = readDecimal(headerValue(head.headers, 'content-length') ?? '');
    // A short body usually arrives in one piece; the head is sent with it.
    if (this.length === undefined || this.length > READ_BYTES)
      queueMicrotask(() => this.guarded(() => this.stream()));
  }

  data(chunk: Uint8Array): boolean {
    if (this.ended) return true;
    if (this.writer !== undefined) {
      this.write(this.writer, chunk);
      this.backpressured ||= this.waiting > HIGH_WATER_BYTES;
      return !this.backpressured;
    }
    this.chunks.push(chunk);
    this.held += chunk.length;
    const isShort = this.length !== undefined && this.length <= READ_BYTES;
    if (isShort && this.held !== this.length) this.guarded(() => this.stream());
    return true;
  }

  /** Hands a body to the platform; the promise is settled when the body ends. Undefined if a part of it is already sent. */
  pass(body: ReadableStream<Uint8Array>): Promise<void> | undefined {
    const { started } = this;
    if (started === undefined || this.ended || this.writer !== undefined || this.chunks.length > 0)
      return undefined;
    const { readable, writable } = identityStream(this.length);
    this.isPassed = true;
    this.resolve(this.responseOf(started, readable));
    return body.pipeTo(writable);
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    const { writer, started, isPassed, chunks } = this;
    if (isPassed) {
      this.owner.flushed();
      return;
    }
    if (writer !== undefined) {
      writer.close().then(
        () => this.owner.flushed(),
        () => this.owner.disconnected(),
      );
      return;
    }
    if (started === undefined) return;
    this.guarded(() => {
      const [only = null] = chunks;
      this.resolve(
        this.responseOf(started, chunks.length > 1 ? concatBytes(chunks) : only && ownBytes(only)),
      );
      queueMicrotask(() => this.owner.flushed());
    });
  }

  /** Closes the connection after the sent part of the response; without a head, the client gets this failure. */
  reset(refused = gatewayFailure('internal')): void {
    const isStreamed = this.writer !== undefined;
    this.stream();
    this.ended = true;
    const { writer } = this;
    // The platform has already closed the connection.
    if (this.isPassed) return;
    if (writer === undefined) {
      this.resolve(failureResponse(refused, this.refusals));
      return;
    }
    const abort = (): Promise<void> => writer.abort(new Error('the upstream response was aborted'));
    // Aborting a stream discards its queued parts, and the head as well if it has not been sent.
    (isStreamed ? abort() : this.lastWrite.then(nextTurn).then(abort)).catch(ignore);
  }

  /** Ends the exchange if the platform does not accept the head: no caller would do so. */
  private guarded(respond: () => void): void {
    try {
      respond();
    } catch (error) {
      this.started = undefined;
      this.ended = false;
      this.reset();
      this.owner.disconnected();
      throw error;
    }
  }

  /** Sends the head; the rest is streamed. */
  private stream(): void {
    if (this.ended || this.started === undefined || this.writer !== undefined || this.isPassed) return;
    const { readable, writable } = identityStream(this.length);
    const response = this.responseOf(this.started, readable);
    const writer = writable.getWriter();
    this.writer = writer;
    writer.closed.catch(() => this.owner.disconnected());
    this.resolve(response);
    for (const chunk of this.chunks.splice(0)) this.write(writer, chunk);
  }

  private write(writer: WritableStreamDefaultWriter<Uint8Array>, chunk: Uint8Array): void {
    this.waiting += chunk.length;
    this.lastWrite = writer.write(chunk).then(
      () => {
        this.waiting -= chunk.length;
        if (!this.backpressured || this.waiting > HIGH_WATER_BYTES / 2) return;
        this.backpressured = false;
        this.owner.drained();
      },
      () => this.owner.disconnected(),
    );
  }

  private responseOf({ status, reason = '', headers }: ResponseHead, body: BodyInit | null): Response {
    // The `Response` constructor rejects a body with such a status.
    const hasNoBody = this.owner.method === 'HEAD' || !hasContent(status);
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

/** Resolves when the parts that were read from a stream are on their way to the client. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** Ignores write failures: the reader has already been notified. */
function ignore(): void {}

/** The body of a request: buffered whole, streamed with backpressure, or left to the platform. It can be read once. */
class PartBody implements BodyParts {
  private readonly stream: ReadableStream<Uint8Array>;
  private readonly length: number | undefined;
  private readonly timeout: number;
  private readonly onFault: (fault: ClientFault) => void;
  private readonly timer = new PhaseTimer(() => this.late());
  private reader: PartReader | undefined = undefined;
  /** Bytes of a body that the platform sends; 0 until all of it is sent. */
  private passed = 0;
  private first: Uint8Array | undefined = undefined;
  private done = false;

  /** `length` is the Content-Length; `onFault` is called when a streamed body ends too early, and when any body is too slow. */
  constructor(
    stream: ReadableStream<Uint8Array>,
    length: number | undefined,
    timeout: number,
    onFault: (fault: ClientFault) => void,
  ) {
    this.stream = stream;
    this.length = length;
    this.timeout = timeout;
    this.onFault = onFault;
  }

  /** Bytes read so far. */
  get bytes(): number {
    return this.reader?.bytes ?? this.passed;
  }

  /** True for a body that the worker reads itself. */
  get isShort(): boolean {
    return this.length !== undefined && this.length <= READ_BYTES;
  }

  /** Reads the first part of a short body; returns it if it is the whole body. Rejects when the body breaks off. */
  async begin(): Promise<Uint8Array | undefined> {
    const reader = this.read(false);
    this.first = await this.next(reader);
    return reader.isWhole ? this.first : undefined;
  }

  /** Buffers the body; undefined when `acceptBytes` stopped it. Rejects when the body breaks off. */
  async collect(acceptBytes: (bytes: number) => boolean): Promise<Uint8Array | undefined> {
    const body = new ByteCollector(this.length);
    const reader = this.read(!this.isShort);
    for (;;) {
      const part = await this.next(reader);
      if (part !== undefined && !acceptBytes(body.add(part, !this.isShort))) {
        this.close();
        return undefined;
      }
      if (part === undefined || reader.isWhole) return body.take();
    }
  }

  /** Streams the body: a part is valid until the next one is asked for. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const reader = this.read(true);
    if (this.first !== undefined) yield this.first;
    for (;;) {
      let part: Uint8Array | undefined;
      try {
        part = await this.next(reader);
      } catch (error) {
        this.onFault('bad-framing');
        throw error;
      }
      if (part === undefined) return;
      yield part;
    }
  }

  pass(to: WritableStream<Uint8Array>, isOver: () => boolean): Promise<void> | undefined {
    if (this.reader !== undefined || this.done) return undefined;
    this.done = true;
    return this.passTo(to, isOver);
  }

  private async passTo(to: WritableStream<Uint8Array>, isOver: () => boolean): Promise<void> {
    try {
      await this.stream.pipeTo(to, { preventAbort: true });
      this.passed = this.length ?? 0;
    } catch (error) {
      // The platform does not report which side broke. If V2 did, the request to it has already failed.
      await nextTurn();
      if (!isOver()) this.onFault('bad-framing');
      throw error;
    }
  }

  /** Discards the unread rest. */
  close(): void {
    this.timer.stop();
    if (this.done || this.reader?.isWhole === true) return;
    this.done = true;
    this.read(true).cancel();
  }

  /** The reader of the body, with a time limit for each part; it is created once. */
  private read(lends: boolean): PartReader {
    this.reader ??= new PartReader(this.stream, this.length, lends, this.timer, this.timeout);
    return this.reader;
  }

  private async next(reader: PartReader): Promise<Uint8Array | undefined> {
    if (this.done) return undefined;
    const part = await reader.next();
    this.done ||= part === undefined;
    return part;
  }

  private late(): void {
    if (!this.done) this.onFault('client-timeout');
  }
}

/** The response for a failure that no exchange can send, in the form of the rule book. */
export function failureResponse(failure: Failure, form: RefusalForm | undefined): Response {
  const { type, body } = failure.content(form, crypto.randomUUID());
  return new Response(body, {
    status: failure.status,
    headers: { 'Content-Type': type, 'x-gateway-error': failure.code },
  });
}
