/** Limits the bytes that all requests together may hold. */
export class BufferBudget {
  /** Bytes held now, counting every copy. */
  held = 0;
  readonly limit: number;
  private readonly copies: number;

  /** `copies` is the number of copies of each byte in memory. */
  constructor(limit: number, copies = 1) {
    this.limit = limit;
    this.copies = copies;
  }

  /** Reserves `bytes`, for all copies or for `copies`; returns false and reserves nothing when they do not fit. */
  acquire(bytes: number, copies = this.copies): boolean {
    const total = bytes * copies;
    if (this.held + total > this.limit) return false;
    this.held += total;
    return true;
  }

  /**
   * True if `copies` times `bytes` (by default as many as a body can have) fit into a share of the limit, in addition to the bytes that
   * are held.
   */
  fits(bytes: number, share: number, copies = this.copies): boolean {
    return this.held + bytes * copies <= this.limit * share;
  }

  /** True if all copies of `bytes`, and `beside` once, would not fit even if nothing else were held. */
  exceeds(bytes: number, beside = 0): boolean {
    return bytes * this.copies + beside > this.limit;
  }

  /** Releases reserved bytes. */
  release(bytes: number, copies = this.copies): void {
    this.held -= bytes * copies;
  }
}

export interface WatchedExchange {
  /** Changes with every byte received or sent, and when the request is sent. */
  readonly progress: number;
  /** Milliseconds that the client may take to read the rest of the response. */
  readonly readingMs: number;
  /** Ends the exchange in any state of its two sides, and frees its slot. */
  abandon(): void;
}

/**
 * Finds exchanges without progress for longer than all timeouts together. Each of them results from a bug and would hold its slot
 * forever; thousands of them would be an outage. Keeps nothing of a finished exchange.
 */
export class ExchangeWatchdog<Watched extends WatchedExchange = WatchedExchange> {
  /** The exchanges in progress. */
  readonly open = new IndexPool<Watched>();
  /** By index: the progress at the last check, or -1 before the first check, and the time when that progress was first seen. */
  private readonly lastProgress: number[] = [];
  private readonly since: number[] = [];

  /** Starts to watch an exchange; returns its index, for `end`. */
  begin(exchange: Watched): number {
    const index = this.open.add(exchange);
    this.lastProgress[index] = -1;
    return index;
  }

  /** Stops watching the exchange with an index. */
  end(index: number): void {
    this.open.remove(index);
  }

  /** Ends the exchanges that made no progress for `limitMs` before `now`, according to earlier checks; returns their number. */
  check(now: number, limitMs: number): number {
    const { lastProgress, since } = this;
    const stuck: WatchedExchange[] = [];
    for (const [index, exchange] of this.open.entries()) {
      const { progress, readingMs } = exchange;
      if (progress !== lastProgress[index]) {
        lastProgress[index] = progress;
        since[index] = now;
      }
      if (now - (since[index] ?? now) > limitMs + readingMs) stuck.push(exchange);
    }
    for (const exchange of stuck) exchange.abandon();
    return stuck.length;
  }
}

/**
 * A collection for items that are added and removed thousands of times a second, at indexes that are reused. A `Set` creates a new table
 * every few dozen operations. Each old table keeps its items alive until a full garbage collection, so V8 copies them instead of freeing
 * them.
 */
export class IndexPool<Item> implements Iterable<Item> {
  private readonly items: (Item | undefined)[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.items.length - this.free.length;
  }

  add(item: Item): number {
    const index = this.free.pop() ?? this.items.length;
    this.items[index] = item;
    return index;
  }

  remove(index: number): void {
    this.items[index] = undefined;
    this.free.push(index);
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const item of this.items) if (item !== undefined) yield item;
  }

  *entries(): Generator<readonly [index: number, item: Item]> {
    for (const [index, item] of this.items.entries()) if (item !== undefined) yield [index, item];
  }
}

/** A finished exchange. */
export interface EndedExchange {
  /** Logs it, and shows it to the observer. */
  record(): void;
}

/** Calls a function after all sockets that are readable in this turn of the event loop were read. */
export type OnCheckPhase = (run: () => void) => void;

/**
 * Records the exchanges that ended in one turn of the event loop together, so that the code stays in the processor's caches. A passed
 * request of 1 KB then takes 93 % of the processor time that it takes if each exchange is recorded at once.
 */
export class RecordQueue {
  private readonly onError: (error: unknown) => void;
  private readonly onCheckPhase: OnCheckPhase | undefined;
  private waiting: EndedExchange[] = [];

  /**
   * Without `onCheckPhase`, each exchange is recorded at once. `onError` gets errors of `record`, when the client already has its
   * response.
   */
  constructor(onError: (error: unknown) => void, onCheckPhase: OnCheckPhase | undefined) {
    this.onError = onError;
    this.onCheckPhase = onCheckPhase;
  }

  add(exchange: EndedExchange): void {
    if (this.waiting.length === 0) this.onCheckPhase?.(this.flush);
    this.waiting.push(exchange);
    if (this.onCheckPhase === undefined) this.flush();
  }

  /** Records the waiting exchanges, in the order in which they ended. */
  readonly flush = (): void => {
    const { waiting } = this;
    if (waiting.length === 0) return;
    this.waiting = [];
    for (const exchange of waiting) {
      try {
        exchange.record();
      } catch (error) {
        this.onError(error);
      }
    }
  };
}
