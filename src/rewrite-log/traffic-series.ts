import type { Answer } from './answers.ts';
import { type Entry, isOfClients, isOfV1, sentTo, statusFrom } from './entry.ts';

/** Widths of the points of a series. */
export type SeriesStep = 'minute' | 'hour' | 'day';

/** A median and the 95 % quantile, in milliseconds, from steps of about 10 %: the upper bound of its step. */
export interface Latency {
  readonly median: number;
  readonly p95: number;
}

/** The traffic of clients in one minute, hour or day (UTC). */
export interface SeriesPoint {
  /** RFC 3339: its start. */
  readonly time: string;
  /** Requests by who chose the status; `nobody` if the client disconnected before a response. Their sum is the number of requests. */
  readonly answered: Readonly<Record<Responder, number>>;
  /** Of those, requests of V1 clients; the others are of V2's own clients. */
  readonly ofV1: number;
  /** Of those, requests that failed, and requests that the operator refuses on purpose. */
  readonly failed: number;
  readonly onPurpose: number;
  /** From the head of a request to the end of its response, and until V2 began to respond; absent without requests. */
  readonly latency?: Latency;
  readonly v2Latency?: Latency;
}

/** Requests of V1 clients since a minute, or since the first count, by the service that got them. */
export interface SentCounts {
  /** RFC 3339. */
  readonly since: string;
  readonly v1: number;
  readonly v2: number;
  /** Sent to neither service: those that the operator refuses on purpose, and the others. */
  readonly onPurpose: number;
  readonly unsent: number;
}

/** Who chose the status of a response. */
export type Responder = 'v1' | 'v2' | 'gateway' | 'nobody';

/** The members of an entry that a series reads. */
export type SeriesEntry = Parameters<typeof statusFrom>[0] &
  Pick<Entry, 'upstreamMs' | 'client'> & {
    readonly upstreamPath?: string | undefined;
    readonly sent?: boolean | undefined;
    readonly path?: string | undefined;
    readonly totalMs?: number | undefined;
  };

/** Counts of a series in another process, as JSON. */
export interface SeriesData {
  /** Milliseconds since 1970 of the first request; absent without any. */
  readonly since?: number;
  readonly steps: Readonly<Record<SeriesStep, readonly SlotData[]>>;
}

interface SlotData {
  readonly start: number;
  readonly counts: readonly number[];
  /** Numbers of durations by step. */
  readonly total: readonly (readonly [bin: number, count: number])[];
  readonly v2: readonly (readonly [bin: number, count: number])[];
}

interface Slot {
  /** By `RESPONDERS`, then those of V1 clients, failed ones, those refused on purpose, and of V1 clients those sent to V1 and to V2. */
  readonly counts: number[];
  readonly total: DurationSteps;
  readonly v2: DurationSteps;
}

const RESPONDERS: readonly Responder[] = ['v1', 'v2', 'gateway', 'nobody'];
const OF_V1 = RESPONDERS.length;
const FAILED = OF_V1 + 1;
const ON_PURPOSE = OF_V1 + 2;
const TO_V1 = OF_V1 + 3;
const TO_V2 = OF_V1 + 4;

/** Length of each step in milliseconds, and how many are kept: six hours by minute, two weeks by hour, two years by day. */
const STEPS: Readonly<Record<SeriesStep, { readonly ms: number; readonly keep: number }>> = {
  minute: { ms: 60_000, keep: 360 },
  hour: { ms: 3_600_000, keep: 336 },
  day: { ms: 86_400_000, keep: 731 },
};

/** The steps, the shortest first. */
export const SERIES_STEPS = ['minute', 'hour', 'day'] as const satisfies readonly SeriesStep[];

/** The traffic of clients over time. Memory is limited by the number of points, some 2 KB each with latencies. */
export class TrafficSeries {
  private readonly slots: Readonly<Record<SeriesStep, Map<number, Slot>>> = {
    minute: new Map(),
    hour: new Map(),
    day: new Map(),
  };
  private latest = 0;
  private first: number | undefined;

