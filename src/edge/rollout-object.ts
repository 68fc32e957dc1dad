import { DurableObject } from 'cloudflare:workers';
import { type KeptWindow, MemoryStore } from '../rollout/memory-store.ts';
import type { WindowAddition, WindowCounts } from '../rollout/store.ts';
import type { EdgeBindings, RemoteStore } from './edge-bindings.ts';

/** Windows that outlive the object in memory: few, and a rollback depends on them. Those of the rate shield begin anew. */
const KEPT_WINDOWS = 'canary/';

/** Milliseconds from a count until it is kept; the platform evicts an object that has been idle for ten seconds or longer. */
const KEEP_AFTER_MS = 1000;

/**
 * What all isolates of a deployment share: texts in the storage of the object, with a copy in Workers KV where one is bound, and
 * counts in windows in its memory. It handles one event at a time, so that what it compares is what it sets.
 */
export class RolloutObject extends DurableObject<EdgeBindings> implements RemoteStore {
  private readonly windows = new MemoryStore(Date.now);
  private isKeeping = false;

  constructor(...[ctx, env]: ConstructorParameters<typeof DurableObject<EdgeBindings>>) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(async () => {
      const kept = await ctx.storage.get('windows');
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keepWindows`, as structured clone
      if (kept !== undefined) this.windows.restore(kept as readonly KeptWindow[]);
    });
  }

  async read(key: string): Promise<string | undefined> {
    const text = await this.ctx.storage.get(`text/${key}`);
    return typeof text === 'string' ? text : undefined;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    if ((await this.read(key)) !== before) return false;
    await this.ctx.storage.put(`text/${key}`, after);
    const copied = this.env.ROLLOUT_COPY?.put(key, after);
    // Without its copy the state is as true as before.
    if (copied !== undefined) this.ctx.waitUntil(copied.catch(() => undefined));
    return true;
  }

  count(additions: readonly WindowAddition[]): Promise<readonly WindowCounts[]> {
    const isKept = additions.some(
      ({ key, add }) => key.startsWith(KEPT_WINDOWS) && add.some((number) => number !== 0),
    );
    if (isKept && !this.isKeeping) {
      this.isKeeping = true;
      setTimeout(() => this.keepWindows(), KEEP_AFTER_MS);
    }
    return this.windows.count(additions);
  }

  private keepWindows(): void {
    this.isKeeping = false;
    this.ctx.waitUntil(this.ctx.storage.put('windows', this.windows.snapshot(KEPT_WINDOWS)));
  }
}
