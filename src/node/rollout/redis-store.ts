import { createHash } from 'node:crypto';
import type { RedisClientOptions, RedisClientType } from '@redis/client';
import {
  type RecordChange,
  type RecordPage,
  type RecordStore,
  type Replaced,
  type SharedWindow,
  type Store,
  WINDOW_PARTS,
  type WindowAddition,
} from '../../rollout/store.ts';

/** Where a Redis or Valkey server is, and how to log in. */
interface RedisAddress {
  /** `redis:` or `rediss:` (TLS), user, host, port and database number, without a password. */
  readonly url: string;
  /** Returns the password in force, for each new connection. */
  readonly password: () => string | undefined;
  /** Authorities for the server's certificate as PEM text; by default the system's. */
  readonly ca: string | undefined;
  /** Prefix of all keys. */
  readonly name: string;
  /** Called with a sentence when something is in the store that no gateway wrote, once for each of its keys. */
  readonly onStranger: (sentence: string) => void;
}

/** Milliseconds to wait for the first connection. */
const FIRST_CONNECT_MS = 2000;
const CONNECT_TIMEOUT_MS = 2000;
/** Milliseconds between two pings, and without a response after which a connection is replaced. */
const PING_MS = 2000;
const SILENCE_MS = 5000;
/** Milliseconds between attempts to connect, doubling from the first value to the second. */
const BACK_OFF_MS = [50, 1000] as const;
/** Milliseconds after which another reply from a wrong node counts as the first. */
const SETTLED_MS = 5000;

/**
 * Replies from a server that cannot serve these keys, while another one under the same name may: after a failover it is a replica, or the
 * cluster moved the keys. Redis before 7 wraps a script command's reply into its own sentence.
 */
const WRONG_NODE = /(?:^|-)(?:READONLY|MASTERDOWN|LOADING|CLUSTERDOWN|MOVED) /;

/** One connection for commands and one for subscriptions, to the same server. */
interface Connections {
  readonly address: RedisAddress;
  readonly commands: RedisClientType;
  readonly subscriptions: RedisClientType;
}

/** A store in Redis 6 or later, or in Valkey. */
export class RedisStore implements Store {
  private connections: Connections;
  private address: RedisAddress;
  private readonly create: (address: RedisAddress) => RedisClientType;
  private readonly listeners = new Map<() => void, string>();
  private lastError = 'not connected yet';
  private isClosed = false;
  /** Replies from wrong nodes in a row, and the time of the last one. */
  private wrongNodes = 0;
  private wrongNodeAt = Number.NEGATIVE_INFINITY;
  private readonly strangers = new Set<string>();
  private retry: NodeJS.Timeout | undefined = undefined;

  private constructor(address: RedisAddress, create: (address: RedisAddress) => RedisClientType) {
    this.address = address;
    this.create = create;
    this.connections = this.prepared();
  }

  /** Opens a store; resolves when it is connected, or after two seconds, in which case it keeps trying. */
  static async open(address: RedisAddress): Promise<RedisStore> {
    // Loaded only here, because few gateways need it.
    const { createClient } = await import('@redis/client');
    const store = new RedisStore(address, (own) => createClient(clientOptions(own)));
    let deadline: NodeJS.Timeout | undefined;
    await Promise.race([
      store.connect(),
      new Promise((resolve) => {
        deadline = setTimeout(resolve, FIRST_CONNECT_MS);
      }),
    ]);
    clearTimeout(deadline);
    return store;
  }

  /** Uses these authorities for new connections. */
  renew(ca: string): void {
    this.address = { ...this.address, ca };
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
    return replies.map((reply: unknown, index) => {
      const [part, stranger, ...pairs] = textsOf(reply);
      this.tell(keys[index], stranger);
      return readCounts(part, pairs);
    });
  }

