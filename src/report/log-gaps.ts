import type { RuleBook } from '../rules/rule-book.ts';
import type { TallyEntry } from './tally/tally-entry.ts';
import { DAY_MS, type Silence, SLOT_MS, TimeSlots } from './tally/time-slots.ts';
import { lengthWords, terminalText } from './text.ts';

/** A time without entries in one replica's log, although other logs, or the same hours of other weeks, have entries. */
export interface LogGap {
  /** The replica, by the name of its log. */
  readonly log: string;
  readonly kind: 'begins-late' | 'silent' | 'ends-early' | 'file-missing';
  /** RFC 3339; for `silent`, precise to ten minutes. */
  readonly from: string;
  readonly until: string;
  readonly sentence: string;
}

/** Minimum slots of a gap in which the replica would have entries, by its usual share of the others' slots. */
const MISSED_SLOTS = 6;

/** The same for a single log: no other log shows that there was traffic. */
const MISSED_OF_RHYTHM = 18;

/** Time within which one replica follows another, as in a deployment, or a start or stop explains a gap. */
export const HANDOVER_MS = 3_600_000;

/** Maximum gaps of one log: the longest. */
const MAX_OF_LOG = 20;

/** A week in slots. */
const WEEK = (7 * DAY_MS) / SLOT_MS;

/** Weeks on each side of a slot that are compared with it, and how many there have to be. */
const MAX_WEEKS = 4;
const MIN_WEEKS = 2;

/** Maximum starts, and stops, of a replica that are kept. */
const MAX_EVENTS = 10_000;

/** The suffix that rotation appends: a number or a date, and that of compression. */
// Not proven linear: `-0-0` in a path, which has 4,096 bytes at most.
const ROTATED = /(?:[.-]\d[\dT:_.-]*)?(?:\.(?:gz|zst))?$/;

/** A date before the extension, as in `rewrite-2026-11-22.ndjson`. */
const DATED = /[.-]\d{4}-?\d{2}-?\d{2}(?:T[\d:.-]*)?(?=\.\w+$)/;

/** The prefix that collectors write before a line: `kubectl logs --prefix`, `docker compose logs`. */
const PREFIX = /^(?:\[pod\/([^/\]]+)\/[^\]]*\]|(\S+)\s+\|)/;

/** Smaller steps of the clock are ignored: clocks drift, and time servers correct them. */
const JUMP_MS = 60_000;

/** Maximum gaps that are kept: the latest. */
const MAX_GAPS = 100;

/**
 * Finds the times for which a replica's log has no entry although others have, and it would be expected to have some: an hour where
 * every ten minutes have entries, longer where traffic is sparse. Starts and stops in the process log explain such a time; so does a
 * log that begins where another ends. A single log is compared with its own other weeks. No log shows whether the replica had no
 * traffic or lost its log.
 */
export function logGaps(replicas: readonly ReplicaLog[]): readonly LogGap[] {
  const logs = replicas.filter(({ entries }) => entries > 0);
  const [only] = logs;
  if (only !== undefined && logs.length === 1) return longest(ownSilences(only));
  const fleet = new FleetSlots(logs);
  return logs.flatMap((log) => {
    const share = fleet.shareOf(log);
    const isExpected = (from: number, until: number): boolean =>
      fleet.seen(from, until) * share >= MISSED_SLOTS;
    const others = logs.filter((other) => other !== log);
    const gaps = [
      ...beginning(log, others, isExpected),
      ...silences(log, isExpected),
      ...ending(log, others, isExpected),
    ];
    return longest(gaps);
  });
}

function longest(gaps: readonly LogGap[]): readonly LogGap[] {
  return gaps
    .toSorted((one, other) => lengthOf(other) - lengthOf(one))
    .slice(0, MAX_OF_LOG)
    .sort((one, other) => (one.from < other.from ? -1 : 1));
}

/** Whether entries would be expected between two times, in milliseconds since 1970. */
type IsExpected = (from: number, until: number) => boolean;

function beginning(log: ReplicaLog, others: readonly ReplicaLog[], isExpected: IsExpected): LogGap[] {
  const from = Math.min(...others.map(({ since }) => since));
  const isFollowing = others.some(({ until }) => Math.abs(log.since - until) <= HANDOVER_MS);
  if (!isExpected(from, log.since) || isFollowing || isNear(log.starts, log.since)) return [];
  const sentence = `The log of ${log.name} begins at ${timeText(log.since)}, ${lengthWords(log.since - from)} after another, without the line of a start.`;
  return [{ log: log.name, kind: 'begins-late', from: timeText(from), until: timeText(log.since), sentence }];
}

