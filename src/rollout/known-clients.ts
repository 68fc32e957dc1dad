import type { SharedState } from './shared-state.ts';

/**
 * Whether a client used V1 before: it did, it did not, or nobody can tell, because the store is out of reach, its list is damaged or
 * full, or the list is too young.
 */
export type Standing = 'known' | 'new' | 'not-known';

/** Parts of a list of known clients. */
export interface KnownClientsParts {
  readonly store: Pick<SharedState, 'read' | 'compareAndSet'>;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Runs something after some milliseconds. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** The hash that a client with this key would have: another secret gives every client another hash, and needs another list. */
  readonly clientOf: (key: string) => string | Promise<string>;
  /** Keeps the process alive until the work is done, where it would otherwise end with the response. */
  readonly later?: ((work: Promise<unknown>) => void) | undefined;
}

/** Maximum clients in one text of the store. 16 texts hold 51,200 clients, in 54 kB each: an object at the edge stores 128 KiB. */
const MAX_CLIENTS = 3200;

/** Milliseconds after its reading in which a text shows that a client is new. */
const FRESH_MS = 5000;

/** Milliseconds that one call to the store may take, since a request waits for it. */
const TIMEOUT_MS = 1000;

/** Milliseconds without a call after one that failed, so that clients wait for it only once. */
const RETRY_MS = 2000;

/** Milliseconds after which a known client's text is read again, outside of its request: the store may have lost it. */
const RECHECK_MS = 60_000;

/** Attempts of a compare-and-set while other replicas change the text. */
const MAX_ATTEMPTS = 20;

/** Least age of a list on the day from which it decides: by then it has the clients that come twice a month. */
export const LEARNING_MS = 14 * 86_400_000;

/** The key whose hash names the list; no client has it. */
const LIST_KEY = 'capture-gateway: known clients';

/** The first digits of hashes, each with a text of its own. */
const DIGITS = Array.from('0123456789abcdef');

/** The first line of a text: when it began, in milliseconds since 1970. */
const BEGINNING = /^since (\d{1,15})$/;

interface Part {
  /** When the text began, in milliseconds since 1970. */
  since: number;
  readonly clients: Set<string>;
  /** The text that the store had when it was read. */
  text: string | undefined;
  readAt: number;
  /** Clients that the store does not have yet. */
  readonly pending: Set<string>;
}

/**
 * The clients that used V1, for all replicas: 16 texts of the store, by the first digit of the client's hash. A known client stays
 * known; whether one is new is read again after a few seconds. While that cannot be read, nobody is new: a store that fails refuses no
 * one. Each text has the time at which it began, and all begin together. A store that lost one of them, such as a Redis that evicts
 * keys, begins it anew, and it is then too young to refuse anyone, whatever the age of the others.
 */
