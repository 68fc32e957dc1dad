import type { DurableObject } from 'cloudflare:workers';
import {
  carryOut,
  MemoryRows,
  type OwnerRow,
  type StateCall,
  type StateNews,
  type StateRows,
  type TextRow,
} from '../rollout/shared-state.ts';
import { ROLLOUT_KEY } from '../rollout/stored-rollout.ts';
import type { EdgeBindings, RemoteStore } from './bindings.ts';
import { TOTALS } from './totals.ts';

/** Milliseconds from a count until it is kept; the platform evicts an object that has been idle for ten seconds or longer. */
const KEEP_AFTER_MS = 1000;

/** The same if only totals changed: Cloudflare charges for each written row, and no rollback depends on totals. */
const KEEP_TOTALS_AFTER_MS = 5000;

type Parameters = ConstructorParameters<typeof DurableObject<EdgeBindings>>;

/**
 * The state that all isolates of a deployment share: texts in the storage of the object, with a copy in Workers KV if one is
 * bound, and what each isolate owns in its memory, which it writes to the storage. It handles one event at a time, so that each step is
 * atomic.
 */
export class ObjectState implements RemoteStore {
  private readonly ctx: Parameters[0];
  private readonly env: EdgeBindings;
  private readonly topics = new Map<string, KeptRows>();
  private keeping: { readonly at: number; readonly timer: ReturnType<typeof setTimeout> } | undefined;

  private constructor(ctx: Parameters[0], env: EdgeBindings) {
    this.ctx = ctx;
    this.env = env;
  }

  /** Reads the state from the storage. */
  static async restored(ctx: Parameters[0], env: EdgeBindings): Promise<ObjectState> {
    const state = new ObjectState(ctx, env);
    const kept = await ctx.storage.list({ prefix: STATE });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `KeptRows`, as structured clone
    for (const row of kept.values()) state.topicOf((row as KeptRow).topic).restore(row as KeptRow);
    return state;
  }

  async read(key: string): Promise<string | undefined> {
    const text = await this.ctx.storage.get(`text/${key}`);
    return typeof text === 'string' ? text : undefined;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    if ((await this.read(key)) !== before) return false;
    await this.ctx.storage.put(`text/${key}`, after);
    // An isolate starts with the copy of the rollout; lists of clients are read from the object.
    const copy = key === ROLLOUT_KEY ? this.env.ROLLOUT_COPY : undefined;
    const copied = async (): Promise<void> => copy?.put(key, after);
    // The copy is not required: the state is valid without it.
    if (copy !== undefined) this.ctx.waitUntil(copied().catch(() => undefined));
    return true;
  }

  async exchange(call: StateCall): Promise<StateNews> {
    const rows = this.topicOf(call.topic);
    const news = carryOut(rows, call, Date.now());
    if (rows.hasChanged)
      this.keepWithin(
        call.put.every(({ key }) => key.startsWith(TOTALS)) ? KEEP_TOTALS_AFTER_MS : KEEP_AFTER_MS,
      );
    return news;
  }

  /** Writes changes within so many milliseconds. */
  private keepWithin(milliseconds: number): void {
    const at = Date.now() + milliseconds;
    if (this.keeping !== undefined && this.keeping.at <= at) return;
    clearTimeout(this.keeping?.timer);
    this.keeping = { at, timer: setTimeout(() => this.keepState(), milliseconds) };
  }

  private topicOf(topic: string): KeptRows {
    const rows = this.topics.get(topic) ?? new KeptRows(topic);
    this.topics.set(topic, rows);
    return rows;
  }

  private keepState(): void {
    this.keeping = undefined;
    const writes: Promise<unknown>[] = [];
    for (const rows of this.topics.values())
      for (const [key, row] of rows.takeChanges())
        writes.push(row === undefined ? this.ctx.storage.delete(key) : this.ctx.storage.put(key, row));
    // A row that could not be written now is written with its next change.
    this.ctx.waitUntil(Promise.all(writes).catch(() => undefined));
  }
}

/** Prefix of the keys in the storage. */
const STATE = 'state/';

/** A row of a topic in the storage. */
type KeptRow = { readonly topic: string } & (
  | { readonly head: NonNullable<StateRows['head']> }
  | { readonly owner: string; readonly key: string; readonly text: TextRow }
  | { readonly id: string; readonly running: OwnerRow }
  | { readonly id: string; readonly ended: OwnerRow }
);

/** The rows of a topic, and which of them the storage does not have yet. */
class KeptRows extends MemoryRows {
  private readonly topic: string;
  private readonly changed = new Map<string, KeptRow | undefined>();
  private keptHead: StateRows['head'];

  constructor(topic: string) {
    super();
    this.topic = topic;
  }

  get hasChanged(): boolean {
    return this.changed.size > 0;
  }

  /** Adds a stored row, which is not a change; called before all other methods. */
  restore(row: KeptRow): void {
    if ('head' in row) {
      this.head = row.head;
      this.keptHead = row.head;
    } else if ('text' in row) super.setText(row.owner, row.key, row.text);
    else if ('running' in row) super.setOwner(row.id, row.running);
    else super.setEnded(row.id, row.ended);
  }

  /** The values to write, by key, or undefined to delete. */
  takeChanges(): readonly (readonly [key: string, row: KeptRow | undefined])[] {
    const { topic, head } = this;
    if (head !== undefined && head !== this.keptHead) {
      this.keptHead = head;
      this.changed.set(this.keyOf('head'), { topic, head });
    }
    const changes = [...this.changed];
    this.changed.clear();
    return changes;
  }

  override setText(owner: string, key: string, text: TextRow): void {
    super.setText(owner, key, text);
    this.changed.set(this.keyOf(`text/${owner} ${key}`), { topic: this.topic, owner, key, text });
  }

  override setOwner(id: string, running: OwnerRow | undefined): void {
    // The call itself is not a change: each written row costs money.
    if (
      running?.number !== this.owner(id)?.number ||
      (running === undefined) !== (this.owner(id) === undefined)
    )
      this.changed.set(this.keyOf(`running/${id}`), running && { topic: this.topic, id, running });
    super.setOwner(id, running);
  }

  override setEnded(id: string, ended: OwnerRow): void {
    super.setEnded(id, ended);
    this.changed.set(this.keyOf(`ended/${id}`), { topic: this.topic, id, ended });
  }

  protected override forgotten(name: string): void {
    this.changed.set(this.keyOf(name), undefined);
  }

  private keyOf(name: string): string {
    return `${STATE}${this.topic}/${name}`;
  }
}
