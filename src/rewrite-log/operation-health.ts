import { NEUTRAL_FAILURES } from '../rollout/canary-window.ts';
import type { Answer } from './answers.ts';
import { type Entry, statusFrom } from './entry.ts';

/** How an operation of V1 fails since it is migrated, as judged by its own past. */
export interface OperationTrouble {
  readonly operation: string;
  /** `always`: every request since it began; `more`: a larger share than before. */
  readonly kind: 'always' | 'more';
  /** Requests since it began, and how many of them failed. */
  readonly requests: number;
  readonly failed: number;
  /** True where V2 or the gateway refused them (4xx), and none failed with a 5xx or without a response. */
  readonly isRefusal: boolean;
  /** The hash of the only client that it hits; undefined where it hits several. */
  readonly client: string | undefined;
  /** Milliseconds since 1970 of the first failure, of the last one, and of the first response after that, once it is over. */
  readonly since: number;
  readonly last: number;
  readonly until: number | undefined;
  /** Requests before, to V1 and to V2, and how many of them failed. */
  readonly before: Counts;
}

/** Requests, and how many of them failed. */
export interface Counts {
  readonly requests: number;
  readonly failed: number;
}

/** Successive failures from which an operation fails always, and failures from which it fails more often. */
const ENOUGH = 5;

/** Successive responses without a failure after which trouble is over. */
const RECOVERED = 20;

/** Requests before the trouble from which a share of failures is known. */
const KNOWN = 20;

/** Minutes whose requests are compared with what was before. */
const RECENT_MINUTES = 10;
const MINUTE_MS = 60_000;

/** Milliseconds for which trouble that is over is told, and for which it is after its last failure where nothing shows that it is over. */
const TOLD_MS = 3_600_000;
const LASTING_MS = 86_400_000;

/** Requests of the past, of which older ones count for ever less. */
const PAST_REQUESTS = 10_000;

/** Share by which failures must exceed those of the past for certain. */
const MARGIN = 0.02;

/** Normal quantile of a bound that holds in 999 of 1,000 cases. */
const Z = 3.09;

/** Operations that are judged: a rule book has fewer. */
const MAX_OPERATIONS = 2000;

interface Trouble {
  kind: OperationTrouble['kind'];
  requests: number;
  failed: number;
  isRefusal: boolean;
  client: string | undefined;
  since: number;
  last: number;
  until: number | undefined;
  readonly before: Counts;
}

interface Health {
  readonly past: { requests: number; failed: number };
  readonly minutes: { start: number; requests: number; failed: number }[];
  /** The successive requests that all failed, or all did not. */
  row: { failed: boolean; requests: number; since: number; isRefusal: boolean; client: string | undefined };
  trouble: Trouble | undefined;
}

/**
 * Judges each operation of V1 against its own past, as a canary is judged against the clients that stay on V1: what failed as often
 * before is no trouble. A response that the client got from V1 counts for the past only.
 */
export class OperationHealth {
  private readonly all = new Map<string, Health>();

  /** Counts an exchange that ended at `time` (milliseconds since 1970). */
  add(entry: Entry, time: number, answer: Answer): void {
    const { operation, route, verdict, failure = '' } = entry;
    if (operation === undefined || route !== 'migrate' || verdict === 'served') return;
    if (answer === 'left' || NEUTRAL_FAILURES.has(failure)) return;
    const health = this.healthOf(operation, time);
    if (health === undefined) return;
    const failed = answer === 'failed';
    if (entry.origin === 'v1') {
      if (statusFrom(entry) === 'v1') count(health.past, failed);
      return;
    }
    addToRow(health, entry, failed, time);
    const { trouble } = health;
    if (trouble !== undefined && trouble.until === undefined) goOn(trouble, health, entry, failed, time);
    else if (failed) this.judge(health, time);
    addToMinute(health, failed, time);
  }

  /** Milliseconds since 1970 at which the last trouble was over, or was seen last; undefined without any. */
  get wellSince(): number | undefined {
    const ends = [...this.all.values()].flatMap(({ trouble }) => trouble && (trouble.until ?? trouble.last));
    return ends.reduce<number | undefined>(
      (last, end) => (end === undefined ? last : Math.max(end, last ?? 0)),
      undefined,
    );
  }

  /** What troubles operations at `now`, or did so within an hour, the latest last. */
  troubles(now: number): readonly OperationTrouble[] {
    const told: OperationTrouble[] = [];
    for (const [operation, { trouble }] of this.all) {
      if (trouble === undefined) continue;
      const { until, last } = trouble;
      if (until === undefined ? now - last < LASTING_MS : now - until < TOLD_MS)
        told.push({ operation, ...trouble });
    }
    return told.sort((one, other) => one.since - other.since);
  }