export class KnownClients {
  private readonly parts: KnownClientsParts;
  private readonly texts = new Map<string, Part>();
  private readonly reading = new Map<string, Promise<Part>>();
  private readonly writing = new Map<string, Promise<void>>();
  /** Clients that were learned before their text was read, by their first digit. */
  private readonly early = new Map<string, Set<string>>();
  /** Digits of clients that the store does not have yet. */
  private readonly unstored = new Set<string>();
  private failedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: KnownClientsParts) {
    this.parts = parts;
  }

  /** Milliseconds since 1970 at which the list of a client (a hash) began; undefined until it was read. */
  sinceOf(client: string): number | undefined {
    return this.texts.get(client.slice(0, 1))?.since;
  }

  /** The standing of a client (a hash). A promise where the store has to be read, which never rejects. */
  standing(client: string): Standing | Promise<Standing> {
    const digit = client.slice(0, 1);
    const part = this.texts.get(digit);
    const now = this.parts.time();
    if (this.unstored.size > 0 && !this.hasFailed(now)) this.storeAgain();
    if (part?.clients.has(client) === true) {
      if (now - part.readAt >= RECHECK_MS && !this.hasFailed(now)) this.recheck(digit);
      return 'known';
    }
    if (part !== undefined && now - part.readAt < FRESH_MS && now >= part.readAt)
      return standingIn(part, client);
    if (this.hasFailed(now)) return 'not-known';
    return this.read(digit).then(
      (read) => standingIn(read, client),
      () => {
        this.failedAt = this.parts.time();
        return 'not-known';
      },
    );
  }

  /** Adds a client: here at once, and in the store outside of requests. After a failure, the next request of any client tries again. */
  learn(client: string): void {
    const digit = client.slice(0, 1);
    const part = this.texts.get(digit);
    if (part === undefined) {
      const early = this.early.get(digit) ?? new Set();
      if (early.size < MAX_CLIENTS) early.add(client);
      this.early.set(digit, early);
      this.unstored.add(digit);
      return;
    }
    if (part.clients.has(client) || part.clients.size >= MAX_CLIENTS) return;
    part.clients.add(client);
    part.pending.add(client);
    this.keep(digit, part);
  }

  /** Resolves when all learned clients are in the store, or could not be stored. */
  async settled(): Promise<void> {
    while (this.reading.size > 0 || this.writing.size > 0)
      await Promise.allSettled([...this.reading.values(), ...this.writing.values()]);
  }

  private hasFailed(now: number): boolean {
    // A clock may be set back.
    return now - this.failedAt < RETRY_MS && now >= this.failedAt;
  }

  private storeAgain(): void {
    for (const digit of this.unstored) {
      this.unstored.delete(digit);
      this.recheck(digit);
    }
  }

  /** Reads a text again, outside of the request, and stores clients that it lacks. */
  private recheck(digit: string): void {
    const work = this.read(digit).catch(() => {
      this.failedAt = this.parts.time();
      if (this.early.has(digit) || (this.texts.get(digit)?.pending.size ?? 0) > 0) this.unstored.add(digit);
    });
    this.parts.later?.(work);
  }

  private keep(digit: string, part: Part): void {
    if (this.writing.has(digit)) return;
    const work = this.write(digit, part).then(
      () => {
        this.writing.delete(digit);
        // Learned after the last look at what was pending.
        if (part.pending.size > 0) this.keep(digit, part);
      },
      () => {
        this.writing.delete(digit);
        this.failedAt = this.parts.time();
        this.unstored.add(digit);
      },
    );
    this.writing.set(digit, work);
    this.parts.later?.(work);
  }

  private async write(digit: string, part: Part): Promise<void> {
    const key = await this.keyOf(digit);
    for (let attempt = 0; part.pending.size > 0; attempt += 1) {
      if (attempt >= MAX_ATTEMPTS) throw new Error('other replicas change the list all the time');
      const taken = [...part.pending];
      const clients = part.text === undefined ? new Set<string>() : listIn(part.text).clients;
      for (const client of taken) if (clients.size < MAX_CLIENTS) clients.add(client);
      const after = [`since ${part.since}`, ...[...clients].sort()].join('\n');
      if (await this.limited(this.parts.store.compareAndSet(key, part.text, after))) {
        part.text = after;
        for (const client of taken) part.pending.delete(client);
      } else {
        const text = await this.textOf(digit);
        include(part, text);
        part.text = text;
      }
    }
  }

  /** Reads a text once for all callers in the meantime. */
  private read(digit: string): Promise<Part> {
    const known = this.reading.get(digit);
    if (known !== undefined) return known;
    const work = this.readText(digit).finally(() => void this.reading.delete(digit));
    this.reading.set(digit, work);
    return work;
  }

  private async readText(digit: string): Promise<Part> {
    const text = await this.textOf(digit);
    const { since } = listIn(text);
    const known = this.texts.get(digit);
    const part = known ?? { since, clients: new Set(), text, readAt: 0, pending: new Set() };
    include(part, text);
    for (const client of this.early.get(digit) ?? [])
      if (!part.clients.has(client) && part.clients.size < MAX_CLIENTS) {
        part.clients.add(client);
        part.pending.add(client);
      }
    this.early.delete(digit);
    // A write that is under way has read the text itself.
    if (!this.writing.has(digit)) part.text = text;
    part.readAt = this.parts.time();
    this.texts.set(digit, part);
    if (part.pending.size > 0) this.keep(digit, part);
    return part;
  }

  /** Reads a text. Without one, begins all texts of the list, so that a digit whose first client comes late is as old as the others. */
  private async textOf(digit: string): Promise<string> {
    const { store, time } = this.parts;
    const key = await this.keyOf(digit);
    const text = await this.limited(store.read(key));
    if (text !== undefined) return text;
    const first = `since ${Math.floor(time())}`;
    await Promise.all(
      DIGITS.map(async (one) => this.limited(store.compareAndSet(await this.keyOf(one), undefined, first))),
    );
    const begun = await this.limited(store.read(key));
    if (begun === undefined) throw new Error('the store does not keep the list of known clients');
    return begun;
  }

  private async keyOf(digit: string): Promise<string> {
    return `clients-${await this.parts.clientOf(LIST_KEY)}-${digit}`;
  }

  private limited<Value>(response: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      response.then(resolve, reject);
      this.parts.after(TIMEOUT_MS, () => reject(new Error(`no response within ${TIMEOUT_MS} ms`)));
    });
  }
}

function standingIn({ clients }: Part, client: string): Standing {
  if (clients.has(client)) return 'known';
  // A full list does not show who else used V1.
  return clients.size >= MAX_CLIENTS ? 'not-known' : 'new';
}

/** Adds the clients of a text. The store gets those again that are known here and that it lacks, because it lost them. */
function include(part: Part, text: string): void {
  const { since, clients } = listIn(text);
  for (const client of part.clients) if (!clients.has(client)) part.pending.add(client);
  part.since = since;
  for (const client of clients) part.clients.add(client);
}

/** Reads a text of the store: when it began, then one hash a line. Throws where nobody can read it. */
function listIn(text: string): { readonly since: number; readonly clients: Set<string> } {
  const [first = '', ...lines] = text.split('\n');
  const since = Number(BEGINNING.exec(first)?.[1] ?? 0);
  if (since <= 0 || lines.length > MAX_CLIENTS || lines.some((line) => !/^[0-9a-f]{16}$/.test(line)))
    throw new Error('the list of known clients is damaged');
  return { since, clients: new Set(lines) };
}
