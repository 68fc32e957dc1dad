import { type HeaderList, headerValue } from '../http/header-list.ts';
import { JsonWalker } from '../json/document.ts';
import type { Shield } from '../rules/rollout.ts';
import {
  type SharedWindow,
  WINDOW_PARTS,
  type WindowAddition,
  type WindowPart,
  type WindowSource,
} from './store.ts';

/** A request in the queue. */
export interface QueuedRequest {
  /** True once nobody waits for its response: the client disconnected, or got one from the gateway. */
  readonly isSettled: boolean;
  /** Releases the request; called once, with the milliseconds for which it was held. */
  release(heldMs: number): void;
}

/** Clock, timer and chance of the queue. */
interface RateLimitQueueParts {
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly after: (milliseconds: number, run: () => void) => void;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/** The other replicas, as one replica sees them; each process that sends requests is one here. */
export interface RateLimitSharing {
  /** True while the counts of other replicas are known. */
  readonly isTogether: boolean;
  /** Processes of all replicas that send requests, when they were last counted; undefined before. */
  readonly processes: number | undefined;
  /** Asks for an exchange of counts before its time. */
  hurry(): void;
}

interface HeldRequest {
  readonly request: QueuedRequest;
  /** Time from which it is held. */
  readonly since: number;
  /** Time at which it got a slot; undefined before. */
  grantedAt: number | undefined;
  /** Milliseconds until it checks again whether it has one. */
  claimCheckMs: number;
}

interface Client {
  shield: Shield;
  /** Times of the released requests within the period; the oldest first. */
  sent: number[];
  /** Times at which other replicas released requests, as far as they are known; the oldest first. */
  elsewhere: number[];
  /** Requests released here that other replicas do not know of yet. */
  unshared: number;
  /** Those of them that had no claim. */
  unclaimed: UnclaimedRequests;
  /** Slots claimed for queued requests: by the exchange under way, and in the store until the next one ends the claim. */
  claimed: number;
  claimedBefore: number;
  /** True once a claim was not granted in full: chance decides whether to claim again. */
  isRefused: boolean;
  /** Slots that other replicas claim. */
  claimedElsewhere: number;
  /** Requests of all replicas that are known, by part of the shared window. */
  counted: ReadonlyMap<number, number>;
  /** Time until which the service accepts no request. */
  blockedUntil: number;
  queue: HeldRequest[];
}

/** Maximum number of clients in memory; idle ones are evicted first. */
const MAX_CLIENTS = 10_000;

/** Milliseconds until a request checks whether its claim was granted, at first and at last: claims are exchanged no more often. */
const CLAIM_CHECK_MS = [10, 200] as const;

/** Milliseconds for which the highest number of replicas holds. */
const REPLICAS_MS = 60_000;

/** Maximum clients below their limits whose windows one survey reads. */
const SURVEYED_CLIENTS = 400;

/** Upper limit for the wait that the service requests: ten minutes. */
const MAX_BLOCK_MS = 600_000;

/** Maximum bytes of a response body to search for the reset time. */
const MAX_BODY_BYTES = 4096;

/** Maximum keys with a bucket of their own; the oldest is evicted. */
const MAX_KEYS = 1000;

/** Milliseconds for which the counts of all replicas count as new: a little longer than from one survey to the next. */
const FRESH_MS = 1500;

/** Shortest period in which asking is worth it: long enough for several exchanges of counts. */
const MIN_SHARED_PERIOD_MS = 4 * FRESH_MS;

/**
 * Queues requests beyond the rate limit of the service instead of letting them fail: in order for each client, for a limited
 * time, and in limited number. A request that cannot be served in time is forwarded at once and gets the service's own response.
 */
export class RateLimitQueue implements WindowSource {
  private readonly parts: RateLimitQueueParts;
  private readonly clients = new Map<string, Client>();
  private sharing: RateLimitSharing | undefined;
  /** Number of active clients that the last survey reached. */
  private surveyed = 0;
  private counted = { replicas: 1, at: -Infinity };

  constructor(parts: RateLimitQueueParts) {
    this.parts = parts;
  }

  /** Makes the limit one of all replicas together; without the store, each takes its share of it. */
  shareWith(sharing: RateLimitSharing): void {
    this.sharing = sharing;
  }

