/**
 * Evidence that V2 does worse than V1, which may be evaluated any number of times. An ordinary test, evaluated after each request, sooner
 * or later finds a difference although there is none (Johari, Koomen, Pekelis and Walsh, "Always Valid Inference: Continuous Monitoring
 * of A/B Tests", Operations Research 2022, and their "Peeking at A/B Tests", KDD 2017).
 *
 * Here the likelihood of what was seen, mixed over all shares that V1 and V2 may have, is divided by its largest likelihood under any
 * shares of the hypothesis "V2 is no worse". Under the true shares the quotient is at most a martingale of mean 1, so by Ville's
 * inequality it ever exceeds 1 / alpha with a probability of at most alpha, for any shares, any division of the requests, and any times
 * of evaluation (Wasserman, Ramdas and Balakrishnan, "Universal inference", PNAS 2020, §7; Howard, Ramdas,
 * McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021). The mixture
 * sequential ratio test of Johari et al. assumes normally distributed shares, which those of rare failures are not. This test assumes
 * that requests
 * fail independently of each other.
 */

/** Requests to one service, and those that count against it. */
export interface Sample {
  readonly requests: number;
  readonly failures: number;
}

/** Returns the logarithm of the evidence that V2 fails more often than V1. */
export function evidenceOfMore(v1: Sample, v2: Sample): number {
  const mixed = mixture(v1) + mixture(v2);
  const isMore = share(v2) > share(v1);
  if (!isMore) return mixed - likelihood(v1, share(v1)) - likelihood(v2, share(v2));
  const both = { requests: v1.requests + v2.requests, failures: v1.failures + v2.failures };
  return mixed - likelihood(both, share(both));
}

/** Returns the logarithm of the evidence that more than `limit` (from 0 to 1) of the requests fail. */
export function evidenceAbove(sample: Sample, limit: number): number {
  return mixture(sample) - likelihood(sample, Math.min(share(sample), limit));
}

/** Returns the logarithm of the evidence that fewer than `limit` (from 0 to 1) of the requests fail. */
function evidenceBelow({ requests, failures }: Sample, limit: number): number {
  return evidenceAbove({ requests, failures: requests - failures }, 1 - limit);
}

/** A sample with the bounds of its share, from 0 to 1, that hold at any time; each is wrong with the evidence `needed`, a logarithm. */
export function bounded(
  sample: Sample,
  needed: number,
): Sample & { readonly low: number; readonly high: number } {
  const { requests, failures } = sample;
  return {
    ...sample,
    low: lowerBound(sample, needed),
    high: 1 - lowerBound({ requests, failures: requests - failures }, needed),
  };
}

/** The greatest limit that the share of failures is above by the evidence. */
function lowerBound(sample: Sample, needed: number): number {
  let [low, high] = [0, share(sample)];
  while (high - low > 1e-6) {
    const middle = (low + high) / 2;
    if (evidenceAbove(sample, middle) >= needed) low = middle;
    else high = middle;
  }
  return low;
}

/** The share of failures among the requests; 0 without any. */
export function share({ requests, failures }: Sample): number {
  return requests === 0 ? 0 : failures / requests;
}

/** Logarithm of the likelihood of a sample, mixed over all shares by Jeffreys' prior, Beta(1/2, 1/2). */
function mixture({ requests, failures }: Sample): number {
  return logGamma(failures + 0.5) + logGamma(requests - failures + 0.5) - logGamma(requests + 1) - LOG_PI;
}

/** Logarithm of the likelihood of a sample under one share. */
function likelihood({ requests, failures }: Sample, of: number): number {
  const successes = requests - failures;
  return (
    (failures === 0 ? 0 : failures * Math.log(of)) + (successes === 0 ? 0 : successes * Math.log(1 - of))
  );
}

const LOG_PI = Math.log(Math.PI);

/** Stirling's series, after raising the argument until three terms are exact to ten digits. */
function logGamma(argument: number): number {
  let [x, product] = [argument, 1];
  while (x < 12) {
    product *= x;
    x += 1;
  }
  const series = (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x;
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series - Math.log(product);
}

/** Buckets of latencies: the first ends at 1 ms, each further one at √2 times the end of the previous one, the last has no end. */
export const BUCKETS = 31;

/** Returns the bucket of a latency in milliseconds. */
export function bucketOf(milliseconds: number): number {
  if (milliseconds <= 1) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(2 * Math.log2(milliseconds)));
}

