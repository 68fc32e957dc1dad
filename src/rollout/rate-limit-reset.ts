import { type HeaderList, headerValue } from '../http/header-list.ts';
import { JsonWalker } from '../json/json-walk.ts';

/** Maximum bytes of a response body to search for the reset time. */
const MAX_BODY_BYTES = 4096;

/** Reads the time that the service wants a client to wait, from a streamed 429 response. */
export class RateLimitReset {
  private readonly headers: HeaderList;
  private readonly time: number;
  private readonly chunks: number[] = [];

  /** `time` is milliseconds since 1970: `Retry-After` may be a date. */
  constructor(headers: HeaderList, time: number) {
    this.headers = headers;
    this.time = time;
  }

  data(chunk: Uint8Array): void {
    if (this.chunks.length + chunk.length <= MAX_BODY_BYTES) this.chunks.push(...chunk);
  }

  /** Seconds: `meta.reset` of the body (documented), else `Retry-After` (RFC 9110 §10.2.3); undefined when neither is present. */
  get seconds(): number | undefined {
    const bytes = Uint8Array.from(this.chunks);
    let reset: number | undefined;
    new JsonWalker().walk(bytes, {
      enter: ({ path, kind, start, end }) => {
        if (kind !== 'scalar' || path.length !== 2 || path[0] !== 'meta' || path[1] !== 'reset') return;
        const value = Number(new TextDecoder().decode(bytes.subarray(start, end)));
        if (value >= 0) reset = value;
      },
    });
    return reset ?? this.retryAfter();
  }

  private retryAfter(): number | undefined {
    const value = headerValue(this.headers, 'retry-after');
    if (value === undefined) return undefined;
    if (/^\d{1,9}$/.test(value)) return Number(value);
    const date = Date.parse(value);
    return Number.isNaN(date) ? undefined : Math.max(0, (date - this.time) / 1000);
  }
}