  /** Milliseconds since 1970 of the first request; undefined before. */
  get since(): number | undefined {
    return this.first;
  }

  /** Counts an exchange of `time` (milliseconds since 1970), if a client of V1 or V2 sent it. */
  add(entry: SeriesEntry, time: number, answer: Answer): void {
    if (entry.verdict === 'served' || !isOfClients(entry)) return;
    const ofV1 = isOfV1(entry);
    this.first = Math.min(this.first ?? time, time);
    const service = ofV1 ? sentTo(entry) : undefined;
    const answerer = RESPONDERS.indexOf(statusFrom(entry) ?? 'nobody');
    const { totalMs, upstreamMs, origin } = entry;
    // Each is one logarithm, for three points.
    const total = totalMs === undefined ? -1 : DurationSteps.stepOf(totalMs);
    const v2 = upstreamMs === undefined || origin === 'v1' ? -1 : DurationSteps.stepOf(upstreamMs);
    for (const step of SERIES_STEPS) {
      const slot = this.slot(step, time);
      if (slot === undefined) continue;
      increment(slot.counts, answerer);
      if (ofV1) increment(slot.counts, OF_V1);
      if (service !== undefined) increment(slot.counts, service === 'v1' ? TO_V1 : TO_V2);
      if (answer === 'failed') increment(slot.counts, FAILED);
      else if (answer === 'on-purpose') increment(slot.counts, ON_PURPOSE);
      if (total >= 0) slot.total.addAt(total);
      if (v2 >= 0) slot.v2.addAt(v2);
    }
  }

  /**
   * The points up to `now` (milliseconds since 1970), oldest first and without gaps, from the first request or from `since`, whichever is
   * earlier, as far as they are kept.
   */
  points(step: SeriesStep, now: number, since: number): readonly SeriesPoint[] {
    const { ms, keep } = STEPS[step];
    const last = Math.floor(now / ms);
    const begin = Math.floor(Math.min(since, this.first ?? since) / ms);
    const from = Math.max(last - keep + 1, begin);
    return Array.from({ length: Math.max(0, last - from + 1) }, (_, at) => {
      const start = (from + at) * ms;
      return pointOf(start, this.slots[step].get(start));
    });
  }

  /** What became of V1 clients' requests in the minute of `now` and those before it, but not before `since`: milliseconds since 1970. */
  sent(now: number, since: number, minutes: number): SentCounts {
    const { ms } = STEPS.minute;
    const from = (Math.floor(now / ms) - minutes + 1) * ms;
    let [ofV1, v1, v2, onPurpose] = [0, 0, 0, 0];
    for (let at = 0; at < minutes; at += 1) {
      const counts = this.slots.minute.get(from + at * ms)?.counts ?? [];
      ofV1 += counts[OF_V1] ?? 0;
      v1 += counts[TO_V1] ?? 0;
      v2 += counts[TO_V2] ?? 0;
      onPurpose += counts[ON_PURPOSE] ?? 0;
    }
    const first = Math.max(from, Math.min(since, this.first ?? since));
    return { since: new Date(first).toISOString(), v1, v2, onPurpose, unsent: ofV1 - v1 - v2 - onPurpose };
  }

  /** The counts, to be merged in another process. */
  get data(): SeriesData {
    const of = (step: SeriesStep): readonly SlotData[] =>
      [...this.slots[step]].map(([start, { counts, total, v2 }]) => ({
        start,
        counts,
        total: [...total.entries()],
        v2: [...v2.entries()],
      }));
    return {
      ...(this.first === undefined ? {} : { since: this.first }),
      steps: { minute: of('minute'), hour: of('hour'), day: of('day') },
    };
  }

