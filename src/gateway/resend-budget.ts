const SLOTS = 10;
const SLOT_MS = 1000;
/** Of all requests, this part may be sent again. */
const SHARE = 0.2;
/** So many may in any case, for a gateway with little traffic. */
const LEAST = 10;

/**
 * How many requests may be sent again: of those of the last 10 seconds a fifth, and ten in any case, as with the retry budgets of Envoy
 * and linkerd. A service that resets every connection gets no storm.
 */
export class ResendBudget {
  private readonly now: () => number;
  private readonly requests = new Array<number>(SLOTS).fill(0);
  private readonly resends = new Array<number>(SLOTS).fill(0);
  /** The second that counts now, by its number. */
  private second = 0;

  /** `now` tells milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** Counts a request that is sent for the first time, at `now`. */
  count(now: number): void {
    this.advance(now);
    const slot = this.second % SLOTS;
    this.requests[slot] = (this.requests[slot] ?? 0) + 1;
  }

  /** True when a request may be sent again, which is counted then. */
  take(): boolean {
    this.advance(this.now());
    if (sum(this.resends) >= Math.max(LEAST, SHARE * sum(this.requests))) return false;
    const slot = this.second % SLOTS;
    this.resends[slot] = (this.resends[slot] ?? 0) + 1;
    return true;
  }

  private advance(now: number): void {
    const second = Math.floor(now / SLOT_MS);
    for (let count = Math.min(second - this.second, SLOTS); count > 0; count -= 1) {
      const slot = (second - count + 1) % SLOTS;
      this.requests[slot] = 0;
      this.resends[slot] = 0;
    }
    this.second = second;
  }
}

function sum(slots: readonly number[]): number {
  let total = 0;
  for (const count of slots) total += count;
  return total;
}
