import { ByteCollector } from '../http/byte-collector.ts';
import { type HeaderList, headerValue } from '../http/header-list.ts';
import { JsonWalker } from '../json/document.ts';
import type { Shield } from '../rules/rollout.ts';

/** A request in the queue. */
export interface QueuedRequest {
  /** True once the client has disconnected, or has a response from the gateway. */
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

/** The other processes of this gateway and of all replicas that send requests. */
export interface RateLimitSharing {
  /** Number of processes at the last count, including this one; undefined before the first. */
  readonly processes: number | undefined;
}

interface HeldRequest {
  readonly request: QueuedRequest;
  /** Time from which it is held. */
  readonly since: number;
}

interface Client {
  shield: Shield;
  /** Times of the released requests within the period; the oldest first. */
  sent: number[];
  /** Time until which the service accepts no request. */
  blockedUntil: number;
  queue: HeldRequest[];
}

/** Maximum number of clients in memory; idle ones are evicted first. */
const MAX_CLIENTS = 10_000;

/** Upper limit for the wait that the service requests: ten minutes. */
const MAX_BLOCK_MS = 600_000;

/** Maximum bytes of a response body to search for the reset time. */
const MAX_BODY_BYTES = 4096;

/** Maximum keys with a bucket of their own; the oldest is evicted. */
const MAX_KEYS = 1000;

/**
 * The part of a limit that one of several processes has: they divide it evenly, rounded up, so at least one request each. Processes do
 * not exchange free slots, so a client whose requests all reach one process has only that part.
 */
export function shareOfLimit(requests: number, processes: number): number {
  return Math.max(1, Math.ceil(requests / Math.max(1, processes)));
}

/**
 * Queues requests beyond the rate limit of the service, so that they do not fail: in order for each client, for a limited time, and a
 * limited number. A request that cannot be served in time is forwarded at once and gets the service's own response.
 */
export class RateLimitQueue {
  private readonly parts: RateLimitQueueParts;
  private readonly clients = new Map<string, Client>();
  private sharing: RateLimitSharing | undefined;

  constructor(parts: RateLimitQueueParts) {
    this.parts = parts;
  }

  /** Divides each limit by the processes that send requests. */
  shareWith(sharing: RateLimitSharing): void {
    this.sharing = sharing;
  }

  /** Releases the request now, or when it is its turn. */
  admit(shield: Shield, name: string, request: QueuedRequest): void {
    const now = this.parts.now();
    const client = this.clientOf(name, shield, now);
    if (client.queue.length === 0 && this.dispatchTime(client, now, 0) <= now) {
      client.sent.push(now);
      request.release(0);
      return;
    }
    const waiting = client.queue.filter((held) => !held.request.isSettled).length;
    if (waiting >= shield.queue || this.dispatchTime(client, now, waiting) - now > shield.wait) {
      request.release(0);
      return;
    }
    const held = { request, since: now };
    client.queue.push(held);
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

  private clientOf(name: string, shield: Shield, now: number): Client {
    const known = this.clients.get(name);
    if (known !== undefined) {
      known.shield = shield;
      forget(known, now);
      return known;
    }
    if (this.clients.size >= MAX_CLIENTS) this.evict(now - shield.per);
    const client: Client = { shield, sent: [], blockedUntil: 0, queue: [] };
    this.clients.set(name, client);
    return client;
  }

  /**
   * Evicts clients without recent requests, or if there are none, all without a queued request, because a client can send any number of
   * new keys.
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
   * Releases a request when it is its turn, or schedules the next check. Each request has its own timer: at the edge, only its own timer
   * can continue a request, and no timer outlives its request.
   */
  private dispatch(client: Client, held: HeldRequest): void {
    const now = this.parts.now();
    const { request, since } = held;
    forget(client, now);
    client.queue = client.queue.filter((other) => other === held || !other.request.isSettled);
    const at = request.isSettled
      ? now
      : Math.min(this.nextLook(client, held, now), since + client.shield.wait);
    if (at > now) {
      this.parts.after(Math.max(1, Math.ceil(at - now)), () => this.dispatch(client, held));
      return;
    }
    client.queue = client.queue.filter((other) => other !== held);
    if (request.isSettled) return;
    client.sent.push(now);
    request.release(now - since);
  }

  /**
   * Time of the next check of a held request: at the next free slot, when those before it may have been sent. Only the first one is sent,
   * no matter which timer fires first.
   */
  private nextLook(client: Client, held: HeldRequest, now: number): number {
    const slot = this.dispatchTime(client, now, 0);
    return client.queue[0] === held ? slot : Math.max(now + 1, slot);
  }

  /** Time at which the request with `before` requests ahead of it may be sent. */
  private dispatchTime({ shield, sent, blockedUntil }: Client, now: number, before: number): number {
    const slots = shareOfLimit(shield.requests, this.sharing?.processes ?? 1);
    return freeSlot(sent, slots, shield.per, Math.max(now, blockedUntil), before);
  }
}

/** Forgets requests older than the period. */
function forget(client: Client, now: number): void {
  const { per } = client.shield;
  client.sent = client.sent.filter((time) => time > now - per);
}

/** Time at which the request with `before` requests ahead of it has a slot: a slot is free again one period after it was used. */
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
  private readonly body = new ByteCollector();

  /** `time` is milliseconds since 1970: `Retry-After` may be a date. */
  constructor(headers: HeaderList, time: number) {
    this.headers = headers;
    this.time = time;
  }

  data(chunk: Uint8Array): void {
    if (this.body.length <= MAX_BODY_BYTES) this.body.add(chunk, true);
  }

  /** Seconds: `meta.reset` of the body (documented), else `Retry-After` (RFC 9110 §10.2.3); undefined if neither is present. */
  get seconds(): number | undefined {
    if (this.body.length > MAX_BODY_BYTES) return this.retryAfter();
    const bytes = this.body.buffer.subarray(0, this.body.length);
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
