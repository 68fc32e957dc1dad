/** Bins of about 10 % each from 10 µs up; the last one includes everything beyond a day. */
const BINS = 242;
const LOWEST_MS = 0.01;
const STEP = Math.log(1.1);

/** Counts durations in steps of about 10 %: small, mergeable, and good enough for quantiles. */
export class DurationSteps {
  private readonly counts = new Uint32Array(BINS);
  private total = 0;

  /** Counts a duration in milliseconds. */
  add(milliseconds: number): void {
    const step = milliseconds <= LOWEST_MS ? 0 : Math.ceil(Math.log(milliseconds / LOWEST_MS) / STEP - 1e-9);
    const bin = Math.min(step, BINS - 1);
    this.counts[bin] = (this.counts[bin] ?? 0) + 1;
    this.total += 1;
  }

  /** Returns the upper bound, in milliseconds, of the step at the quantile `q`; undefined without durations. */
  quantile(q: number): number | undefined {
    if (this.total === 0) return undefined;
    const rank = Math.max(1, Math.ceil(q * this.total));
    let cumulative = 0;
    for (let bin = 0; bin < BINS; bin += 1) {
      cumulative += this.counts[bin] ?? 0;
      if (cumulative >= rank) return Number((LOWEST_MS * 1.1 ** bin).toPrecision(3));
    }
    return undefined;
  }

  clear(): void {
    this.counts.fill(0);
    this.total = 0;
  }
}
