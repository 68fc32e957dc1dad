import { type HeaderList, headerValue } from '../../http/header-list.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
import { bodyStructure } from './body-structure.ts';
import { CaptureRate } from './capture-rate.ts';
import { ObservationBudget } from '../attributes/observation-budget.ts';
import { JsonWalker } from '../../json/json-walk.ts';
import type { KeptResponse, KeptBody, KeptExchange, KeptHead } from './kept-exchange.ts';
import { maskHeaders, maskQuerySecrets } from './mask-headers.ts';
import type {
  CapturedExchange,
  ObservedResponse,
  ObservedBody,
  ObservedHead,
  CaptureLevel,
} from '../attributes/observer.ts';
import { maskSecrets } from './mask-secrets.ts';
import { ownText } from '../own-text.ts';
import { redactTarget } from './redact-target.ts';
import { ValueMasks } from './value-masks.ts';

/** Limits for the content of exchanges kept in addition to their entries. */
export interface CaptureOptions {
  readonly mode: 'off' | 'bodies';
  /** See `ValueMasks`. */
  readonly masks: readonly string[];
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** Exchanges per second whose structure is kept while capture is off: limits the cost of the inspector under load. */
  readonly structurePerSecond: number;
  /** Maximum bytes of one body; larger ones are not kept. */
  readonly bodyLimit: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
}

interface Held {
  readonly exchange: KeptExchange;
  readonly bytes: number;
}

/** Share of both limits up to which failures outlast everything else. */
const FAILURE_SHARE = 0.5;

/**
 * Keeps the content of recent exchanges for the inspector, limited by number and bytes. The oldest are evicted first, failures
 * last.
 */
export class Capture {
  readonly options: CaptureOptions;
  private readonly masks: ValueMasks;
  private readonly walker = new JsonWalker(MAX_VALUES);
  private readonly rate: CaptureRate;
  private readonly budget: ObservationBudget;
  private readonly ordinary = new Map<number, Held>();
  private readonly failed = new Map<number, Held>();
  private bytes = 0;
  private failedBytes = 0;

  constructor(options: CaptureOptions) {
    this.options = options;
    this.masks = new ValueMasks(options.masks);
    this.rate = new CaptureRate(options.structurePerSecond, options.now);
    this.budget = new ObservationBudget(options.now);
  }