  /** Releases the request now, or when it is its turn. */
  admit(shield: Shield, name: string, request: QueuedRequest): void {
    const now = this.parts.now();
    const client = this.clientOf(name, shield, now);
    if (client.queue.length === 0 && this.dispatchTime(client, now, 0) <= now && this.mayGo(client, now)) {
      this.releaseUnclaimed(client, request, now);
      return;
    }
    const waiting = client.queue.filter((held) => !held.request.isSettled).length;
    const waitMs = this.dispatchTime(client, now, waiting) - now;
    if (waiting >= shield.queue || waitMs > shield.wait) {
      // It uses a slot that seems free, though nobody granted it.
      if (waitMs <= 0) this.releaseUnclaimed(client, request, now);
      else request.release(0);
      return;
    }
    const held = { request, since: now, grantedAt: undefined, claimCheckMs: CLAIM_CHECK_MS[0] };
    client.queue.push(held);
    if (this.isClaiming && this.claimable(client) > 0) this.sharing?.hurry();
    this.dispatch(client, held);
  }

  /** Records that the service accepts no request of the client for this many seconds. */
  block(name: string, seconds: number): void {
    const client = this.clients.get(name);
    if (client === undefined || !(seconds > 0)) return;
    const until = this.parts.now() + Math.min(seconds * 1000, MAX_BLOCK_MS);
    client.blockedUntil = Math.max(client.blockedUntil, until);
  }

  /** Number of queued requests. */
  get held(): number {
    let held = 0;
    for (const { queue } of this.clients.values()) held += queue.length;
    return held;
  }

  /**
   * Returns the releases since the last call, and claims slots that seem free for queued requests, which wait anyway: the store grants
   * a slot once. The numbers of a window are requests and claims. With `all`, also returns the windows of clients near their limit, and
   * of some hundred others in turn.
   */
  additions(all: boolean): readonly WindowAddition[] {
    const now = this.parts.now();
    const from = this.surveyed;
    let active = 0;
    const additions = [...this.clients].flatMap(([name, client]) => {
      const { shield, queue, unshared, claimedBefore } = client;
      if (all || queue.length > 0) forget(client, now);
      const used = client.sent.length + client.elsewhere.length;
      if (used > 0) active += 1;
      const isNearLimit = queue.length > 0 || used * 2 >= shield.requests;
      const isInTurn = used > 0 && active > from && active <= from + SURVEYED_CLIENTS;
      client.claimed = this.claimOf(client, now);
      const claims = client.claimed + grantedOf(client);
      const add = [unshared, claims - claimedBefore];
      const isOfInterest = waitingOf(client).length > 0 || (all && (isNearLimit || isInTurn));
      if (add.every((number) => number === 0) && !isOfInterest) return [];
      client.unshared = 0;
      client.unclaimed.beginExchange();
      client.claimedBefore = claims;
      const windowMs = windowOf(shield);
      return [{ key: `shield/${windowMs}/${name}`, windowMs, add }];
    });
    if (all) this.surveyed = from + SURVEYED_CLIENTS < active ? from + SURVEYED_CLIENTS : 0;
    return additions;
  }

  /**
   * Takes the requests of all replicas, and releases queued ones whose claim holds. Requests of others count as sent at the last possible
   * moment, so that a guess never exceeds the limit.
   */
  merge(key: string, window: SharedWindow, [released = 0]: readonly number[]): void {
    const client = this.clients.get(key.slice(key.lastIndexOf('/') + 1));
    if (client === undefined) return;
    const now = this.parts.now();
    const { part, parts } = window;
    const partMs = windowOf(client.shield) / WINDOW_PARTS;
    for (const { part: at, counts } of parts) {
      const own = at === part ? released : 0;
      const news = (counts[0] ?? 0) - (client.counted.get(at) ?? 0) - own;
      addElsewhere(client, news, at === part ? now : now - (part - at - 1) * partMs);
    }
    client.counted = new Map(parts.map(({ part: at, counts }) => [at, counts[0] ?? 0]));
    client.claimedElsewhere = Math.max(0, standingClaims(parts) - client.claimedBefore);
    forget(client, now);
    this.grant(client, now);
  }

  /** Replicas that claim the same slots at once get none of them, so each claims only from time to time. */
  private claimOf(client: Client, now: number): number {
    const { blockedUntil } = client;
    const waiting = waitingOf(client).length;
    if (!this.isClaiming || waiting === 0 || blockedUntil > now) return 0;
    if (client.isRefused && (client.claimedBefore > 0 || this.parts.random() * this.replicas > 1)) return 0;
    return Math.min(waiting, this.claimable(client));
  }

  /** Free slots beyond those that other replicas may use without asking. */
  private claimable(client: Client): number {
    return Math.max(0, freeSlots(client) - client.unclaimed.leftForOthers(this.replicas));
  }

