import { boundaryOf, formatOfType, isOfTexts, isStreamed } from '../http/content.ts';
import { type HeaderList, headerValue } from '../http/header-list.ts';
import { hasByteOrderMark, JsonWalker } from '../json/document.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { Scanner } from '../json/scanner.ts';
import { SCALAR, STRING } from '../json/tape.ts';
import type { Secrets } from '../rewrite/header-plan.ts';
import type { EditRecord } from '../rewrite/records.ts';
import { ObservationBudget } from './attributes.ts';
import {
  maskHeaders,
  maskParts,
  maskQuerySecrets,
  maskSecrets,
  redactTarget,
  type ShownHeader,
  ValueMasks,
} from './masks.ts';
import { ownText } from './entry.ts';
import type {
  CapturedExchange,
  CaptureLevel,
  ObservedBody,
  ObservedHead,
  ObservedResponse,
} from './observer.ts';

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

/** Share of both limits up to which failures are kept longer than other exchanges. */
const FAILURE_SHARE = 0.5;

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

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Maximum values of one body; the structure of a larger body is not kept. */
const MAX_STRUCTURE_VALUES = 1000;

/** Maximum bytes of a body. */
const MAX_BYTES = 64 * 1024;

/** Maximum nesting: the default limit for bodies that the gateway rewrites. */
const MAX_LEVELS = 512;

const QUOTE = 0x22;

/**
 * Placeholder of a value: its type as a JSON string, so that it cannot be mistaken for the value. `null` is its own type and
 * stays.
 */
const STRING_TYPE = /* @__PURE__ */ encoder.encode('"‹string›"');
const NUMBER_TYPE = /* @__PURE__ */ encoder.encode('"‹number›"');
const BOOLEAN_TYPE = /* @__PURE__ */ encoder.encode('"‹boolean›"');
const NULL = /* @__PURE__ */ encoder.encode('null');

const scanner = /* @__PURE__ */ new Scanner({ depth: MAX_LEVELS, record: MAX_LEVELS });

/**
 * Keeps the content of recent exchanges for the inspector, limited by number and bytes. The oldest are evicted first, failures
 * last.
 */
