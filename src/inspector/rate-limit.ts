/** How often something may be done: so often at once, and so often a second from then on. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Addresses that are counted apart; the one that was seen first makes room. */
const MOST_ADDRESSES = 1000;

interface Bucket {
  left: number;
  /** Milliseconds of the clock when `left` was right. */
  at: number;
}

/** Counts what is done from each address, and says when it is too much. */
export class RateLimit {
  private readonly rate: Rate;
  private readonly time: () => number;
  private readonly buckets = new Map<string, Bucket>();

  /** `time` is milliseconds. */
  constructor(rate: Rate, time: () => number) {
    this.rate = rate;
    this.time = time;
  }

  /** Whether nothing more may be done from `address` at the moment. */
  isSpent(address: string): boolean {
    return this.bucketOf(address).left < 1;
  }

  /** Counts one more from `address`; false when it is one too many. */
  take(address: string): boolean {
    const bucket = this.bucketOf(address);
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
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
    if (this.buckets.size >= MOST_ADDRESSES && oldest !== undefined) this.buckets.delete(oldest);
    const bucket = { left: burst, at: now };
    this.buckets.set(address, bucket);
    return bucket;
  }
}

/** The address that a request came from, as Node's server knows it; one for all where it is not known. */
export function addressOf(environment: unknown): string {
  const incoming = memberOf(environment, 'incoming');
  const address = memberOf(memberOf(incoming, 'socket'), 'remoteAddress');
  return typeof address === 'string' ? address : '';
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const member: unknown = Reflect.get(value, name);
  return member;
}
