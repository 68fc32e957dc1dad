import type { CaptureLevel } from './observer.ts';

/** Exchanges captured only on failure, for each one that is always captured. */
const FAILURE_ONLY_FACTOR = 4;

/** Chooses the capture level: the structure of a limited number of exchanges per second, and of further ones if they fail. */
export class CaptureRate {
  private readonly perSecond: number;
  private readonly now: () => number;
  private second = -1;
  private begunInSecond = 0;

  /** `now` is a clock in milliseconds. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond;
    this.now = now;
  }

  /** Returns the level for the exchange that begins now. */
  next(): CaptureLevel {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.begunInSecond = 0;
    }
    this.begunInSecond += 1;
    if (this.begunInSecond <= this.perSecond) return 'structure';
    return this.begunInSecond <= this.perSecond * (1 + FAILURE_ONLY_FACTOR) ? 'failure' : 'nothing';
  }
}
