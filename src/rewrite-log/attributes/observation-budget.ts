/** Maximum bytes of bodies per second for one stage of observation, and maximum milliseconds. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
const MS_PER_SECOND = 20;

/** Share of both for exchanges that did not fail: failed ones have priority. */
const ORDINARY_SHARE = 0.5;

/**
 * Small bodies per second, of exchanges that failed and of others, that are observed whatever the time: at a low rate nothing is
 * missing, even on a slow machine.
 */
const SMALL_PER_SECOND = 10;
const SMALL_BYTES = 16 * 1024;

/**
 * Limits the bytes and time per second spent on observing traffic; half of both is reserved for exchanges that failed. Anything
 * beyond the budget is not observed; nothing waits for it. The time is that of the clock, which a busy machine stretches: the first
 * ten small bodies of a second are observed all the same.
 */
export class ObservationBudget {
  private readonly now: () => number;
  private second = -1;
  private bytes = 0;
  private milliseconds = 0;
  private smallFailed = 0;
  private smallOrdinary = 0;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * Runs `work` on `bytes` bytes and counts its time; returns undefined without running it when the budget of the second is used
   * up.
   */
  run<Outcome>(bytes: number, isFailure: boolean, work: () => Outcome): Outcome | undefined {
    const began = this.now();
    const second = Math.floor(began / 1000);
    if (second !== this.second) {
      this.second = second;
      this.bytes = 0;
      this.milliseconds = 0;
      this.smallFailed = 0;
      this.smallOrdinary = 0;
    }
    const isDue = bytes <= SMALL_BYTES && this.countSmall(isFailure) <= SMALL_PER_SECOND;
    if (!isDue && !this.hasRoom(bytes, isFailure ? 1 : ORDINARY_SHARE)) return undefined;
    this.bytes += bytes;
    const outcome = work();
    this.milliseconds += this.now() - began;
    return outcome;
  }

  private countSmall(isFailure: boolean): number {
    if (!isFailure) return (this.smallOrdinary += 1);
    return (this.smallFailed += 1);
  }

  private hasRoom(bytes: number, share: number): boolean {
    return this.bytes + bytes <= BYTES_PER_SECOND * share && this.milliseconds <= MS_PER_SECOND * share;
  }
}
