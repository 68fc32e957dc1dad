import { DurableObject } from 'cloudflare:workers';
import {
  type SharedWindow,
  WINDOW_PARTS,
  type WindowAddition,
  type KeptWindow,
  WindowTable,
} from '../rollout/store.ts';
import { ROLLOUT_KEY } from '../rollout/stored-rollout.ts';
import type { RolloutTotals } from '../rollout/rollout-tally.ts';
import {
  type EdgeBindings,
  type RemoteStore,
  type RemoteTotals,
  type SharedTotals,
  TotalsTable,
} from './bindings.ts';

/** Windows that outlive the object in memory: few, and a rollback depends on them. Those of the rate shield start over. */
const KEPT_WINDOWS = 'canary/';

/** Windows of the rate shield are as many as clients. */
const SHIELD_WINDOWS = 'shield/';

/** Maximum number of windows: an object has 128 MB. Clients beyond it are counted by each isolate alone. */
const MAX_WINDOWS = 50_000;

/** Milliseconds between two looks for windows that are over, once there are so many. */
const SWEEP_MS = 1000;

/** Milliseconds from a count until it is kept; the platform evicts an object that has been idle for ten seconds or longer. */
const KEEP_AFTER_MS = 1000;

/** The same for totals: rows are paid for by the write, and no rollback depends on these. */
const KEEP_TOTALS_AFTER_MS = 5000;

/**
 * The state that all isolates of a deployment share: texts in the storage of the object, with a copy in Workers KV if one is
 * bound, and counts in windows and totals in its memory, which it writes to the storage. It handles one event at a time, so that
 * compare-and-set is atomic.
 */
export class RolloutObject extends DurableObject<EdgeBindings> implements RemoteStore, RemoteTotals {
  private readonly windows = new WindowTable();
  private readonly table: TotalsTable;
  private isKeeping = false;
  private isKeepingTotals = false;
  private sweptAt = 0;

  constructor(...[ctx, env]: ConstructorParameters<typeof DurableObject<EdgeBindings>>) {
    super(ctx, env);
    this.table = new TotalsTable(ctx.storage);
    void ctx.blockConcurrencyWhile(async () => {
      const kept = await ctx.storage.get('windows');
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keepWindows`, as structured clone
      if (kept !== undefined) this.restoreWindows(kept as readonly KeptWindow[]);
      await this.table.restore();
    });
  }

  async read(key: string): Promise<string | undefined> {
    const text = await this.ctx.storage.get(`text/${key}`);
    return typeof text === 'string' ? text : undefined;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    if ((await this.read(key)) !== before) return false;
    await this.ctx.storage.put(`text/${key}`, after);
    // An isolate starts with the copy of the rollout; lists of clients are read where they are.
    const copy = key === ROLLOUT_KEY ? this.env.ROLLOUT_COPY : undefined;
    const copied = async (): Promise<void> => copy?.put(key, after);
    // Without its copy the state is as true as before.
    if (copy !== undefined) this.ctx.waitUntil(copied().catch(() => undefined));
    return true;
  }

  async count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const isKept = additions.some(
      ({ key, add }) => key.startsWith(KEPT_WINDOWS) && add.some((number) => number !== 0),
    );
    if (isKept && !this.isKeeping) {
      this.isKeeping = true;
      setTimeout(() => this.keepWindows(), KEEP_AFTER_MS);
    }
    const now = Date.now();
    return additions.map((addition) =>
      addition.key.startsWith(SHIELD_WINDOWS) && this.isFull(now)
        ? countAlone(addition, now)
        : this.windows.add(addition, now),
    );
  }

  async addTotals(ruleBook: string, totals: RolloutTotals): Promise<void> {
    this.table.add(ruleBook, totals, Date.now());
    if (this.isKeepingTotals) return;
    this.isKeepingTotals = true;
    setTimeout(() => {
      this.isKeepingTotals = false;
      // What could not be written now is written with its next change.
      this.ctx.waitUntil(this.table.keep().catch(() => undefined));
    }, KEEP_TOTALS_AFTER_MS);
  }

  async totals(ruleBook: string): Promise<SharedTotals | undefined> {
    return this.table.of(ruleBook);
  }

  private isFull(now: number): boolean {
    if (this.windows.size < MAX_WINDOWS) return false;
    if (now - this.sweptAt >= SWEEP_MS) {
      this.sweptAt = now;
      this.windows.list(now);
    }
    return this.windows.size >= MAX_WINDOWS;
  }

  private keepWindows(): void {
    this.isKeeping = false;
    const kept = this.windows.list(Date.now()).filter(({ key }) => key.startsWith(KEPT_WINDOWS));
    this.ctx.waitUntil(this.ctx.storage.put('windows', kept));
  }

  /** Each part is added again in the middle of its time. */
  private restoreWindows(kept: readonly KeptWindow[]): void {
    for (const { key, windowMs, parts } of kept) {
      for (const { part, counts } of parts)
        this.windows.add({ key, windowMs, add: counts }, ((part + 0.5) * windowMs) / WINDOW_PARTS);
    }
  }
}

/** The window of an isolate that nobody else adds to. */
function countAlone({ windowMs, add }: WindowAddition, now: number): SharedWindow {
  const part = Math.floor((now / windowMs) * WINDOW_PARTS);
  return { part, parts: [{ part, counts: add }] };
}
