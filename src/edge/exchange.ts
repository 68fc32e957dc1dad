import type { Exchange, ExchangeHandler } from '../gateway/exchange.ts';
import { ByteCollector, concatBytes } from '../http/byte-collector.ts';
import { type HeaderList, readDecimal, requestHeaders, toHeaders } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { splitUrl } from '../http/target.ts';
import { failure, type Failure } from '../migrate/failure.ts';
import { gatewayFailure } from '../gateway/failures.ts';
import type { RefusalForm } from '../rules/refusal-form.ts';
import { fixedLength, reusesMemory } from './upstream.ts';

/** Options shared by every exchange of a worker. */
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
export class EdgeExchange implements Exchange {
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
    this.response = new EdgeResponse(options.refusals);
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
            (error) => this.fault(error),
          );
  }

  get handled(): Promise<Response> {
    return this.response.response;
  }

  get bytesIn(): number {
    return this.body?.bytes ?? 0;
  }

  attach(handler: ExchangeHandler): void {
    this.handler = handler;
    this.request.signal.addEventListener('abort', () => this.disconnect());
    this.response.attach({
      isHead: this.method === 'HEAD',
      drained: () => handler.drained(),
      flushed: () => this.flushed(),
      disconnected: () => this.disconnect(),
    });
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
        (error: unknown) => this.fault(error),
      );
  }

  open(): void {
    this.handler?.onBody(this.body ?? null);
  }

  /** Ignored: a `Response` cannot carry informational responses. */
  information(): void {}

  head(head: ResponseHead): void {
    this.response.head(head);
  }

  data(chunk: Uint8Array): boolean {
    return this.response.data(chunk);
  }

  end(): void {
    this.response.end();
    this.body?.cancel();
  }

  /** Ignored: the platform manages connections. */
  closeAfterResponse(): void {}

  reset(): void {
    this.response.reset();
    this.body?.cancel();
    this.disconnect();
  }

  /** Workers report a client that has gone in the same way as invalid framing; where a front end checks the framing, it is the former. */
  private fault(error: unknown): void {
    if (error instanceof Error && error.message === 'client-timeout') {
      this.handler?.onClientFault('client-timeout');
      return;
    }
    this.disconnect();
    this.response.reset(failure('bad-framing'));
  }

  private flushed(): void {
    if (this.settled) return;
    this.settled = true;
    this.handler?.flushed();
  }

  private disconnect(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.handler === undefined) this.ended();
    else this.handler.disconnected();
  }
}

/** By the names that Cloudflare has for them. */
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
class EdgeResponse {
  readonly response: Promise<Response>;
  private readonly refusals: RefusalForm | undefined;
  private readonly resolve: (response: Response) => void;
  private owner: EdgeResponseOwner | undefined = undefined;
  private started: ResponseHead | undefined = undefined;
  private chunks: Uint8Array[] = [];
  private writer: WritableStreamDefaultWriter<Uint8Array> | undefined = undefined;
  private lastWrite = Promise.resolve();
  private waiting = 0;
  private backpressured = false;
  private ended = false;

  constructor(refusals: RefusalForm | undefined) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.refusals = refusals;
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
  reset(refused = gatewayFailure('internal')): void {
    const isStreamed = this.writer !== undefined;
    this.stream();
    this.ended = true;
    const { writer } = this;
    if (writer === undefined) {
      this.resolve(failureResponse(refused, this.refusals));
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

/** Size of the buffer that every part of a streamed body is read into. */
const PART_BYTES = 64 * 1024;

/** The body of a request: buffered whole, or streamed with backpressure. It can be read once. */
class PartBody implements AsyncIterable<Uint8Array> {
  /** Bytes read so far. */
  bytes = 0;
  private readonly stream: ReadableStream<Uint8Array>;
  private readonly length: number | undefined;
  private readonly timeout: number;
  private readonly onBroken: (error: unknown) => void;
  private reader: PartReader | undefined = undefined;
  private done = false;

  /** `length` is the Content-Length; `onBroken` is called when a streamed body ends too early. */
  constructor(
    stream: ReadableStream<Uint8Array>,
    length: number | undefined,
    timeout: number,
    onBroken: (error: unknown) => void,
  ) {
    this.stream = stream;
    this.length = length;
    this.timeout = timeout;
    this.onBroken = onBroken;
  }

  /** Buffers the body; undefined when `acceptBytes` stopped it. Rejects when the body breaks off. */
  async collect(acceptBytes: (bytes: number) => boolean): Promise<Uint8Array | undefined> {
    const body = new ByteCollector(this.length);
    for (;;) {
      const chunk = await this.next();
      if (chunk === undefined) return body.take();
      if (!acceptBytes(body.add(chunk))) {
        this.cancel();
        return undefined;
      }
    }
  }

  /** Streams the body: a part is valid until the next one is asked for. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    this.reader ??= reusesMemory ? lentParts(this.stream) : ownedParts(this.stream);
    for (;;) {
      let chunk: Uint8Array | undefined;
      try {
        chunk = await this.next();
      } catch (error) {
        this.onBroken(error);
        throw error;
      }
      if (chunk === undefined) return;
      yield chunk;
    }
  }

  /** Discards the unread rest. */
  cancel(): void {
    if (this.done) return;
    this.done = true;
    this.reader ??= ownedParts(this.stream);
    this.reader.cancel().catch(ignore);
  }

  private async next(): Promise<Uint8Array | undefined> {
    if (this.done) return undefined;
    this.reader ??= ownedParts(this.stream);
    const part = await this.withTimeout(this.reader.read());
    if (part === undefined) {
      this.done = true;
      return undefined;
    }
    this.bytes += part.length;
    return part;
  }

  private async withTimeout<Value>(reading: Promise<Value>): Promise<Value> {
    if (this.timeout === 0) return reading;
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('client-timeout')), this.timeout);
    try {
      return await Promise.race([reading, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }
}

interface PartReader {
  /** The next part; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function ownedParts(stream: ReadableStream<Uint8Array>): PartReader {
  const reader = stream.getReader();
  return { read: async () => (await reader.read()).value, cancel: () => reader.cancel() };
}

/** Reads all parts into one buffer: with a new one for each, 96 MiB left 128 MB of garbage in workerd. */
function lentParts(stream: ReadableStream<Uint8Array>): PartReader {
  const reader = stream.getReader({ mode: 'byob' });
  let buffer = new ArrayBuffer(PART_BYTES);
  return {
    read: async () => {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (value !== undefined) buffer = value.buffer;
      return done ? undefined : value;
    },
    cancel: () => reader.cancel(),
  };
}

/** The response for a failure that no exchange can send, in the form of the rule book. */
export function failureResponse(failure: Failure, form: RefusalForm | undefined): Response {
  const { type, body } = failure.content(form, crypto.randomUUID());
  return new Response(body, {
    status: failure.status,
    headers: { 'Content-Type': type, 'x-gateway-error': failure.code },
  });
}
