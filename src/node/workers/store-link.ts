import type { SharedWindow, Store, WindowAddition } from '../../rollout/store.ts';

/** A call of the store that the first process keeps for its workers. */
export type StoreCall =
  | { readonly method: 'read'; readonly key: string }
  | {
      readonly method: 'compare-and-set';
      readonly key: string;
      readonly before: string | undefined;
      readonly after: string;
    }
  | { readonly method: 'count'; readonly additions: readonly WindowAddition[] };

/** What a call of the store resolved to, or why it was rejected. */
export type StoreOutcome =
  | { readonly text: string | undefined }
  | { readonly isSet: boolean }
  | { readonly counts: readonly SharedWindow[] }
  | { readonly fault: string };

/** Carries out a call for a worker. Never rejects. */
export async function carryOutStoreCall(store: Store, call: StoreCall): Promise<StoreOutcome> {
  try {
    switch (call.method) {
      case 'read':
        return { text: await store.read(call.key) };
      case 'compare-and-set':
        return { isSet: await store.compareAndSet(call.key, call.before, call.after) };
      case 'count':
        return { counts: await store.count(call.additions) };
    }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** A worker's way to the store of the first process. */
export class StoreLink implements Store {
  private readonly send: (id: number, call: StoreCall) => void;
  private readonly pending = new Map<number, (outcome: StoreOutcome) => void>();
  private readonly subscribers = new Map<() => void, string>();
  private lastId = 0;

  /** `send` sends a call to the first process, which replies with its id. */
  constructor(send: (id: number, call: StoreCall) => void) {
    this.send = send;
  }

  async read(key: string): Promise<string | undefined> {
    const outcome = await this.call({ method: 'read', key });
    return 'text' in outcome ? outcome.text : undefined;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const outcome = await this.call({ method: 'compare-and-set', key, before, after });
    return 'isSet' in outcome && outcome.isSet;
  }

  async count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const outcome = await this.call({ method: 'count', additions });
    return 'counts' in outcome ? outcome.counts : [];
  }

  subscribe(key: string, changed: () => void): () => void {
    const call = (): void => changed();
    this.subscribers.set(call, key);
    return () => void this.subscribers.delete(call);
  }

  async close(): Promise<void> {
    this.subscribers.clear();
  }

  /** Ends a call with its outcome. */
  settle(id: number, outcome: StoreOutcome): void {
    const done = this.pending.get(id);
    this.pending.delete(id);
    done?.(outcome);
  }

  /** Tells subscribers that the text of a key may be another. */
  changed(key: string): void {
    for (const [call, subscribed] of this.subscribers) if (subscribed === key) call();
  }

  private async call(call: StoreCall): Promise<Exclude<StoreOutcome, { readonly fault: string }>> {
    this.lastId += 1;
    const id = this.lastId;
    const outcome = await new Promise<StoreOutcome>((resolve) => {
      this.pending.set(id, resolve);
      this.send(id, call);
    });
    if ('fault' in outcome) throw new Error(outcome.fault);
    return outcome;
  }
}