function ending(log: ReplicaLog, others: readonly ReplicaLog[], isExpected: IsExpected): LogGap[] {
  const until = Math.max(...others.map((other) => other.until));
  const isFollowed = others.some(({ since }) => Math.abs(since - log.until) <= HANDOVER_MS);
  if (isFollowed) return [];
  return runningTimes(log, log.until, until)
    .filter((time) => isExpected(time.from, time.until))
    .map((time) =>
      gapOf(
        log,
        'ends-early',
        time,
        time.from === log.until && time.until === until
          ? `The log of ${log.name} ends at ${timeText(log.until)}, ${lengthWords(until - log.until)} before another, without the line of a stop.`
          : `The log of ${log.name} has nothing between ${timeText(time.from)} and ${timeText(time.until)}, while others have.`,
      ),
    );
}

function silences(log: ReplicaLog, isExpected: IsExpected): LogGap[] {
  return [...log.slots.silences()].flatMap((silence) =>
    runningTimes(log, silence.from * SLOT_MS, silence.until * SLOT_MS)
      .filter(({ from, until }) => isExpected(from, until))
      .map((time) => silenceOf(log, time, 'while others have')),
  );
}

/** Silences of a single log at times at which it has entries in other weeks. */
function ownSilences(log: ReplicaLog): LogGap[] {
  const rhythm = new LogRhythm(log.slots);
  return [...log.slots.silences()].flatMap((silence) =>
    runningTimes(log, silence.from * SLOT_MS, silence.until * SLOT_MS)
      .filter(({ from, until }) => rhythm.expected(from, until, silence) >= MISSED_OF_RHYTHM)
      .map((time) => silenceOf(log, time, 'unlike at that time of other weeks')),
  );
}

function silenceOf(log: ReplicaLog, time: TimeSpan, unlike: string): LogGap {
  const sentence = `The log of ${log.name} has nothing between ${timeText(time.from)} and ${timeText(time.until)}, ${unlike}.`;
  return gapOf(log, 'silent', time, sentence);
}

function gapOf({ name }: ReplicaLog, kind: LogGap['kind'], time: TimeSpan, sentence: string): LogGap {
  return { log: name, kind, from: timeText(time.from), until: timeText(time.until), sentence };
}

/** Two times in milliseconds since 1970. */
interface TimeSpan {
  readonly from: number;
  readonly until: number;
}

/** The parts of a silence in which the replica ran: all but those from a stop up to the next start. */
function runningTimes({ starts, stops }: ReplicaLog, from: number, until: number): readonly TimeSpan[] {
  const times: TimeSpan[] = [];
  let at = from;
  const sorted = stops
    .filter((stop) => stop >= from - HANDOVER_MS && stop <= until)
    .sort((one, other) => one - other);
  for (const stop of sorted) {
    if (stop > at) times.push({ from: at, until: stop });
    const start = starts.reduce((next, time) => (time >= stop && time < next ? time : next), until);
    at = Math.max(at, start);
  }
  return at < until ? [...times, { from: at, until }] : times;
}

/** The slots in which any replica has entries. */
class FleetSlots {
  /** Replicas with entries, by slot, in order of the slots. */
  private readonly counts = new Map<number, number>();
  private readonly slots: readonly number[];

  constructor(logs: readonly ReplicaLog[]) {
    for (const { slots } of logs)
      for (const slot of slots.seen()) this.counts.set(slot, (this.counts.get(slot) ?? 0) + 1);
    this.slots = [...this.counts.keys()].sort((one, other) => one - other);
  }

  /** Number of slots between two times, in milliseconds since 1970. */
  seen(from: number, until: number): number {
    return (
      countBelow(this.slots, Math.floor(until / SLOT_MS)) - countBelow(this.slots, Math.ceil(from / SLOT_MS))
    );
  }

  /** Among the slots in which others have entries, from a replica's first to its last, the share in which it has some. */
  shareOf({ slots, since, until }: ReplicaLog): number {
    let alone = 0;
    let together = 0;
    for (const slot of slots.seen()) {
      if (this.counts.get(slot) === 1) alone += 1;
      else together += 1;
    }
    const all = this.seen(since - SLOT_MS, until + SLOT_MS) - alone;
    return all <= 0 ? 0 : Math.min(1, together / all);
  }
}

