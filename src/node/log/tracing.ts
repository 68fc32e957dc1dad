import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { AttributeValue, Context, HrTime, SpanContext } from '@opentelemetry/api';
import type { IdGenerator, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Entry } from '../../rewrite-log/entry.ts';
import { DEFAULT_PREFIXES, type Prefixes } from '../../http/target.ts';
import { printPrefix } from '../../rules/rule.ts';
import { methodLabel } from '../../http/request-head.ts';

/** Decides whether a trace is recorded; `parent` is the decision of the client that began it, if one did. */
export type TraceSampler = (traceId: string, parent: boolean | undefined) => boolean;

/** Turns entries into spans. */
export interface Traces {
  /** Exchanges whose spans were lost. */
  readonly dropped: number;
  readonly isSampled: TraceSampler;
  observe(entry: Entry): void;
  /** Exports the remaining spans within some milliseconds. */
  close(milliseconds: number): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The exporter for each value of `OTEL_EXPORTER_OTLP_PROTOCOL`; the first is OpenTelemetry's default. */
const EXPORTERS: ReadonlyMap<string, string> = new Map([
  ['http/protobuf', '@opentelemetry/exporter-trace-otlp-proto'],
  ['http/json', '@opentelemetry/exporter-trace-otlp-http'],
  ['grpc', '@opentelemetry/exporter-trace-otlp-grpc'],
]);

/** True when OpenTelemetry's variables name a collector and do not disable tracing. */
export function isTraced(environment: Environment): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  if (environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  if (environment['OTEL_TRACES_EXPORTER'] === 'none') return false;
  return (traces || base || '') !== '';
}

/** Names the packages that the export of spans needs; empty while no collector is named. They are optional peers of the package. */
export function tracingPackages(environment: Environment): readonly string[] {
  return isTraced(environment)
    ? [
        '@opentelemetry/api',
        '@opentelemetry/resources',
        '@opentelemetry/sdk-trace-base',
        exporterOf(environment),
      ]
    : [];
}

function exporterOf(environment: Environment): string {
  const protocol =
    environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || environment['OTEL_EXPORTER_OTLP_PROTOCOL'];
  const [[, standard] = ['', '']] = EXPORTERS;
  return EXPORTERS.get(protocol ?? '') ?? standard;
}

/**
 * Opens the export of spans if the environment names a collector; only then OpenTelemetry's packages are loaded, which read their
 * variables (`OTEL_*`) from the environment of the process. `prefixes` are those of the rule book in force, for the names of spans.
 */
export async function openTraces(
  version: string,
  onNotice: (trouble: string) => void,
  prefixes: () => Prefixes = () => DEFAULT_PREFIXES,
): Promise<Traces | undefined> {
  if (!isTraced(process.env)) return undefined;
  const [api, sdk, { defaultResource, detectResources, envDetector, resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/resources'),
    ]);
  const loss = new LossCount(onNotice);
  // Set before an exporter is created, because it warns of variables that it does not support.
  const forward = (message: string, ...details: readonly unknown[]): void =>
    loss.onWarning([message, ...details].join(' '));
  api.diag.setLogger(
    { error: forward, warn: forward, info() {}, debug() {}, verbose() {} },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = loss.counting(await newExporter(exporterOf(process.env)));
  const ids = new GivenIds();
  const processor = new sdk.BatchSpanProcessor(exporter, { maxQueueSize: loss.queueLength });
  const own = resourceFromAttributes({ 'service.name': 'capture-gateway', 'service.version': version });
  const provider = new sdk.BasicTracerProvider({
    // The sampler decided when the exchange began.
    sampler: new sdk.AlwaysOnSampler(),
    idGenerator: ids,
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      {
        onStart: (span, context) => processor.onStart(span, context),
        onEnd: (span) => {
          if (loss.ended(span)) processor.onEnd(span);
        },
        forceFlush: () => processor.forceFlush(),
        shutdown: () => processor.shutdown(),
      },
    ],
  });
  const tracer = provider.getTracer('capture-gateway', version);
  const start = (given: SpanOfExchange, below: SpanContext | undefined): SpanContext => {
    ids.next = given;
    const parent = below === undefined ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, below);
    const span = tracer.startSpan(
      given.name,
      { kind: given.kind, startTime: given.startTime, attributes: given.attributes },
      parent,
    );
    if (given.isError) span.setStatus({ code: api.SpanStatusCode.ERROR });
    span.end(given.endTime);
    return span.spanContext();
  };
  return {
    isSampled: await openSampler(),
    get dropped() {
      return loss.dropped;
    },
    observe(entry) {
      const [server, client] = spansOf(entry, prefixes());
      if (server === undefined) return;
      const { traceId, parentSpanId } = entry;
      const remote =
        parentSpanId === undefined
          ? undefined
          : {
              traceId: traceId ?? '',
              spanId: parentSpanId,
              traceFlags: api.TraceFlags.SAMPLED,
              isRemote: true,
            };
      const above = start(server, remote);
      if (client !== undefined) start(client, above);
    },
    async close(milliseconds) {
      const ended = provider.shutdown().catch((error: unknown) => loss.onWarning(String(error)));
      await Promise.race([ended, wait(milliseconds, undefined, { ref: false })]);
      loss.close();
    },
  };
}