  /** Records beside the texts and windows; they expire `keepMs` after their last change. */
  records(keepMs: number): RecordStore {
    return new RedisRecords(
      (script, keys, args) => this.run(script, keys, args),
      (key, stranger) => this.tell(key, stranger),
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
      const { connections } = this;
      const { subscriptions } = connections;
      if (subscriptions.isReady)
        subscriptions
          .unsubscribe(channel, listener)
          .catch((error: unknown) => this.onError(connections, error));
    };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.retry);
    destroy(this.connections);
  }

  private get commands(): RedisClientType {
    return this.connections.commands;
  }

  private get subscriptions(): RedisClientType {
    return this.connections.subscriptions;
  }

  private prepared(): Connections {
    const { address } = this;
    const connections = { address, commands: this.create(address), subscriptions: this.create(address) };
    for (const client of [connections.commands, connections.subscriptions])
      client.on('error', (error) => {
        this.onError(connections, error);
      });
    // Subscribes again after a broken connection. The client ignores a listener that it has already.
    connections.subscriptions.on('ready', () => {
      if (this.connections !== connections) return;
      for (const [listener, channel] of this.listeners) this.listen(channel, listener);
    });
    return connections;
  }

  private async connect(): Promise<void> {
    const { connections } = this;
    const { commands, subscriptions } = connections;
    await Promise.all([commands.connect(), subscriptions.connect()]).catch((error: unknown) =>
      this.onError(connections, error),
    );
  }

  private onError(connections: Connections, error: unknown): void {
    // Ignores earlier connections.
    if (this.connections !== connections || this.retry !== undefined) return;
    this.lastError = messageOf(error);
    // The client reconnects by itself, but with the authorities of its first connection.
    if (connections.address !== this.address) this.reconnect(backOff(0));
    else this.leaveWrongNode(connections, this.lastError);
  }

  private listen(channel: string, listener: () => void): void {
    const { connections } = this;
    connections.subscriptions
      .subscribe(channel, listener)
      .catch((error: unknown) => this.onError(connections, error));
  }

  /** Reconnects after a reply from a wrong node, which resolves the name again. */
  private leaveWrongNode(connections: Connections, message: string): void {
    // Several calls on one connection can get such a reply.
    if (this.connections !== connections || this.retry !== undefined || !WRONG_NODE.test(message)) return;
    this.lastError = message;
    if (performance.now() - this.wrongNodeAt > SETTLED_MS) this.wrongNodes = 0;
    this.wrongNodeAt = performance.now();
    this.reconnect(backOff(this.wrongNodes));
    this.wrongNodes += 1;
  }

  /** Replaces both connections after a delay. Until then, calls fail at once. */
  private reconnect(delayMs: number): void {
    if (this.isClosed) return;
    clearTimeout(this.retry);
    destroy(this.connections);
    this.retry = setTimeout(() => {
      this.retry = undefined;
      this.connections = this.prepared();
      void this.connect();
    }, delayMs);
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

  /** Tells of what a script found under a key, if anything. */
  private tell(key = '', stranger = ''): void {
    if (stranger === '' || this.strangers.has(key) || this.strangers.size >= MAX_STRANGERS) return;
    this.strangers.add(key);
    const what =
      stranger === NO_HASH ? 'was no hash' : `has a field that cannot be read, ${quoted(stranger)}`;
    this.address.onStranger(
      `${key} in the store ${what}; no gateway of this version wrote it, and it is passed over. See who else may write to these keys.`,
    );
  }

  /** Replaces the client's error about a missing connection by the reason for that. */
  private async told<Value>(reply: Promise<Value>): Promise<Value> {
    const { connections } = this;
    try {
      return await reply;
    } catch (error) {
      this.leaveWrongNode(connections, messageOf(error));
      if (connections.commands.isReady) throw error;
      throw new Error(this.lastError, { cause: error });
    }
  }

  /** In a cluster, all keys with the same word in braces are on one server, as scripts require. */
  private keyOf(key: string): string {
    return `{${this.address.name}}:${key}`;
  }
}

function clientOptions({ url, password, ca }: RedisAddress): RedisClientOptions {
  const place = new URL(url);
  const username = place.username === '' ? undefined : decodeURIComponent(place.username);
  // With a user in the address, the client would ignore the credentials provider.
  place.username = '';
  const socket = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    reconnectStrategy: backOff,
  };
  return {
    url: place.href,
    credentialsProvider: {
      type: 'async-credentials-provider',
      // Called for each connection, because the password may have been renewed.
      credentials: async () => {
        const current = password();
        return current === undefined
          ? {}
          : { ...(username !== undefined && { username }), password: current };
      },
    },
    socket: url.startsWith('rediss:')
      ? { ...socket, tls: true, ...(ca === undefined ? {} : { ca }) }
      : socket,
    // While the server is unreachable, calls fail at once instead of piling up.
    disableOfflineQueue: true,
    // Sending the library's name would need the right to one more command.
    disableClientInfo: true,
    pingInterval: PING_MS,
    // Only Redis Enterprise has these.
    maintNotifications: 'disabled',
  };
}

function backOff(retries: number): number {
  const delay = Math.min(BACK_OFF_MS[1], BACK_OFF_MS[0] * 2 ** Math.min(retries, 10));
  return delay * (0.5 + Math.random());
}

function destroy({ commands, subscriptions }: Connections): void {
  for (const client of [commands, subscriptions]) if (client.isOpen) client.destroy();
}

