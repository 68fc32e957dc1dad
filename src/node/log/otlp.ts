import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import * as z from 'zod';
import type * as Undici from 'undici/index.js';
import { type Entry, ownEntry } from '../../rewrite-log/entry.ts';
import { DEFAULT_PREFIXES, type Prefixes } from '../../http/target.ts';
import { methodLabel } from '../../http/request-head.ts';

// `undici/index.js`, because Bun substitutes its own implementation for the bare name.

/** Maximum number of queued exchanges; beyond it their spans are dropped. */
const WAITING = 4096;
/** Exchanges in one post, and milliseconds until the next. */
const BATCH = 512;
const INTERVAL = 2000;
/** Milliseconds before a post to a busy collector without Retry-After is retried, doubling from the first value to the second. */
const BACK_OFF_MS = [1000, 30_000] as const;
/** Statuses after which the same post may succeed later (OTLP/HTTP, "Retryable Response Codes"). */
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The status for a post that is too large, and the number of exchanges by which later ones grow again. */
const TOO_LARGE = 413;
const GROWTH = 8;
/** Postponed posts in a row after which the log has a line: a collector may restart. */
const TOLD_AFTER = 2;
/** Maximum characters of a collector's response to read. */
const RESPONSE_CHARACTERS = 16_384;
const SLOW = 'the collector is too slow';

const compress = promisify(gzip);

/**
 * Posts a pair of spans for each exchange to an OTLP collector, as JSON over HTTP. It never delays or fails an exchange. It uses undici
 * with one kept-alive connection and a timeout for each step of a request, which `fetch` lacks.
 */
class OtlpExporter implements Traces {
  private readonly options: OtlpOptions;
  private readonly prefixes: () => Prefixes;
  private readonly timer: NodeJS.Timeout;
  readonly isSampled: TraceSampler;
  private readonly undici: typeof Undici;
  private readonly agent: Undici.Agent;
  /** Time of `Date.now` until which nothing is posted. */
  private pausedUntil = 0;
  /** Number of posts in a row that were postponed. */
  private busyPosts = 0;
  private entries: Entry[] = [];
  private posting: Promise<void> | undefined;
  private isTroubleReported = false;
  private isWaitReported = false;
  /** Why the last post was postponed; undefined once one was accepted. */
  private trouble: string | undefined;
  /** The collector's last warning. */
  private warned = '';
  /** Exchanges in the next post: fewer after the collector found one too large. */
  private batchLength = BATCH;
  /** Exchanges whose spans were lost. */
  dropped = 0;

  constructor(options: OtlpOptions, undici: typeof Undici, prefixes: () => Prefixes) {
    this.options = options;
    this.prefixes = prefixes;
    this.undici = undici;
    this.isSampled = options.isSampled;
    const { timeoutMs: timeout } = options;
    this.agent = new undici.Agent({
      connections: 1,
      connect: { timeout },
      headersTimeout: timeout,
      bodyTimeout: timeout,
    });
    this.timer = setInterval(() => void this.post(), INTERVAL).unref();
  }

  /** Queues the spans of a completed exchange, if its trace is sampled. */
  observe(entry: Entry): void {
    if (entry.isSampled !== true) return;
    if (this.entries.length >= WAITING) {
      this.drop(1, this.trouble ?? SLOW);
      return;
    }
    this.entries.push(ownEntry(entry));
    if (this.entries.length >= BATCH) void this.post();
  }

  async close(milliseconds: number): Promise<void> {
    clearInterval(this.timer);
    const rest = async (): Promise<void> => {
      await this.posting;
      while (this.entries.length > 0 && Date.now() >= this.pausedUntil) await this.post();
      this.drop(this.entries.length, this.trouble ?? SLOW);
    };
    await Promise.race([rest(), wait(milliseconds, undefined, { ref: false })]);
    await this.agent.destroy();
  }

  private post(): Promise<void> {
    this.posting ??= this.postBatches().finally(() => {
      this.posting = undefined;
    });
    return this.posting;
  }

  /** Posts one batch, and further ones as long as whole ones wait. */
  private async postBatches(): Promise<void> {
    do {
      if (Date.now() < this.pausedUntil) return;
      const batch = this.entries.splice(0, this.batchLength);
      if (batch.length === 0) return;
      await this.postBatch(batch);
    } while (this.entries.length >= this.batchLength);
  }

