import { ByteCollector } from '../http/byte-collector.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type { EntryFacts } from '../rewrite-log/exchange-entry.ts';
import type {
  CapturedExchange,
  ObservedResponse,
  ObservedBody,
  ObservedHead,
  Observer,
  CaptureLevel,
} from '../rewrite-log/observer.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamRequest } from './upstream.ts';

/** What an observer sees of one exchange, gathered on the way; made only when the observer wants it. */
export class ExchangeRecorder {
  private readonly observer: Observer;
  private readonly exchange: Exchange;
  private readonly level: CaptureLevel;
  /** The client's body, decoded, where it was read: borrowed until the exchange is over. */
  requestBody: Uint8Array | undefined = undefined;
  private v2Request: ObservedHead | undefined = undefined;
  private v2Response: { readonly status: number; readonly headers: HeaderList } | undefined = undefined;
  private clientResponse: { readonly status: number; readonly headers: HeaderList } | undefined = undefined;
  private ownHeaders: HeaderList | undefined = undefined;
  private response: ObservedBody | undefined = undefined;
  private readonly chunks = new ByteCollector();
  private body: Uint8Array | undefined = undefined;
  private bytes = 0;

  constructor(observer: Observer, exchange: Exchange, level: CaptureLevel) {
    this.observer = observer;
    this.exchange = exchange;
    this.level = level;
  }

  /** The client's body, decoded. */
  clientBody(body: Uint8Array): void {
    this.requestBody = body;
  }

  upstreamRequest({ method, target, headers }: UpstreamRequest): void {
    this.v2Request = { method, target, headers };
  }

  /** The head of V2's response, unless the exchange has shown V2's own already. */
  upstreamResponded(status: number, headers: HeaderList): void {
    this.v2Response = { status, headers: this.ownHeaders ?? headers };
  }

  clientResponded(status: number, headers: HeaderList): void {
    this.clientResponse = { status, headers };
  }

  /** A part of V2's response, which is the recorder's from then on. */
  responseChunk(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes <= this.observer.bodyLimit) this.chunks.add(chunk);
  }

  /** V2's own response, its body decoded, where the client gets another one. */
  upstreamResponse(headers: HeaderList, body: Uint8Array): void {
    this.ownHeaders = headers;
    this.response =
      body.length > this.observer.bodyLimit
        ? { withheld: 'too-large' }
        : { body: new Uint8Array(body), isDecoded: true };
  }

  /** Whether anything but the entry is wanted of the exchange, now that it is known how it ended. */
  isWanted(hasFailed: boolean): boolean {
    return hasFailed || this.level !== 'failure';
  }

  finish(entry: Entry): void {
    if (!this.isWanted(hasFailed(entry))) {
      this.observer.observe(entry);
      return;
    }
    const { method, target, headers } = this.exchange;
    const material: CapturedExchange = {
      v1Request: { method, target, headers, ...this.request() },
      v2Request: this.v2Request,
      v2Response:
        this.response === undefined || this.v2Response === undefined
          ? this.withBody(this.v2Response)
          : { ...this.v2Response, ...this.response },
      clientResponse: this.withBody(this.clientResponse),
    };
    this.observer.observe(entry, material);
  }

  private request(): ObservedBody {
    const body = this.requestBody;
    if (body === undefined) return this.exchange.hasBody ? { withheld: 'streamed' } : {};
    return body.length > this.observer.bodyLimit ? { withheld: 'too-large' } : { body };
  }

  private withBody(
    response: { readonly status: number; readonly headers: HeaderList } | undefined,
  ): ObservedResponse | undefined {
    if (response === undefined || this.bytes === 0) return response;
    if (this.bytes > this.observer.bodyLimit) return { ...response, withheld: 'too-large' };
    // No larger than it is: it may be kept for long.
    this.body ??= new Uint8Array(this.chunks.take());
    return { ...response, body: this.body };
  }
}

/** An exchange that ended in a failure of whoever it may be, or without a response. */
export function hasFailed({ failure, status = 0 }: Pick<EntryFacts, 'failure' | 'status'>): boolean {
  return failure !== undefined || status === 0 || status >= 400;
}
