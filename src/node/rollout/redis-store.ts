import { createHash } from 'node:crypto';
import type { RedisClientOptions, RedisClientType } from '@redis/client';
import {
  ANY_REVISION,
  ENDED_MS,
  PAGE_CHARACTERS,
  REMOVED_MS,
  type SharedState,
  type StateCall,
  type StateNews,
} from '../../rollout/shared-state.ts';

/** The address of a Redis or Valkey server, and its credentials. */
interface RedisAddress {
  /** `redis:` or `rediss:` (TLS), user, host, port and database number, without a password. */
  readonly url: string;
  /** Returns the password in force, for each new connection. */
  readonly password: () => string | undefined;
  /** Authorities for the server's certificate as PEM text; by default the system's. */
  readonly ca: string | undefined;
  /** Prefix of all keys. */
  readonly name: string;
  /** Called with a sentence if the store contains something that no gateway wrote, once for each of its keys. */
  readonly onForeign: (sentence: string) => void;
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
export class RedisStore implements SharedState {
  private connections: Connections;
  private address: RedisAddress;
  private readonly create: (address: RedisAddress) => RedisClientType;
  private readonly listeners = new Map<() => void, string>();
  private lastError = 'not connected yet';
  private isClosed = false;
  /** Replies from wrong nodes in a row, and the time of the last one. */
  private wrongNodes = 0;
  private wrongNodeAt = Number.NEGATIVE_INFINITY;
  private readonly foreignKeys = new Set<string>();
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
    return (await this.answered(this.commands.get(this.keyOf(key)))) ?? undefined;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const knows = before === undefined ? '0' : '1';
    const args = [knows, before ?? '', after, this.keyOf(key)];
    return (await this.run(COMPARE_AND_SET, [this.keyOf(key)], args)) === 1;
  }

