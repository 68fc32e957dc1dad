/** A text of one process, by name; an empty one counts as absent. */
export interface OwnText {
  readonly key: string;
  readonly text: string;
}

/** A text of another process, as stored. */
export interface SharedText extends OwnText {
  readonly owner: string;
  /** Grows with each change in the topic. */
  readonly revision: number;
  /** Milliseconds since it was set, by the store's clock. */
  readonly ageMs: number;
}

/** A text that a process takes over from an ended one. */
export interface TakenText {
  readonly owner: string;
  readonly key: string;
  /**
   * The revision that was read; 0 for a text that the store lost; `ANY_REVISION` for one that was taken over before the store lost data.
   */
  readonly revision: number;
}

/** A process's call to the store. */
export interface StateCall {
  /** Names a group of processes, texts and revisions that belong together. */
  readonly topic: string;
  /** The life of the topic as known to the caller, empty at first: in another life, nothing is set. */
  readonly life: string;
  /** True if the store has lost data: the topic then begins another life, so that all processes set their texts again. */
  readonly isBehind: boolean;
  /** Id of the calling process, which has no space. */
  readonly owner: string;
  /** Numbers the caller's changes. A call with a number that was already carried out changes nothing. */
  readonly number: number;
  readonly put: readonly OwnText[];
  /** Texts of ended processes that are included in `put`: the call changes nothing unless it can take all of them. */
  readonly takes: readonly TakenText[];
  /** Silent processes: from now on they cannot set texts, and others may take over theirs. */
  readonly ends: readonly string[];
  /** True if the caller itself ends with this call. */
  readonly leaves: boolean;
  /** Revision up to which the texts of others are known. */
  readonly after: number;
  /** Minimum milliseconds for which the topic is kept after the last change. */
  readonly keepMs: number;
}

/** A store's reply. */
export interface StateNews {
  readonly life: string;
  /** Number of the caller's last change that was carried out, now and before this call. */
  readonly number: number;
  readonly before: number;
  /** True if another process has ended the caller, which then needs a new id. */
  readonly isOver: boolean;
  /** Revision up to which texts are known now. */
  readonly revision: number;
  /** True if there are more texts than fit into one reply. */
  readonly isMore: boolean;
  /** Texts of others that changed, in the order of their revisions. */
  readonly texts: readonly SharedText[];
  /** Processes that have not ended, with the milliseconds since the last call of each, by the store's clock. */
  readonly owners: readonly { readonly id: string; readonly ageMs: number }[];
}

/**
 * The state that processes share: workers, replicas or isolates. Each process owns its texts, and no other process sets them; a reader
 * adds them up. So after a lost reply, a restart or with a wrong clock, sums may be out of date, but nothing is counted twice. The few
 * texts that several processes set, such as the operators' modes, use compare-and-set. Every method rejects while the store is
 * unreachable; a promise may also stay pending, so callers limit their wait.
 */
export interface SharedState {
  /** Sets the caller's texts, and returns those of others that changed. */
  exchange(call: StateCall): Promise<StateNews>;
  /** Returns the text of a key that several processes set; undefined if there is none. */
  read(key: string): Promise<string | undefined>;
  /** Replaces `before` (undefined: no text) by `after`. Resolves to false, and changes nothing, if the text differs from `before`. */
  compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean>;
  /**
   * Calls `changed` when the text of a key that several set may have changed; the returned function ends this. A call may be lost while
   * the store is unreachable, so callers also read regularly.
   */
  subscribe(key: string, changed: () => void): () => void;
  /** Releases connections and files. */
  close(): Promise<void>;
}

/** Takes a text at any revision, even if the store has lost it: another process may have a copy. */
export const ANY_REVISION = -1;

/** Approximate characters of the texts in one reply, which contains at least one. */
export const PAGE_CHARACTERS = 256 * 1024;

/** Milliseconds for which a store remembers that a text was removed. A process that was away for half of that reads everything again. */
export const REMOVED_MS = 86_400_000;