  /** Adds the counts of another process. */
  merge({ since, steps }: SeriesData): void {
    if (since !== undefined) this.first = Math.min(this.first ?? since, since);
    for (const step of SERIES_STEPS)
      for (const { start, counts, total, v2 } of steps[step]) {
        const slot = this.slot(step, start);
        if (slot === undefined) continue;
        for (const [index, count] of counts.entries()) slot.counts[index] = (slot.counts[index] ?? 0) + count;
        slot.total.merge(total);
        slot.v2.merge(v2);
      }
  }

  /** The slot of a time; undefined where it is no longer kept. */
  private slot(step: SeriesStep, time: number): Slot | undefined {
    const slots = this.slots[step];
    const { ms, keep } = STEPS[step];
    const start = Math.floor(time / ms) * ms;
    const known = slots.get(start);
    if (known !== undefined) return known;
    this.latest = Math.max(this.latest, time);
    const oldest = (Math.floor(this.latest / ms) - keep + 1) * ms;
    if (start < oldest) return undefined;
    for (const other of slots.keys()) if (other < oldest) slots.delete(other);
    const slot = {
      counts: new Array<number>(TO_V2 + 1).fill(0),
      total: new DurationSteps(),
      v2: new DurationSteps(),
    };
    slots.set(start, slot);
    return slot;
  }
}

function increment(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

function pointOf(start: number, slot: Slot | undefined): SeriesPoint {
  const count = (index: number): number => slot?.counts[index] ?? 0;
  const [latency, v2Latency] = [slot?.total, slot?.v2].map((steps) => steps && latencyOf(steps));
  return {
    time: new Date(start).toISOString(),
    answered: { v1: count(0), v2: count(1), gateway: count(2), nobody: count(3) },
    ofV1: count(OF_V1),
    failed: count(FAILED),
    onPurpose: count(ON_PURPOSE),
    ...(latency === undefined ? {} : { latency }),
    ...(v2Latency === undefined ? {} : { v2Latency }),
  };
}

function latencyOf(steps: DurationSteps): Latency | undefined {
  const [median, p95] = [steps.quantile(0.5), steps.quantile(0.95)];
  return median === undefined || p95 === undefined ? undefined : { median, p95 };
}

/** Bins of about 10 % each from 10 µs up; the last one includes everything beyond a day. */
const BINS = 242;
const LOWEST_MS = 0.01;
const STEP = Math.log(1.1);

/** Counts durations in steps of about 10 %: small, mergeable, and good enough for quantiles. */
export class DurationSteps {
  private readonly counts = new Uint32Array(BINS);
  private total = 0;

  /** The step of a duration in milliseconds. */
  static stepOf(milliseconds: number): number {
    const step = milliseconds <= LOWEST_MS ? 0 : Math.ceil(Math.log(milliseconds / LOWEST_MS) / STEP - 1e-9);
    return Math.min(step, BINS - 1);
  }

  /** Counts a duration of this step. */
  addAt(bin: number): void {
    this.counts[bin] = (this.counts[bin] ?? 0) + 1;
    this.total += 1;
  }

  /** The steps that have durations, with their numbers. */
  *entries(): Generator<readonly [bin: number, count: number], void, undefined> {
    if (this.total === 0) return;
    for (const [bin, count] of this.counts.entries()) if (count > 0) yield [bin, count];
  }

  /** Adds the numbers of other steps. */
  merge(entries: Iterable<readonly [bin: number, count: number]>): void {
    for (const [bin, count] of entries) {
      if (bin >= BINS) continue;
      this.counts[bin] = (this.counts[bin] ?? 0) + count;
      this.total += count;
    }
  }

  /** Returns the upper bound, in milliseconds, of the step at the quantile `q`; undefined without durations. */
  quantile(q: number): number | undefined {
    if (this.total === 0) return undefined;
    const rank = Math.max(1, Math.ceil(q * this.total));
    let cumulative = 0;
    for (let bin = 0; bin < BINS; bin += 1) {
      cumulative += this.counts[bin] ?? 0;
      if (cumulative >= rank) return Number((LOWEST_MS * 1.1 ** bin).toPrecision(3));
    }
    return undefined;
  }
}