  async exchange(call: StateCall): Promise<StateNews> {
    const { topic, owner, number, put, takes, ends, after, keepMs } = call;
    const keyOf = (name: string): string => this.keyOf(`state:1:${topic}:${name}`);
    const others = [...ends.filter((id) => id !== owner), ...takes.map((take) => take.owner)];
    const keys = [
      ...['texts', 'revisions', 'processes'].map(keyOf),
      ...[owner, ...others].map((id) => keyOf(`ended:${id}`)),
    ];
    const reply = await this.run(EXCHANGE, keys, [
      call.life,
      owner,
      String(number),
      String(after),
      call.isBehind ? '1' : '0',
      call.leaves ? '1' : '0',
      String(Math.ceil(keepMs)),
      String(others.length - takes.length),
      ...ends.filter((id) => id !== owner),
      String(takes.length),
      ...takes.flatMap((take) => [take.owner, take.key, String(take.revision)]),
      ...put.flatMap(({ key, text }) => [key, text]),
    ]);
    const [foreign = '', ...news] = textsOf(reply);
    this.reportForeign(keys[1], foreign);
    return newsOf(news);
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
    // Subscribes again after a broken connection. The client ignores a listener that it already has.
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
      return await this.answered(this.commands.evalSha(sha, options));
    } catch (error) {
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
      return this.answered(this.commands.eval(text, options));
    }
  }

  /** Reports foreign content that a script found under a key, if any. */
  private reportForeign(key = '', foreign = ''): void {
    if (foreign === '' || this.foreignKeys.has(key) || this.foreignKeys.size >= MAX_FOREIGN_KEYS) return;
    this.foreignKeys.add(key);
    const what =
      foreign === NO_HASH ? 'was not a hash' : `has a field that cannot be read, ${quoted(foreign)}`;
    this.address.onForeign(
      `${key} in the store ${what}; no gateway of this version wrote it, so the gateway ignores it. Check which other programs write to these keys.`,
    );
  }

  /** Replaces the client's error about a missing connection with the reason for it. */
  private async answered<Value>(reply: Promise<Value>): Promise<Value> {
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

/** Maximum keys whose foreign content is reported, and characters of a field's name. */
const MAX_FOREIGN_KEYS = 20;
const MAX_NAME = 64;

function quoted(field: string): string {
  return JSON.stringify(field.length > MAX_NAME ? `${field.slice(0, MAX_NAME)}…` : field);
}

/** Reads the list that `EXCHANGE` returns after its first item. */
function newsOf(list: readonly string[]): StateNews {
  const [life = '', number, before, isOver, revision, isMore, processes, ...rest] = list;
  const owners = Number(processes) * 2;
  return {
    life,
    number: Number(number),
    before: Number(before),
    isOver: isOver === '1',
    revision: Number(revision),
    isMore: isMore === '1',
    owners: Array.from({ length: Number(processes) }, (_, index) => ({
      id: rest[index * 2] ?? '',
      ageMs: Number(rest[index * 2 + 1]),
    })),
    texts: Array.from({ length: Math.floor((rest.length - owners) / 5) }, (_, index) => {
      const [owner = '', key = '', own, ageMs, text = ''] = rest.slice(
        owners + index * 5,
        owners + index * 5 + 5,
      );
      return { owner, key, revision: Number(own), ageMs: Number(ageMs), text };
    }),
  };
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
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

/** A script's word for a key that was not a hash, and was deleted: no field has this name. */
const NO_HASH = '=type';

/** True for a reply that says that a key is not a hash. Any other error comes from the server, and ends the script. */
const IS_NO_HASH = `
local function is_no_hash(reply)
  return type(reply) == 'table' and reply.err ~= nil and string.find(reply.err, '^WRONGTYPE') ~= nil
end
`;

/**
 * `carryOut` of shared-state.ts in the server. KEYS are hashes of texts, of their revisions and of the processes, then the keys that say
 * that the caller, and each of the other processes of the arguments, was ended. A field of a text is its owner and its key; its revision
 * has the time at which it was set, and a third word where the text is gone. The script deletes invalid content, and fields whose
 * counterpart is missing: the topic then begins another life, in which each process sets its texts again.
 */
const EXCHANGE: RedisScript = script(`${IS_NO_HASH}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function whole(number) return string.format('%.0f', number) end
local own, number, after = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local stranger = ''
for index = 1, 3 do
  if is_no_hash(redis.pcall('HGET', KEYS[index], '')) then
    stranger = '${NO_HASH}'
    redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  end
end
local life = redis.call('HGET', KEYS[2], '=life') or ''
local last = redis.call('HGET', KEYS[2], '=last') or ''
if #life > 15 or not string.find(life, '^%d+$') or #last > 15 or not string.find(last, '^%d+$') then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  life = whole(now)
  last = '0'
  redis.call('HSET', KEYS[2], '=life', life, '=last', last)
end
local function begin_anew()
  life = whole(math.max(now, tonumber(life) + 1))
  redis.call('HSET', KEYS[2], '=life', life)
end
if ARGV[5] == '1' and ARGV[1] == life then begin_anew() end
local processes = {}
local fields = redis.call('HGETALL', KEYS[3])
for field = 1, #fields, 2 do
  local count, at = string.match(fields[field + 1], '^(%d+) (%d+)$')
  if count == nil or #count > 15 or #at > 15 then
    stranger = fields[field]
    redis.call('HDEL', KEYS[3], fields[field])
  else
    processes[fields[field]] = { number = tonumber(count), at = tonumber(at) }
  end
end
local ended = redis.call('GET', KEYS[4])
if ended and string.find(ended, '^%d+$') then
  return { stranger, life, ended, ended, '1', last, '0', '0' }
end
local function finish(id, key, count)
  redis.call('SET', key, whole(count), 'PX', '${ENDED_MS}')
  redis.call('HDEL', KEYS[3], id)
  processes[id] = nil
end
local at = 9
local key = 4
for index = 1, tonumber(ARGV[8]) do
  key = key + 1
  local process = processes[ARGV[at]]
  if process then finish(ARGV[at], KEYS[key], process.number) end
  at = at + 1
end
local before = processes[own] and processes[own].number or 0
local takes = tonumber(ARGV[at])
local first_take = at + 1
local is_set = ARGV[1] == life and number > before
for index = 0, takes - 1 do
  local id, name, revision = ARGV[first_take + index * 3], ARGV[first_take + index * 3 + 1], ARGV[first_take + index * 3 + 2]
  if revision ~= '${ANY_REVISION}' then
    local known = redis.call('HGET', KEYS[2], id .. ' ' .. name)
    local its, gone = nil, nil
    if known then its, gone = string.match(known, '^(%d+) %d+( ?x?)$') end
    if processes[id] then is_set = false end
    if revision == '0' then
      if known then is_set = false end
    elseif its ~= revision or gone ~= '' then
      is_set = false
    end
  end
end
local function set_text(id, name, text)
  last = whole(redis.call('HINCRBY', KEYS[2], '=last', 1))
  local field = id .. ' ' .. name
  if text == '' then
    redis.call('HDEL', KEYS[1], field)
    redis.call('HSET', KEYS[2], field, last .. ' ' .. whole(now) .. ' x')
  else
    redis.call('HSET', KEYS[1], field, text)
    redis.call('HSET', KEYS[2], field, last .. ' ' .. whole(now))
  end
end
if is_set then
  for index = 0, takes - 1 do
    local id, name = ARGV[first_take + index * 3], ARGV[first_take + index * 3 + 1]
    key = key + 1
    local old = redis.call('GET', KEYS[key])
    finish(id, KEYS[key], old and string.find(old, '^%d+$') and tonumber(old) or 0)
    set_text(id, name, '')
  end
  for index = first_take + takes * 3, #ARGV, 2 do set_text(own, ARGV[index], ARGV[index + 1]) end
end
local carried = is_set and number or before
if is_set or not processes[own] or now - processes[own].at >= 1000 then
  redis.call('HSET', KEYS[3], own, whole(carried) .. ' ' .. whole(now))
  for index = 1, 3 do redis.call('PEXPIRE', KEYS[index], ARGV[7]) end
end
processes[own] = { number = carried, at = now }
if ARGV[6] == '1' and ARGV[1] == life and carried >= number then finish(own, KEYS[4], carried) end
local found = {}
fields = redis.call('HGETALL', KEYS[2])
for field = 1, #fields, 2 do
  local name, value = fields[field], fields[field + 1]
  if string.sub(name, 1, 1) ~= '=' then
    local id, own_key = string.match(name, '^(%S+) (.+)$')
    local revision, set_at, gone = string.match(value, '^(%d+) (%d+)( ?x?)$')
    if id == nil or revision == nil or #revision > 15 or #set_at > 15 or tonumber(revision) > tonumber(last) then
      stranger = name
      redis.call('HDEL', KEYS[1], name)
      redis.call('HDEL', KEYS[2], name)
    elseif gone ~= '' and now - tonumber(set_at) > ${REMOVED_MS} then
      redis.call('HDEL', KEYS[2], name)
    elseif tonumber(revision) > after and id ~= own then
      found[#found + 1] = { id, own_key, tonumber(revision), tonumber(set_at), gone ~= '', name }
    end
  end
end
table.sort(found, function(one, other) return one[3] < other[3] end)
local texts = {}
local characters = 0
local more = '0'
local revision = last
for index = 1, #found do
  if characters >= ${PAGE_CHARACTERS} then
    more = '1'
    break
  end
  local one = found[index]
  local text = ''
  if not one[5] then text = redis.call('HGET', KEYS[1], one[6]) end
  if not text then
    -- The server has dropped one of two keys.
    redis.call('HDEL', KEYS[2], one[6])
    begin_anew()
  else
    characters = characters + #text
    revision = whole(one[3])
    for _, word in ipairs({ one[1], one[2], revision, whole(math.max(0, now - one[4])), text }) do texts[#texts + 1] = word end
  end
end
if more == '0' then revision = last end
local reply = { stranger, life, whole(carried), whole(before), '0', revision, more }
local count = 0
local list = {}
for id, process in pairs(processes) do
  count = count + 1
  list[#list + 1] = id
  list[#list + 1] = whole(math.max(0, now - process.at))
end
reply[#reply + 1] = whole(count)
for _, word in ipairs(list) do reply[#reply + 1] = word end
for _, word in ipairs(texts) do reply[#reply + 1] = word end
return reply
`);

function script(text: string): RedisScript {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
