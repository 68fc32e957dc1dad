/** Maximum rows drawn per second: more than anybody can read, few enough to stay smooth. */
export const DRAWN_PER_SECOND = 80;

const SECOND = 1000;

/**
 * Selects the incoming entries to draw: all of them up to `perSecond`, then one in every `stride`. The selection does not depend
 * on the entries, so the sample is fair.
 */
export class Sampler {
  private readonly perSecond: number;
  private readonly requests: { readonly since: number; readonly count: number }[] = [];
  private taken: number | undefined;
  private seen = 0;
  private step = 1;

  constructor(perSecond: number = DRAWN_PER_SECOND) {
    this.perSecond = perSecond;
  }

  /** One in this many is drawn; 1 draws all. */
  get stride(): number {
    return this.step;
  }

  /** Accepts the arrivals since the last call, at `now` in milliseconds; returns those to draw, in the same order. */
  take<Item>(items: readonly Item[], now: number, missed = 0): readonly Item[] {
    this.requests.push({ since: this.taken ?? now - SECOND, count: items.length + missed });
    this.taken = now;
    while (this.requests.length > 1 && (this.requests[0]?.since ?? now) < now - SECOND) this.requests.shift();
    const sum = this.requests.reduce((all, { count }) => all + count, 0);
    const rate = (sum * SECOND) / Math.max(1, now - (this.requests[0]?.since ?? now));
    this.step = Math.max(1, Math.ceil(rate / this.perSecond));
    return items.filter(() => {
      this.seen += 1;
      return this.seen % this.step === 0;
    });
  }
}
