/** Bytes of bodies that one stage of observing looks at in a second, and milliseconds that it takes for them. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
const MS_PER_SECOND = 20;

/** The share of both that exchanges which did not fail may use: what failed is looked at before everything else. */
const ORDINARY_SHARE = 0.5;

/**
 * Bounds what is done for people beside the traffic: so many bytes and so much time in each second, half of it kept for
 * exchanges that failed. What is beyond the budget is not observed; nothing waits for it.
 */
export class ObservationBudget {
  private readonly now: () => number;
  private second = -1;
  private bytes = 0;
  private milliseconds = 0;

  /** `now` is milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** Does `work` on `bytes` bytes and counts the time it takes; undefined, without doing it, when the second's budget is spent. */
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
