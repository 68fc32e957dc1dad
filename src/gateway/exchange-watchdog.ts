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
  private readonly open = new Set<WatchedExchange>();
  private marks = new Map<WatchedExchange, Mark>();

  begin(exchange: WatchedExchange): void {
    this.open.add(exchange);
  }

  end(exchange: WatchedExchange): void {
    this.open.delete(exchange);
  }

  /** Ends the exchanges in which nothing has moved for `limitMs` before `now`, as far as earlier looks can tell; returns how many. */
  look(now: number, limitMs: number): number {
    const marks = new Map<WatchedExchange, Mark>();
    const stuck: WatchedExchange[] = [];
    for (const exchange of this.open) {
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
