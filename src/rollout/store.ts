/** Parts into which a store divides every window. */
export const WINDOW_PARTS = 12;

/** Numbers to add to a window that all replicas share. */
export interface WindowAddition {
  /** Name of the window; additions with the same name have the same length and as many numbers. */
  readonly key: string;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
  /** Numbers to add to the current part; zeros only read the window. */
  readonly add: readonly number[];
}

/** Counts of one twelfth of a window, of all replicas together. */
export interface WindowPart {
  /** Number of the part: milliseconds since 1970 on the clock of the store, divided by the length of a part, rounded down. */
  readonly part: number;
  readonly counts: readonly number[];
}

/** Counts of a window after an addition. */
export interface SharedWindow {
  /** The current part, which took the addition. */
  readonly part: number;
  /** Parts of the window with counts, the oldest first. Parts older than the window are left out. */
  readonly parts: readonly WindowPart[];
}

/**
 * The place that replicas share. It keeps texts by key, replaces them by compare-and-set, and counts in windows. The clock of the
 * store divides the windows, so that clocks of replicas may differ. Every method rejects while the store cannot be reached;
 * a promise may also stay pending, so callers limit the time that they wait.
 */
export interface Store {
  /** Returns the text of a key; undefined when there is none. */
  read(key: string): Promise<string | undefined>;
  /** Replaces `before` (undefined: no text) by `after`. Resolves to false, and changes nothing, if the text differs from `before`. */
  compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean>;
  /** Adds to windows; resolves to the counts of each, in the order of the additions. */
  count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]>;
  /**
   * Calls `changed` when the text of a key may have changed; the returned function ends this. A call may be lost while the store is out
   * of reach, so callers also read from time to time.
   */
  subscribe(key: string, changed: () => void): () => void;
  /** Releases connections and files. */
  close(): Promise<void>;
}

/** Milliseconds after which a replica without the store judges canaries by its own requests. */
const JUDGE_ALONE_MS = 3000;

/** Maximum windows in one call to the store. */
const MAX_WINDOWS = 500;

/** Sums the parts of a window, number by number; it has `length` numbers. */
export function windowSums({ parts }: SharedWindow, length: number): readonly number[] {
  return Array.from({ length }, (_, index) =>
    parts.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0),
  );
}

/** Clock, timers and chance of a replica. */
export interface ReplicaClock {
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Runs something after some milliseconds; the returned function cancels this. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/** Parts of a contact. */
interface StoreContactParts {
  readonly clock: ReplicaClock;
  /** Milliseconds that one call to the store may take. */
  readonly timeoutMs: number;
  /** Called with the reason when the store is out of reach. */
  readonly onLost: (reason: string) => void;
  /** Called when the store is in reach again, with the milliseconds for which it was not. */
  readonly onFound: (aloneMs: number) => void;
}

/** Uses of a store: one may fail while the other works, as on a full disk. */
type StoreUse = 'rollout' | 'windows' | 'report';

/** Whether a replica reaches the store, and since when it does not. */
export class StoreContact {
  private readonly parts: StoreContactParts;
  private readonly failing = new Set<StoreUse>();
  private lostSince: { readonly at: number; readonly reason: string } | undefined;
  private wasReached = false;

  constructor(parts: StoreContactParts) {
    this.parts = parts;
  }

  /** Since when the store has been out of reach, in milliseconds since 1970, and why; undefined while it is in reach. */
  get lost(): { readonly at: number; readonly reason: string } | undefined {
    return this.lostSince;
  }

  /** True once the store was reached, and while it is in reach. */
  get isTogether(): boolean {
    return this.wasReached && this.lostSince === undefined;
  }

  /**
   * True while canaries are judged by the counts of all replicas: otherwise a replica that lost one call would judge a whole fleet by its
   * own few requests.
   */
  get hasSums(): boolean {
    const { lostSince } = this;
    if (lostSince === undefined) return this.wasReached;
    return this.wasReached && this.parts.clock.time() - lostSince.at < JUDGE_ALONE_MS;
  }

