import type { Exchange, ExchangeOwner } from '../gateway/exchange.ts';
import { readDecimal } from '../http/decimal.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { splitUrl } from '../http/split-url.ts';
import { EdgeResponse } from './edge-response.ts';
import { requestHeaders } from '../http/web-headers.ts';
import { failure } from '../migrate/failure.ts';
import { PartBody } from './part-body.ts';

/** Options shared by every exchange of a worker. */
export interface EdgeExchangeOptions {
  /** Milliseconds between two chunks of the request body; 0 is no limit. */
  readonly bodyTimeout: number;
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
  private readonly response = new EdgeResponse();
  private readonly body: PartBody | undefined;
  private owner: ExchangeOwner | undefined = undefined;
  private settled = false;

  constructor(request: Request, options: EdgeExchangeOptions) {
    const facts = platformFacts(request);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.ended = resolve;
    this.request = request;
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

  attach(owner: ExchangeOwner): void {
    this.owner = owner;
    this.request.signal.addEventListener('abort', () => this.disconnect());
    this.response.attach({
      isHead: this.method === 'HEAD',
      drained: () => owner.drained(),
      flushed: () => this.flushed(),
      disconnected: () => this.disconnect(),
    });
  }

  collect(): void {
    const { body, owner } = this;
    if (body === undefined || owner === undefined) return;
    body
      .collect((bytes) => owner.acceptChunk(bytes))
      .then(
        (whole) => {
          if (whole !== undefined) owner.onWholeBody(whole);
        },
        (error: unknown) => this.fault(error),
      );
  }

  open(): void {
    this.owner?.onBody(this.body ?? null);
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

  /** Workers report a client that has gone and invalid framing alike; where a front end checks the framing, it is the former. */
  private fault(error: unknown): void {
    if (error instanceof Error && error.message === 'client-timeout') {
      this.owner?.onClientFault('client-timeout');
      return;
    }
    this.disconnect();
    this.response.reset(failure('bad-framing'));
  }

  private flushed(): void {
    if (this.settled) return;
    this.settled = true;
    this.owner?.flushed();
  }

  private disconnect(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.owner === undefined) this.ended();
    else this.owner.disconnected();
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