/** How many of the numbers, in ascending order, are below a limit. */
export function countBelow(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isNear(times: readonly number[], at: number): boolean {
  return times.some((time) => Math.abs(time - at) <= HANDOVER_MS);
}

function lengthOf({ from, until }: LogGap): number {
  return Date.parse(until) - Date.parse(from);
}

/** Formats milliseconds since 1970 as RFC 3339. */
export function timeText(time: number): string {
  return new Date(time).toISOString();
}

/** The rhythm of one log: at which times of the week it has entries. */
class LogRhythm {
  private readonly seen: ReadonlySet<number>;
  private readonly first: number;
  private readonly last: number;

  constructor(slots: TimeSlots) {
    const seen = [...slots.seen()];
    this.seen = new Set(seen);
    this.first = seen[0] ?? 0;
    this.last = seen.at(-1) ?? -1;
  }

  /**
   * Number of slots between two times, in milliseconds since 1970, that would have entries as in the weeks before and after `silence`.
   * The side with fewer entries counts, and if the nearest week has none, none is expected: the beginning or end of traffic is not a gap.
   */
  expected(from: number, until: number, silence: Silence): number {
    let sum = 0;
    for (let slot = Math.ceil(from / SLOT_MS); slot < Math.floor(until / SLOT_MS); slot += 1)
      sum += this.shareOf(slot, silence);
    return sum;
  }

  private shareOf(slot: number, silence: Silence): number {
    const before = this.weeks(slot, -WEEK, silence);
    const after = this.weeks(slot, WEEK, silence);
    if (before.length + after.length < MIN_WEEKS) return 0;
    return Math.min(...[before, after].filter(({ length }) => length > 0).map(shareOfSeen));
  }

  /** Whether the same slot of the nearest weeks on one side has entries. */
  private weeks(slot: number, step: number, { from, until }: Silence): readonly boolean[] {
    const weeks: boolean[] = [];
    for (let at = slot + step; at >= this.first && at <= this.last && weeks.length < MAX_WEEKS; at += step)
      if (at < from || at >= until) weeks.push(this.seen.has(at));
    return weeks;
  }
}

/** The share of the weeks with entries; 0 when the nearest has none. */
function shareOfSeen(all: readonly boolean[]): number {
  if (all[0] !== true) return 0;
  return all.filter(Boolean).length / all.length;
}

/** The times at which one replica wrote its log, which may be several files. */
export class ReplicaLog {
  /** The file's name without the suffix of a rotation, or the name that the collector wrote before its lines. */
  readonly name: string;
  readonly slots = new TimeSlots();
  /** Times of the first and the last entry in milliseconds since 1970; infinite without entries. */
  since = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;
  entries = 0;
  /** Whether it has an entry of level `info`, for a request that succeeded. */
  hasInfo = false;
  /** Times at which the replica started, and stopped, according to the process log. */
  readonly starts: number[] = [];
  readonly stops: number[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Adds the time of an entry; ignores text that is not a time. */
  add(time: string, isInfo = true): void {
    if (isInfo) this.hasInfo = true;
    const at = Date.parse(time);
    if (Number.isNaN(at)) return;
    this.entries += 1;
    if (at < this.since) this.since = at;
    if (at > this.until) this.until = at;
    this.slots.add(at);
  }

  /** Adds a line of the process log. */
  addEvent(event: string, time: string): void {
    const at = Date.parse(time);
    const list = event === 'started' ? this.starts : event === 'stopped' ? this.stops : undefined;
    if (list === undefined || Number.isNaN(at) || list.length >= MAX_EVENTS) return;
    list.push(at);
  }
}

/** The log that a file is a part of: its path without the suffix of a rotation. */
export function replicaOfFile(path: string): string {
  const name = path.replace(ROTATED, '').replace(DATED, '');
  return name === '' ? path : name;
}

/** The replica that a collector names before a line; undefined if it names none. */
export function replicaOfPrefix(text: string): string | undefined {
  const match = PREFIX.exec(text);
  return match?.[1] ?? match?.[2];
}

/** The part of the time that one log covers. */
export interface LogCoverage {
  readonly file: string;
  /** Times of its first and last entry in RFC 3339; absent without entries. */
  readonly since?: string;
  readonly until?: string;
  readonly entries: number;
  /** Lines that look like parts of entries, but are not. */
  readonly unreadable: number;
  /** Lines of other programs. */
  readonly others: number;
  /** Lines of the process log. */
  readonly events: number;
}

/** Says that a file has no entry; `lines` is the number of its lines, without those of the process log. `-` is stdin. */
export function noEntry(file: string, lines: number): string {
  const name = file === '-' ? 'stdin' : file;
  if (lines === 0) return `${name} has no entry of the rewrite log, so it does not show who uses V1.`;
  const which = lines === 1 ? 'its only line is not' : `none of its ${lines} lines is`;
  return `${name} is not a rewrite log: ${which} an entry.`;
}

/** Says which log has no line of the gateway, or that none has an entry; undefined if the logs can be read. */
export function faultOfLogs(logs: readonly LogCoverage[]): string | undefined {
  const empty = logs.filter(({ entries }) => entries === 0);
  const foreign = empty.find(
    ({ unreadable, others, events }) => unreadable > 0 || (others > 0 && events === 0),
  );
  const log = foreign ?? (empty.length === logs.length ? empty[0] : undefined);
  return log && noEntry(log.file, log.unreadable + log.others);
}

/** The gaps in its own counts that a running gateway knows: its clock was set, or a worker ended with unreported counts. */
export class OwnGaps {
  private readonly time: () => number;
  private readonly monotonic: () => number;
  private gaps: readonly LogGap[] = [];
  /** The time at which the monotonic clock was 0. */
  private origin: number;

  /** `time` is the clock in milliseconds since 1970; `monotonic` is one that is never set, in milliseconds. */
  constructor(time: () => number, monotonic: () => number) {
    this.time = time;
    this.monotonic = monotonic;
    this.origin = time() - monotonic();
  }

  /** The gaps so far, after a check of the clock. */
  get all(): readonly LogGap[] {
    this.checkClock();
    return this.gaps;
  }

  /** Adds a gap if the clock was set since the last call. */
  checkClock(): void {
    const now = this.time();
    const origin = now - this.monotonic();
    const jump = origin - this.origin;
    this.origin = origin;
    if (Math.abs(jump) < JUMP_MS) return;
    const words = `set ${lengthWords(Math.abs(jump))} ${jump > 0 ? 'forward' : 'back'}`;
    const [from, until] = jump > 0 ? [now - jump, now] : [now, now - jump];
    this.add('clock', from, until, `The clock was ${words} at ${timeText(now)}.`);
  }

  /** Adds the unexpected end of a worker; its counts since `from` may be lost. */
  addWorkerEnd(number: number, from: number, how: string): void {
    const now = this.time();
    const sentence = `Worker ${number} ended at ${timeText(now)} (${how}), perhaps with counts that it had not reported.`;
    this.add(`worker ${number}`, from, now, sentence);
  }

  private add(log: string, from: number, until: number, sentence: string): void {
    const gap: LogGap = { log, kind: 'silent', from: timeText(from), until: timeText(until), sentence };
    this.gaps = [...this.gaps, gap].slice(-MAX_GAPS);
  }
}

/** A rule book with which a command reads logs. */
export interface GivenBook {
  readonly book: Pick<RuleBook, 'hash' | 'operations'>;
  /** True if none was named: the rule book of the package, used if there is no other. */
  readonly isShipped: boolean;
}

/** Maximum rule books, and operations, that are counted separately. */
const MAX_BOOKS = 100;
const MAX_BOOK_OPERATIONS = 10_000;

/** Maximum hashes that a sentence names. */
const MAX_HASHES = 3;

/** The rule books that handled the V1 requests of logs, so that a log is not interpreted with the rule book of another API. */
export class LogBooks {
  private readonly hashes = new Set<string>();
  private readonly operations = new Set<string>();

  add({ route, ruleBook, operation }: Pick<TallyEntry, 'route' | 'ruleBook' | 'operation'>): void {
    if (route !== 'migrate') return;
    if (ruleBook !== undefined && this.hashes.size < MAX_BOOKS) this.hashes.add(ruleBook);
    if (operation !== undefined && this.operations.size < MAX_BOOK_OPERATIONS) this.operations.add(operation);
  }

  /**
   * Says why a rule book cannot be that of the logs; undefined if it may be. One that was named may have been edited since, but must
   * still have some of their operations. The one of the package counts only if it handled a request.
   */
  faultOf({ book: { hash, operations }, isShipped }: GivenBook): string | undefined {
    if (this.hashes.size === 0 || this.hashes.has(hash)) return undefined;
    const hashes = [...this.hashes];
    const named = `${terminalText(hashes.slice(0, MAX_HASHES).join(', '))}${hashes.length > MAX_HASHES ? ', …' : ''}`;
    const theirs = `The requests of the log were handled by ${hashes.length === 1 ? 'the rule book' : 'the rule books'} ${named}`;
    if (isShipped)
      return `${theirs}, and not by the package's own (${hash}), which is used if none is named: name the right one with --rules.`;
    if (this.operations.size === 0 || operations.some(({ id }) => this.operations.has(id))) return undefined;
    return `${theirs}, and this one (${hash}) has none of their operations: name the right one with --rules.`;
  }
}
