import type { SharedCounts } from './replica.ts';
import type { SharedTexts, TextSums } from './shared-texts.ts';

/** Whether a client used V1 before: `not-known` if the store is unreachable, or the list is full or too recent. */
export type Standing = 'known' | 'new' | 'not-known';

interface KnownClientsParts {
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** The hash that a client with this key would have: another secret gives every client another hash, and needs another list. */
  readonly clientOf: (key: string) => string | Promise<string>;
}

/** The texts that processes share, as far as a list needs them. */
type ClientTexts = Pick<SharedTexts, 'add' | 'keys' | 'otherTexts' | 'ownTexts' | 'readAt'>;

/** Maximum clients with the same first two digits: the 256 texts of a list hold about 100,000 clients, in at most 7 kB each. */
const MAX_CLIENTS = 400;

/** Milliseconds after the last read of other processes' texts within which a client counts as new. */
const FRESH_MS = 10_000;

/** Minimum age of a list on the day from which it decides: it then has all clients that call twice a month. */
export const LEARNING_MS = 14 * 86_400_000;

/** The key whose hash names the list; no client has it. */
const LIST_KEY = 'capture-gateway: known clients';

/** Prefix of the keys of all lists; followed by the name of the list, a slash, and two digits or `since`. */
export const CLIENTS = 'clients/';

const SINCE = 'since';

/**
 * The clients that used V1, for all processes. Each process has its own texts with the clients that it learned, by the first two digits
 * of their hashes, and a client is known if it is in any of these texts. A known client stays known. A process that could not read the
 * others' texts for ten seconds treats no client as new, so that no client is refused because the store fails. The list begins at the
 * earliest time that a process has set. If the store loses its texts, the running processes set them again; if none is running, the list
 * starts again, and is too recent to refuse any client.
 */
export class KnownClients implements SharedCounts {
  readonly prefix = CLIENTS;
  readonly sums = clientSums;
  private readonly parts: KnownClientsParts;
  private readonly clients = new Map<string, Set<string>>();
  /** The texts of each key when they were last read. */
  private readonly seen = new Map<string, readonly string[]>();
  private texts: ClientTexts | undefined;
  /** True if clients may be in no text: looking through all texts takes long. */
  private hasRest = true;
  /** The prefix of the list's keys; undefined until its name is known. */
  private keys: string | undefined;
  private since: number | undefined;

  constructor(parts: KnownClientsParts) {
    this.parts = parts;
  }

  /** Shares the list with other processes; without it, this process learns alone. */
  shareWith(texts: ClientTexts): void {
    this.texts = texts;
    this.seen.clear();
    this.hasRest = true;
    this.read();
  }

  /** When the list began, in milliseconds since 1970; undefined until that is known. */
  get begun(): number | undefined {
    return this.since;
  }

  /** The standing of a client (a hash). A promise only until the name of the list is known; it never rejects. */
  standing(client: string): Standing | Promise<Standing> {
    if (this.keys !== undefined) return this.judge(client);
    const name = this.parts.clientOf(LIST_KEY);
    if (typeof name === 'string') return this.begin(name).judge(client);
    return name.then(
      (list) => this.begin(list).judge(client),
      () => 'not-known',
    );
  }

  /** Adds a client: in this process at once, in the others with the next exchange. */
  learn(client: string): void {
    const known = this.knownLike(client);
    if (known.has(client) || known.size >= MAX_CLIENTS) return;
    known.add(client);
    if (this.keys !== undefined && this.texts?.readAt !== undefined)
      this.texts.add(new Map([[this.keys + shardOf(client), client]]));
    else this.hasRest = true;
  }

  /** Reads the texts of other processes, and shares clients that are in none of them. Call it after each exchange. */
  read(): void {
    const { texts, keys: prefix } = this;
    if (texts?.readAt === undefined || prefix === undefined) return;
    const keys = new Set([...texts.keys].filter((key) => key.startsWith(prefix)));
    for (const key of this.seen.keys()) if (!keys.has(key)) this.hasRest = this.seen.delete(key);
    for (const key of keys) this.readKey(texts, key, key.slice(prefix.length));
    if (this.hasRest) this.shareRest(texts, prefix);
    this.hasRest = false;
  }

