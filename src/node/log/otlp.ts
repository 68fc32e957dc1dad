import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
// By its file: for the bare name, Bun substitutes its own implementation.
import type * as Undici from 'undici/index.js';
import type { Entry } from '../../rewrite-log/entry.ts';
import { ownEntry } from '../../rewrite-log/observer.ts';
import { spansOf } from '../../rewrite-log/spans.ts';

/** Maximum number of queued spans; beyond it they are dropped. */
const WAITING = 4096;
/** Spans in one post, and milliseconds until the next. */
const BATCH = 512;
const INTERVAL = 2000;
/** Milliseconds before a post to a busy collector is retried, without Retry-After: doubling from the first to the second. */
const BACK_OFF_MS = [1000, 30_000] as const;
/** Responses after which the same post may succeed later (OTLP/HTTP, "Retryable Response Codes"). */
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const compress = promisify(gzip);

/**
 * Posts a span pair for each exchange to an OTLP collector, as JSON over HTTP. It never waits, and never fails an exchange. Posts
 * use undici, with one kept-alive connection and a timeout for each step of a request, which `fetch` lacks.
 */
export class OtlpExporter implements Traces {
  private readonly options: OtlpOptions;
  private readonly timer: NodeJS.Timeout;
  readonly isSampled: TraceSampler;
  private readonly undici: typeof Undici;
  private readonly agent: Undici.Agent;
  /** Time of `Date.now` until which nothing is posted, and number of posts in a row that met a busy collector. */
  private pausedUntil = 0;
  private busyPosts = 0;
  private entries: Entry[] = [];
  private posting: Promise<void> | undefined;
  private isTroubleReported = false;
  /** Exchanges whose spans were lost. */
  dropped = 0;

  constructor(options: OtlpOptions, undici: typeof Undici) {
    this.options = options;
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

  /** Takes the entry of a completed exchange; exchanges whose trace is not recorded have no span. */
  observe(entry: Entry): void {
    if (entry.isSampled !== true) return;
    if (this.entries.length >= WAITING) {
      this.drop(1, 'the collector is too slow');
      return;
    }
    this.entries.push(ownEntry(entry));
    if (this.entries.length >= BATCH) void this.post();
  }

  /** Posts the remaining spans, within so many milliseconds. */
  async close(milliseconds: number): Promise<void> {
    clearInterval(this.timer);
    const rest = async (): Promise<void> => {
      await this.posting;
      while (this.entries.length > 0 && Date.now() >= this.pausedUntil) await this.post();
      this.drop(this.entries.length, 'the collector is too slow');
    };
    await Promise.race([rest(), wait(milliseconds, undefined, { ref: false })]);
    await this.agent.destroy();
  }

  private post(): Promise<void> {
    this.posting ??= this.postBatch().finally(() => {
      this.posting = undefined;
    });
    return this.posting;
  }

  private async postBatch(): Promise<void> {
    if (Date.now() < this.pausedUntil) return;
    const batch = this.entries.splice(0, BATCH);
    if (batch.length === 0) return;
    const { url, headers, isCompressed } = this.options;
    try {
      const text = JSON.stringify(this.message(batch));
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
      await body.dump();
      if (BUSY.has(statusCode)) {
        this.postponed(batch, responseHeaders['retry-after']);
        return;
      }
      this.busyPosts = 0;
      if (statusCode >= 200 && statusCode < 300) this.isTroubleReported = false;
      else this.drop(batch.length, `the collector responded with ${statusCode}`);
    } catch {
      this.drop(batch.length, 'the collector cannot be reached');
    }
  }

  /** Retries the batch after the collector's delay, or with exponential backoff. The queue keeps its limit. */
  private postponed(batch: readonly Entry[], retryAfter: string | string[] | undefined): void {
    const backOffMs = Math.min(BACK_OFF_MS[1], BACK_OFF_MS[0] * 2 ** this.busyPosts);
    this.busyPosts += 1;
    this.pausedUntil = Date.now() + (retryAfterMs(String(retryAfter)) ?? backOffMs);
    const room = Math.max(0, WAITING - this.entries.length);
    this.entries.unshift(...batch.slice(0, room));
    this.drop(batch.length - Math.min(room, batch.length), 'the collector is too slow');
  }

  private message(batch: readonly Entry[]): unknown {
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
              spans: batch.flatMap((entry) => spansOf(entry, () => randomBytes(8).toString('hex'))),
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

/** Reads `Retry-After`, seconds or a date (RFC 9110 §10.2.3), as milliseconds from now; undefined when it is neither. */
function retryAfterMs(value: string): number | undefined {
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Destination of the spans and attributes of the gateway, from the variables that OpenTelemetry defines. */
export interface OtlpOptions {
  /** The address that spans are posted to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isCompressed: boolean;
  readonly timeoutMs: number;
  readonly isSampled: TraceSampler;
  /** Attributes of the resource: `service.name`, `service.version`, and the operator's own. */
  readonly resource: ReadonlyMap<string, string>;
  readonly version: string;
  /** Called once when spans begin to be lost, with the reason. */
  readonly onNotice: (trouble: string) => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the variables that OpenTelemetry defines; those for traces take precedence over those for all signals. */
export function otlpOptions(
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
    onNotice(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, and http/json is sent`);
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

/** Decides whether a trace is recorded; `parent` is the decision of the client that began it, undefined when it begins here. */
export type TraceSampler = (traceId: string, parent: boolean | undefined) => boolean;

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
  // The last 56 bits are the random ones (W3C Trace Context Level 2); 52 of them are exact in a number.
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52;
}

/** Turns entries into spans. */
export interface Traces {
  /** Exchanges whose spans were lost. */
  readonly dropped: number;
  readonly isSampled: TraceSampler;
  observe(entry: Entry): void;
  /** Posts the remaining spans, within so many milliseconds. */
  close(milliseconds: number): Promise<void>;
}

/** True when OpenTelemetry's variables name a collector, and do not disable tracing. */
export function isTraced(environment: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  if (environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none')
    return false;
  return (traces || base || '') !== '';
}

/** Opens the exporter of traces when a collector is named; otherwise the client that it posts with is not loaded. */
export async function openTraces(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  onTrouble: (trouble: string) => void,
): Promise<Traces | undefined> {
  if (!isTraced(environment)) return undefined;
  return new OtlpExporter(otlpOptions(environment, version, onTrouble), await import('undici/index.js'));
}
