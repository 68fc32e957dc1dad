import {
  type SharedWindow,
  type Store,
  WINDOW_PARTS,
  type WindowAddition,
  type WindowPart,
} from './store.ts';

/** Number of windows above which those that are over are looked for. */
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
    // One function may be subscribed twice, and each ends alone.
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