  private begin(list: string): this {
    if (this.keys === undefined) {
      this.keys = `${CLIENTS}${list}/`;
      if (this.texts === undefined) this.since = this.parts.time();
      this.read();
    }
    return this;
  }

  private judge(client: string): Standing {
    const known = this.knownLike(client);
    if (known.has(client)) return 'known';
    // A full list does not show which other clients used V1.
    return this.isFresh && known.size < MAX_CLIENTS ? 'new' : 'not-known';
  }

  private get isFresh(): boolean {
    if (this.texts === undefined) return true;
    const { readAt } = this.texts;
    const age = this.parts.time() - (readAt ?? Number.NEGATIVE_INFINITY);
    // The clock may have been set back.
    return age >= 0 && age < FRESH_MS;
  }

  private knownLike(client: string): Set<string> {
    const shard = shardOf(client);
    const known = this.clients.get(shard) ?? new Set<string>();
    this.clients.set(shard, known);
    return known;
  }

  private readKey(texts: ClientTexts, key: string, name: string): void {
    const all = textsOf(texts, key);
    const seen = this.seen.get(key);
    if (seen !== undefined && seen.length === all.length && seen.every((text, at) => text === all[at]))
      return;
    this.seen.set(key, all);
    this.hasRest = true;
    for (const text of all) {
      if (name === SINCE) this.since = earlier(this.since, sinceIn(text));
      else for (const client of clientsIn(text) ?? []) this.learnOfOthers(client);
    }
  }

  private learnOfOthers(client: string): void {
    const known = this.knownLike(client);
    if (known.size < MAX_CLIENTS) known.add(client);
  }

  /** Shares clients that are in no text, such as those learned before the others' texts were read. */
  private shareRest(texts: ClientTexts, prefix: string): void {
    const added = new Map<string, string>();
    if (textsOf(texts, prefix + SINCE).length === 0) {
      this.since ??= this.parts.time();
      added.set(prefix + SINCE, `${this.since}`);
    }
    for (const [shard, known] of this.clients) {
      const key = prefix + shard;
      const shared = new Set(textsOf(texts, key).flatMap((text) => clientsIn(text) ?? []));
      if (shared.size >= known.size) continue;
      added.set(key, [...known].filter((client) => !shared.has(client)).join('\n'));
    }
    if (added.size > 0) texts.add(added);
  }
}

/** How the texts of lists add up: each client once, and the earliest beginning. */
export const clientSums: TextSums = {
  add: (own, added) =>
    new Map(
      [...added].map(([key, text]) => {
        const before = own(key);
        return [key, before === undefined ? text : sumOf(key, before, text)];
      }),
    ),
  adopt: (key, text) =>
    (key.endsWith(SINCE) ? sinceIn(text) : clientsIn(text)) ? { key, text } : 'unreadable',
};

function sumOf(key: string, before: string, added: string): string {
  if (key.endsWith(SINCE)) return `${earlier(sinceIn(before), sinceIn(added)) ?? ''}`;
  const clients = new Set([...(clientsIn(before) ?? []), ...(clientsIn(added) ?? [])]);
  return [...clients].sort().slice(0, MAX_CLIENTS).join('\n');
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function textsOf(texts: ClientTexts, key: string): readonly string[] {
  return [...texts.ownTexts(key), ...texts.otherTexts(key).map(({ text }) => text)];
}

/** The first two digits of a hash. */
function shardOf(client: string): string {
  return client.slice(0, 2);
}

/** Reads one hash per line; undefined if the text has another form. */
function clientsIn(text: string): readonly string[] | undefined {
  const lines = text.split('\n');
  const isReadable = lines.length <= MAX_CLIENTS && lines.every((line) => /^[0-9a-f]{16}$/.test(line));
  return isReadable ? lines : undefined;
}

/** Reads milliseconds since 1970; undefined if the text has another form. */
function sinceIn(text: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
