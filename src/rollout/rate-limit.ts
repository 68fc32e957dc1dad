/** A rate limit: a burst, and a rate per second. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Maximum addresses counted separately; the oldest is evicted. */
const MAX_ADDRESSES = 1000;

interface Bucket {
  left: number;
  /** Time at which `left` was computed, in milliseconds. */
  at: number;
}

/** Counts actions per address, and reports when a limit is exceeded. */
export class RateLimit {
  private readonly rate: Rate;
  private readonly time: () => number;
  private readonly buckets = new Map<string, Bucket>();

  /** `time` is a clock in milliseconds. */
  constructor(rate: Rate, time: () => number) {
    this.rate = rate;
    this.time = time;
  }

  /** True while `address` has used up its limit. */
  isSpent(address: string): boolean {
    return this.bucketOf(address).left < 1;
  }

  /** Counts one more from `address`; false when it exceeds the limit. */
  take(address: string): boolean {
    const bucket = this.bucketOf(address);
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

  /** Whole seconds until `address` may act again; 0 when it may now. */
  waitSeconds(address: string): number {
    return Math.max(0, Math.ceil((1 - this.bucketOf(address).left) / this.rate.perSecond));
  }

  private bucketOf(address: string): Bucket {
    const { burst, perSecond } = this.rate;
    const now = this.time();
    const known = this.buckets.get(address);
    if (known !== undefined) {
      known.left = Math.min(burst, known.left + (Math.max(0, now - known.at) / 1000) * perSecond);
      known.at = now;
      return known;
    }
    const [oldest] = this.buckets.keys();
    if (this.buckets.size >= MAX_ADDRESSES && oldest !== undefined) this.buckets.delete(oldest);
    const bucket = { left: burst, at: now };
    this.buckets.set(address, bucket);
    return bucket;
  }
}
