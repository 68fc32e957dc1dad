import type { ClientFault, Exchange, ExchangeOwner } from '../gateway/exchange.ts';
import type { HeaderList } from '../http/header-list.ts';
import { EdgeResponse } from './edge-response.ts';
import { requestHeaders } from './header-values.ts';
import { PartBody } from './part-body.ts';

/** What every exchange of a worker shares. */
export interface EdgeExchangeOptions {
  /** Milliseconds between two parts of the request's body; 0 is no limit. */
  readonly bodyTimeout: number;
}

/** What the platform tells of a client; workerd alone tells nothing. */
interface PlatformFacts {
  readonly httpProtocol?: string;
  /** What the client sent, before the platform put its own in the place. */
  readonly clientAcceptEncoding?: string;
}

/** An exchange on a platform that hands in a `Request` and wants a `Response`. */
export class EdgeExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version: Exchange['version'];
  readonly remote: string;
  readonly secure: boolean;
  readonly hasBody: boolean;
  /** Settled when the exchange is over for the gateway, whatever became of it. */
  readonly finished: Promise<void>;
  private readonly finish: () => void;
  private readonly request: Request;
  private readonly response = new EdgeResponse();
  private readonly body: PartBody | undefined;
  private owner: ExchangeOwner | undefined = undefined;
  private over = false;

  constructor(request: Request, options: EdgeExchangeOptions) {
    const facts = platformFacts(request);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.finish = resolve;
    this.request = request;
    this.method = request.method;
    this.target = rawTarget(request.url);
    this.headers = requestHeaders(request.headers, facts.clientAcceptEncoding);
    this.version = facts.httpProtocol === 'HTTP/1.0' ? '1.0' : facts.httpProtocol === 'HTTP/2' ? '2' : '1.1';
    this.remote = request.headers.get('cf-connecting-ip') ?? '';
    this.secure = request.url.startsWith('https:');
    const length = request.headers.get('content-length');
    this.hasBody = request.body !== null && length !== '0';
    this.body =
      request.body === null
        ? undefined
        : new PartBody(
            request.body,
            length !== null && /^\d{1,15}$/.test(length) ? Number(length) : undefined,
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
    this.request.signal.addEventListener('abort', () => this.leave());
    this.response.attach({
      isHead: this.method === 'HEAD',
      drained: () => owner.drained(),
      flushed: () => this.flushed(),
      gone: () => this.leave(),
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

  /** A `Response` has no interim ones. */
  information(): void {}

  head(status: number, reason: string, headers: HeaderList): void {
    this.response.head(status, reason, headers);
  }

  data(chunk: Uint8Array): boolean {
    return this.response.data(chunk);
  }

  end(): void {
    this.response.end();
    this.body?.cancel();
  }

  /** Connections are the platform's business. */
  closeAfterResponse(): void {}

  reset(): void {
    this.response.breakOff();
    this.body?.cancel();
    this.leave();
  }

  private fault(error: unknown): void {
    const fault: ClientFault =
      error instanceof Error && error.message === 'client-timeout' ? 'client-timeout' : 'bad-framing';
    this.owner?.onClientFault(fault);
  }

  private flushed(): void {
    if (this.over) return;
    this.over = true;
    this.owner?.flushed();
    this.finish();
  }

  private leave(): void {
    if (this.over) return;
    this.over = true;
    this.owner?.disconnected();
    this.finish();
  }
}

/** The target as it stands in the address of the request, which workerd does not normalise; `new URL()` would. */
function rawTarget(url: string): string {
  const path = url.indexOf('/', url.indexOf('://') + 3);
  return path === -1 ? '/' : url.slice(path);
}

function platformFacts(request: Request): PlatformFacts {
  if (!('cf' in request)) return {};
  const { cf } = request;
  return typeof cf === 'object' && cf !== null ? cf : {};
}
