import { boundaryOf, formatOfType, isOfTexts, isStreamed } from '../http/content.ts';
import { type HeaderList, headerValue } from '../http/header-list.ts';
import { hasByteOrderMark, JsonWalker } from '../json/document.ts';
import { copyBytes } from '../json/edit.ts';
import { scanLiteral, scanNumber, scanString } from '../json/scanner.ts';
import type { Secrets } from '../rewrite/header-plan.ts';
import type { EditRecord } from '../rewrite/records.ts';
import { isSpace, ObservationBudget } from './attributes.ts';
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

/** Share of both limits up to which failures outlast other exchanges. */
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
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/**
 * Bytes of a string that are read one by one; in longer strings `indexOf` searches for the next quote, which is several times as
 * fast.
 */
const SHORT_STRING_BYTES = 24;

/**
 * Placeholder of a value: its type as a JSON string, so that it cannot be mistaken for the value. `null` is its own type and
 * stays.
 */
const STRING_TYPE = encoder.encode('"‹string›"');
const NUMBER_TYPE = encoder.encode('"‹number›"');
const BOOLEAN_TYPE = encoder.encode('"‹boolean›"');
const NULL = encoder.encode('null');

/** Maximum bytes by which a value may grow: the longest type in place of one digit. */
const MAX_GROWTH = BOOLEAN_TYPE.length;

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

  /** A form has credentials under their own names, as queries do; masks of members do not apply to forms. */
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

/** The kept head of a request. */
export interface KeptHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly ShownHeader[];
}

/** A kept response. */
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
 * Returns the structure of a JSON body: names, order, nesting and white space are unchanged, every value except `null` is
 * replaced by its type. Only maps read scalar values; every other rule applies to the structure as it does to the body. Reads each byte
 * once. A body that is nested too deeply is `not-json` as well.
 */
export function bodyStructure(body: Uint8Array): Uint8Array | 'not-json' | 'too-large' {
  if (body.length > MAX_BYTES) return 'too-large';
  const printer = new StructurePrinter(body);
  const fault = printer.print();
  return fault ?? printer.structure;
}

/** Copies a body and replaces values by their types. */
class StructurePrinter {
  private readonly body: Uint8Array;
  private readonly out: Uint8Array;
  private readonly closers = new Uint8Array(MAX_LEVELS + 1);
  private depth = 0;
  private at: number;
  /** End of the copied part of the body, and bytes printed. */
  private copied = 0;
  private printed = 0;
  private values = 0;

  constructor(body: Uint8Array) {
    this.body = body;
    this.out = new Uint8Array(body.length + MAX_GROWTH * Math.min(body.length, MAX_STRUCTURE_VALUES));
    this.at = hasByteOrderMark(body) ? 3 : 0;
  }

  /** Copy of the printed bytes. */
  get structure(): Uint8Array {
    return this.out.slice(0, this.printed);
  }

  print(): 'not-json' | 'too-large' | undefined {
    this.skipSpace();
    for (;;) {
      if (this.closers[this.depth] === CLOSE_OBJECT && !this.key()) return 'not-json';
      const opened = this.open();
      if (opened === undefined) return 'not-json';
      if (opened) continue;
      if (this.values > MAX_STRUCTURE_VALUES) return 'too-large';
      this.close();
      if (this.depth === 0) break;
      if (this.body[this.at] !== COMMA) return 'not-json';
      this.at += 1;
      this.skipSpace();
    }
    if (this.at < this.body.length) return 'not-json';
    this.copyTo(this.at);
    return undefined;
  }

  /** Reads a value; true when it opened a non-empty container, undefined when there is no value. */
  private open(): boolean | undefined {
    const byte = this.body[this.at];
    if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) return this.scalar() ? false : undefined;
    if (this.depth === MAX_LEVELS) return undefined;
    this.depth += 1;
    const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
    this.closers[this.depth] = closer;
    this.at += 1;
    this.skipSpace();
    return this.body[this.at] !== closer;
  }

  /** Skips closing brackets after a value, and the white space after them. */
  private close(): void {
    this.skipSpace();
    while (this.depth > 0 && this.body[this.at] === this.closers[this.depth]) {
      this.depth -= 1;
      this.at += 1;
      this.skipSpace();
    }
  }

  private key(): boolean {
    if (this.body[this.at] !== QUOTE) return false;
    const end = scanString(this.body, this.at + 1);
    if (end < 0) return false;
    this.at = end >> 1;
    this.skipSpace();
    if (this.body[this.at] !== COLON) return false;
    this.at += 1;
    this.skipSpace();
    return true;
  }

  private scalar(): boolean {
    const { body, at } = this;
    const first = body[at] ?? 0;
    const end = endOfScalar(body, at, first);
    if (end < 0) return false;
    this.values += 1;
    this.copyTo(at);
    const type = typeOf(first);
    if (this.values <= MAX_STRUCTURE_VALUES)
      this.printed = copyBytes(type, 0, type.length, this.out, this.printed);
    this.copied = end;
    this.at = end;
    return true;
  }

  private copyTo(end: number): void {
    this.printed = copyBytes(this.body, this.copied, end, this.out, this.printed);
    this.copied = end;
  }

  private skipSpace(): void {
    const { body } = this;
    let i = this.at;
    while (isSpace(body[i])) i += 1;
    this.at = i;
  }
}

/** Returns the offset after a string, number or literal; negative when there is none. */
function endOfScalar(body: Uint8Array, at: number, first: number): number {
  if (first === QUOTE) return endOfString(body, at);
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  return isNumber ? scanNumber(body, at, body.length) : scanLiteral(body, at, body.length);
}

/** Returns the offset after the string at `at`, without validating its content, which is not part of the structure. */
function endOfString(body: Uint8Array, at: number): number {
  let i = at + 1;
  const short = Math.min(body.length, i + SHORT_STRING_BYTES);
  while (i < short) {
    const byte = body[i];
    if (byte === QUOTE) return i + 1;
    i += byte === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = body.indexOf(QUOTE, i);
    if (quote === -1) return -1;
    let slashes = quote;
    while (slashes > i && body[slashes - 1] === BACKSLASH) slashes -= 1;
    i = quote + 1;
    if ((quote - slashes) % 2 === 0) return i;
  }
}

function typeOf(first: number): Uint8Array {
  if (first === QUOTE) return STRING_TYPE;
  if (first === 0x6e) return NULL;
  return first === 0x74 || first === 0x66 ? BOOLEAN_TYPE : NUMBER_TYPE;
}