  private async postBatch(batch: readonly Entry[]): Promise<void> {
    const { url, headers, isCompressed } = this.options;
    try {
      const spans = batch.flatMap((entry) =>
        spansOf(entry, this.prefixes(), () => randomBytes(8).toString('hex')),
      );
      const text = JSON.stringify(this.message(spans));
      const {
        statusCode,
        body,
        headers: responseHeaders,
      } = await this.undici.request(url, {
        dispatcher: this.agent,
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
        },
        body: isCompressed ? await compress(text) : text,
      });
      const response = await beginningOf(body);
      if (BUSY.has(statusCode)) {
        this.postponed(batch, responseHeaders['retry-after'], `the collector responds with ${statusCode}`);
        return;
      }
      this.busyPosts = 0;
      if (statusCode === TOO_LARGE && batch.length > 1) this.split(batch);
      else if (statusCode >= 200 && statusCode < 300) this.accepted(batch.length, spans.length, response);
      else this.drop(batch.length, `the collector responded with ${statusCode}`);
    } catch (error) {
      // A restart of the collector must not lose spans (OTLP/HTTP, "All Other Responses").
      this.postponed(batch, undefined, `the collector cannot be reached (${causeOf(error)})`);
    }
  }

  /** Reads the response to an accepted post, of which the collector may have rejected a part (OTLP/HTTP, "Partial Success"). */
  private accepted(exchanges: number, spans: number, response: string): void {
    this.trouble = undefined;
    this.batchLength = Math.min(BATCH, this.batchLength + GROWTH);
    const { rejected, message } = partialSuccess(response);
    if (rejected > 0) {
      const lost = Math.min(exchanges, Math.ceil((rejected * exchanges) / spans));
      this.drop(
        lost,
        `the collector rejected ${rejected} of ${spans} spans${message === '' ? '' : ` (${message})`}`,
      );
      return;
    }
    this.isTroubleReported = false;
    this.isWaitReported = false;
    if (message !== '' && message !== this.warned) this.options.onNotice(`the collector warns: ${message}`);
    this.warned = message;
  }

  /** Halves the batch, which is too large for the collector. */
  private split(batch: readonly Entry[]): void {
    this.batchLength = Math.ceil(batch.length / 2);
    this.entries.unshift(...batch);
  }

  /** Retries the batch after the collector's delay, or with exponential backoff. The queue keeps its limit. */
  private postponed(batch: readonly Entry[], retryAfter: string | string[] | undefined, why: string): void {
    const backOffMs = Math.min(BACK_OFF_MS[1], BACK_OFF_MS[0] * 2 ** this.busyPosts);
    this.busyPosts += 1;
    this.pausedUntil = Date.now() + (retryAfterMs(String(retryAfter)) ?? backOffMs);
    this.trouble = why;
    const room = Math.max(0, WAITING - this.entries.length);
    this.entries.unshift(...batch.slice(0, room));
    this.drop(batch.length - Math.min(room, batch.length), why);
    if (this.isWaitReported || this.isTroubleReported || this.busyPosts < TOLD_AFTER) return;
    this.isWaitReported = true;
    this.options.onNotice(`${why}; the spans of at most ${WAITING} exchanges wait`);
  }

  private message(spans: readonly OtlpSpan[]): unknown {
    const { resource, version } = this.options;
    return {
      resourceSpans: [
        {
          resource: {
            attributes: [...resource].map(([key, value]) => ({ key, value: { stringValue: value } })),
          },
          scopeSpans: [
            {
              scope: { name: 'capture-gateway', version },
              spans,
            },
          ],
        },
      ],
    };
  }

  private drop(count: number, why: string): void {
    this.dropped += count;
    if (this.isTroubleReported || count === 0) return;
    this.isTroubleReported = true;
    this.options.onNotice(`${why}; spans are dropped`);
  }
}

/** Reads the beginning of a response, and drops the rest. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of body)
    if (text.length < RESPONSE_CHARACTERS) text += decoder.decode(part, { stream: true });
  return text;
}

/** Returns what the response says about rejected spans. */
function partialSuccess(response: string): { readonly rejected: number; readonly message: string } {
  const { partialSuccess: { rejectedSpans = 0, errorMessage = '' } = {} } = readResponse(response);
  const rejected = Number(rejectedSpans);
  return { rejected: Number.isSafeInteger(rejected) ? rejected : 0, message: errorMessage.slice(0, 200) };
}

function readResponse(response: string): z.infer<typeof ResponseSchema> {
  try {
    return ResponseSchema.parse(JSON.parse(response));
  } catch {
    return {};
  }
}