  /** Gives claimed slots, and those that need no claim, to queued requests: each notices when it next looks. */
  private grant(client: Client, now: number): void {
    client.unclaimed.endExchange(Math.max(0, freeSlots(client)), now);
    const slots = Math.min(client.claimed, this.claimable(client));
    client.unclaimed.grant(slots);
    if (client.claimed > 0) client.isRefused = slots < client.claimed;
    client.claimed = 0;
    for (const [index, held] of waitingOf(client).entries()) {
      if (index >= slots) {
        if (client.blockedUntil > now || freeSlots(client) <= 0 || !this.mayGo(client, now)) return;
        client.unclaimed.count();
      }
      client.sent.push(now);
      held.grantedAt = now;
    }
  }

  private releaseUnclaimed(client: Client, request: QueuedRequest, now: number): void {
    send(client, now);
    client.unclaimed.count();
    request.release(0);
  }

  /** True when a request needs no claim. */
  private mayGo({ unclaimed }: Client, now: number): boolean {
    return !this.isClaiming || unclaimed.isAllowed(now, this.replicas);
  }

  /** True while queued requests of other replicas might take the same slots. */
  private get isClaiming(): boolean {
    return this.sharing?.isTogether === true && this.replicas > 1;
  }

  /** Number of replicas, or its maximum in the last minute: a replica may be counted late. */
  private get replicas(): number {
    const now = this.parts.now();
    const count = this.sharing?.processes ?? 1;
    if (count >= this.counted.replicas || now - this.counted.at > REPLICAS_MS)
      this.counted = { replicas: count, at: now };
    return this.counted.replicas;
  }

  private clientOf(name: string, shield: Shield, now: number): Client {
    const known = this.clients.get(name);
    if (known !== undefined) {
      known.shield = shield;
      forget(known, now);
      return known;
    }
    if (this.clients.size >= MAX_CLIENTS) this.evict(now - shield.per);
    const client: Client = {
      shield,
      sent: [],
      elsewhere: [],
      unshared: 0,
      unclaimed: new UnclaimedRequests(shield),
      claimed: 0,
      claimedBefore: 0,
      isRefused: false,
      claimedElsewhere: 0,
      counted: new Map(),
      blockedUntil: 0,
      queue: [],
    };
    this.clients.set(name, client);
    return client;
  }

  /**
   * Evicts clients without recent requests, or if there are none, all without a queued request: anybody can send new keys without
   * end.
   */
  private evict(before: number): void {
    for (const isForced of [false, true]) {
      for (const [name, { sent, queue }] of this.clients) {
        if (queue.length === 0 && (isForced || (sent.at(-1) ?? 0) < before)) this.clients.delete(name);
      }
      if (this.clients.size < MAX_CLIENTS) return;
    }
  }

  /**
   * Releases a request when it is its turn, and schedules the next look at it until then. Each has a timer of its own: at the edge
   * a request can be continued only by its own timer, and no timer outlives its request.
   */
  private dispatch(client: Client, held: HeldRequest): void {
    const now = this.parts.now();
    const { request, since, grantedAt } = held;
    forget(client, now);
    client.queue = client.queue.filter((other) => other === held || !other.request.isSettled);
    const at =
      request.isSettled || grantedAt !== undefined
        ? now
        : Math.min(this.nextLook(client, held, now), since + client.shield.wait);
    if (at > now) {
      this.parts.after(Math.max(1, Math.ceil(at - now)), () => this.dispatch(client, held));
      return;
    }
    client.queue = client.queue.filter((other) => other !== held);
    if (request.isSettled) return;
    if (grantedAt !== undefined) client.sent = client.sent.toSpliced(client.sent.indexOf(grantedAt), 1);
    send(client, now);
    request.release(now - since);
  }

  /**
   * Time at which to look at a held request again: at the next free slot, when those before it may be gone. Only the first one is sent,
   * whichever timer comes first.
   */
  private nextLook(client: Client, held: HeldRequest, now: number): number {
    if (this.isClaiming) {
      const { claimCheckMs } = held;
      held.claimCheckMs = Math.min(CLAIM_CHECK_MS[1], claimCheckMs * 2);
      return now + claimCheckMs;
    }
    const slot = this.dispatchTime(client, now, 0);
    return client.queue[0] === held ? slot : Math.max(now + 1, slot);
  }

