import type { CaptureLevel } from './observer.ts';

/** Exchanges that are watched in case they fail, for each that is kept whatever becomes of it. */
const WATCHED_FOR_FAILURE = 4;

/** Says how much is wanted of exchanges: the structure of so many a second, and of some more if they fail. */
export class CaptureRate {
  private readonly perSecond: number;
  private readonly now: () => number;
  private second = -1;
  private begun = 0;

  /** `now` is milliseconds. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond;
    this.now = now;
  }

  /** How much is wanted of the exchange that begins now. */
  next(): CaptureLevel {
    const second = Math.floor(this.now() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.begun = 0;
    }
    this.begun += 1;
    if (this.begun <= this.perSecond) return 'structure';
    return this.begun <= this.perSecond * (1 + WATCHED_FOR_FAILURE) ? 'failure' : 'nothing';
  }
}
