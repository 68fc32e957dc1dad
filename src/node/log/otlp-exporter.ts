import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
// By its file: for the bare name, Bun substitutes its own implementation.
import { Agent, request } from 'undici/index.js';
import type { Entry } from '../../rewrite-log/entry.ts';
import { ownEntry } from '../../rewrite-log/own-text.ts';
import { spansOf } from '../../rewrite-log/spans.ts';
import type { OtlpOptions } from './otlp-options.ts';
import type { TraceSampler } from './trace-sampler.ts';
import type { Traces } from './traces.ts';

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
  private readonly agent: Agent;
  /** Time of `Date.now` until which nothing is posted, and number of posts in a row that met a busy collector. */
  private pausedUntil = 0;
  private busyPosts = 0;
  private entries: Entry[] = [];
  private posting: Promise<void> | undefined;
  private isTroubleReported = false;
  /** Exchanges whose spans were lost. */
  dropped = 0;

  constructor(options: OtlpOptions) {
    this.options = options;
    this.isSampled = options.isSampled;
    const { timeoutMs: timeout } = options;
    this.agent = new Agent({
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
      } = await request(url, {
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
