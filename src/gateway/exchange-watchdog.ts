/** An exchange that is looked at. */
export interface WatchedExchange {
  /** Changes whenever a byte comes or goes, or the request is sent. */
  readonly progress: number;
  /** Milliseconds that its client may take for what it has still to read. */
  readonly readingMs: number;
  /** Ends it, whatever its sides tell, and gives its place back. */
  giveUp(): void;
}

interface Mark {
  readonly progress: number;
  readonly at: number;
}

/**
 * Finds exchanges in which nothing moves for longer than all limits together. There is always a bug behind one, and each would hold its
 * place for ever: thousands of them would be an outage.
 */
export class ExchangeWatchdog {
  /** The open exchanges by slot. A set, which allocates as they come and go, took 10 µs a request. */
  private readonly slots: (WatchedExchange | undefined)[] = [];
  private readonly freeSlots: number[] = [];
  private marks = new Map<WatchedExchange, Mark>();

  /** Watches an exchange; returns the slot to end it by. */
  begin(exchange: WatchedExchange): number {
    const slot = this.freeSlots.pop() ?? this.slots.length;
    this.slots[slot] = exchange;
    return slot;
  }

  /** Watches the exchange of a slot no longer. */
  end(slot: number): void {
    this.slots[slot] = undefined;
    this.freeSlots.push(slot);
  }

  /** Ends the exchanges in which nothing has moved for `limitMs` before `now`, as far as earlier looks can tell; returns how many. */
  look(now: number, limitMs: number): number {
    const marks = new Map<WatchedExchange, Mark>();
    const stuck: WatchedExchange[] = [];
    for (const exchange of this.slots) {
      if (exchange === undefined) continue;
      const { progress, readingMs } = exchange;
      const before = this.marks.get(exchange);
      const mark = before?.progress === progress ? before : { progress, at: now };
      if (now - mark.at > limitMs + readingMs) stuck.push(exchange);
      else marks.set(exchange, mark);
    }
    this.marks = marks;
    for (const exchange of stuck) exchange.giveUp();
    return stuck.length;
  }
}