  /** Runs something that calls the store; resolves to false when the store is out of reach. Never rejects. */
  async attempt(use: StoreUse, run: () => Promise<void>): Promise<boolean> {
    try {
      await run();
    } catch (error) {
      this.failing.add(use);
      this.lose(error instanceof Error ? error.message : String(error));
      return false;
    }
    this.failing.delete(use);
    if (this.failing.size === 0) this.find();
    return true;
  }

  /** Rejects when the store does not respond in time; its late response is dropped. */
  limited<Value>(response: Promise<Value>): Promise<Value> {
    const { clock, timeoutMs } = this.parts;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(timeoutMs, () => reject(new Error(`no response within ${timeoutMs} ms`)));
      response.then(resolve, reject).finally(cancel);
    });
  }

  private lose(reason: string): void {
    if (this.lostSince !== undefined) return;
    this.lostSince = { at: this.parts.clock.time(), reason };
    this.parts.onLost(reason);
  }

  private find(): void {
    const since = this.lostSince?.at;
    this.wasReached = true;
    this.lostSince = undefined;
    if (since !== undefined) this.parts.onFound(Math.max(0, this.parts.clock.time() - since));
  }
}

/** A text that replicas share, with the revision at which it was set; a store's revisions only grow. */
export interface StoredRecord {
  readonly key: string;
  readonly text: string;
  readonly revision: number;
}

/** A text to set, and the revision of the text that it replaces; 0 when there is none. */
export interface RecordChange {
  readonly key: string;
  readonly text: string;
  readonly revision: number;
}

/** Records that were set after a revision. */
export interface RecordPage {
  /** Names the life of the records, which changes after the store lost them; empty before the first record. */
  readonly life: string;
  /** In the order of their revisions; fewer than the limit when there are no more. */
  readonly records: readonly StoredRecord[];
}

/** The outcome of a replacement. */
export interface Replaced {
  readonly life: string;
  /** Revision of the last of the records, which have consecutive ones. */
  readonly revision: number;
}

/**
 * Records that all replicas write and follow, beside the texts of a `Store`: one call replaces several, and a replica reads only those
 * that changed. Every method rejects while the store cannot be reached; a promise may also stay pending.
 */
export interface RecordStore {
  /** Returns the first `limit` records that were set after a revision. */
  changes(after: number, limit: number): Promise<RecordPage>;
  /**
   * Sets all of the records; sets none and resolves to undefined if one of them has another revision by now, or the store another
   * life.
   */
  replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined>;
}

/** Something that counts in windows of all replicas. */
export interface WindowSource {
  /** Returns the counts since the last call; with `all`, also windows without counts whose sums are of interest. */
  additions(all: boolean): readonly WindowAddition[];
  /** Takes the counts of all replicas for a window of `additions`, the addition included. */
  merge(key: string, counts: SharedWindow, added: readonly number[]): void;
}

/**
 * Adds this replica's counts to the store, and hands the sums of all replicas to the sources. Counts that do not reach the store are
 * dropped: nobody knows whether they were added, and a replica that is alone judges by its own.
 */
export class WindowExchange {
  private readonly store: Store;
  private readonly contact: StoreContact;
  private readonly sources: WindowSource[] = [];
  private working: Promise<void> | undefined;

  constructor(store: Store, contact: StoreContact) {
    this.store = store;
    this.contact = contact;
  }

  add(source: WindowSource): void {
    this.sources.push(source);
  }

  /** Exchanges counts once; while an exchange is under way, resolves with it instead. Never rejects. */
  exchange(all: boolean): Promise<void> {
    this.working ??= this.run(all).finally(() => {
      this.working = undefined;
    });
    return this.working;
  }

  /** Exchanges counts once, after the exchange under way if there is one. Never rejects. */
  async exchangeAnew(): Promise<void> {
    await this.working;
    await this.exchange(false);
  }

  private async run(all: boolean): Promise<void> {
    const gathered = this.sources.flatMap((source) =>
      source.additions(all).map((addition) => ({ source, addition })),
    );
    for (let at = 0; at < gathered.length; at += MAX_WINDOWS) {
      const batch = gathered.slice(at, at + MAX_WINDOWS);
      const isReached = await this.contact.attempt('windows', async () => {
        const counts = await this.contact.limited(this.store.count(batch.map(({ addition }) => addition)));
        for (const [index, { source, addition }] of batch.entries()) {
          const sums = counts[index];
          if (sums !== undefined) source.merge(addition.key, sums, addition.add);
        }
      });
      if (!isReached) return;
    }
  }
}

