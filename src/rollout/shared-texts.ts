import {
  ANY_REVISION,
  type OwnText,
  REMOVED_MS,
  type SharedState,
  type StateCall,
  type StateNews,
  type TakenText,
} from './shared-state.ts';
import type { ReplicaClock, StoreContact } from './store-contact.ts';

/** How the texts of a topic are added up. Each text is a sum: of the counts of one process, and of those that it took over. */
export interface TextSums {
  /** Adds to texts; returns those that change, by key. Must depend only on its arguments. */
  add(
    own: (key: string) => string | undefined,
    added: ReadonlyMap<string, string>,
  ): ReadonlyMap<string, string>;
  /**
   * Returns what to add to the own texts for that of an ended process, which set it `ageMs` ago; undefined if the text is removed with
   * its process. A text that is `unreadable` stays in the store.
   */
  adopt(key: string, text: string, ageMs: number, owner: string): OwnText | 'unreadable' | undefined;
}

export interface SharedTextsParts {
  readonly state: SharedState;
  readonly topic: string;
  readonly clock: ReplicaClock;
  readonly contact: StoreContact;
  readonly sums: TextSums;
  /** Returns a new id of this process; ids have no spaces. */
  readonly newId: () => string;
  readonly keepMs: number;
  /** Milliseconds after which a silent process no longer counts as running. */
  readonly silentMs?: number;
  /** Called when the store has lost texts. */
  readonly onRestore?: () => void;
  /** Texts that each new id of this process has from the start. */
  readonly set?: () => readonly (readonly [key: string, text: string])[];
}

/** A text of another process, as read. */
export interface OtherText {
  readonly owner: string;
  readonly key: string;
  readonly text: string;
  /** Milliseconds since it was set, independent of other machines' clocks. */
  readonly ageMs: number;
}

/** Milliseconds after which a silent process no longer counts as running, and another one ends it. */
const SILENT_MS = 10_000;
const DEAD_MS = 60_000;

/**
 * Milliseconds that a process waits before it takes over the text of an ended one. If another process took it before the store lost data,
 * it can say so in that time.
 */
const SETTLED_MS = 10_000;

/** Approximate characters of the texts that one call sets. */
const CALL_CHARACTERS = 32 * 1024;

/**
 * The own text that lists the texts taken over, by this process and by the processes whose texts it took: if the store returns to an
 * older state, it has them again, and they must not count twice. One line each, the oldest first; with a maximum number.
 */
const TAKEN = '=taken';
const MAX_TAKEN = 1000;

/** Ids of a process that are remembered. */
const MAX_IDS = 5;

/** Calls of one exchange. */
const MAX_CALLS = 200;

/** Characters per second of an exchange with several calls. */
const RATE = 512 * 1024;

interface Known {
  readonly text: string;
  /** 0 if the store has lost it. */
  readonly revision: number;
  /** When it was set, on the clock of this process. */
  readonly setAt: number;
  readonly readAt: number;
}

/** A change being sent: the store's next reply tells whether it was carried out. */
interface Flight {
  readonly number: number;
  /** The counts in it, to be sent again under another id if it was not carried out. */
  readonly added: ReadonlyMap<string, string>;
  readonly takes: readonly TakenText[];
  readonly put: ReadonlyMap<string, string>;
}

/**
 * One process's share of a topic: its own texts, which only it sets, and a copy of all others. New counts are added to the own texts,
 * which are set as a whole: a call whose reply was lost is repeated with the same number, and carried out once. Texts of ended processes
 * are taken over, each by one process, in the same step that adds it to that process's text. A process that was ended while it slept
 * continues under a new id.
 */
export class SharedTexts {
  private readonly parts: SharedTextsParts;
  private id: string;
  private idsBefore: readonly string[] = [];
  private life = '';
  /** Number of the last change that was carried out, and the one that the store must still know in this life. */
  private number = 0;
  private known = 0;
  private after = 0;
  private readonly own = new Map<string, string>();
  /** Keys of own texts that the store does not have, because it lost them. */
  private readonly unset = new Set<string>();
  private readonly pending = new Map<string, string>();
  private flight: Flight | undefined;
  private readonly others = new Map<string, Map<string, Known>>();
  private retakes: readonly TakenText[] = [];
  private readonly replaced = new Map<string, string>();
  private owners = new Map<string, number>();
  /** Time at which the store lost texts, and the processes that had not ended then. */
  private lost: { readonly at: number; readonly running: ReadonlySet<string> } | undefined;
  private heardAt = Number.NEGATIVE_INFINITY;
  /** Time since which the store has been reachable without interruption. */
  private reachedSince = Number.POSITIVE_INFINITY;
  /** The processes that ran before the last interruption. */
  private ranBefore: ReadonlySet<string> = new Set();
  private isBehind = false;
  private hasLeft = false;
  private hasRead = false;

