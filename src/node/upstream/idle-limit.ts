/** Number of closes that are remembered, and for how long. */
const MAX_CLOSES = 16;
const REMEMBERED_MS = 600_000;
/**
 * Part of the observed keep-alive time that is trusted: servers check their timers only now and then, and a request takes time to
 * arrive.
 */
const TRUSTED_PART = 0.8;

interface Closing {
  readonly age: number;
  readonly at: number;
}

/**
 * The time for which V2 keeps idle connections, learnt from those that it closed: a request that must not be sent twice never
 * uses one that is about to be closed. Times are milliseconds.
 */
export class IdleLimit {
  /** Idle time from which a connection is too old; infinite until V2 is seen to close one. */
  ms = Number.POSITIVE_INFINITY;
  private closings: readonly Closing[] = [];

  /** V2 closed a connection that had been idle for `age`. */
  closed(age: number, now: number): void {
    this.closings = [...this.closings, { age, at: now }].slice(-MAX_CLOSES);
    this.update(now);
  }

  /** Forgets old closes, because V2 may keep connections longer by now. */
  update(now: number): void {
    if (this.closings.length === 0) return;
    this.closings = this.closings.filter(({ at }) => now - at < REMEMBERED_MS);
    const ages = this.closings.map(({ age }) => age);
    // A restart closes connections of any age: ages below half of the longest are ignored.
    const half = Math.max(...ages) / 2;
    this.ms = TRUSTED_PART * Math.min(...ages.filter((age) => age >= half));
  }
}