/** Number of windows above which the table looks for those that are over. */
const SWEEP_WINDOWS = 1000;

/** A store in the memory of one process: for the processes of one gateway, for tests and for simulations. */
export class MemoryStore implements Store {
  private readonly time: () => number;
  private readonly texts = new Map<string, string>();
  private readonly windows = new WindowTable();
  private readonly subscribers = new Map<string, Set<() => void>>();

  /** `time` is milliseconds since 1970. */
  constructor(time: () => number) {
    this.time = time;
  }

  async read(key: string): Promise<string | undefined> {
    return this.texts.get(key);
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    if (this.texts.get(key) !== before) return false;
    this.texts.set(key, after);
    for (const changed of this.subscribers.get(key) ?? []) changed();
    return true;
  }

  async count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const now = this.time();
    return additions.map((addition) => this.windows.add(addition, now));
  }

  subscribe(key: string, changed: () => void): () => void {
    // One function may be subscribed twice, and each subscription ends by itself.
    const call = (): void => changed();
    const subscribers = this.subscribers.get(key) ?? new Set();
    this.subscribers.set(key, subscribers.add(call));
    return () => void subscribers.delete(call);
  }

  async close(): Promise<void> {
    this.subscribers.clear();
  }
}

/** A window with its parts, the oldest first. */
export interface KeptWindow {
  readonly key: string;
  readonly windowMs: number;
  readonly parts: readonly WindowPart[];
}

interface Window {
  readonly windowMs: number;
  /** Counts by number of the part; the oldest first. */
  readonly parts: Map<number, readonly number[]>;
}

/** Counts in windows, for stores that have no windows of their own. Windows that are over are forgotten. */
export class WindowTable {
  private readonly windows = new Map<string, Window>();
  private sweepAt = SWEEP_WINDOWS;

  /** Number of windows in memory. */
  get size(): number {
    return this.windows.size;
  }

  /** Adds to a window at `now` (milliseconds since 1970); returns its counts. */
  add({ key, windowMs, add }: WindowAddition, now: number): SharedWindow {
    const part = partOf(now, windowMs);
    const { parts } = this.windowOf(key, windowMs, now);
    for (const old of parts.keys()) if (old <= part - WINDOW_PARTS) parts.delete(old);
    if (add.some((number) => number !== 0)) {
      const counts = parts.get(part) ?? [];
      parts.set(
        part,
        add.map((number, index) => number + (counts[index] ?? 0)),
      );
    }
    return { part, parts: partsOf(parts) };
  }

  /** Windows that are not over at `now`. */
  list(now: number): readonly KeptWindow[] {
    this.sweep(now);
    return [...this.windows].map(([key, { windowMs, parts }]) => ({ key, windowMs, parts: partsOf(parts) }));
  }

  private windowOf(key: string, windowMs: number, now: number): Window {
    const known = this.windows.get(key);
    if (known !== undefined) return known;
    if (this.windows.size >= this.sweepAt) {
      this.sweep(now);
      this.sweepAt = Math.max(SWEEP_WINDOWS, this.windows.size * 2);
    }
    const window: Window = { windowMs, parts: new Map() };
    this.windows.set(key, window);
    return window;
  }

  private sweep(now: number): void {
    for (const [key, { windowMs, parts }] of this.windows) {
      const newest = [...parts.keys()].at(-1) ?? 0;
      if (newest <= partOf(now, windowMs) - WINDOW_PARTS) this.windows.delete(key);
    }
  }
}

/** Number of the part of a window at `now` (milliseconds since 1970). */
function partOf(now: number, windowMs: number): number {
  return Math.floor((now / windowMs) * WINDOW_PARTS);
}

function partsOf(parts: Window['parts']): readonly WindowPart[] {
  return [...parts].map(([part, counts]) => ({ part, counts }));
}