  /** Number of kept exchanges and their approximate bytes. */
  get held(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.ordinary.size + this.failed.size, bytes: this.bytes };
  }

  /** Returns the capture level of the exchange that begins now. */
  nextLevel(): CaptureLevel {
    return this.options.mode === 'bodies' ? 'bodies' : this.rate.next();
  }

  /**
   * Keeps the permitted content of an exchange, within the budget of the second; holds no reference to `captured` afterwards. A
   * failure has more of the budget, and outlasts other exchanges.
   */
  keep(
    seq: number,
    captured: CapturedExchange,
    records: readonly EditRecord[],
    isFailure = hasFailed(captured),
  ): void {
    const { v1Request, v2Response, clientResponse } = captured;
    const lengths = [v1Request, v2Response, clientResponse].map((side) => this.lengthOf(side));
    const kept = this.budget.run(
      lengths.reduce((sum, length) => sum + length, 0),
      isFailure,
      () => this.exchangeOf(captured, records),
    );
    if (kept === undefined) return;
    const bytes = sizeOf(kept);
    if (bytes > this.options.maxBytes) return;
    (isFailure ? this.failed : this.ordinary).set(seq, { exchange: kept, bytes });
    this.bytes += bytes;
    if (isFailure) this.failedBytes += bytes;
    this.shrink();
  }

  /** Returns the kept content of the exchange with the entry `seq`. */
  of(seq: number): KeptExchange | undefined {
    return (this.ordinary.get(seq) ?? this.failed.get(seq))?.exchange;
  }

  /** Evicts everything up to the entry `seq`, and failures up to `failure`. */
  forget(seq: number, failure = seq): void {
    for (const [oldest] of this.ordinary) {
      if (oldest > seq) break;
      this.evict(this.ordinary, oldest);
    }
    for (const [oldest] of this.failed) {
      if (oldest > failure) break;
      this.evict(this.failed, oldest);
    }
  }

  private exchangeOf(captured: CapturedExchange, records: readonly EditRecord[]): KeptExchange {
    const { v1Request, v2Request, v2Response, clientResponse } = captured;
    const keptResponse = v2Response === undefined ? undefined : this.response(v2Response);
    // Most responses are forwarded unchanged, in the same memory: both sides then share one kept body.
    const isSame =
      keptResponse !== undefined &&
      clientResponse?.body !== undefined &&
      clientResponse.body === v2Response?.body;
    return {
      v1Request: {
        ...this.head(v1Request, records),
        body: this.body(v1Request, (body) =>
          this.form(v1Request.headers, body, () => this.masks.ofRequest(this.walker, body, records)),
        ),
      },
      ...(v2Request === undefined ? {} : { v2Request: this.head(v2Request, records) }),
      ...(keptResponse === undefined ? {} : { v2Response: keptResponse }),
      ...(clientResponse === undefined
        ? {}
        : { clientResponse: this.response(clientResponse, isSame ? keptResponse.body : undefined) }),
    };
  }

  private lengthOf(side: ObservedBody | undefined): number {
    const length = side?.body?.length ?? 0;
    return length > this.options.bodyLimit ? 0 : length;
  }

  private shrink(): void {
    const { maxEntries, maxBytes } = this.options;
    while (this.held.entries > maxEntries || this.bytes > maxBytes) {
      const isWithinShare =
        this.failed.size <= maxEntries * FAILURE_SHARE && this.failedBytes <= maxBytes * FAILURE_SHARE;
      const from =
        (isWithinShare && this.ordinary.size > 0) || this.failed.size === 0 ? this.ordinary : this.failed;
      const [oldest] = from.keys();
      if (oldest === undefined) return;
      this.evict(from, oldest);
    }
  }

  private evict(from: Map<number, Held>, seq: number): void {
    const bytes = from.get(seq)?.bytes ?? 0;
    from.delete(seq);
    this.bytes -= bytes;
    if (from === this.failed) this.failedBytes -= bytes;
  }

  private head(request: ObservedHead, records: readonly EditRecord[]): KeptHead {
    const values = this.options.mode === 'bodies';
    return {
      method: ownText(request.method),
      target: ownText(values ? maskQuerySecrets(request.target, records) : redactTarget(request.target)),
      headers: maskHeaders(request.headers, values),
    };
  }

  private response(response: ObservedResponse, keptBody?: KeptBody): KeptResponse {
    const observed: ObservedBody = isEncoded(response) ? { withheld: 'encoded' } : response;
    return {
      status: response.status,
      bodyBytes: response.body?.length ?? 0,
      headers: maskHeaders(response.headers, this.options.mode === 'bodies'),
      body:
        keptBody ??
        this.body(observed, (body) =>
          this.form(response.headers, body, () => this.masks.ofResponse(this.walker, body)),
        ),
    };
  }

  /** A form has credentials under their own names, as queries have; masks of members know nothing of forms. */
  private form(
    headers: HeaderList,
    body: Uint8Array,
    otherwise: () => Uint8Array | undefined,
  ): Uint8Array | undefined {
    if (!this.masks.empty || !isForm(headers)) return otherwise();
    const text = decoder.decode(body);
    const masked = maskSecrets(text);
    return masked === text ? body : encoder.encode(masked);
  }

  private body(
    { body, withheld }: ObservedBody,
    mask: (body: Uint8Array) => Uint8Array | undefined,
  ): KeptBody {
    if (withheld !== undefined) return { state: 'withheld', note: WITHHELD[withheld] ?? withheld };
    if (body === undefined || body.length === 0) return { state: 'none' };
    if (body.length > this.options.bodyLimit) return { state: 'withheld', note: TOO_LARGE };
    if (this.options.mode === 'off') {
      const structure = bodyStructure(body);
      if (typeof structure === 'string') return { state: 'withheld', note: NO_STRUCTURE[structure] };
      return { state: 'structure', bytes: structure };
    }
    const masked = mask(body);
    if (masked === undefined)
      return { state: 'withheld', note: 'It is not JSON of a normal size, so its fields cannot be masked.' };
    return { state: 'values', bytes: masked === body ? new Uint8Array(body) : masked };
  }
}

/** Maximum values of one body that is masked. */
const MAX_VALUES = 20_000;

const NO_STRUCTURE = {
  'not-json': 'It is not JSON, so it has no structure to show without its values.',
  'too-large': 'It is over the limits for size or number of values while capture is off.',
} as const;

const TOO_LARGE = 'It is over the size limit.';

const WITHHELD: Readonly<Record<string, string>> = {
  streamed: 'It was streamed and not read.',
  encoded: 'It is compressed and was not read.',
  'too-large': TOO_LARGE,
  ordinary: 'It was not kept, because the exchange was beyond the sample and its response was not a failure.',
};

function hasFailed({ clientResponse }: CapturedExchange): boolean {
  return clientResponse === undefined || clientResponse.status >= 400;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function isForm(headers: HeaderList): boolean {
  const type = headerValue(headers, 'content-type')?.toLowerCase() ?? '';
  return type.includes('form-urlencoded');
}

function isEncoded({ headers, body, isDecoded }: ObservedResponse): boolean {
  if (isDecoded === true) return false;
  const coding = headers.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-encoding');
  return body !== undefined && coding !== -1 && headers[coding + 1]?.toLowerCase() !== 'identity';
}

function sizeOf({ v1Request, v2Request, v2Response, clientResponse }: KeptExchange): number {
  let bytes = 256;
  for (const side of [v1Request, v2Request, v2Response, clientResponse]) {
    if (side === undefined) continue;
    bytes += 'body' in side ? (side.body.bytes?.length ?? 0) : 0;
    for (const header of side.headers) bytes += 2 * (header.name.length + header.value.length) + 48;
  }
  return bytes;
}
