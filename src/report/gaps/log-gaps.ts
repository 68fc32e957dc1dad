import { LogRhythm } from './log-rhythm.ts';
import { lengthWords } from '../text/number-text.ts';
import type { ReplicaLog } from './replica-log.ts';
import { SLOT_MS } from '../tally/time-slots.ts';

/** A part of the time that the log of one replica lacks although others, or other weeks, have entries then. */
export interface LogGap {
  /** The replica, by the name of its log. */
  readonly log: string;
  readonly kind: 'begins-late' | 'silent' | 'ends-early' | 'file-missing';
  /** The part that is lacking: RFC 3339. For `silent` to ten minutes. */
  readonly from: string;
  readonly until: string;
  readonly sentence: string;
}

/** A gap is told from this many slots in which a replica would have entries, at its usual share of the slots of the others. */
const MISSED_SLOTS = 6;
/** A single log is told from this many: nobody else shows that there was traffic. */
const MISSED_OF_RHYTHM = 18;
/** Time within which a replica that ends is followed by one that begins, as in a deployment; also around starts and stops. */
export const HANDOVER_MS = 3_600_000;
/** Maximum gaps told of one log: the longest. */
const MAX_OF_LOG = 20;

/**
 * Finds the times in which the log of a replica has no entry although others have, and it would be expected to have: an hour where
 * every ten minutes have entries, longer where traffic is sparse. Starts and stops that the process log tells explain such a time; so
 * does a log that begins where another ends. A single log is judged by its own weeks. Whether the replica had no traffic, or its log
 * was lost, no log shows.
 */
export function logGaps(replicas: readonly ReplicaLog[]): readonly LogGap[] {
  const logs = replicas.filter(({ entries }) => entries > 0);
  const [only] = logs;
  if (only !== undefined && logs.length === 1) return longest(ownSilences(only));
  const fleet = new FleetSlots(logs);
  return logs.flatMap((log) => {
    const share = fleet.shareOf(log);
    const isTold = (from: number, until: number): boolean => fleet.seen(from, until) * share >= MISSED_SLOTS;
    const others = logs.filter((other) => other !== log);
    const gaps = [
      ...beginning(log, others, isTold),
      ...silences(log, isTold),
      ...ending(log, others, isTold),
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
type IsTold = (from: number, until: number) => boolean;

function beginning(log: ReplicaLog, others: readonly ReplicaLog[], isTold: IsTold): LogGap[] {
  const from = Math.min(...others.map(({ since }) => since));
  const isFollowing = others.some(({ until }) => Math.abs(log.since - until) <= HANDOVER_MS);
  if (!isTold(from, log.since) || isFollowing || isNear(log.starts, log.since)) return [];
  const sentence = `The log of ${log.name} begins at ${text(log.since)}, ${lengthWords(log.since - from)} after another, without the line of a start.`;
  return [{ log: log.name, kind: 'begins-late', from: text(from), until: text(log.since), sentence }];
}

function ending(log: ReplicaLog, others: readonly ReplicaLog[], isTold: IsTold): LogGap[] {
  const until = Math.max(...others.map((other) => other.until));
  const isFollowed = others.some(({ since }) => Math.abs(since - log.until) <= HANDOVER_MS);
  if (isFollowed) return [];
  return runningTimes(log, log.until, until)
    .filter((time) => isTold(time.from, time.until))
    .map((time) =>
      gapOf(
        log,
        'ends-early',
        time,
        time.from === log.until && time.until === until
          ? `The log of ${log.name} ends at ${text(log.until)}, ${lengthWords(until - log.until)} before another, without the line of a stop.`
          : `The log of ${log.name} has nothing between ${text(time.from)} and ${text(time.until)}, while others have.`,
      ),
    );
}

function silences(log: ReplicaLog, isTold: IsTold): LogGap[] {
  return [...log.slots.silences()].flatMap((silence) =>
    runningTimes(log, silence.from * SLOT_MS, silence.until * SLOT_MS)
      .filter(({ from, until }) => isTold(from, until))
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
  const sentence = `The log of ${log.name} has nothing between ${text(time.from)} and ${text(time.until)}, ${unlike}.`;
  return gapOf(log, 'silent', time, sentence);
}

function gapOf({ name }: ReplicaLog, kind: LogGap['kind'], time: TimeSpan, sentence: string): LogGap {
  return { log: name, kind, from: text(time.from), until: text(time.until), sentence };
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
    return this.before(Math.floor(until / SLOT_MS)) - this.before(Math.ceil(from / SLOT_MS));
  }

  /** Share of the slots with entries of others in which a replica has entries, too, from its first to its last. */
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

  private before(slot: number): number {
    let [low, high] = [0, this.slots.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.slots[middle] ?? 0) < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isNear(times: readonly number[], at: number): boolean {
  return times.some((time) => Math.abs(time - at) <= HANDOVER_MS);
}

function lengthOf({ from, until }: LogGap): number {
  return Date.parse(until) - Date.parse(from);
}

function text(time: number): string {
  return new Date(time).toISOString();
}