  /**
   * Time at which the request with `before` requests ahead of it may be sent. Replicas that share nothing divide the limit, as
   * far as their number is known.
   */
  private dispatchTime(client: Client, now: number, before: number): number {
    const { shield, sent, elsewhere, blockedUntil } = client;
    const open = Math.max(now, blockedUntil);
    const { isTogether = true, processes = 1 } = this.sharing ?? {};
    if (!isTogether)
      return freeSlot(sent, Math.max(1, Math.floor(shield.requests / processes)), shield.per, open, before);
    const used =
      elsewhere.length === 0 ? sent : [...sent, ...elsewhere].toSorted((one, other) => one - other);
    return freeSlot(used, shield.requests, shield.per, open, before);
  }
}

/** Length of the shared window: its complete parts cover the period, however young the current part is. */
function windowOf({ per }: Shield): number {
  return Math.ceil((per / (WINDOW_PARTS - 1)) * WINDOW_PARTS);
}

/** Only the newest requests can be in a slot that is not free yet. */
function addElsewhere(client: Client, news: number, time: number): void {
  if (news <= 0) return;
  const { requests } = client.shield;
  client.elsewhere = [...client.elsewhere, ...Array.from({ length: Math.min(news, requests) }, () => time)]
    .toSorted((one, other) => one - other)
    .slice(-requests);
}

/** Claims less those that ended. A claim that ended in one part may have begun in a part before the window. */
function standingClaims(parts: readonly WindowPart[]): number {
  return parts.reduce((claims, { counts: [, change = 0] }) => Math.max(0, claims + change), 0);
}

/** Queued requests that have no slot yet. */
function waitingOf({ queue }: Client): readonly HeldRequest[] {
  return queue.filter(({ request, grantedAt }) => grantedAt === undefined && !request.isSettled);
}

function freeSlots({ shield, sent, elsewhere, claimedElsewhere }: Client): number {
  return shield.requests - sent.length - elsewhere.length - claimedElsewhere;
}

function send(client: Client, now: number): void {
  client.sent.push(now);
  client.unshared += 1;
}

/** Number of queued requests that have a slot, and use it at their next check: their claims stand until then. */
function grantedOf({ queue }: Client): number {
  return queue.filter(({ request, grantedAt }) => grantedAt !== undefined && !request.isSettled).length;
}

/** Forgets requests older than the period. */
function forget(client: Client, now: number): void {
  const { per } = client.shield;
  client.sent = client.sent.filter((time) => time > now - per);
  client.elsewhere = client.elsewhere.filter((time) => time > now - per);
}

/** Time at which the request with `before` requests ahead of it has a slot: each is free again one period after it was used. */
function freeSlot(
  used: readonly number[],
  slots: number,
  period: number,
  open: number,
  before: number,
): number {
  const index = used.length + before - slots;
  if (index < 0) return open;
  const taken = used[index];
  // The slot will be used by another queued request.
  if (taken === undefined) return freeSlot(used, slots, period, open, index - used.length) + period;
  return Math.max(open, taken + period);
}

/** Reads the time that the service wants a client to wait, from a streamed 429 response. */
export class RateLimitReset {
  private readonly headers: HeaderList;
  private readonly time: number;
  private readonly chunks: number[] = [];

  /** `time` is milliseconds since 1970: `Retry-After` may be a date. */
  constructor(headers: HeaderList, time: number) {
    this.headers = headers;
    this.time = time;
  }

  data(chunk: Uint8Array): void {
    if (this.chunks.length + chunk.length <= MAX_BODY_BYTES) this.chunks.push(...chunk);
  }

  /** Seconds: `meta.reset` of the body (documented), else `Retry-After` (RFC 9110 §10.2.3); undefined when neither is present. */
  get seconds(): number | undefined {
    const bytes = Uint8Array.from(this.chunks);
    let reset: number | undefined;
    new JsonWalker().walk(bytes, {
      enter: ({ path, kind, start, end }) => {
        if (kind !== 'scalar' || path.length !== 2 || path[0] !== 'meta' || path[1] !== 'reset') return;
        const value = Number(new TextDecoder().decode(bytes.subarray(start, end)));
        if (value >= 0) reset = value;
      },
    });
    return reset ?? this.retryAfter();
  }

  private retryAfter(): number | undefined {
    const value = headerValue(this.headers, 'retry-after');
    if (value === undefined) return undefined;
    if (/^\d{1,9}$/.test(value)) return Number(value);
    const date = Date.parse(value);
    return Number.isNaN(date) ? undefined : Math.max(0, (date - this.time) / 1000);
  }
}

/** The size of a token bucket, and how fast it fills. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  left: number;
  /** Time at which `left` was computed, in milliseconds. */
  at: number;
}

