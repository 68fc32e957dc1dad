import type { Store } from './store.ts';

/**
 * What is known of a client: it used V1 before, it did not, or nobody can say, since the store is out of reach, what it keeps is
 * damaged or full, or the list has not been kept for long enough.
 */
export type Standing = 'known' | 'new' | 'not-known';

/** Parts of a list of known clients. */
export interface KnownClientsParts {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Runs something after some milliseconds. */
  readonly after: (milliseconds: number, run: () => void) => void;
  /** The hash that a client with this key would have: with another secret every client is another one, and needs another list. */
  readonly clientOf: (key: string) => string | Promise<string>;
  /** Keeps the process alive until this is done, where it would otherwise end with the response. */
  readonly later?: ((work: Promise<unknown>) => void) | undefined;
}

/** Clients that one text of the store holds. 16 of them are 51,200 clients, and 54 kB each: an object at the edge stores 128 KiB. */
const MAX_CLIENTS = 3200;

/** Milliseconds for which a text that was read is believed about a client that is not in it. */
const FRESH_MS = 5000;

/** Milliseconds that one call of the store may take: a request waits for it. */
const TIMEOUT_MS = 1000;

/** Milliseconds without a call of the store after one that failed: clients wait for it once only. */
const RETRY_MS = 2000;

/** Attempts of a compare-and-set that other replicas come before. */
const MAX_ATTEMPTS = 20;

/** A list is believed that was kept for this long before the day from which it decides: clients that come twice a month are in it. */
export const LEARNING_MS = 14 * 86_400_000;

/** The key whose hash names the list, and whose client nobody is. */
const LIST_KEY = 'capture-gateway: known clients';

interface Part {
  readonly clients: Set<string>;
  /** The text that the store had when it was read. */
  text: string | undefined;
  readAt: number;
  /** Clients that the store does not have yet. */
  readonly pending: Set<string>;
}

/**
 * The clients that used V1, for all replicas: 16 texts of the store, by the first digit of the client's hash. A client that is known is
 * known for ever, so that it is looked up once; whether one is new is read again after a few seconds. Nobody is new while that cannot
 * be read: a store that fails refuses no one, and one that lost the list begins it anew, which is then too young to refuse anyone.
 */
