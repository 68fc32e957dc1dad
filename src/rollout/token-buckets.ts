/** The size of a token bucket, and how fast it fills. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Maximum keys with a bucket of their own; the oldest is evicted. */
const MAX_KEYS = 1000;

interface Bucket {
  left: number;
  /** Time at which `left` was computed, in milliseconds. */
  at: number;
}

/** One token bucket for each key, such as an address or a client hash. */
export class TokenBuckets {
  private readonly rate: Rate;
  private readonly time: () => number;
  private readonly buckets = new Map<string, Bucket>();

  /** `time` is a clock in milliseconds. */
  constructor(rate: Rate, time: () => number) {
    this.rate = rate;
    this.time = time;
  }

  /** True while the bucket of `key` is empty. */
  isSpent(key: string): boolean {
    return this.bucketOf(key).left < 1;
  }

  /** Takes a token; false when there is none. */
  take(key: string): boolean {
    const bucket = this.bucketOf(key);
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

  /** Whole seconds until there is a token; 0 when there is one now. */
  waitSeconds(key: string): number {
    return Math.max(0, Math.ceil((1 - this.bucketOf(key).left) / this.rate.perSecond));
  }

  private bucketOf(key: string): Bucket {
    const { burst, perSecond } = this.rate;
    const now = this.time();
    const known = this.buckets.get(key);
    if (known !== undefined) {
      known.left = Math.min(burst, known.left + (Math.max(0, now - known.at) / 1000) * perSecond);
      known.at = now;
      return known;
    }
    const [oldest] = this.buckets.keys();
    if (this.buckets.size >= MAX_KEYS && oldest !== undefined) this.buckets.delete(oldest);
    const bucket = { left: burst, at: now };
    this.buckets.set(key, bucket);
    return bucket;
  }
}
