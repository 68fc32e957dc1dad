import { Slots } from './slots.ts';

/** An exchange under watch. */
export interface WatchedExchange {
  /** Changes whenever a byte is received or sent, or the request is sent. */
  readonly progress: number;
  /** Milliseconds that the client may take to read the rest of the response. */
  readonly readingMs: number;
  /** Ends the exchange, whatever the state of its two sides, and frees its slot. */
  abandon(): void;
}

/**
 * Finds exchanges without progress for longer than all timeouts together. Each of them is the effect of a bug and would hold its
 * slot forever: thousands of them would be an outage. Of an exchange that is over, nothing is kept.
 */
export class ExchangeWatchdog {
  private readonly open = new Slots<WatchedExchange>();
  /** By slot: the progress that the last check found, or -1 before the first one, and when it was found first. */
  private readonly lastProgress: number[] = [];
  private readonly since: number[] = [];

  /** Starts to watch an exchange; returns its slot, for `end`. */
  begin(exchange: WatchedExchange): number {
    const slot = this.open.add(exchange);
    this.lastProgress[slot] = -1;
    return slot;
  }

  /** Stops watching the exchange in a slot. */
  end(slot: number): void {
    this.open.remove(slot);
  }

  /** Ends the exchanges that made no progress for `limitMs` before `now`, as far as earlier checks show; returns their number. */
  check(now: number, limitMs: number): number {
    const { lastProgress, since } = this;
    const stuck: WatchedExchange[] = [];
    for (const [slot, exchange] of this.open.entries()) {
      const { progress, readingMs } = exchange;
      if (progress !== lastProgress[slot]) {
        lastProgress[slot] = progress;
        since[slot] = now;
      }
      if (now - (since[slot] ?? now) > limitMs + readingMs) stuck.push(exchange);
    }
    for (const exchange of stuck) exchange.abandon();
    return stuck.length;
  }
}
