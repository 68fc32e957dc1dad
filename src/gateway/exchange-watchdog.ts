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

interface ProgressMark {
  readonly progress: number;
  readonly at: number;
}

/**
 * Finds exchanges without progress for longer than all timeouts together. Each of them is the effect of a bug and would hold its
 * slot forever: thousands of them would be an outage.
 */
export class ExchangeWatchdog {
  private readonly open = new Slots<WatchedExchange>();
  private lastProgress = new Map<WatchedExchange, ProgressMark>();

  /** Starts to watch an exchange; returns its slot, for `end`. */
  begin(exchange: WatchedExchange): number {
    return this.open.add(exchange);
  }

  /** Stops watching the exchange in a slot. */
  end(slot: number): void {
    this.open.remove(slot);
  }

  /** Ends the exchanges that made no progress for `limitMs` before `now`, as far as earlier checks show; returns their number. */
  check(now: number, limitMs: number): number {
    const lastProgress = new Map<WatchedExchange, ProgressMark>();
    const stuck: WatchedExchange[] = [];
    for (const exchange of this.open) {
      const { progress, readingMs } = exchange;
      const before = this.lastProgress.get(exchange);
      const latest = before?.progress === progress ? before : { progress, at: now };
      if (now - latest.at > limitMs + readingMs) stuck.push(exchange);
      else lastProgress.set(exchange, latest);
    }
    this.lastProgress = lastProgress;
    for (const exchange of stuck) exchange.abandon();
    return stuck.length;
  }
}
