import type { MetricSample } from './metric-text.ts';

/** Upper bounds in seconds, as OpenTelemetry's HTTP conventions advise for request durations. */
export const REQUEST_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;

/** Upper bounds in seconds, for durations of microseconds. */
export const REWRITE_BUCKETS = [
  0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.05,
] as const;

/** Counts durations by bucket. */
export class MetricHistogram {
  private readonly buckets: readonly number[];
  private readonly counts: Float64Array;
  private sum = 0;

  constructor(buckets: readonly number[]) {
    this.buckets = buckets;
    this.counts = new Float64Array(buckets.length + 1);
  }

  /** Counts a duration in seconds. */
  add(seconds: number): void {
    let at = 0;
    while (at < this.buckets.length && seconds > (this.buckets[at] ?? 0)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += seconds;
  }

  /** Adds the counts of `other`, which has the same buckets. */
  merge(other: MetricHistogram): void {
    for (let at = 0; at < this.counts.length; at += 1) {
      this.counts[at] = (this.counts[at] ?? 0) + (other.counts[at] ?? 0);
    }
    this.sum += other.sum;
  }

  /** Returns the samples of one series; buckets are cumulative. */
  samples(labels: MetricSample['labels']): MetricSample[] {
    const samples: MetricSample[] = [];
    let count = 0;
    for (let at = 0; at < this.counts.length; at += 1) {
      count += this.counts[at] ?? 0;
      const bound = at < this.buckets.length ? String(this.buckets[at]) : '+Inf';
      samples.push({ suffix: '_bucket', labels: [...labels, ['le', bound]], value: count });
    }
    samples.push({ suffix: '_sum', labels, value: this.sum }, { suffix: '_count', labels, value: count });
    return samples;
  }
}
