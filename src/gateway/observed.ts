import type { HeaderList } from '../http/header-list.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import type {
  Material,
  ObservedAnswer,
  ObservedBody,
  ObservedHead,
  Observer,
} from '../rewrite-log/observer.ts';
import type { Exchange } from './exchange.ts';
import type { UpstreamRequest } from './upstream.ts';

/** What an observer sees of one exchange, gathered on the way; made only when the observer wants it. */
export class Observed {
  private readonly observer: Observer;
  private readonly exchange: Exchange;
  private request: ObservedBody = {};
  private v2Request: ObservedHead | undefined = undefined;
  private v2Answer: { readonly status: number; readonly headers: HeaderList } | undefined = undefined;
  private clientAnswer: { readonly status: number; readonly headers: HeaderList } | undefined = undefined;
  private answer: ObservedBody | undefined = undefined;
  private chunks: Uint8Array[] = [];
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

  sent({ method, target, headers }: UpstreamRequest): void {
    this.v2Request = { method, target, headers };
  }

  answered(status: number, headers: HeaderList): void {
    this.v2Answer = { status, headers };
  }

  told(status: number, headers: HeaderList): void {
    this.clientAnswer = { status, headers };
  }

  /** A part of V2's answer; copied, for it may be a view of a buffer that is used again (and `slice` of a Buffer is one too). */
  part(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes <= this.observer.bodyLimit) this.chunks.push(new Uint8Array(chunk));
  }

  /** V2's own body, decoded, where the client got another one. */
  v2Body(body: Uint8Array): void {
    this.answer = body.length > this.observer.bodyLimit ? { withheld: 'too-large' } : { body: body.slice() };
  }

  finish(entry: Entry): void {
    const { method, target, headers } = this.exchange;
    const material: Material = {
      v1Request: { method, target, headers, ...this.request },
      v2Request: this.v2Request,
      v2Answer:
        this.answer === undefined || this.v2Answer === undefined
          ? this.withBody(this.v2Answer)
          : { ...this.v2Answer, ...this.answer },
      clientAnswer: this.withBody(this.clientAnswer),
    };
    this.observer.observe(entry, material);
  }

  private withBody(
    answer: { readonly status: number; readonly headers: HeaderList } | undefined,
  ): ObservedAnswer | undefined {
    if (answer === undefined || this.bytes === 0) return answer;
    if (this.bytes > this.observer.bodyLimit) return { ...answer, withheld: 'too-large' };
    return { ...answer, body: joined(this.chunks, this.bytes) };
  }
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
