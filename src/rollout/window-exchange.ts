import type { SharedWindow, Store, WindowAddition } from './store.ts';
import type { StoreContact } from './store-contact.ts';

/** Something that counts in windows of all replicas. */
export interface WindowSource {
  /** Returns what was counted since the last call; with `all`, also windows without counts whose sums are of interest. */
  additions(all: boolean): readonly WindowAddition[];
  /** Takes the counts of all replicas for a window of `additions`, the addition included. */
  merge(key: string, counts: SharedWindow, added: readonly number[]): void;
}

/** Maximum number of windows in one call of the store. */
const MAX_WINDOWS = 500;

/**
 * Adds to the store what this replica counted, and hands the sums of all replicas to whoever counts. Counts that do not reach the
 * store are dropped: nobody knows whether they were added, and a replica that is alone judges its own.
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
