import { DurationSteps } from './duration-steps.ts';
import type { Entry, Verdict } from './entry.ts';

/** Traffic of one minute. Quantiles are milliseconds, absent without requests. */
export interface HistoryMinute {
  /** RFC 3339, the start of the minute. */
  readonly time: string;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Responses of 500 and above, and disconnected clients. */
  readonly failed: number;
  readonly total?: Quantiles;
  readonly upstream?: Quantiles;
}

/** From a histogram with steps of about 10 %: each is the upper bound of its step. */
export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

interface Minute {
  start: number;
  verdicts: Record<Verdict, number>;
  failed: number;
  readonly total: DurationSteps;
  readonly upstream: DurationSteps;
}

const MINUTE_MS = 60_000;

/** Traffic by verdict and durations, minute by minute, over the last hour. Memory is fixed. */
export class History {
  private readonly ringOfMinutes: readonly Minute[];
  private second = 0;
  private countInSecond = 0;
  private countInLastSecond = 0;

  constructor(minutes = 60) {
    this.ringOfMinutes = Array.from({ length: minutes }, () => ({
      start: -1,
      verdicts: noVerdicts(),
      failed: 0,
      total: new DurationSteps(),
      upstream: new DurationSteps(),
    }));
  }

  /** Counts an exchange that ended at `time` (milliseconds since 1970). */
  add(entry: Entry, time: number): void {
    this.advanceTo(Math.floor(time / 1000));
    this.countInSecond += 1;
    const minute = this.minute(Math.floor(time / MINUTE_MS) * MINUTE_MS);
    minute.verdicts[entry.verdict] += 1;
    if (entry.status >= 500 || entry.status === 0) minute.failed += 1;
    minute.total.add(entry.totalMs);
    if (entry.upstreamMs !== undefined) minute.upstream.add(entry.upstreamMs);
  }

  /** Number of exchanges in the last whole second before `time`. */
  perSecond(time: number): number {
    this.advanceTo(Math.floor(time / 1000));
    return this.countInLastSecond;
  }

  /** The minutes up to `time`, oldest first, including those without traffic. */
  minutes(time: number): readonly HistoryMinute[] {
    const latest = Math.floor(time / MINUTE_MS) * MINUTE_MS;
    return this.ringOfMinutes.map((_, at) => {
      const start = latest - (this.ringOfMinutes.length - 1 - at) * MINUTE_MS;
      const minute = this.ringOfMinutes[(start / MINUTE_MS) % this.ringOfMinutes.length];
      return historyMinute(start, minute?.start === start ? minute : undefined);
    });
  }

  private advanceTo(second: number): void {
    if (second === this.second) return;
    this.countInLastSecond = second === this.second + 1 ? this.countInSecond : 0;
    this.second = second;
    this.countInSecond = 0;
  }

  private minute(start: number): Minute {
    const minute = this.ringOfMinutes[(start / MINUTE_MS) % this.ringOfMinutes.length];
    if (minute === undefined) throw new RangeError('a history has at least one minute');
    if (minute.start !== start) {
      minute.start = start;
      minute.verdicts = noVerdicts();
      minute.failed = 0;
      minute.total.clear();
      minute.upstream.clear();
    }
    return minute;
  }
}

function noVerdicts(): Record<Verdict, number> {
  return { rewritten: 0, unchanged: 0, refused: 0, passed: 0 };
}

function historyMinute(start: number, minute: Minute | undefined): HistoryMinute {
  const total = minute && quantiles(minute.total);
  const upstream = minute && quantiles(minute.upstream);
  return {
    time: new Date(start).toISOString(),
    verdicts: { ...(minute?.verdicts ?? noVerdicts()) },
    failed: minute?.failed ?? 0,
    ...(total === undefined ? {} : { total }),
    ...(upstream === undefined ? {} : { upstream }),
  };
}

function quantiles(steps: DurationSteps): Quantiles | undefined {
  const [p50, p90, p99] = [steps.quantile(0.5), steps.quantile(0.9), steps.quantile(0.99)];
  return p50 === undefined || p90 === undefined || p99 === undefined ? undefined : { p50, p90, p99 };
}