  constructor(parts: SharedTextsParts) {
    this.parts = parts;
    this.id = parts.newId();
    this.setFirst();
  }

  /** False until all texts of other processes were read once. */
  get isComplete(): boolean {
    return this.hasRead;
  }

  /** Time of the last complete read of the others' texts, in milliseconds on the clock of this process; undefined before. */
  get readAt(): number | undefined {
    return this.hasRead ? this.heardAt : undefined;
  }

  /** Ids of the other processes that are running, by their last calls. */
  get running(): readonly string[] {
    const { silentMs = SILENT_MS } = this.parts;
    // Processes that were cut off together return one after the other.
    const isBack = this.heardAt - this.reachedSince < silentMs;
    return [...this.owners].flatMap(([id, at]) =>
      this.heardAt - at < silentMs || (isBack && this.ranBefore.has(id)) ? [id] : [],
    );
  }

  /** Earlier ids of this process, before it was ended and continued under another one. */
  get formerIds(): readonly string[] {
    return this.idsBefore;
  }

  /** Adds counts, to be shared by the next exchange. */
  add(added: ReadonlyMap<string, string>): void {
    for (const [key, text] of this.parts.sums.add((name) => this.pending.get(name), added))
      this.pending.set(key, text);
  }

  /** Replaces an own text; an empty one removes it. */
  replace(key: string, text: string): void {
    this.replaced.set(key, text);
  }

  /** Keys of own texts. */
  get ownKeys(): readonly string[] {
    return [...this.own.keys()];
  }

  /** The texts of this process for a key, to be added up: set, being sent, and still to be sent. */
  ownTexts(key: string): readonly string[] {
    return [this.own.get(key), this.flight?.added.get(key), this.pending.get(key)].flatMap((text) =>
      text === undefined || text === '' ? [] : [text],
    );
  }

  /** All keys, of this process and of others. */
  get keys(): ReadonlySet<string> {
    const keys = new Set([...this.own.keys(), ...(this.flight?.added.keys() ?? []), ...this.pending.keys()]);
    for (const texts of this.others.values()) for (const key of texts.keys()) keys.add(key);
    keys.delete(TAKEN);
    return keys;
  }

  /** The texts of other processes for a key. */
  otherTexts(key: string): readonly OtherText[] {
    const now = this.parts.clock.time();
    return [...this.others].flatMap(([owner, texts]) => {
      const known = texts.get(key);
      if (known === undefined || this.mayBeTaken(owner, now)) return [];
      return [{ owner, key, text: known.text, ageMs: Math.max(0, now - known.setAt) }];
    });
  }

  /**
   * True for the texts of processes other than those that ran when the store lost texts: until those have reported what they took over,
   * it may be included in theirs.
   */
  private mayBeTaken(owner: string, now: number): boolean {
    return this.lost !== undefined && now - this.lost.at < SETTLED_MS && !this.lost.running.has(owner);
  }

  /** True if all own counts are in the store. */
  get isShared(): boolean {
    return this.isAllInFlight && this.flight === undefined;
  }

  /** Sets new counts, and reads all texts that others set. Rejects if the store is unreachable. */
  async exchange({ leaves = false } = {}): Promise<void> {
    if (this.hasLeft) return;
    if (this.parts.clock.time() - this.heardAt > REMOVED_MS / 2) this.readAgain();
    for (let calls = 0; calls < MAX_CALLS; calls += 1) {
      this.flight ??= this.nextFlight() ?? (leaves ? undefined : this.inheritance());
      const isLast = leaves && this.isAllInFlight;
      const call = this.callOf(isLast);
      const news = await this.parts.contact.limited(this.parts.state.exchange(call));
      if (isLast && news.number >= call.number) this.hasLeft = true;
      const isDone = this.take(news, call);
      if (isDone && (!leaves || this.hasLeft)) return;
      if (!leaves) await this.rest(call, news);
    }
  }