export class KnownClients {
  private readonly parts: KnownClientsParts;
  private readonly texts = new Map<string, Part>();
  private readonly reading = new Map<string, Promise<Part>>();
  private readonly writing = new Map<string, Promise<void>>();
  private begun: { readonly name: string; readonly since: number } | undefined;
  private failedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: KnownClientsParts) {
    this.parts = parts;
  }

  /** Milliseconds since 1970 at which the list was begun; undefined until it was read. */
  get since(): number | undefined {
    return this.begun?.since;
  }

  /** What is known of a client (a hash). A promise where the store has to be asked; it never rejects. */
  standing(client: string): Standing | Promise<Standing> {
    const digit = client.slice(0, 1);
    const part = this.texts.get(digit);
    if (part?.clients.has(client) === true) return 'known';
    const now = this.parts.time();
    if (part !== undefined && now - part.readAt < FRESH_MS && now >= part.readAt)
      return standingIn(part, client);
    // A clock may be set back.
    if (now - this.failedAt < RETRY_MS && now >= this.failedAt) return 'not-known';
    return this.read(digit).then(
      (read) => standingIn(read, client),
      () => {
        this.failedAt = this.parts.time();
        return 'not-known';
      },
    );
  }

  /** Adds a client: here at once, and in the store beside the requests. */
  learn(client: string): void {
    const digit = client.slice(0, 1);
    const part = this.texts.get(digit);
    // Nobody asked for it yet.
    if (part === undefined || part.clients.has(client) || part.clients.size >= MAX_CLIENTS) return;
    part.clients.add(client);
    part.pending.add(client);
    this.keep(digit, part);
  }

  /** Resolves when what was learned is in the store, or could not be stored. */
  async settled(): Promise<void> {
    while (this.writing.size > 0) await Promise.all(this.writing.values());
  }

  private keep(digit: string, part: Part): void {
    if (this.writing.has(digit)) return;
    const work = this.write(digit, part)
      .catch(() => {
        // It is tried again with the next client, or the next time that the text is read.
        this.failedAt = this.parts.time();
      })
      .finally(() => void this.writing.delete(digit));
    this.writing.set(digit, work);
    this.parts.later?.(work);
  }

  private async write(digit: string, part: Part): Promise<void> {
    const { store } = this.parts;
    const { name } = await this.begin();
    for (let attempt = 0; part.pending.size > 0; attempt += 1) {
      if (attempt >= MAX_ATTEMPTS) throw new Error('other replicas change the list all the time');
      const taken = [...part.pending];
      const clients = clientsIn(part.text);
      for (const client of taken) if (clients.size < MAX_CLIENTS) clients.add(client);
      const after = [...clients].sort().join('\n');
      if (await this.limited(store.compareAndSet(`${name}-${digit}`, part.text, after))) {
        part.text = after;
        for (const client of taken) part.pending.delete(client);
      } else {
        part.text = await this.limited(store.read(`${name}-${digit}`));
        for (const client of clientsIn(part.text)) part.clients.add(client);
      }
    }
  }

  /** Reads a text once for all who ask meanwhile. */
  private read(digit: string): Promise<Part> {
    const known = this.reading.get(digit);
    if (known !== undefined) return known;
    const work = this.readText(digit).finally(() => void this.reading.delete(digit));
    this.reading.set(digit, work);
    return work;
  }

  private async readText(digit: string): Promise<Part> {
    const { name, since } = await this.begin();
    const text = await this.limited(this.parts.store.read(`${name}-${digit}`));
    // In this order: a list that is lost in between must not look like one on which nobody stands.
    if ((await this.limited(this.parts.store.read(`${name}-since`))) !== String(since))
      await this.beginAnew();
    const clients = clientsIn(text);
    const known = this.texts.get(digit);
    const part: Part = known ?? { clients: new Set(), text: undefined, readAt: 0, pending: new Set() };
    for (const client of clients) part.clients.add(client);
    // A write that is under way knows best what it has read.
    if (!this.writing.has(digit)) part.text = text;
    part.readAt = this.parts.time();
    this.texts.set(digit, part);
    if (part.pending.size > 0) this.keep(digit, part);
    return part;
  }

  /** The store lost the list: it begins anew, with the clients that are known here. */
  private async beginAnew(): Promise<void> {
    this.begun = undefined;
    for (const part of this.texts.values()) {
      part.readAt = 0;
      for (const client of part.clients) part.pending.add(client);
    }
    await this.begin();
  }

  /** Reads when the list was begun; begins it where nobody did. */
  private async begin(): Promise<{ readonly name: string; readonly since: number }> {
    if (this.begun !== undefined) return this.begun;
    const { store, clientOf, time } = this.parts;
    const name = `clients-${await clientOf(LIST_KEY)}`;
    const key = `${name}-since`;
    const now = String(time());
    const text = (await this.limited(store.read(key))) ?? '';
    const isBegun = text !== '' || !(await this.limited(store.compareAndSet(key, undefined, now)));
    const since = Number(text === '' && isBegun ? await this.limited(store.read(key)) : text || now);
    if (!Number.isSafeInteger(since) || since <= 0) throw new Error('the beginning of the list is damaged');
    this.begun = { name, since };
    return this.begun;
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
  // Of a full list nobody knows who else used V1.
  return clients.size >= MAX_CLIENTS ? 'not-known' : 'new';
}

/** Reads a text of the store: one hash a line. Throws where nobody can read it. */
function clientsIn(text: string | undefined): Set<string> {
  const lines = text === undefined || text === '' ? [] : text.split('\n');
  if (lines.length > MAX_CLIENTS || lines.some((line) => !/^[0-9a-f]{16}$/.test(line)))
    throw new Error('the list of known clients is damaged');
  return new Set(lines);
}
