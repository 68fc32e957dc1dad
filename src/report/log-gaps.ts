import type { ReplicaLog } from './replica-log.ts';
import { SLOT_MS } from './time-slots.ts';

/** A part of the time that the log of one replica lacks although others have entries then. */
export interface LogGap {
  /** The replica, by the name of its log. */
  readonly log: string;
  readonly kind: 'begins-late' | 'silent' | 'ends-early';
  /** The part that is lacking: RFC 3339. For `silent` to ten minutes. */
  readonly from: string;
  readonly until: string;
  readonly sentence: string;
}

/** A gap is told from this many slots in which a replica would have entries, at its usual share of the slots of the others. */
const MISSED_SLOTS = 6;
/** Time within which a replica that ends is followed by one that begins, as in a deployment; also around starts and stops. */
const HANDOVER_MS = 3_600_000;
/** Maximum gaps told of one log: the longest. */
const MAX_OF_LOG = 20;

/**
 * Finds the times in which the log of a replica has no entry although others have, and it would be expected to have: an hour where
 * every ten minutes have entries, longer where traffic is sparse. Starts and stops that the process log tells explain such a time; so
 * does a log that begins where another ends. Whether the replica had no traffic, or its log was lost, no log shows.
 */
export function logGaps(replicas: readonly ReplicaLog[]): readonly LogGap[] {
  const logs = replicas.filter(({ entries }) => entries > 0);
  if (logs.length < 2) return [];
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
    return gaps
      .sort((one, other) => lengthOf(other) - lengthOf(one))
      .slice(0, MAX_OF_LOG)
      .sort((one, other) => (one.from < other.from ? -1 : 1));
  });
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
  const isStopped = log.stops.some((stop) => stop >= log.until) || isNear(log.stops, log.until);
  if (!isTold(log.until, until) || isFollowed || isStopped) return [];
  const sentence = `The log of ${log.name} ends at ${text(log.until)}, ${lengthWords(until - log.until)} before another, without the line of a stop.`;
  return [{ log: log.name, kind: 'ends-early', from: text(log.until), until: text(until), sentence }];
}

function silences(log: ReplicaLog, isTold: IsTold): LogGap[] {
  const gaps: LogGap[] = [];
  for (const silence of log.slots.silences()) {
    const [from, until] = [silence.from * SLOT_MS, silence.until * SLOT_MS];
    if (!isTold(from, until)) continue;
    if (log.stops.some((stop) => stop >= from - HANDOVER_MS && stop <= until)) continue;
    const sentence = `The log of ${log.name} has nothing between ${text(from)} and ${text(until)}, while others have.`;
    gaps.push({ log: log.name, kind: 'silent', from: text(from), until: text(until), sentence });
  }
  return gaps;
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

function lengthWords(milliseconds: number): string {
  const hours = Math.floor(milliseconds / 3_600_000);
  if (hours < 48) return hours === 1 ? '1 hour' : `${hours} hours`;
  return `${Math.floor(hours / 24)} days`;
}