  private get isAllInFlight(): boolean {
    const { life, pending, unset, replaced, retakes } = this;
    return life !== '' && pending.size + unset.size + replaced.size + retakes.length === 0;
  }

  private callOf(leaves: boolean): StateCall {
    const { topic, keepMs } = this.parts;
    const { life, id, number, flight, after, isBehind } = this;
    return {
      topic,
      life,
      isBehind,
      owner: id,
      number: flight?.number ?? number,
      put: [...(flight?.put ?? [])].map(([key, text]) => ({ key, text })),
      takes: flight?.takes ?? [],
      // After an outage of the store, all processes have been silent, and none has ended.
      ends: this.heardAt - this.reachedSince < DEAD_MS ? [] : this.silent,
      leaves,
      after,
      keepMs,
    };
  }

  private get silent(): readonly string[] {
    return [...this.owners].flatMap(([owner, at]) => (this.heardAt - at >= DEAD_MS ? [owner] : []));
  }

  /** The next change to send: texts that the store lost, new counts, or texts of an ended process. */
  private nextFlight(): Flight | undefined {
    if (this.life === '') return undefined;
    const number = this.number + 1;
    const added = new Map<string, string>();
    const put = new Map<string, string>();
    let characters = 0;
    for (const key of this.unset) {
      if (characters >= CALL_CHARACTERS) break;
      const text = this.own.get(key) ?? '';
      put.set(key, text);
      characters += text.length;
      this.unset.delete(key);
    }
    for (const [key, text] of this.replaced) put.set(key, text);
    this.replaced.clear();
    const { sums } = this.parts;
    for (const [key, text] of this.pending) {
      if (characters >= CALL_CHARACTERS) break;
      added.set(key, text);
      this.pending.delete(key);
      characters += text.length + (this.own.get(key)?.length ?? 0);
    }
    for (const [key, text] of sums.add((name) => this.own.get(name), added)) put.set(key, text);
    const takes = this.retakes;
    this.retakes = [];
    return put.size > 0 || takes.length > 0 ? { number, added, takes, put } : undefined;
  }

  /** Texts of ended processes, from time to time: all processes together take as many as one process would. */
  private inheritance(): Flight | undefined {
    const { clock, sums } = this.parts;
    if (this.life === '' || !this.hasRead) return undefined;
    if (clock.random() * (this.running.length + 1) > 1) return undefined;
    const now = clock.time();
    const added = new Map<string, string>();
    const takes: TakenText[] = [];
    const taken: string[] = [];
    let characters = 0;
    for (const [owner, texts] of this.others) {
      if (this.owners.has(owner)) continue;
      for (const [key, { text, revision, readAt, setAt }] of texts) {
        if (characters >= CALL_CHARACTERS) break;
        if (now - readAt < SETTLED_MS) continue;
        const adopted = key === TAKEN ? undefined : sums.adopt(key, text, Math.max(0, now - setAt), owner);
        if (adopted === 'unreadable') continue;
        takes.push({ owner, key, revision });
        if (key === TAKEN) {
          taken.push(...text.split('\n'));
          // A process that has been asleep since before the store lost this list may still have a copy of the listed texts.
          if (revision === 0) takes.push(...takesOf(text));
        }
        if (adopted === undefined) continue;
        taken.push(`${owner} ${key}`);
        characters += text.length + (this.own.get(adopted.key)?.length ?? 0);
        for (const [name, sum] of sums.add(
          (known) => added.get(known),
          new Map([[adopted.key, adopted.text]]),
        ))
          added.set(name, sum);
      }
    }
    if (takes.length === 0) return undefined;
    // Not part of this process's counts: they belong to the other process until they are taken.
    const put = new Map(sums.add((key) => this.own.get(key), added));
    if (taken.length > 0) put.set(TAKEN, [...this.takenBefore, ...taken].slice(-MAX_TAKEN).join('\n'));
    return { number: this.number + 1, added: new Map(), takes, put };
  }

