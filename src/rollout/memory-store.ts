import type { SharedWindow, Store, WindowAddition } from './store.ts';
import { WindowTable } from './window-table.ts';

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
