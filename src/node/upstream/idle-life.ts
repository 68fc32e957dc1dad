/** How many closings are remembered, and for how long. */
const CLOSINGS = 16;
const REMEMBERED_MS = 600_000;
/** The part of the life seen that is trusted: servers look at their timers now and then, and a request takes its time. */
const TRUSTED_PART = 0.8;

interface Closing {
  readonly age: number;
  readonly at: number;
}

/**
 * For how long V2 keeps idle connections, learnt from those that it closed: a request that must not be sent twice takes none that is
 * about to be closed. Times are milliseconds.
 */
export class IdleLife {
  /** Idle time from which on a connection is too old; infinite while V2 was not seen to close any. */
  limit = Number.POSITIVE_INFINITY;
  private closings: readonly Closing[] = [];

  /** V2 closed a connection that had been idle for `age`. */
  closed(age: number, now: number): void {
    this.closings = [...this.closings, { age, at: now }].slice(-CLOSINGS);
    this.update(now);
  }

  /** Forgets what is too old, for V2 may keep connections longer by now. */
  update(now: number): void {
    if (this.closings.length === 0) return;
    this.closings = this.closings.filter(({ at }) => now - at < REMEMBERED_MS);
    const ages = this.closings.map(({ age }) => age);
    // A restart closes connections of any age: those that lived less than half as long as another one say nothing.
    const half = Math.max(...ages) / 2;
    this.limit = TRUSTED_PART * Math.min(...ages.filter((age) => age >= half));
  }
}
