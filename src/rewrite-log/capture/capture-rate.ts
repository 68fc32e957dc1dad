import type { CaptureLevel } from '../attributes/observer.ts';

/**
 * Chooses the capture level: the structure of a limited number of exchanges per second, and of every further one if it fails.
 * The observation budget limits the work for failures.
 */
export class CaptureRate {
  private readonly perSecond: number;
  private readonly now: () => number;
  private second = -1;
  private begunInSecond = 0;

  /** `now` is a clock in milliseconds; a rate of 0 captures nothing. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond;
    this.now = now;
  }

  /** Returns the level for the exchange that begins now. */
  next(): CaptureLevel {
    if (this.perSecond === 0) return 'nothing';
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.begunInSecond = 0;
    }
    this.begunInSecond += 1;
    return this.begunInSecond <= this.perSecond ? 'structure' : 'failure';
  }
}