/** Milliseconds for which a store remembers that a process was ended. */
export const ENDED_MS = 30 * 86_400_000;

/** A text with its revision, and the time at which it was set, in milliseconds since 1970. */
export interface TextRow {
  readonly text: string;
  readonly revision: number;
  readonly setAt: number;
}

/** A process: the number of its last change, and the time of its last call, or of its end. */
export interface OwnerRow {
  readonly number: number;
  readonly at: number;
}

/** The rows of one topic in any store. */
export interface StateRows {
  /** Undefined before the first call. */
  head: { readonly life: string; readonly revision: number } | undefined;
  text(owner: string, key: string): TextRow | undefined;
  setText(owner: string, key: string, row: TextRow): void;
  /** Texts after a revision, in order. */
  after(revision: number): Iterable<TextRow & { readonly owner: string; readonly key: string }>;
  /** Removes emptied texts, and ended processes, from before these times. */
  forget(removedBefore: number, endedBefore: number): void;
  owner(id: string): OwnerRow | undefined;
  setOwner(id: string, row: OwnerRow | undefined): void;
  owners(): Iterable<readonly [id: string, row: OwnerRow]>;
  ended(id: string): OwnerRow | undefined;
  setEnded(id: string, row: OwnerRow): void;
}

/** Carries out a call on the rows of its topic at `now` (milliseconds since 1970), in one step. */
export function carryOut(rows: StateRows, call: StateCall, now: number): StateNews {
  const { owner, number, takes, ends } = call;
  rows.head ??= { life: `${now}`, revision: 0 };
  if (call.isBehind && call.life === rows.head.life)
    rows.head = { life: `${Math.max(now, Number(call.life) + 1)}`, revision: rows.head.revision };
  const { life } = rows.head;
  const ended = rows.ended(owner);
  if (ended !== undefined)
    return newsOf(rows, call, { number: ended.number, before: ended.number, isOver: true, now });
  const before = rows.owner(owner)?.number ?? 0;
  for (const id of ends) if (id !== owner) end(rows, id, now);
  const isSet = call.life === life && number > before && takes.every((take) => canTake(rows, take));
  rows.setOwner(owner, { number: isSet ? number : before, at: now });
  if (isSet) {
    for (const take of takes) takeOver(rows, take, now);
    for (const { key, text } of call.put) setText(rows, owner, { key, text }, now);
  }
  const known = isSet ? number : before;
  if (call.leaves && call.life === life && known >= number) end(rows, owner, now);
  return newsOf(rows, call, { number: known, before, isOver: false, now });
}

function newsOf(
  rows: StateRows,
  { owner, after }: StateCall,
  { now, ...own }: Pick<StateNews, 'number' | 'before' | 'isOver'> & { readonly now: number },
): StateNews {
  rows.forget(now - REMOVED_MS, now - ENDED_MS);
  const { life, revision } = rows.head ?? { life: '', revision: 0 };
  const texts: SharedText[] = [];
  let characters = 0;
  let isMore = false;
  for (const row of own.isOver ? [] : rows.after(after)) {
    if (row.owner === owner) continue;
    isMore = characters >= PAGE_CHARACTERS;
    if (isMore) break;
    characters += row.text.length;
    const ageMs = Math.max(0, now - row.setAt);
    texts.push({ owner: row.owner, key: row.key, text: row.text, revision: row.revision, ageMs });
  }
  return {
    life,
    ...own,
    revision: isMore ? (texts.at(-1)?.revision ?? after) : revision,
    isMore,
    texts,
    owners: [...rows.owners()].map(([id, { at }]) => ({ id, ageMs: Math.max(0, now - at) })),
  };
}

function end(rows: StateRows, id: string, now: number): void {
  const row = rows.owner(id);
  if (row === undefined) return;
  rows.setEnded(id, { number: row.number, at: now });
  rows.setOwner(id, undefined);
}

function canTake(rows: StateRows, { owner, key, revision }: TakenText): boolean {
  if (revision === ANY_REVISION) return true;
  const row = rows.text(owner, key);
  if (rows.owner(owner) !== undefined) return false;
  return revision === 0 ? row === undefined : row?.revision === revision && row.text !== '';
}

