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
  /** The open exchanges by slot. A `Set`, which allocates as they come and go, took 10 µs per request. */
  private readonly slots: (WatchedExchange | undefined)[] = [];
  private readonly freeSlots: number[] = [];
  private lastProgress = new Map<WatchedExchange, ProgressMark>();

  /** Starts to watch an exchange; returns its slot, for `end`. */
  begin(exchange: WatchedExchange): number {
    const slot = this.freeSlots.pop() ?? this.slots.length;
    this.slots[slot] = exchange;
    return slot;
  }

  /** Stops watching the exchange in a slot. */
  end(slot: number): void {
    this.slots[slot] = undefined;
    this.freeSlots.push(slot);
  }

  /** Ends the exchanges that made no progress for `limitMs` before `now`, as far as earlier checks show; returns their number. */
  check(now: number, limitMs: number): number {
    const lastProgress = new Map<WatchedExchange, ProgressMark>();
    const stuck: WatchedExchange[] = [];
    for (const exchange of this.slots) {
      if (exchange === undefined) continue;
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
