import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
// By its file: Bun takes the bare name for a stand-in of its own.
import { Agent, request } from 'undici/index.js';
import type { Entry } from '../../rewrite-log/entry.ts';
import { spansOf } from '../../rewrite-log/spans.ts';
import type { Traces } from './open-traces.ts';

/** Where spans go, from the variables that OpenTelemetry names. */
export interface OtlpOptions {
  /** The address that spans are posted to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
  readonly version: string;
  /** Told once when spans begin to be lost, and why. */
  readonly onNotice: (trouble: string) => void;
}

/** Spans that wait, at most; beyond it they are lost, never waited for. */
const WAITING = 4096;
/** Spans in one post, and milliseconds until the next. */
const BATCH = 512;
const INTERVAL = 2000;
/** Milliseconds to connect, until the head of the response, and between two parts of it. */
const TIMEOUT = 10_000;

/** Reads the variables that OpenTelemetry names; undefined when there is no endpoint, or tracing is off. */
export function otlpOptions(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
  onNotice: (trouble: string) => void,
): OtlpOptions | undefined {
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const url =
    environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ??
    (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || url === '' || environment['OTEL_SDK_DISABLED'] === 'true') return undefined;
  const headers =
    environment['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? environment['OTEL_EXPORTER_OTLP_HEADERS'] ?? '';
  return {
    url,
    headers: Object.fromEntries(
      headers
        .split(',')
        .filter((pair) => pair.includes('='))
        .map((pair) => [
          pair.slice(0, pair.indexOf('=')).trim(),
          decodeURIComponent(pair.slice(pair.indexOf('=') + 1).trim()),
        ]),
    ),
    service: environment['OTEL_SERVICE_NAME'] ?? 'capture-gateway',
    version,
    onNotice,
  };
}

/**
 * Posts a span pair for each exchange to an OTLP collector, as JSON over HTTP. It never waits, and never fails an exchange. Posts go
 * through undici, on one kept connection and with times for each step of a request, which `fetch` does not have.
 */
export class OtlpExporter implements Traces {
  private readonly options: OtlpOptions;
  private readonly timer: NodeJS.Timeout;
  private readonly agent = new Agent({
    connections: 1,
    connect: { timeout: TIMEOUT },
    headersTimeout: TIMEOUT,
    bodyTimeout: TIMEOUT,
  });
  private entries: Entry[] = [];
  private posting: Promise<void> | undefined;
  private troubled = false;
  /** Exchanges whose spans were lost. */
  dropped = 0;

  constructor(options: OtlpOptions) {
    this.options = options;
    this.timer = setInterval(() => void this.post(), INTERVAL).unref();
  }

  /** Takes the entry of an exchange that is over; those without a trace have no span. */
  observe(entry: Entry): void {
    if (entry.traceId === undefined) return;
    if (this.entries.length >= WAITING) {
      this.lose(1, 'the collector is too slow');
      return;
    }
    this.entries.push(entry);
    if (this.entries.length >= BATCH) void this.post();
  }

  /** Posts what is left, within so many milliseconds. */
  async close(milliseconds: number): Promise<void> {
    clearInterval(this.timer);
    const rest = async (): Promise<void> => {
      await this.posting;
      while (this.entries.length > 0) await this.post();
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
    const batch = this.entries.splice(0, BATCH);
    if (batch.length === 0) return;
    const { url, headers } = this.options;
    try {
      const { statusCode, body } = await request(url, {
        dispatcher: this.agent,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(this.message(batch)),
      });
      await body.dump();
      if (statusCode >= 200 && statusCode < 300) this.troubled = false;
      else this.lose(batch.length, `the collector responded with ${statusCode}`);
    } catch {
      this.lose(batch.length, 'the collector cannot be reached');
    }
  }

  private message(batch: readonly Entry[]): unknown {
    const { service, version } = this.options;
    const attribute = (key: string, value: string): unknown => ({ key, value: { stringValue: value } });
    return {
      resourceSpans: [
        {
          resource: {
            attributes: [attribute('service.name', service), attribute('service.version', version)],
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

  private lose(count: number, why: string): void {
    this.dropped += count;
    if (this.troubled) return;
    this.troubled = true;
    this.options.onNotice(`${why}; spans are dropped`);
  }
}