/** One token bucket for each key, such as an address or a client hash. */
export class TokenBuckets {
  private readonly rate: Rate;
  private readonly time: () => number;
  private readonly buckets = new Map<string, Bucket>();

  /** `time` is a clock in milliseconds. */
  constructor(rate: Rate, time: () => number) {
    this.rate = rate;
    this.time = time;
  }

  /** True while the bucket of `key` is empty. */
  isSpent(key: string): boolean {
    return this.bucketOf(key).left < 1;
  }

  /** Takes a token; false when there is none. */
  take(key: string): boolean {
    const bucket = this.bucketOf(key);
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

  /** Whole seconds until there is a token; 0 when there is one now. */
  waitSeconds(key: string): number {
    return Math.max(0, Math.ceil((1 - this.bucketOf(key).left) / this.rate.perSecond));
  }

  private bucketOf(key: string): Bucket {
    const { burst, perSecond } = this.rate;
    const now = this.time();
    const known = this.buckets.get(key);
    if (known !== undefined) {
      known.left = Math.min(burst, known.left + (Math.max(0, now - known.at) / 1000) * perSecond);
      known.at = now;
      return known;
    }
    const [oldest] = this.buckets.keys();
    if (this.buckets.size >= MAX_KEYS && oldest !== undefined) this.buckets.delete(oldest);
    const bucket = { left: burst, at: now };
    this.buckets.set(key, bucket);
    return bucket;
  }
}

/**
 * A client's requests that a replica sends without asking the store first. Replicas do not know each other's requests since their last
 * exchange, so each may send half its share of the free slots before the next, and a claim leaves that much for the others. A replica
 * without new counts may send its share of the slots that were free when it last knew.
 */
export class UnclaimedRequests {
  private readonly slots: number;
  private readonly period: number;
  private free: number;
  private readAt = -Infinity;
  /** Sent since the last exchange, and of these, before the exchange under way. */
  private sent = 0;
  private sentBefore = 0;
  /** Numbers of free slots that other replicas may still go by; the oldest first. */
  private readings: readonly { readonly at: number; readonly free: number }[];

  constructor({ requests, per }: Shield) {
    this.slots = requests;
    this.period = per;
    this.free = requests;
    this.readings = [];
  }

  /** True when one more may be sent, if there is a free slot. */
  isAllowed(now: number, replicas: number): boolean {
    if (!this.canDivide(replicas)) return true;
    if (now - this.readAt >= FRESH_MS) return this.sent < this.share(this.free, replicas);
    const share = this.share(this.free, 2 * replicas);
    const isMost = this.isMost(this.free);
    return this.sent < (isMost ? share : Math.min(share, this.free - this.leftForOthers(replicas)));
  }

  /** Counts a request that is sent. */
  count(): void {
    this.sent += 1;
  }

  /** Called when an exchange begins, which tells the others about the requests so far. */
  beginExchange(): void {
    this.sentBefore = this.sent;
  }

  /** Called with the slots that are free by the counts of all replicas. */
  endExchange(free: number, now: number): void {
    this.free = free;
    this.readAt = now;
    this.sent -= this.sentBefore;
    this.sentBefore = 0;
    const readings =
      this.readings.length === 0 ? [{ at: now, free: this.slots }] : [...this.readings, { at: now, free }];
    // The last one that is too old applied until the next one.
    const first = readings.findLastIndex(({ at }) => at <= now - FRESH_MS);
    this.readings = readings.slice(Math.max(0, first));
  }

  /** Called when claimed slots are granted, which are then no longer free. */
  grant(slots: number): void {
    this.free -= slots;
  }

  /** Slots to leave for requests that the other replicas may send without asking. */
  leftForOthers(replicas: number): number {
    if (!this.canDivide(replicas)) return 0;
    const highest =
      this.readings.length === 0 ? this.slots : Math.max(...this.readings.map(({ free }) => free));
    return (replicas - 1) * this.share(highest, 2 * replicas);
  }

  /** A limit of less than two requests for each replica, or of seconds, would make most requests wait for the store. */
  private canDivide(replicas: number): boolean {
    return this.slots >= 2 * replicas && this.period >= MIN_SHARED_PERIOD_MS;
  }

  /** While most slots are free, nobody waits for the store. */
  private share(free: number, among: number): number {
    return Math.max(this.isMost(free) ? 1 : 0, Math.floor(free / among));
  }

  private isMost(free: number): boolean {
    return free * 2 > this.slots;
  }
}