/** In Protocol Buffers' JSON an int64 is a string, but some collectors send numbers. */
const ResponseSchema = z.object({
  partialSuccess: z
    .object({
      rejectedSpans: z.union([z.string(), z.number()]).optional(),
      errorMessage: z.string().optional(),
    })
    .optional(),
});

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** Reads `Retry-After`, seconds or a date (RFC 9110 §10.2.3), as milliseconds from now; undefined when it is neither. */
function retryAfterMs(value: string): number | undefined {
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Where and how to post spans, from the variables that OpenTelemetry defines. */
interface OtlpOptions {
  /** The address to post to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isCompressed: boolean;
  readonly timeoutMs: number;
  readonly isSampled: TraceSampler;
  /** Attributes of the resource: `service.name`, `service.version`, and the operator's own. */
  readonly resource: ReadonlyMap<string, string>;
  readonly version: string;
  /** Called with the reason once spans begin to wait or are lost. */
  readonly onNotice: (trouble: string) => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the variables that OpenTelemetry defines; those for traces take precedence over those for all signals. */
function otlpOptions(
  environment: Environment,
  version: string,
  onNotice: (trouble: string) => void,
): OtlpOptions {
  const of = (name: string): string | undefined =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] ||
    environment[`OTEL_EXPORTER_OTLP_${name}`] ||
    undefined;
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '';
  const protocol = of('PROTOCOL');
  if (protocol !== undefined && protocol !== 'http/json')
    onNotice(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, but the gateway sends http/json`);
  const timeout = Number(of('TIMEOUT'));
  return {
    url: environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || `${base.replace(/(?<!\/)\/+$/, '')}/v1/traces`,
    headers: Object.fromEntries(pairs(of('HEADERS'))),
    isCompressed: of('COMPRESSION') === 'gzip',
    timeoutMs: timeout > 0 ? timeout : 10_000,
    isSampled: readSampler(environment),
    resource: resourceOf(environment, version),
    version,
    onNotice,
  };
}

function resourceOf(environment: Environment, version: string): ReadonlyMap<string, string> {
  const own = pairs(environment['OTEL_RESOURCE_ATTRIBUTES']);
  const name = environment['OTEL_SERVICE_NAME'];
  return new Map([
    ['service.name', 'capture-gateway'],
    ['service.version', version],
    ...own,
    ...(name === undefined || name === '' ? [] : [['service.name', name] as const]),
  ]);
}

/** Reads `key=value,key=value` with percent-encoded values (W3C Baggage); anything that is not a pair is ignored. */
function pairs(text = ''): readonly (readonly [string, string])[] {
  return text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Decides whether a trace is recorded; `parent` is the decision of the client that began it, if one did. */
type TraceSampler = (traceId: string, parent: boolean | undefined) => boolean;

/**
 * Reads `OTEL_TRACES_SAMPLER` and its argument as OpenTelemetry defines them; without them, the parent decides, and roots are
 * recorded.
 */
export function readSampler(environment: Readonly<Record<string, string | undefined>>): TraceSampler {
  const name = environment['OTEL_TRACES_SAMPLER'] ?? '';
  const root = rootSampler(name.replace('parentbased_', ''), environment['OTEL_TRACES_SAMPLER_ARG']);
  const isParentBased = name === '' || name.startsWith('parentbased_') || !NAMES.has(name);
  return (traceId, parent) => (isParentBased && parent !== undefined ? parent : root(traceId));
}

const NAMES: ReadonlySet<string> = new Set(['always_on', 'always_off', 'traceidratio']);

function rootSampler(name: string, argument: string | undefined): (traceId: string) => boolean {
  if (name === 'always_off') return () => false;
  if (name !== 'traceidratio') return () => true;
  const given = Number(argument ?? 1);
  const ratio = given >= 0 && given <= 1 ? given : 1;
  // The last 56 bits are random (W3C Trace Context Level 2); a number represents 52 of them exactly.
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52;
}

/** Turns entries into spans. */
export interface Traces {
  /** Exchanges whose spans were lost. */
  readonly dropped: number;
  readonly isSampled: TraceSampler;
  observe(entry: Entry): void;
  /** Posts the remaining spans within some milliseconds. */
  close(milliseconds: number): Promise<void>;
}

/** True when OpenTelemetry's variables name a collector and do not disable tracing. */
export function isTraced(environment: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  if (environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none')
    return false;
  return (traces || base || '') !== '';
}

/**
 * Opens the exporter of traces if the environment names a collector; only then it loads undici. `prefixes` are those of the rule book in
 * force, for the names of spans.
 */
export async function openTraces(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  onTrouble: (trouble: string) => void,
  prefixes: () => Prefixes = () => DEFAULT_PREFIXES,
): Promise<Traces | undefined> {
  if (!isTraced(environment)) return undefined;
  const options = otlpOptions(environment, version, onTrouble);
  return new OtlpExporter(options, await import('undici/index.js'), prefixes);
}

/** An OTLP span in JSON: ids in hex, times in nanoseconds as text. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2 is a server span, 3 a client span. */
  readonly kind: 2 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  /** 2 is an error. */
  readonly status: { readonly code: 0 | 2 };
}

/** An attribute of a span. */
interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

/**
 * Makes the spans of a sampled exchange: the server span is a child of the client's span, and the client span of the request to
 * V2, if one was sent, is a child of the server span. V2 receives the latter as the parent of its own spans. Requests of
 * V2's clients are forwarded unchanged, including `traceparent`: the gateway takes no part in their traces.
 */
export function spansOf(entry: Entry, prefixes: Prefixes, newSpanId: () => string): readonly OtlpSpan[] {
  const { traceId, spanId, parentSpanId, isSampled } = entry;
  if (traceId === undefined || spanId === undefined || isSampled !== true) return [];
  const start = Date.parse(entry.time);
  const serverId = newSpanId();
  const server: OtlpSpan = {
    traceId,
    spanId: serverId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: `${methodLabel(entry.method)} ${routeOf(entry, prefixes)}`.trim(),
    kind: 2,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(start + entry.totalMs),
    attributes: attributesOf(entry, [
      text('url.path', pathOf(entry.path)),
      text('http.route', routeOf(entry, prefixes)),
      text('gateway.verdict', entry.verdict),
      text('gateway.rule_book', entry.ruleBook),
      text('gateway.operation', entry.operation),
      text('gateway.client', entry.client),
      text('gateway.request_id', entry.requestId),
      number('gateway.edits', entry.edits.length),
    ]),
    // A client error is not an error of the server span (HTTP conventions).
    status: { code: entry.status >= 500 || entry.status === 0 ? 2 : 0 },
  };
  if (entry.upstreamPath === undefined) return [server];
  const ended = entry.upstreamMs ?? entry.totalMs;
  return [
    server,
    {
      traceId,
      spanId,
      parentSpanId: serverId,
      name: methodLabel(entry.method),
      kind: 3,
      startTimeUnixNano: nanoseconds(start + Math.max(0, entry.totalMs - ended)),
      endTimeUnixNano: nanoseconds(start + entry.totalMs),
      attributes: attributesOf(entry, [
        text('url.path', pathOf(entry.upstreamPath)),
        number('http.request.resend_count', (entry.attempts ?? 1) - 1),
      ]),
      status: { code: entry.status >= 400 || entry.status === 0 ? 2 : 0 },
    },
  ];
}

function attributesOf(entry: Entry, own: readonly (OtlpAttribute | undefined)[]): readonly OtlpAttribute[] {
  const common = [
    text('http.request.method', methodLabel(entry.method)),
    entry.status === 0 ? undefined : number('http.response.status_code', entry.status),
    text('error.type', entry.failure ?? (entry.status >= 500 ? String(entry.status) : undefined)),
  ];
  return [...common, ...own].filter((attribute) => attribute !== undefined);
}

/** Returns the operation or the prefix: span names must have few values. */
function routeOf({ route, operation }: Entry, { v1, v2 }: Prefixes): string {
  if (route === 'none') return '';
  if (route === 'pass') return `${v2}/*`;
  if (route === 'webhook') return '/webhooks/*';
  return operation === undefined ? `${v1}/*` : `${v1} ${operation}`;
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? target;
}

function text(key: string, value: string | undefined): OtlpAttribute | undefined {
  return value === undefined || value === '' ? undefined : { key, value: { stringValue: value } };
}

function number(key: string, value: number): OtlpAttribute {
  return { key, value: { intValue: String(value) } };
}

/** Converts milliseconds with three decimals to nanoseconds, which exceed the exact range of a number. */
function nanoseconds(milliseconds: number): string {
  return String(BigInt(Math.round(milliseconds * 1000)) * 1000n);
}