export class Capture {
  readonly options: CaptureOptions;
  private readonly masks: ValueMasks;
  private readonly walker = new JsonWalker(undefined, MAX_VALUES);
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
    const { v1Request, v2Request, v2Response, clientResponse, secrets } = captured;
    const keptResponse = v2Response === undefined ? undefined : this.response(v2Response, secrets);
    // Most responses are forwarded unchanged, in the same memory: both sides then share one kept body.
    const isSame =
      keptResponse !== undefined &&
      clientResponse?.body !== undefined &&
      clientResponse.body === v2Response?.body;
    return {
      v1Request: {
        ...this.head(v1Request, records, secrets),
        body: this.body(v1Request, (body) =>
          this.form(v1Request.headers, body, () => this.masks.ofRequest(this.walker, body, records)),
        ),
      },
      ...(v2Request === undefined ? {} : { v2Request: this.head(v2Request, records, secrets) }),
      ...(keptResponse === undefined ? {} : { v2Response: keptResponse }),
      ...(clientResponse === undefined
        ? {}
        : { clientResponse: this.response(clientResponse, secrets, isSame ? keptResponse.body : undefined) }),
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

  private head(
    request: ObservedHead,
    records: readonly EditRecord[],
    secrets: Secrets | undefined,
  ): KeptHead {
    const values = this.options.mode === 'bodies';
    return {
      method: ownText(request.method),
      target: ownText(
        values ? maskQuerySecrets(request.target, records, secrets) : redactTarget(request.target),
      ),
      headers: maskHeaders(request.headers, values, secrets),
    };
  }

  private response(
    response: ObservedResponse,
    secrets: Secrets | undefined,
    keptBody?: KeptBody,
  ): KeptResponse {
    const observed: ObservedBody = isEncoded(response) ? { withheld: 'encoded' } : response;
    return {
      status: response.status,
      bodyBytes: response.body?.length ?? 0,
      headers: maskHeaders(response.headers, this.options.mode === 'bodies', secrets),
      body:
        keptBody ??
        this.body(observed, (body) =>
          this.form(response.headers, body, () => this.masks.ofResponse(this.walker, body)),
        ),
    };
  }

  /** A form contains credentials by name, like a query; masks of members do not apply to forms. */
  private form(
    headers: HeaderList,
    body: Uint8Array,
    otherwise: () => Uint8Array | undefined,
  ): Uint8Array | undefined {
    if (!this.masks.empty) return otherwise();
    const format = formatOfType(headerValue(headers, 'content-type'));
    if (isStreamed(format) && !isOfTexts(format)) return maskParts(body, boundaryOf(format));
    if (!isForm(headers)) return otherwise();
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

function hasFailed({ clientResponse }: CapturedExchange): boolean {
  return clientResponse === undefined || clientResponse.status >= 400;
}

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

/**
 * Chooses the capture level: the structure of a limited number of exchanges per second, and of every further one if it fails.
 * The observation budget limits the work for failures.
 */
export class CaptureRate {
  private readonly perSecond: number;
  private readonly now: () => number;
  private second = -1;
  private begunInSecond = 0;

  /** `now` is a clock in milliseconds; a rate of 0 captures nothing. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond;
    this.now = now;
  }

  /** Returns the level for the exchange that begins now. */
  next(): CaptureLevel {
    if (this.perSecond === 0) return 'nothing';
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.begunInSecond = 0;
    }
    this.begunInSecond += 1;
    return this.begunInSecond <= this.perSecond ? 'structure' : 'failure';
  }
}

/** A kept body: masked before it is stored, so that secret values are not even in memory. */
export interface KeptBody {
  readonly state: 'values' | 'structure' | 'withheld' | 'none';
  readonly bytes?: Uint8Array;
  /** Reason for `withheld`: a sentence. */
  readonly note?: string;
}

export interface KeptHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly ShownHeader[];
}

export interface KeptResponse {
  readonly status: number;
  /** Bytes of the observed body, before masking. */
  readonly bodyBytes: number;
  readonly headers: readonly ShownHeader[];
  readonly body: KeptBody;
}

/**
 * The kept content of one exchange. The V2 body is not stored: the plan makes it again from the V1 body, masked or not, whenever
 * it is displayed.
 */
export interface KeptExchange {
  readonly v1Request: KeptHead & { readonly body: KeptBody };
  readonly v2Request?: KeptHead;
  readonly v2Response?: KeptResponse;
  readonly clientResponse?: KeptResponse;
}

/**
 * Returns the structure of a JSON body: names, order, nesting and white space are unchanged, every value except `null` is replaced by its
 * type. Only maps read scalar values; every other rule applies to the structure like to the body. A body that is nested too deeply also
 * gives `not-json`.
 */
export function bodyStructure(body: Uint8Array): Uint8Array | 'not-json' | 'too-large' {
  if (body.length > MAX_BYTES) return 'too-large';
  if (scanner.scan(body, hasByteOrderMark(body) ? 3 : 0) !== undefined) return 'not-json';
  const { tape } = scanner;
  const edits: Edit[] = [];
  let node = 0;
  do {
    const kind = tape.kind(node);
    const start = tape.start(node);
    if (kind === STRING || kind === SCALAR)
      edits.push({ start, end: tape.end(node), insert: typeOf(body[start] ?? 0) });
    if (edits.length > MAX_STRUCTURE_VALUES) return 'too-large';
    node = tape.following(node);
  } while (node > 0);
  return applyEdits(body, edits);
}

function typeOf(first: number): Uint8Array {
  if (first === QUOTE) return STRING_TYPE;
  if (first === 0x6e) return NULL;
  return first === 0x74 || first === 0x66 ? BOOLEAN_TYPE : NUMBER_TYPE;
}
