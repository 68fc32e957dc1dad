import { ByteCollector } from '../http/byte-collector.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type {
  CapturedExchange,
  ObservedResponse,
  ObservedBody,
  ObservedHead,
  Observer,
} from '../rewrite-log/observer.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamRequest } from './upstream.ts';

/** What an observer sees of one exchange, gathered on the way; made only when the observer wants it. */
export class ExchangeRecorder {
  private readonly observer: Observer;
  private readonly exchange: Exchange;
  private request: ObservedBody = {};
  private v2Request: ObservedHead | undefined = undefined;
  private v2Response: { readonly status: number; readonly headers: HeaderList } | undefined = undefined;
  private clientResponse: { readonly status: number; readonly headers: HeaderList } | undefined = undefined;
  private response: ObservedBody | undefined = undefined;
  private readonly chunks = new ByteCollector();
  private body: Uint8Array | undefined = undefined;
  private bytes = 0;

  constructor(observer: Observer, exchange: Exchange) {
    this.observer = observer;
    this.exchange = exchange;
    if (exchange.hasBody) this.request = { withheld: 'streamed' };
  }

  /** The client's body, decoded, or why it is not in memory. */
  clientBody(body: ObservedBody): void {
    this.request = body;
  }

  upstreamRequest({ method, target, headers }: UpstreamRequest): void {
    this.v2Request = { method, target, headers };
  }

  upstreamResponded(status: number, headers: HeaderList): void {
    this.v2Response = { status, headers };
  }

  clientResponded(status: number, headers: HeaderList): void {
    this.clientResponse = { status, headers };
  }

  /** A part of V2's response, which is the recorder's from then on. */
  responseChunk(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes <= this.observer.bodyLimit) this.chunks.add(chunk);
  }

  /** V2's own body, decoded, where the client got another one. */
  upstreamBody(body: Uint8Array): void {
    this.response =
      body.length > this.observer.bodyLimit ? { withheld: 'too-large' } : { body: body.slice() };
  }

  finish(entry: Entry): void {
    const { method, target, headers } = this.exchange;
    const material: CapturedExchange = {
      v1Request: { method, target, headers, ...this.request },
      v2Request: this.v2Request,
      v2Response:
        this.response === undefined || this.v2Response === undefined
          ? this.withBody(this.v2Response)
          : { ...this.v2Response, ...this.response },
      clientResponse: this.withBody(this.clientResponse),
    };
    this.observer.observe(entry, material);
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