  private healthOf(operation: string, time: number): Health | undefined {
    const known = this.all.get(operation);
    if (known !== undefined || this.all.size >= MAX_OPERATIONS) return known;
    const row = { failed: false, requests: 0, since: time, isRefusal: true, client: undefined };
    const health = { past: { requests: 0, failed: 0 }, minutes: [], row, trouble: undefined };
    this.all.set(operation, health);
    return health;
  }

  private judge(health: Health, time: number): void {
    const { past, row } = health;
    const recent = recentOf(health, time);
    // The requests that failed in a row are not the past that they are compared with.
    const before = {
      requests: past.requests + recent.requests - (row.requests - 1),
      failed: past.failed + recent.failed - (row.requests - 1),
    };
    if (row.requests >= ENOUGH && !hasFailedSo(before)) {
      health.trouble = { kind: 'always', ...row, failed: row.requests, last: time, until: undefined, before };
      return;
    }
    const failures = recent.failed + 1;
    const requests = recent.requests + 1;
    if (failures < ENOUGH || past.requests < KNOWN) return;
    if (bound(failures, requests, -1) <= bound(past.failed, past.requests, 1) + MARGIN) return;
    const since = health.minutes.find(({ failed }) => failed > 0)?.start ?? time;
    const { isRefusal, client } = row;
    health.trouble = {
      kind: 'more',
      requests,
      failed: failures,
      isRefusal,
      client,
      since,
      last: time,
      until: undefined,
      before: { ...past },
    };
  }
}

function count(counts: { requests: number; failed: number }, failed: boolean): void {
  counts.requests += 1;
  if (failed) counts.failed += 1;
  if (counts.requests < PAST_REQUESTS) return;
  counts.requests /= 2;
  counts.failed /= 2;
}

function addToRow(health: Health, { client, status }: Entry, failed: boolean, time: number): void {
  const { row } = health;
  const isRefusal = status >= 400 && status < 500;
  if (row.requests === 0 || row.failed !== failed) {
    health.row = { failed, requests: 1, since: time, isRefusal, client };
    return;
  }
  row.requests += 1;
  row.isRefusal &&= isRefusal;
  if (row.client !== client) row.client = undefined;
}

function goOn(
  trouble: Trouble,
  { row }: Health,
  { client, status }: Entry,
  failed: boolean,
  time: number,
): void {
  if (failed) {
    trouble.last = time;
    trouble.isRefusal &&= status >= 400 && status < 500;
    if (trouble.client !== client) trouble.client = undefined;
  }
  trouble.requests += 1;
  if (failed) trouble.failed += 1;
  else if (trouble.kind === 'always') trouble.kind = 'more';
  if (!row.failed && row.requests >= RECOVERED) {
    trouble.until = row.since;
    trouble.requests -= row.requests;
  }
}

function addToMinute(health: Health, failed: boolean, time: number): void {
  const { minutes, past } = health;
  const start = Math.floor(time / MINUTE_MS) * MINUTE_MS;
  for (;;) {
    const [first] = minutes;
    if (first === undefined || first.start > start - RECENT_MINUTES * MINUTE_MS) break;
    minutes.shift();
    // What fails now is not the past by which it is judged.
    if (health.trouble !== undefined && health.trouble.until === undefined) continue;
    past.requests += first.requests;
    past.failed += first.failed;
  }
  const last = minutes.at(-1);
  const minute = last?.start === start ? last : { start, requests: 0, failed: 0 };
  if (minute !== last) minutes.push(minute);
  minute.requests += 1;
  if (failed) minute.failed += 1;
}

function recentOf({ minutes }: Health, time: number): Counts {
  let [requests, failed] = [0, 0];
  for (const minute of minutes) {
    if (minute.start <= time - RECENT_MINUTES * MINUTE_MS) continue;
    requests += minute.requests;
    failed += minute.failed;
  }
  return { requests, failed };
}

/** True where half of the requests failed before, too. */
function hasFailedSo({ requests, failed }: Counts): boolean {
  return requests > 0 && failed * 2 >= requests;
}

/** The upper (1) or lower (-1) bound of a share (Wilson's interval). */
function bound(failed: number, requests: number, side: 1 | -1): number {
  const share = failed / requests;
  const spread = Z * Math.sqrt((share * (1 - share) + (Z * Z) / (4 * requests)) / requests);
  return (share + (Z * Z) / (2 * requests) + side * spread) / (1 + (Z * Z) / requests);
}
