import { ByteCollector } from '../http/byte-collector.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { type Entry, hasFailed } from '../rewrite-log/entry.ts';
import type {
  CapturedExchange,
  ObservedResponse,
  ObservedBody,
  ObservedHead,
  Observer,
  CaptureLevel,
} from '../rewrite-log/observer.ts';
import type { Secrets } from '../rewrite/header-plan.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamRequest } from './upstream.ts';

/** Records one exchange for an observer; created only if the observer captures the exchange. */
export class ExchangeRecorder {
  private readonly observer: Observer;
  private readonly exchange: Exchange;
  private readonly level: CaptureLevel;
  private readonly secrets: Secrets | undefined;
  private decodedBody: Uint8Array | undefined = undefined;
  private v2Request: UpstreamRequest | undefined = undefined;
  private v2Head: ResponseHead | undefined = undefined;
  private clientHead: ResponseHead | undefined = undefined;
  private upstreamHeaders: HeaderList | undefined = undefined;
  private response: ObservedBody | undefined = undefined;
  private readonly chunks = new ByteCollector();
  private body: Uint8Array | undefined = undefined;
  private bytes = 0;

  /** `secrets` are the names of credentials in the rule book. */
  constructor(observer: Observer, exchange: Exchange, level: CaptureLevel, secrets?: Secrets) {
    this.observer = observer;
    this.exchange = exchange;
    this.level = level;
    this.secrets = secrets;
  }

  /** True if the patch in the log may have values of the body. */
  get logsValues(): boolean {
    return this.level === 'bodies' && this.observer.logsValues === true;
  }

  /** Maximum bytes of each recorded body. */
  get keptBytes(): number {
    return this.observer.bodyLimit;
  }

  /** True if it may record the body of a response. */
  get readsResponses(): boolean {
    return this.observer.bodyLimit > 0;
  }

  /** The client's decoded body, if it was read: borrowed until the exchange is over. */
  get requestBody(): Uint8Array | undefined {
    return this.decodedBody;
  }

  /** Records the client's decoded body, without a copy. */
  recordRequestBody(body: Uint8Array): void {
    this.decodedBody = body;
  }

  /** Records the request to V2. */
  recordUpstreamRequest(request: UpstreamRequest): void {
    this.v2Request = request;
  }

  /** Records the head that the client got, and the head that V2 sent; `recordUpstreamResponse` replaces the fields of V2's. */
  recordHeads(received: ResponseHead | undefined, sent: ResponseHead): void {
    this.v2Head = received;
    this.clientHead = sent;
  }

  /** Records a copy of a chunk of V2's response. */
  recordChunk(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.isOrdinary(this.clientHead?.status)) return;
    if (this.bytes <= this.observer.bodyLimit) this.chunks.add(chunk, true);
  }

  /** Records V2's own response with its decoded body, if the client gets a rewritten one. */
  recordUpstreamResponse(status: number, headers: HeaderList, body: Uint8Array): void {
    this.upstreamHeaders = headers;
    if (this.isOrdinary(status)) {
      this.response = { withheld: 'ordinary' };
      return;
    }
    this.response =
      body.length > this.observer.bodyLimit
        ? { withheld: 'too-large' }
        : { body: new Uint8Array(body), isDecoded: true };
  }

  /** Whether the observer keeps more than the log entry, now that the outcome is known. */
  isWanted(hasFailed: boolean): boolean {
    return hasFailed || this.level !== 'failure';
  }

  finish(entry: Entry): void {
    if (!this.isWanted(hasFailed(entry))) {
      this.observer.observe(entry);
      return;
    }
    const { method, target, headers } = this.exchange;
    const v2Response = this.v2Head && {
      status: this.v2Head.status,
      headers: this.upstreamHeaders ?? this.v2Head.headers,
    };
    const clientResponse = this.clientHead && {
      status: this.clientHead.status,
      headers: this.exchange.framedFields ?? this.clientHead.headers,
    };
    const captured: CapturedExchange = {
      // The address is recorded only for a client with a key: getting it from the kernel takes time.
      remote: entry.client === undefined ? undefined : this.exchange.remote,
      secrets: this.secrets,
      v1Request: { method, target, headers, ...this.observedRequestBody() },
      v2Request: this.v2Request && headOf(this.v2Request),
      v2Response:
        this.response === undefined || v2Response === undefined
          ? this.withBody(v2Response)
          : { ...v2Response, ...this.response },
      clientResponse: this.withBody(clientResponse),
    };
    this.observer.observe(entry, captured);
  }

  /** True for a response that succeeded where only failures are captured: nothing needs a copy of its body. */
  private isOrdinary(status: number | undefined): boolean {
    return this.level === 'failure' && status !== undefined && status < 400;
  }

  private observedRequestBody(): ObservedBody {
    const body = this.decodedBody;
    if (body === undefined) return this.exchange.hasBody ? { withheld: 'streamed' } : {};
    return body.length > this.observer.bodyLimit ? { withheld: 'too-large' } : { body };
  }

  private withBody(
    response: { readonly status: number; readonly headers: HeaderList } | undefined,
  ): ObservedResponse | undefined {
    if (response === undefined || this.bytes === 0) return response;
    if (this.isOrdinary(this.clientHead?.status)) return { ...response, withheld: 'ordinary' };
    if (this.bytes > this.observer.bodyLimit) return { ...response, withheld: 'too-large' };
    // An exact copy, because it may be kept for long.
    this.body ??= new Uint8Array(this.chunks.take());
    return { ...response, body: this.body };
  }
}

function headOf({ method, target, headers }: UpstreamRequest): ObservedHead {
  return { method, target, headers };
}
