import type { Shield } from '../rules/rollout.ts';

/** Milliseconds for which the counts of all replicas are taken as new: a little longer than from one survey to the next. */
const FRESH_MS = 1500;

/** Shortest period for which it is worth asking: counts are exchanged several times in it. */
const MIN_SHARED_PERIOD_MS = 4 * FRESH_MS;

/**
 * The requests of a client that a replica sends without asking the store first. The replicas do not know of each other's since
 * their last exchange, so each may send half its share of the free slots before the next, and whoever asks leaves that much for
 * the others. A replica without new counts may send its share of the slots that were free when it last knew.
 */
export class UnclaimedRequests {
  private readonly slots: number;
  private readonly period: number;
  private free: number;
  private readAt = -Infinity;
  /** Sent since the last exchange, and of these, before the exchange under way. */
  private sent = 0;
  private sentBefore = 0;
  /** Slots that were free, as far as other replicas may go by them; the oldest first. */
  private readings: readonly { readonly at: number; readonly free: number }[];

  constructor({ requests, per }: Shield) {
    this.slots = requests;
    this.period = per;
    this.free = requests;
    this.readings = [];
  }

  /** True when one more may be sent, if there is a free slot. */
  isAllowed(now: number, replicas: number): boolean {
    if (!this.canDivide(replicas)) return true;
    if (now - this.readAt >= FRESH_MS) return this.sent < this.share(this.free, replicas);
    const share = this.share(this.free, 2 * replicas);
    const isMost = this.isMost(this.free);
    return this.sent < (isMost ? share : Math.min(share, this.free - this.leftForOthers(replicas)));
  }

  /** Counts one that is sent. */
  count(): void {
    this.sent += 1;
  }

  /** Called when an exchange begins, which tells the others of what was sent so far. */
  beginExchange(): void {
    this.sentBefore = this.sent;
  }

  /** Called with the slots that are free by the counts of all replicas. */
  endExchange(free: number, now: number): void {
    this.free = free;
    this.readAt = now;
    this.sent -= this.sentBefore;
    this.sentBefore = 0;
    const readings =
      this.readings.length === 0 ? [{ at: now, free: this.slots }] : [...this.readings, { at: now, free }];
    // The last of those that are too old held until the next one.
    const first = readings.findLastIndex(({ at }) => at <= now - FRESH_MS);
    this.readings = readings.slice(Math.max(0, first));
  }

  /** Called when claimed slots are granted, which are free no more. */
  grant(slots: number): void {
    this.free -= slots;
  }

  /** Slots to leave for what the other replicas may send without asking. */
  leftForOthers(replicas: number): number {
    if (!this.canDivide(replicas)) return 0;
    const highest =
      this.readings.length === 0 ? this.slots : Math.max(...this.readings.map(({ free }) => free));
    return (replicas - 1) * this.share(highest, 2 * replicas);
  }

  /** A limit of less than two requests for each replica, or of seconds, would make most requests wait for the store. */
  private canDivide(replicas: number): boolean {
    return this.slots >= 2 * replicas && this.period >= MIN_SHARED_PERIOD_MS;
  }

  /** While most slots are free, nobody waits for the store. */
  private share(free: number, among: number): number {
    return Math.max(this.isMost(free) ? 1 : 0, Math.floor(free / among));
  }

  private isMost(free: number): boolean {
    return free * 2 > this.slots;
  }
}