function takeOver(rows: StateRows, { owner, key }: TakenText, now: number): void {
  if (rows.ended(owner) === undefined) rows.setEnded(owner, { number: 0, at: now });
  rows.setOwner(owner, undefined);
  setText(rows, owner, { key, text: '' }, now);
}

function setText(rows: StateRows, owner: string, { key, text }: OwnText, now: number): void {
  const { life, revision } = rows.head ?? { life: '', revision: 0 };
  rows.head = { life, revision: revision + 1 };
  rows.setText(owner, key, { text, revision: revision + 1, setAt: now });
}

export class MemoryRows implements StateRows {
  head: StateRows['head'];
  private readonly texts = new Map<string, TextRow & { readonly owner: string; readonly key: string }>();
  private readonly processes = new Map<string, OwnerRow>();
  private readonly ends = new Map<string, OwnerRow>();

  text(owner: string, key: string): TextRow | undefined {
    return this.texts.get(`${owner} ${key}`);
  }

  setText(owner: string, key: string, row: TextRow): void {
    const name = `${owner} ${key}`;
    this.texts.set(name, { ...row, owner, key });
  }

  after(revision: number): readonly (TextRow & { readonly owner: string; readonly key: string })[] {
    return [...this.texts.values()]
      .filter((row) => row.revision > revision)
      .sort((one, other) => one.revision - other.revision);
  }

  forget(removedBefore: number, endedBefore: number): void {
    for (const [name, { text, setAt }] of this.texts) {
      if (text !== '' || setAt >= removedBefore) continue;
      this.texts.delete(name);
      this.forgotten(`text/${name}`);
    }
    for (const [id, { at }] of this.ends) {
      if (at >= endedBefore) continue;
      this.ends.delete(id);
      this.forgotten(`ended/${id}`);
    }
  }

  /** Called with the name of a row that was removed. */
  protected forgotten(_name: string): void {}

  owner(id: string): OwnerRow | undefined {
    return this.processes.get(id);
  }

  setOwner(id: string, row: OwnerRow | undefined): void {
    if (row === undefined) this.processes.delete(id);
    else this.processes.set(id, row);
  }

  owners(): Iterable<readonly [id: string, row: OwnerRow]> {
    return this.processes;
  }

  ended(id: string): OwnerRow | undefined {
    return this.ends.get(id);
  }

  setEnded(id: string, row: OwnerRow): void {
    this.ends.set(id, row);
  }
}

/** The texts that several processes set, in the memory of one process. */
export class MemoryTexts implements Omit<SharedState, 'exchange'> {
  private readonly texts = new Map<string, string>();
  private readonly subscribers = new Map<string, Set<() => void>>();

  async read(key: string): Promise<string | undefined> {
    return this.texts.get(key);
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    if (this.texts.get(key) !== before) return false;
    this.texts.set(key, after);
    for (const changed of this.subscribers.get(key) ?? []) changed();
    return true;
  }

  subscribe(key: string, changed: () => void): () => void {
    // A function may be subscribed twice, and each subscription ends separately.
    const call = (): void => changed();
    const subscribers = this.subscribers.get(key) ?? new Set();
    this.subscribers.set(key, subscribers.add(call));
    return () => void subscribers.delete(call);
  }

  async close(): Promise<void> {
    this.subscribers.clear();
  }
}

/** A shared state in the memory of one process: for the processes of one gateway, for tests and for simulations. */
export class MemoryState extends MemoryTexts implements SharedState {
  private readonly time: () => number;
  private readonly topics = new Map<string, MemoryRows>();

  /** `time` is milliseconds since 1970. */
  constructor(time: () => number) {
    super();
    this.time = time;
  }

  async exchange(call: StateCall): Promise<StateNews> {
    const rows = this.topics.get(call.topic) ?? new MemoryRows();
    this.topics.set(call.topic, rows);
    return carryOut(rows, call, this.time());
  }
}