/** The exporter of a package, which has the same class in each of them. */
async function newExporter(packageName: string): Promise<SpanExporter> {
  const loaded: unknown = await import(packageName);
  if (!isExporterModule(loaded)) throw new Error(`${packageName} has no OTLPTraceExporter.`);
  return new loaded.OTLPTraceExporter();
}

function isExporterModule(loaded: unknown): loaded is { readonly OTLPTraceExporter: new () => SpanExporter } {
  return typeof loaded === 'object' && loaded !== null && 'OTLPTraceExporter' in loaded;
}

/** Opens the sampler that `OTEL_TRACES_SAMPLER` names, by OpenTelemetry's packages. */
export async function openSampler(): Promise<TraceSampler> {
  const [{ ROOT_CONTEXT, trace, TraceFlags }, { BasicTracerProvider }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
  ]);
  const ids = new GivenIds();
  const tracer = new BasicTracerProvider({ idGenerator: ids }).getTracer('capture-gateway');
  return (traceId, parent) => {
    ids.next = { traceId, spanId: undefined };
    const traceFlags = parent === true ? TraceFlags.SAMPLED : TraceFlags.NONE;
    const context: Context =
      parent === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: SOME_SPAN, traceFlags, isRemote: true });
    const span = tracer.startSpan('exchange', {}, context);
    return (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
  };
}

const SOME_SPAN = '0000000000000001';

/** Gives spans the ids that their exchange got when it began: V2 received them in `traceparent`. */
class GivenIds implements IdGenerator {
  next: { readonly traceId: string; readonly spanId: string | undefined } = {
    traceId: '',
    spanId: undefined,
  };

  generateTraceId(): string {
    return this.next.traceId;
  }

  generateSpanId(): string {
    return this.next.spanId ?? randomBytes(8).toString('hex');
  }
}

/** 1 is a server span, 2 a client span (OpenTelemetry's `SpanKind`). */
const [SERVER, CLIENT] = [1, 2] as const;

/** Counts the exchanges whose spans were lost, by their server spans, and reports the first loss after each successful export. */
class LossCount {
  dropped = 0;
  /** Maximum spans that wait, also read by OpenTelemetry's processor. */
  readonly queueLength = Number(process.env['OTEL_BSP_MAX_QUEUE_SIZE']) || 2048;
  /** Spans that wait for the exporter, or that it exports. */
  private waiting = 0;
  private exchangesWaiting = 0;
  private isReported = false;
  private warned = '';
  private readonly onNotice: (trouble: string) => void;

  constructor(onNotice: (trouble: string) => void) {
    this.onNotice = onNotice;
  }

  /** Counts a span that ends; false if the queue has no room for it. */
  ended(span: ReadableSpan): boolean {
    const isFull = this.waiting >= this.queueLength;
    const exchanges = exchangesOf([span]);
    if (isFull) this.lost(exchanges, 'the collector is too slow');
    else {
      this.waiting += 1;
      this.exchangesWaiting += exchanges;
    }
    return !isFull;
  }