/** Maximum keys whose strangers are told, and characters of a field's name. */
const MAX_STRANGERS = 20;
const MAX_NAME = 64;

function quoted(field: string): string {
  return JSON.stringify(field.length > MAX_NAME ? `${field.slice(0, MAX_NAME)}…` : field);
}

/** Reads fields `part:index` with their values, which the script has checked. */
function readCounts(current: string | undefined, pairs: readonly string[]): SharedWindow {
  const parts = new Map<number, number[]>();
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [number = 0, index = 0] = (pairs[at] ?? '').split(':').map(Number);
    const counts = parts.get(number) ?? [];
    while (counts.length <= index) counts.push(0);
    counts[index] = Number(pairs[at + 1]);
    parts.set(number, counts);
  }
  return {
    part: Number(current),
    parts: [...parts]
      .toSorted(([one], [other]) => one - other)
      .map(([number, counts]) => ({ part: number, counts })),
  };
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** Runs a script in the server. */
type RunScript = (script: RedisScript, keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Records in Redis or Valkey: a hash of texts and a hash of their revisions, which expire together. */
class RedisRecords implements RecordStore {
  private readonly run: RunScript;
  private readonly tell: (key: string | undefined, stranger: string | undefined) => void;
  private readonly keys: readonly string[];
  private readonly keepMs: number;

  /** Records expire `keepMs` after their last change. */
  constructor(
    run: RunScript,
    tell: (key: string | undefined, stranger: string | undefined) => void,
    keyOf: (key: string) => string,
    keepMs: number,
  ) {
    this.run = run;
    this.tell = tell;
    this.keys = ['report:1:texts', 'report:1:revisions'].map(keyOf);
    this.keepMs = keepMs;
  }

  async changes(after: number, limit: number): Promise<RecordPage> {
    const reply = await this.run(RECORD_CHANGES, this.keys, [String(after), String(limit)]);
    const [life = '', stranger, ...fields] = textsOf(reply);
    this.tell(this.keys[1], stranger);
    return {
      life,
      records: Array.from({ length: Math.floor(fields.length / 3) }, (_, index) => ({
        key: fields[index * 3] ?? '',
        revision: Number(fields[index * 3 + 1]),
        text: fields[index * 3 + 2] ?? '',
      })),
    };
  }

  async replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    const fields = changes.flatMap(({ key, revision, text }) => [key, String(revision), text]);
    const reply = await this.run(REPLACE_RECORDS, this.keys, [life, String(this.keepMs), ...fields]);
    const [known, revision] = textsOf(reply);
    return known === undefined ? undefined : { life: known, revision: Number(revision) };
  }
}

function textsOf(reply: unknown): readonly string[] {
  if (!Array.isArray(reply)) throw new Error('the server sent no list');
  return reply.map(String);
}

/** A script for the server, and its name there. */
interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

/** Replaces the text of KEYS[1] when it is ARGV[2] (or absent, when ARGV[1] is 0) by ARGV[3], and publishes on ARGV[4]. */
const COMPARE_AND_SET: RedisScript = script(`
local now = redis.call('GET', KEYS[1])
if ARGV[1] == '0' then
  if now then return 0 end
elseif now ~= ARGV[2] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[4], '')
return 1
`);

/** What a script says of a key that was no hash, and was deleted: no field has this name. */
const NO_HASH = '=type';

/** True for a reply that says that a key is no hash. Any other error is one of the server, and ends the script. */
const IS_NO_HASH = `
local function is_no_hash(reply)
  return type(reply) == 'table' and reply.err ~= nil and string.find(reply.err, '^WRONGTYPE') ~= nil
end
`;

/**
 * Adds to windows. KEYS are hashes with fields \`part:index\`; ARGV is the number of parts of a window, then for each key the
 * length of the window in milliseconds, how many numbers follow, and the numbers. Returns for each key the current part, a field that
 * no gateway of this version wrote (or nothing), then fields and values. The server's clock divides the windows. The script deletes
 * what nobody can read, since it would make each replica count alone; an index beyond the numbers may be one of a later version.
 */
