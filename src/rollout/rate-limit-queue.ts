import type { Shield } from '../rules/rollout.ts';

/** A request in the queue. */
export interface QueuedRequest {
  /** True once its client disconnected. */
  readonly isOver: boolean;
  /** Releases the request; called once, with the milliseconds for which it was held. */
  release(heldMs: number): void;
}

/** Clock and timer of the queue. */
export interface RateLimitQueueParts {
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly after: (milliseconds: number, run: () => void) => void;
}

interface HeldRequest {
  readonly request: QueuedRequest;
  /** Time from which it is held. */
  readonly since: number;
}

interface Client {
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

/**
 * Queues requests beyond the rate limit of the service instead of letting them fail: in order for each client, for a limited
 * time, and in limited number. A request that cannot be served in time is forwarded at once and gets the service's own response.
 */
export class RateLimitQueue {
  private readonly parts: RateLimitQueueParts;
  private readonly clients = new Map<string, Client>();

  constructor(parts: RateLimitQueueParts) {
    this.parts = parts;
  }

  /** Releases the request now, or when it is its turn. */
  admit(shield: Shield, name: string, request: QueuedRequest): void {
    const now = this.parts.now();
    const client = this.clientOf(name, shield, now);
    if (client.queue.length === 0 && dispatchTime(client, shield, now, 0) <= now) {
      client.sent.push(now);
      request.release(0);
      return;
    }
    const waiting = client.queue.filter((held) => !held.request.isOver).length;
    if (waiting >= shield.queue || dispatchTime(client, shield, now, waiting) - now > shield.wait) {
      request.release(0);
      return;
    }
    const held = { request, since: now };
    client.queue.push(held);
    this.dispatch(client, shield, held);
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

  private clientOf(name: string, { per }: Shield, now: number): Client {
    const known = this.clients.get(name);
    if (known !== undefined) {
      known.sent = known.sent.filter((time) => time > now - per);
      return known;
    }
    if (this.clients.size >= MAX_CLIENTS) this.evict(now - per);
    const client: Client = { sent: [], blockedUntil: 0, queue: [] };
    this.clients.set(name, client);
    return client;
  }

  /**
   * Anybody can send ever new keys: evicts clients without recent requests, or if there are none, all that have no queued
   * request.
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
  private dispatch(client: Client, shield: Shield, held: HeldRequest): void {
    const now = this.parts.now();
    const { request, since } = held;
    client.sent = client.sent.filter((time) => time > now - shield.per);
    client.queue = client.queue.filter((other) => other === held || !other.request.isOver);
    const at = request.isOver ? now : Math.min(nextLook(client, shield, held, now), since + shield.wait);
    if (at > now) {
      this.parts.after(Math.max(1, Math.ceil(at - now)), () => this.dispatch(client, shield, held));
      return;
    }
    client.queue = client.queue.filter((other) => other !== held);
    if (request.isOver) return;
    client.sent.push(now);
    request.release(now - since);
  }
}

/**
 * Time at which to look at a held request again: at the next free slot, for those before it may be gone by then. One that is not
 * the first is never sent, even if its timer is.
 */
function nextLook(client: Client, shield: Shield, held: HeldRequest, now: number): number {
  const slot = dispatchTime(client, shield, now, 0);
  return client.queue[0] === held ? slot : Math.max(now + 1, slot);
}

/**
 * Time at which the request with `before` requests ahead of it may be sent: each slot is free again one period after it was used.
 */
function dispatchTime(client: Client, shield: Shield, now: number, before: number): number {
  const { sent, blockedUntil } = client;
  const open = Math.max(now, blockedUntil);
  const slot = sent.length + before - shield.requests;
  if (slot < 0) return open;
  const taken = sent[slot];
  // The slot will be used by another queued request.
  if (taken === undefined) return dispatchTime(client, shield, now, slot - sent.length) + shield.per;
  return Math.max(open, taken + shield.per);
}