/** End of a bucket in milliseconds; infinity for the last one. */
export function endOf(bucket: number): number {
  return bucket >= BUCKETS - 1 ? Number.POSITIVE_INFINITY : 2 ** (bucket / 2);
}

/**
 * The bounds of a quantile that hold at any time: it is above `above` and at most `below`, in milliseconds. For one quantile they need
 * no allowance for the number of its possible places, since the counts beside the true one are ordered (Howard and
 * Ramdas, "Sequential estimation of quantiles with applications to A/B testing and best-arm identification", Bernoulli 2022, §3).
 */
export interface QuantileBounds {
  readonly above: number;
  readonly below: number;
}

/** Returns the bounds of a quantile, such as 0.99, from counts by bucket; each is wrong with the evidence `needed`, a logarithm. */
export function quantileBounds(counts: readonly number[], quantile: number, needed: number): QuantileBounds {
  const requests = counts.reduce((sum, count) => sum + count, 0);
  let [above, below] = [0, Number.POSITIVE_INFINITY];
  let failures = requests;
  for (const [bucket, count] of counts.entries()) {
    // Slower than the end of this bucket.
    failures -= count;
    const sample = { requests, failures };
    if (evidenceAbove(sample, 1 - quantile) >= needed) above = endOf(bucket);
    else if (evidenceBelow(sample, 1 - quantile) >= needed) {
      below = endOf(bucket);
      break;
    }
  }
  return { above, below };
}

/** Returns the end of a quantile's bucket in milliseconds; undefined without counts. */
export function quantileOf(counts: readonly number[], quantile: number): number | undefined {
  const requests = counts.reduce((sum, count) => sum + count, 0);
  let [seen, bucket] = [0, 0];
  for (const count of counts) {
    seen += count;
    if (seen > 0 && seen >= quantile * requests) return endOf(bucket);
    bucket += 1;
  }
  return undefined;
}

/** Standard deviations that 99 of 100 samples reach. */
const DEVIATIONS = 2.4;

/** More requests than any canary waits for. */
const MAX_REQUESTS = 1e9;

/** The purpose of a planned sample. */
export interface SamplePlan {
  /** The share of V1's requests that fail. */
  readonly share: number;
  /** The difference to see, from 0 to 1. */
  readonly difference: number;
  /** Requests to V1 for each to V2. */
  readonly ratio: number;
  /** Logarithm of the evidence that is needed. */
  readonly needed: number;
}

/**
 * Returns how many requests to V2 show a difference in 99 of 100 samples; undefined if no number does. Each request adds evidence: the
 * divergence from the shares under which V2 is no worse, minus a term for the mixture over unknown shares.
 */
export function requestsToSee(plan: SamplePlan): number | undefined {
  let [low, high] = [1, 2];
  while (!isEnough(plan, high)) {
    [low, high] = [high, 2 * high];
    if (high > MAX_REQUESTS) return undefined;
  }
  while (high - low > 1 && high - low > low / 1000) {
    const middle = Math.floor((low + high) / 2);
    if (isEnough(plan, middle)) high = middle;
    else low = middle;
  }
  return high;
}

function isEnough({ share: p, difference, ratio, needed }: SamplePlan, requests: number): boolean {
  const q = Math.min(1, p + difference);
  const ofV1 = requests * ratio;
  const both = (ratio * p + q) / (1 + ratio);
  const gain = requests * (ratio * divergence(p, both) + divergence(q, both));
  const odds = Math.log(q / both) - Math.log((1 - q) / (1 - both));
  const deviationOfV2 = q < 1 ? q * (1 - q) * odds ** 2 : 0;
  const oddsOfV1 = p > 0 ? Math.log(p / both) - Math.log((1 - p) / (1 - both)) : 0;
  const deviation = Math.sqrt(requests * (deviationOfV2 + ratio * p * (1 - p) * oddsOfV1 ** 2));
  const cost = (Math.log(Math.PI * requests) + Math.log(Math.PI * Math.max(1, ofV1))) / 2;
  // The observed difference must also reach half of the true one, which counts as harm.
  const spread = Math.sqrt((p * (1 - p)) / ofV1 + (q * (1 - q)) / requests);
  return gain - DEVIATIONS * deviation - cost >= needed && DEVIATIONS * spread <= difference / 2;
}

/** Kullback-Leibler divergence of two shares. */
export function divergence(of: number, from: number): number {
  return (
    (of === 0 ? 0 : of * Math.log(of / from)) + (of === 1 ? 0 : (1 - of) * Math.log((1 - of) / (1 - from)))
  );
}
