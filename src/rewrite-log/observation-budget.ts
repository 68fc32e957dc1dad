/** Maximum bytes of bodies per second for one stage of observation, and maximum milliseconds. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
const MS_PER_SECOND = 20;

/** Share of both for exchanges that did not fail: failed ones have priority. */
const ORDINARY_SHARE = 0.5;

/**
 * Limits the bytes and time per second spent on observing traffic; half of both is reserved for exchanges that failed. Anything
 * beyond the budget is not observed; nothing waits for it.
 */
export class ObservationBudget {
  private readonly now: () => number;
  private second = -1;
  private bytes = 0;
  private milliseconds = 0;

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
    }
    const share = isFailure ? 1 : ORDINARY_SHARE;
    if (this.bytes + bytes > BYTES_PER_SECOND * share || this.milliseconds > MS_PER_SECOND * share)
      return undefined;
    this.bytes += bytes;
    const outcome = work();
    this.milliseconds += this.now() - began;
    return outcome;
  }
}
