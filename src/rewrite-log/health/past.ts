import { failsMoreThanBefore } from '../../rollout/canary-window.ts';
import type { RollbackRule } from '../../rules/rollout.ts';
import { begun, isLasting, type Judged, type Request, type Tallied, type Trouble } from './course.ts';
import { Failures } from './failures.ts';
import { type Counts, ENOUGH, hasFailedSo, sampleOf } from './trouble.ts';

/** Minutes whose requests are compared with what was before. */
const RECENT_MINUTES = 10;
const MINUTE_MS = 60_000;

/** Requests of the past, in which older ones count less and less. */
const PAST_REQUESTS = 10_000;

/** Only requests to which V2 responded count for a client; `before` are those of all clients before the row. */
interface ClientHealth extends Judged {
  before: Counts;
}

/** Requests to V2 of one minute; `since` is the start of the first that failed, and `onV1` are requests that V1 served after it. */
interface Minute {
  readonly start: number;
  requests: number;
  readonly failures: Failures;
  since: number | undefined;
  onV1: Tallied;
}

/** The requests of an operation, or of a call. */
export interface Health extends Judged {
  readonly past: Tallied;
  readonly minutes: Minute[];
  /** By client, the one that failed last at the end: clients whose last request failed, or that were in trouble. */
  readonly clients: Map<string, ClientHealth>;
}

function count(counts: { requests: number; failed: number }, failed: boolean): void {
  counts.requests += 1;
  if (failed) counts.failed += 1;
  if (counts.requests < PAST_REQUESTS) return;
  counts.requests /= 2;
  counts.failed /= 2;
}

/** Adds requests from before this run to the past. */
export function learn(past: Tallied, { requests, failed }: Counts): void {
  const share = Math.min(1, PAST_REQUESTS / 2 / Math.max(1, requests));
  past.requests += requests * share;
  past.failed += failed * share;
}

/** Counts a response of V1 as the past, and apart from what it is compared with while V2 fails, as in a canary. */
export function countOnV1(health: Health, { failed, time }: Request): void {
  const { row, past } = health;
  const minute = minuteAt(health, time);
  for (const counts of [minute.onV1, ...(row.failed ? [row.onV1] : [])]) {
    counts.requests += 1;
    if (failed) counts.failed += 1;
  }
  count(past, failed);
}

/** The requests of all clients to which V2 responded before. */
export function beforeOf(health: Health, time: number): Counts {
  const { past } = health;
  const recent = recentOf(health, time);
  const unanswered = recentMinutes(health, time).reduce((sum, { failures }) => sum + failures.unanswered, 0);
  return {
    requests: past.requests + recent.requests - unanswered,
    failed: past.failed + recent.failed - unanswered,
  };
}

export function addToMinute(health: Health, { entry, failed, began, time }: Request): void {
  const minute = minuteAt(health, time);
  minute.requests += 1;
  if (!failed) return;
  if (minute.since === undefined) Object.assign(minute, { since: began, onV1: { requests: 0, failed: 0 } });
  minute.failures.add(entry, began, time);
}

/** The minute of this time; those that are no longer recent become the past. */
function minuteAt({ minutes, past, trouble }: Health, time: number): Minute {
  const start = Math.floor(time / MINUTE_MS) * MINUTE_MS;
  for (;;) {
    const [first] = minutes;
    if (first === undefined || first.start > start - RECENT_MINUTES * MINUTE_MS) break;
    minutes.shift();
    // Current failures do not belong to the past that they are compared with.
    if (isLasting(trouble)) continue;
    past.requests += first.requests;
    past.failed += first.failures.count;
  }
  const last = minutes.at(-1);
  if (last?.start === start) return last;
  const minute: Minute = {
    start,
    requests: 0,
    failures: new Failures(),
    since: undefined,
    onV1: { requests: 0, failed: 0 },
  };
  minutes.push(minute);
  return minute;
}

function recentMinutes({ minutes }: Health, time: number): Health['minutes'] {
  return minutes.filter(({ start }) => start > time - RECENT_MINUTES * MINUTE_MS);
}

export function recentOf(health: Health, time: number): Counts {
  let [requests, failed] = [0, 0];
  for (const minute of recentMinutes(health, time)) {
    requests += minute.requests;
    failed += minute.failures.count;
  }
  return { requests, failed };
}

/** The trouble that begins with this failed request, if that is more than before. */
export function troubleShown(
  health: Health,
  { entry, began, time }: Request,
  rule: RollbackRule,
): Trouble | undefined {
  const { past, row } = health;
  const recent = recentOf(health, time);
  // Neither the requests that failed in a row nor what V1 served meanwhile belong to the past that they are compared with.
  const before = {
    requests: past.requests + recent.requests - (row.requests - 1) - row.onV1.requests,
    failed: past.failed + recent.failed - (row.requests - 1) - row.onV1.failed,
  };
  if (row.requests >= ENOUGH && !hasFailedSo(before)) {
    const { requests, since } = row;
    const failures = Failures.of([row.failures]);
    return begun({ kind: 'always', requests, failures, since, before }, time);
  }
  const requests = recent.requests + 1;
  if (recent.failed + 1 < ENOUGH) return undefined;
  if (!failsMoreThanBefore(sampleOf(past), { requests, failures: recent.failed + 1 }, rule)) return undefined;
  const minutes = recentMinutes(health, time);
  const failing = minutes.slice(minutes.findIndex((minute) => minute.since !== undefined));
  const failures = Failures.of(minutes.map((minute) => minute.failures));
  failures.add(entry, began, time);
  const onV1 = failing.map((minute) => minute.onV1);
  const earlier = {
    requests: past.requests - onV1.reduce((sum, one) => sum + one.requests, 0),
    failed: past.failed - onV1.reduce((sum, one) => sum + one.failed, 0),
  };
  const since = failing[0]?.since ?? began;
  return begun({ kind: 'more', requests, failures, since, before: earlier }, time);
}
