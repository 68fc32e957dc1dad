import { type Store, WINDOW_PARTS, type WindowAddition, type WindowCounts } from './store.ts';

/** A window as it can be kept. */
export interface KeptWindow {
  readonly key: string;
  readonly windowMs: number;
  /** Counts by number of the part; the oldest first. */
  readonly parts: readonly (readonly [part: number, counts: readonly number[]])[];
}

interface Window {
  readonly windowMs: number;
  /** Counts by number of the part; the oldest first. */
  readonly parts: Map<number, readonly number[]>;
}

/** Number of windows above which those that are over are looked for. */
const SWEEP_WINDOWS = 1000;

/** A store in the memory of one process: for the processes of one gateway, for tests and for simulations. */
export class MemoryStore implements Store {
  private readonly time: () => number;
  private readonly texts = new Map<string, string>();
  private readonly windows = new Map<string, Window>();
  private readonly subscribers = new Map<string, Set<() => void>>();
  private sweepAt = SWEEP_WINDOWS;

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

  async count(additions: readonly WindowAddition[]): Promise<readonly WindowCounts[]> {
    const now = this.time();
    return additions.map((addition) => this.add(addition, now));
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

  /** Returns the windows whose names begin with `prefix`, for `restore`. */
  snapshot(prefix: string): readonly KeptWindow[] {
    this.sweep(this.time());
    return [...this.windows]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { windowMs, parts }]) => ({ key, windowMs, parts: [...parts] }));
  }

  /** Begins with windows that were kept. */
  restore(windows: readonly KeptWindow[]): void {
    for (const { key, windowMs, parts } of windows)
      this.windows.set(key, { windowMs, parts: new Map(parts) });
  }

  /** Number of windows in memory. */
  get size(): number {
    return this.windows.size;
  }

  private add({ key, windowMs, add }: WindowAddition, now: number): WindowCounts {
    const part = partOf(now, windowMs);
    const window = this.windowOf(key, windowMs, now);
    for (const old of window.parts.keys()) if (old <= part - WINDOW_PARTS) window.parts.delete(old);
    if (add.some((number) => number !== 0)) {
      const counts = window.parts.get(part) ?? [];
      window.parts.set(
        part,
        add.map((number, index) => number + (counts[index] ?? 0)),
      );
    }
    return { part, parts: [...window.parts].map(([number, counts]) => ({ part: number, counts })) };
  }

  private windowOf(key: string, windowMs: number, now: number): Window {
    const known = this.windows.get(key);
    if (known !== undefined) return known;
    if (this.windows.size >= this.sweepAt) this.sweep(now);
    const window: Window = { windowMs, parts: new Map() };
    this.windows.set(key, window);
    return window;
  }

  private sweep(now: number): void {
    for (const [key, { windowMs, parts }] of this.windows) {
      const newest = [...parts.keys()].at(-1) ?? 0;
      if (newest <= partOf(now, windowMs) - WINDOW_PARTS) this.windows.delete(key);
    }
    this.sweepAt = Math.max(SWEEP_WINDOWS, this.windows.size * 2);
  }
}

/** Number of the part of a window at `now` (milliseconds since 1970). */
function partOf(now: number, windowMs: number): number {
  return Math.floor((now / windowMs) * WINDOW_PARTS);
}