const COUNT: RedisScript = script(`${IS_NO_HASH}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local parts = tonumber(ARGV[1])
local at = 2
local replies = {}
for index, key in ipairs(KEYS) do
  local length = tonumber(ARGV[at])
  local numbers = tonumber(ARGV[at + 1])
  local part = math.floor(now / length * parts)
  local name = string.format('%.0f', part)
  local stranger = ''
  local fields = redis.pcall('HGETALL', key)
  if is_no_hash(fields) then
    redis.call('DEL', key)
    stranger = '${NO_HASH}'
    fields = {}
  elseif fields.err then
    return fields
  end
  local kept = {}
  for field = 1, #fields, 2 do
    local own, value = fields[field], fields[field + 1]
    local old, number = string.match(own, '^(%d+):(%d+)$')
    if old == nil or string.format('%.0f:%.0f', old, number) ~= own or tonumber(old) >= part + parts
      or #value > 15 or not string.find(value, '^%-?%d+$') then
      stranger = own
      redis.call('HDEL', key, own)
    elseif tonumber(old) <= part - parts then
      redis.call('HDEL', key, own)
    elseif tonumber(number) >= numbers then
      stranger = own
    else
      kept[own] = value
    end
  end
  local added = false
  for number = 1, numbers do
    local add = ARGV[at + 1 + number]
    if add ~= '0' then
      local own = name .. ':' .. (number - 1)
      kept[own] = string.format('%.0f', redis.call('HINCRBY', key, own, add))
      added = true
    end
  end
  at = at + 2 + numbers
  local reply = { name, stranger }
  for own, value in pairs(kept) do
    reply[#reply + 1] = own
    reply[#reply + 1] = value
  end
  if added then redis.call('PEXPIRE', key, math.ceil(length + length / parts)) end
  replies[index] = reply
end
return replies
`);

/**
 * The first lines of the scripts for records. KEYS are the hash of texts and the hash of revisions, which also has the life and the last
 * revision. Both are deleted when the server has evicted one of them, or when nobody can read one: a new life begins then.
 */
const BOTH_OR_NONE = `${IS_NO_HASH}
local stranger = ''
if is_no_hash(redis.pcall('HGET', KEYS[1], '')) or is_no_hash(redis.pcall('HGET', KEYS[2], '')) then
  stranger = '${NO_HASH}'
else
  local last = redis.call('HGET', KEYS[2], '=last')
  if last and (#last > 15 or not string.find(last, '^%d+$')) then stranger = '=last' end
end
if stranger ~= '' or redis.call('EXISTS', KEYS[1]) ~= redis.call('EXISTS', KEYS[2]) then
  redis.call('DEL', KEYS[1], KEYS[2])
end
`;

/**
 * Returns the records' life, a field that no gateway wrote (or nothing), then key, revision and text of at most ARGV[2] records that were
 * set after revision ARGV[1], by revision. It deletes a record without a revision: nobody could replace it.
 */
const RECORD_CHANGES: RedisScript = script(`${BOTH_OR_NONE}
local after = tonumber(ARGV[1])
local last = tonumber(redis.call('HGET', KEYS[2], '=last') or '0')
local found = {}
local fields = redis.call('HGETALL', KEYS[2])
local life = ''
for field = 1, #fields, 2 do
  local name, value = fields[field], fields[field + 1]
  local revision = string.find(value, '^%d+$') and tonumber(value) or last + 1
  if name == '=life' then
    life = value
  elseif name == '=last' then
    -- It was checked above.
  elseif revision > last then
    stranger = name
    redis.call('HDEL', KEYS[1], name)
    redis.call('HDEL', KEYS[2], name)
  elseif revision > after then
    found[#found + 1] = { name, revision }
  end
end
table.sort(found, function(one, other) return one[2] < other[2] end)
local reply = { life, stranger }
for index = 1, math.min(#found, tonumber(ARGV[2])) do
  local name, revision = found[index][1], found[index][2]
  reply[#reply + 1] = name
  reply[#reply + 1] = string.format('%.0f', revision)
  reply[#reply + 1] = redis.call('HGET', KEYS[1], name) or ''
end
return reply
`);

/**
 * Sets records: ARGV is the life and the milliseconds to keep them, then key, known revision (0: none) and text of each. Returns the life
 * and the last revision, or nothing if the life or a revision differs. The server's clock names a new life.
 */
const REPLACE_RECORDS: RedisScript = script(`${BOTH_OR_NONE}
local life = redis.call('HGET', KEYS[2], '=life') or ''
if life ~= ARGV[1] then return {} end
for at = 3, #ARGV, 3 do
  if (redis.call('HGET', KEYS[2], ARGV[at]) or '0') ~= ARGV[at + 1] then return {} end
end
if life == '' then
  local time = redis.call('TIME')
  life = time[1] .. '.' .. time[2]
  redis.call('HSET', KEYS[2], '=life', life, '=last', '0')
end
local revision = 0
for at = 3, #ARGV, 3 do
  revision = redis.call('HINCRBY', KEYS[2], '=last', 1)
  redis.call('HSET', KEYS[2], ARGV[at], revision)
  redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return { life, tostring(revision) }
`);

function script(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
