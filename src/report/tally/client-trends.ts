import type { Answer } from '../../rewrite-log/answers.ts';
import { ownText, callName, NO_KEY, OTHER_CALLS } from '../../rewrite-log/entry.ts';
import { isV1Request } from './tally.ts';
import type { TallyEntry } from './tally-entry.ts';
import { dayNumber } from './time-slots.ts';

/** V1 requests of a client, and how many of them failed. */
export interface FailedCount {
  requests: number;
  failed: number;
}

/** The V1 requests of one client. */
export interface ClientTrend {
  /** By day (UTC) since 1970. */
  readonly days: ReadonlyMap<number, Readonly<FailedCount>>;
  readonly failedCalls: ReadonlyMap<string, number>;
}

/** Trends of another process, as JSON. */
export type TrendsData = readonly {
  readonly client: string;
  readonly days: readonly number[];
  readonly calls: readonly (readonly [call: string, failed: number])[];
}[];

/** Maximum clients, and days and calls of each: about 10 MB if all are full. Beyond that, the client seen first is dropped. */
const MAX_CLIENTS = 5000;
const MAX_DAYS = 60;
const MAX_CALLS = 100;

/** Numbers of a day: the day, requests, and failed ones. One array for each client, because most have few days. */
const OF_DAY = 3;

interface MutableTrend {
  readonly days: number[];
  /** Made for the first failure. */
  calls: Map<string, number> | undefined;
}

/** How many V1 requests each client sent on each of its last days, and how many failed. */
export class ClientTrends {
  private readonly clients = new Map<string, MutableTrend>();
  /** The day of the last request, usually also that of the next. */
  private day: number | undefined;
  private dayName = '~';

  /** Counts a V1 request; any other entry is ignored. */
  add(entry: TallyEntry, answer: Answer): void {
    const day = this.dayOf(entry.time);
    if (day === undefined || !isV1Request(entry)) return;
    const trend = this.trendOf(entry.client ?? NO_KEY);
    const failed = answer === 'failed' ? 1 : 0;
    countDay(trend.days, day, 1, failed);
    if (failed === 1) countFailed(trend, callName(entry.operation, entry.method, entry.path), 1);
  }

  /** The trend of a client; undefined when it was not seen. */
  of(client: string): ClientTrend | undefined {
    const trend = this.clients.get(client);
    if (trend === undefined) return undefined;
    const days = new Map<number, FailedCount>();
    for (let at = 0; at < trend.days.length; at += OF_DAY) {
      const [day = 0, requests = 0, failed = 0] = trend.days.slice(at, at + OF_DAY);
      days.set(day, { requests, failed });
    }
    return { days, failedCalls: trend.calls ?? new Map() };
  }

  /** All counts, to be merged in another process. */
  get data(): TrendsData {
    return [...this.clients].map(([client, { days, calls }]) => ({
      client,
      days,
      calls: [...(calls ?? [])],
    }));
  }

  /** Adds the counts of another process. */
  merge(data: TrendsData): void {
    for (const { client, days, calls } of data) {
      const trend = this.trendOf(client);
      for (let at = 0; at < days.length; at += OF_DAY)
        countDay(trend.days, days[at] ?? 0, days[at + 1] ?? 0, days[at + 2] ?? 0);
      for (const [call, failed] of calls) countFailed(trend, call, failed);
    }
  }

  private dayOf(time: string): number | undefined {
    if (time.startsWith(this.dayName)) return this.day;
    this.dayName = time.slice(0, 10);
    this.day = dayNumber(time);
    return this.day;
  }

  private trendOf(client: string): MutableTrend {
    const known = this.clients.get(client);
    if (known !== undefined) return known;
    const [first] = this.clients.keys();
    if (this.clients.size >= MAX_CLIENTS && first !== undefined) this.clients.delete(first);
    const trend: MutableTrend = { days: [], calls: undefined };
    this.clients.set(client, trend);
    return trend;
  }
}

/** Searches from the end, where the last day is. */
function countDay(days: number[], day: number, requests: number, failed: number): void {
  let at = days.length - OF_DAY;
  while (at >= 0 && days[at] !== day) at -= OF_DAY;
  if (at >= 0) {
    days[at + 1] = (days[at + 1] ?? 0) + requests;
    days[at + 2] = (days[at + 2] ?? 0) + failed;
    return;
  }
  days.push(day, requests, failed);
  if (days.length <= MAX_DAYS * OF_DAY) return;
  let oldest = 0;
  for (let other = OF_DAY; other < days.length; other += OF_DAY)
    if ((days[other] ?? 0) < (days[oldest] ?? 0)) oldest = other;
  days.splice(oldest, OF_DAY);
}

function countFailed(trend: MutableTrend, name: string, failed: number): void {
  const calls = (trend.calls ??= new Map());
  const known = calls.get(name);
  if (known !== undefined) calls.set(name, known + failed);
  // The name of a call without an operation is a part of the head of its request.
  else if (calls.size < MAX_CALLS) calls.set(ownText(name), failed);
  else calls.set(OTHER_CALLS, (calls.get(OTHER_CALLS) ?? 0) + failed);
}
