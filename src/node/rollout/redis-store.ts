import type { RedisClientType } from '@redis/client';
import type { RecordStore } from '../../rollout/record-store.ts';
import { type SharedWindow, type Store, WINDOW_PARTS, type WindowAddition } from '../../rollout/store.ts';
import { RedisRecords } from './redis-records.ts';
import { COMPARE_AND_SET, COUNT, type RedisScript } from './redis-scripts.ts';

/** Where a Redis or Valkey server is, and how to log in. */
export interface RedisAddress {
  /** `redis:` or `rediss:` (TLS), host, port and number of the database, without a password. */
  readonly url: string;
  readonly password: string | undefined;
  /** PEM text of the authorities that the server's certificate is checked against; undefined: those of the system. */
  readonly ca: string | undefined;
  /** Prefix of all keys. */
  readonly name: string;
}

/** Milliseconds to wait for the first connection. */
const FIRST_CONNECT_MS = 2000;
const CONNECT_TIMEOUT_MS = 2000;
/** Between two signs of life, and without one, in milliseconds: a connection without responses is replaced. */
const PING_MS = 2000;
const SILENCE_MS = 5000;
/** Milliseconds between attempts to connect: from the first to the second. */
const BACK_OFF_MS = [50, 1000] as const;

/** A store in Redis 6 or later, or in Valkey. */
export class RedisStore implements Store {
  private readonly commands: RedisClientType;
  private readonly subscriptions: RedisClientType;
  private readonly name: string;
  private readonly listeners = new Map<() => void, string>();
  private lastError = 'not connected yet';

  private constructor(commands: RedisClientType, subscriptions: RedisClientType, name: string) {
    this.commands = commands;
    this.subscriptions = subscriptions;
    this.name = name;
    for (const client of [commands, subscriptions]) client.on('error', this.onError);
    // A subscription that met a broken connection was lost; one that is there already is not doubled.
    subscriptions.on('ready', () => {
      for (const [listener, channel] of this.listeners) this.listen(channel, listener);
    });
  }

  /** Opens a store; resolves when it is connected, or after two seconds: it goes on trying. */
  static async open({ url, password, ca, name }: RedisAddress): Promise<RedisStore> {
    // Loaded only here: most gateways have no such store.
    const { createClient } = await import('@redis/client');
    const socket = {
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MS,
      reconnectStrategy: (retries: number) =>
        Math.min(BACK_OFF_MS[1], BACK_OFF_MS[0] * 2 ** Math.min(retries, 10)) * (0.5 + Math.random()),
    };
    const commands: RedisClientType = createClient({
      url,
      ...(password === undefined ? {} : { password }),
      socket: url.startsWith('rediss:')
        ? { ...socket, tls: true, ...(ca === undefined ? {} : { ca }) }
        : socket,
      // While the server is out of reach, calls fail at once instead of piling up.
      disableOfflineQueue: true,
      pingInterval: PING_MS,
      // Only Redis Enterprise has these; the subscription is for one channel.
      maintNotifications: 'disabled',
    });
    const store = new RedisStore(commands, commands.duplicate(), name);
    await store.connect();
    return store;
  }

  async read(key: string): Promise<string | undefined> {
    return (await this.told(this.commands.get(this.keyOf(key)))) ?? undefined;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const knows = before === undefined ? '0' : '1';
    const args = [knows, before ?? '', after, this.keyOf(key)];
    return (await this.run(COMPARE_AND_SET, [this.keyOf(key)], args)) === 1;
  }

  async count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const keys = additions.map(({ key }) => this.keyOf(`window:${key}`));
    const args = additions.flatMap(({ windowMs, add }) => [windowMs, add.length, ...add].map(String));
    const replies = await this.run(COUNT, keys, [String(WINDOW_PARTS), ...args]);
    if (!Array.isArray(replies)) throw new Error('the server sent no counts');
    return replies.map((reply) => readCounts(reply));
  }

  /** Records beside the texts and windows; nothing is left of those that are not changed for `keepMs`. */
  records(keepMs: number): RecordStore {
    return new RedisRecords(
      (script, keys, args) => this.run(script, keys, args),
      (key) => this.keyOf(key),
      keepMs,
    );
  }

  subscribe(key: string, changed: () => void): () => void {
    const listener = (): void => {
      if (this.listeners.has(listener)) changed();
    };
    const channel = this.keyOf(key);
    this.listeners.set(listener, channel);
    if (this.subscriptions.isReady) this.listen(channel, listener);
    return () => {
      this.listeners.delete(listener);
      if (this.subscriptions.isReady) this.subscriptions.unsubscribe(channel, listener).catch(this.onError);
    };
  }

  async close(): Promise<void> {
    for (const client of [this.commands, this.subscriptions]) if (client.isOpen) client.destroy();
  }

  private readonly onError = (error: unknown): void => {
    this.lastError = messageOf(error);
  };

  private listen(channel: string, listener: () => void): void {
    this.subscriptions.subscribe(channel, listener).catch(this.onError);
  }

  private async connect(): Promise<void> {
    const connected = Promise.all([this.commands.connect(), this.subscriptions.connect()]);
    let deadline: NodeJS.Timeout | undefined;
    await Promise.race([
      connected.catch(this.onError),
      new Promise((resolve) => {
        deadline = setTimeout(resolve, FIRST_CONNECT_MS);
      }),
    ]);
    clearTimeout(deadline);
  }

  private async run(
    { sha, text }: RedisScript,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const options = { keys: [...keys], arguments: [...args] };
    try {
      return await this.told(this.commands.evalSha(sha, options));
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      return this.told(this.commands.eval(text, options));
    }
  }

  /** Says why there is no connection instead of that there is none. */
  private async told<Value>(reply: Promise<Value>): Promise<Value> {
    try {
      return await reply;
    } catch (error) {
      if (this.commands.isReady) throw error;
      throw new Error(this.lastError, { cause: error });
    }
  }

  /** In a cluster, all keys with the same word in braces are on one server, as scripts need it. */
  private keyOf(key: string): string {
    return `{${this.name}}:${key}`;
  }
}

/** Reads the current part, and fields `part:index` with their values. */
function readCounts(reply: unknown): SharedWindow {
  const [part, ...pairs]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const parts = new Map<number, number[]>();
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [number = 0, index = 0] = String(pairs[at]).split(':').map(Number);
    const counts = parts.get(number) ?? [];
    while (counts.length <= index) counts.push(0);
    counts[index] = Number(pairs[at + 1]);
    parts.set(number, counts);
  }
  return {
    part: Number(part),
    parts: [...parts]
      .toSorted(([one], [other]) => one - other)
      .map(([number, counts]) => ({ part: number, counts })),
  };
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