  /** Handles a reply; returns true if nothing is left to do. */
  private take(news: StateNews, call: StateCall): boolean {
    const { flight } = this;
    if (news.isOver) {
      if (!this.hasLeft) this.beginAnew(flight !== undefined && news.number >= flight.number);
      return this.hasLeft;
    }
    if (news.life !== this.life) {
      const isFirst = this.life === '';
      this.life = news.life;
      this.isBehind = false;
      if (!isFirst) this.restore();
      return false;
    }
    if (news.before < this.known || news.revision < this.after) {
      this.isBehind = true;
      return false;
    }
    this.known = news.number;
    if (flight !== undefined) this.land(flight, news.number >= flight.number);
    this.read(news);
    if (news.isMore) return false;
    this.hasRead = true;
    // There may be more texts to take over.
    return this.isAllInFlight && call.takes.length === 0;
  }

  private land({ number, put, takes, added }: Flight, isSet: boolean): void {
    this.flight = undefined;
    if (!isSet) {
      // Another process took one of these texts first.
      this.add(added);
      return;
    }
    this.number = number;
    for (const [key, text] of put) {
      if (text === '') this.own.delete(key);
      else this.own.set(key, text);
    }
    for (const { owner, key } of takes) this.forget(owner, key);
  }

  /** Continues under a new id: other processes take over everything stored under the old one. */
  private beginAnew(isFlightSet: boolean): void {
    const { flight, id } = this;
    const now = this.parts.clock.time();
    const left = new Map([...this.own, ...(isFlightSet ? (flight?.put ?? []) : [])]);
    this.others.set(
      id,
      new Map([...left].map(([key, text]) => [key, { text, revision: 0, setAt: now, readAt: now }])),
    );
    this.idsBefore = [...this.idsBefore, id].slice(-MAX_IDS);
    this.id = this.parts.newId();
    this.number = 0;
    this.known = 0;
    this.own.clear();
    this.unset.clear();
    this.retakes = [];
    this.flight = undefined;
    this.after = 0;
    this.setFirst();
    if (flight !== undefined && !isFlightSet) this.add(flight.added);
  }

  private get takenBefore(): readonly string[] {
    return this.own.get(TAKEN)?.split('\n') ?? [];
  }

  private setFirst(): void {
    for (const [key, text] of this.parts.set?.() ?? []) this.replace(key, text);
  }

  /** Sets everything again after the store lost it, and keeps the known texts of others until they do the same. */
  private restore(): void {
    for (const key of this.own.keys()) this.unset.add(key);
    this.retakes = takesOf(this.own.get(TAKEN) ?? '');
    const now = this.parts.clock.time();
    this.lost = { at: now, running: new Set(this.owners.keys()) };
    for (const texts of this.others.values())
      for (const [key, known] of texts) texts.set(key, { ...known, revision: 0, readAt: now });
    this.after = 0;
    this.known = 0;
    this.parts.onRestore?.();
  }

  private readAgain(): void {
    this.after = 0;
    this.others.clear();
    this.hasRead = false;
  }

  private read({ texts, owners, revision, isMore }: StateNews): void {
    const now = this.parts.clock.time();
    for (const { owner, key, text, revision: own, ageMs } of texts) {
      if (text === '') {
        this.forget(owner, key);
        continue;
      }
      const known = this.others.get(owner) ?? new Map<string, Known>();
      this.others.set(owner, known.set(key, { text, revision: own, setAt: now - ageMs, readAt: now }));
    }
    this.after = revision;
    if (isMore) return;
    if (now - this.heardAt > SILENT_MS) {
      this.ranBefore = new Set(this.running);
      this.reachedSince = now;
    }
    this.heardAt = now;
    this.owners = new Map(
      owners.flatMap(({ id, ageMs }) => (id === this.id ? [] : [[id, now - ageMs] as const])),
    );
  }

  private forget(owner: string, key: string): void {
    const texts = this.others.get(owner);
    texts?.delete(key);
    if (texts?.size === 0) this.others.delete(owner);
  }

  private async rest(call: StateCall, news: StateNews): Promise<void> {
    const characters = [...call.put, ...news.texts].reduce((sum, { text }) => sum + text.length, 0);
    if (characters === 0) return;
    await new Promise<void>((resolve) => {
      this.parts.clock.after((characters / RATE) * 1000, resolve);
    });
  }
}

/** The texts that a list names, to be taken at any revision. */
function takesOf(list: string): readonly TakenText[] {
  return list.split('\n').flatMap((line) => {
    const space = line.indexOf(' ');
    return space < 1
      ? []
      : [{ owner: line.slice(0, space), key: line.slice(space + 1), revision: ANY_REVISION }];
  });
}