  counting(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) => {
        const exchanges = exchangesOf(spans);
        this.waiting -= spans.length;
        exporter.export(spans, (result) => {
          this.exchangesWaiting -= exchanges;
          if (result.error === undefined) this.isReported = false;
          else this.lost(exchanges, result.error.message);
          done(result);
        });
      },
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
      shutdown: () => exporter.shutdown(),
    };
  }

  /**
   * Handles a warning of OpenTelemetry's packages: about spans that a collector rejected (OTLP/HTTP, "Partial Success"), or another one.
   */
  onWarning(warning: string): void {
    const rejected = /"rejectedSpans":"?(\d+)/.exec(warning)?.[1];
    // Each exchange has at most two spans.
    if (rejected !== undefined && Number(rejected) > 0) this.lost(Math.ceil(Number(rejected) / 2), warning);
    else if (warning !== this.warned && !this.isReported) this.onNotice(warning.slice(0, 300));
    this.warned = warning;
  }

  /** Counts spans that were not exported in time. */
  close(): void {
    this.lost(this.exchangesWaiting, 'the collector is too slow');
    this.exchangesWaiting = 0;
  }

  private lost(exchanges: number, why: string): void {
    this.dropped += exchanges;
    if (this.isReported || exchanges === 0) return;
    this.isReported = true;
    this.onNotice(`${why.slice(0, 300)}; spans are dropped`);
  }
}

/** Counts the server spans: only these have a verdict. */
function exchangesOf(spans: readonly ReadableSpan[]): number {
  return spans.filter(({ attributes }) => attributes['gateway.verdict'] !== undefined).length;
}

interface SpanOfExchange {
  readonly traceId: string;
  /** Undefined for a new one. */
  readonly spanId: string | undefined;
  readonly name: string;
  readonly kind: typeof SERVER | typeof CLIENT;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly isError: boolean;
}

/**
 * The spans of a sampled exchange: the server span is a child of the client's span, and the client span of the request to V2, if one was
 * sent, is a child of the server span. V2 receives the latter as the parent of its own spans. Requests of V2's clients are forwarded
 * unchanged, including `traceparent`: the gateway is not part of their traces.
 */
function spansOf(entry: Entry, prefixes: Prefixes): readonly SpanOfExchange[] {
  const { traceId, spanId, isSampled } = entry;
  if (traceId === undefined || spanId === undefined || isSampled !== true) return [];
  const start = Date.parse(entry.time);
  const endTime = hrTime(start + entry.totalMs);
  const route = routeOf(entry, prefixes);
  const server: SpanOfExchange = {
    traceId,
    spanId: undefined,
    name: `${methodLabel(entry.method)} ${route}`.trim(),
    kind: SERVER,
    startTime: hrTime(start),
    endTime,
    attributes: attributesOf(entry, {
      'url.path': pathOf(entry.path),
      'http.route': route,
      'gateway.verdict': entry.verdict,
      'gateway.rule_book': entry.ruleBook,
      'gateway.operation': entry.operation,
      'gateway.client': entry.client,
      'gateway.request_id': entry.requestId,
      'gateway.edits': entry.edits.length,
    }),
    // A client error is not an error of the server span (HTTP conventions).
    isError: entry.status >= 500 || entry.status === 0,
  };
  if (entry.upstreamPath === undefined) return [server];
  const upstreamMs = entry.upstreamMs ?? entry.totalMs;
  const client: SpanOfExchange = {
    traceId,
    spanId,
    name: methodLabel(entry.method),
    kind: CLIENT,
    startTime: hrTime(start + Math.max(0, entry.totalMs - upstreamMs)),
    endTime,
    attributes: attributesOf(entry, {
      'url.path': pathOf(entry.upstreamPath),
      'http.request.resend_count': (entry.attempts ?? 1) - 1,
    }),
    isError: entry.status >= 400 || entry.status === 0,
  };
  return [server, client];
}

function attributesOf(
  entry: Entry,
  own: Readonly<Record<string, AttributeValue | undefined>>,
): Readonly<Record<string, AttributeValue>> {
  const attributes = {
    'http.request.method': methodLabel(entry.method),
    'http.response.status_code': entry.status === 0 ? undefined : entry.status,
    'error.type': entry.failure ?? (entry.status >= 500 ? String(entry.status) : undefined),
    ...own,
  };
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) =>
      value === undefined || value === '' ? [] : [[key, value] as const],
    ),
  );
}

/** Returns the operation or the prefix: span names must have few values. */
function routeOf({ route, operation }: Entry, { v1, v2 }: Prefixes): string {
  if (route === 'none') return '';
  if (route === 'pass') return `${v2}/*`;
  if (route === 'other') return '/*';
  if (route === 'webhook') return '/webhooks/*';
  return operation === undefined ? `${v1}/*` : `${printPrefix(v1)} ${operation}`;
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? target;
}

/** Milliseconds with three decimals as seconds and nanoseconds. */
function hrTime(milliseconds: number): HrTime {
  const microseconds = Math.round(milliseconds * 1000);
  return [Math.floor(microseconds / 1_000_000), (microseconds % 1_000_000) * 1000];
}
