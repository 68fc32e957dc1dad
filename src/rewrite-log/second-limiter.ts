/** Allows so many calls in each second of a clock. */
export class SecondLimiter {
  private readonly perSecond: number;
  private readonly now: () => number;
  private second = -1;
  private count = 0;

  /** `now` gives milliseconds of a clock that never goes back. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond;
    this.now = now;
  }

  /** Takes one of this second; false when none is left. */
  take(): boolean {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.count = 0;
    }
    this.count += 1;
    return this.count <= this.perSecond;
  }
}
