const SLOTS = 10;
const SLOT_MS = 1000;
/** Share of all requests that may be retried. */
const RETRY_SHARE = 0.2;
/** Retries that are always allowed, for a gateway with little traffic. */
const MIN_RETRIES = 10;

/**
 * Limits retries to a fifth of the requests of the last 10 seconds, and ten in any case, like the retry budgets of Envoy and
 * linkerd. A service that resets every connection does not cause a retry storm.
 */
export class RetryBudget {
  private readonly now: () => number;
  private readonly requests = new Array<number>(SLOTS).fill(0);
  private readonly retries = new Array<number>(SLOTS).fill(0);
  /** Number of the current second. */
  private second = 0;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** Counts a request that is sent for the first time at `now`. */
  count(now: number): void {
    this.advance(now);
    const slot = this.second % SLOTS;
    this.requests[slot] = (this.requests[slot] ?? 0) + 1;
  }

  /** Returns true, and counts a retry, when a request may be sent again. */
  take(): boolean {
    this.advance(this.now());
    if (sum(this.retries) >= Math.max(MIN_RETRIES, RETRY_SHARE * sum(this.requests))) return false;
    const slot = this.second % SLOTS;
    this.retries[slot] = (this.retries[slot] ?? 0) + 1;
    return true;
  }

  private advance(now: number): void {
    const second = Math.floor(now / SLOT_MS);
    for (let count = Math.min(second - this.second, SLOTS); count > 0; count -= 1) {
      const slot = (second - count + 1) % SLOTS;
      this.requests[slot] = 0;
      this.retries[slot] = 0;
    }
    this.second = second;
  }
}

function sum(slots: readonly number[]): number {
  let total = 0;
  for (const count of slots) total += count;
  return total;
}
