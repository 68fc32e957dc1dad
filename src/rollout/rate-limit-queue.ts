import type { Shield } from '../rules/rollout.ts';

/** A request that waits for its turn. */
export interface QueuedRequest {
  /** True once its client is gone. */
  readonly isOver: boolean;
  /** Lets it go; called once, with the milliseconds for which it was held. */
  release(heldMs: number): void;
}

/** What a shield is given. */
export interface RateLimitQueueParts {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly after: (milliseconds: number, run: () => void) => void;
}

interface Client {
  /** When requests were let go, in the time that counts; the oldest first. */
  sent: number[];
  /** Until when the service wants nothing. */
  blockedUntil: number;
  readonly queue: { readonly request: QueuedRequest; readonly since: number }[];
  /** When the queue is looked at next; 0 while nothing is held. */
  nextLook: number;
}

/** Clients that are remembered; the idle ones go first. */
const MOST_CLIENTS = 10_000;

/** The service's word is taken, but not for longer than this: ten minutes. */
const MOST_BLOCK_MS = 600_000;

/**
 * Holds requests beyond the rate limit of the service back, instead of having them fail: each client in the order in
 * which they came, for a while at the most, and never so many that memory would fill. Who cannot be served in time
 * goes at once, and gets the service's own response.
 */
export class RateLimitQueue {
  private readonly parts: RateLimitQueueParts;
  private readonly clients = new Map<string, Client>();

  constructor(parts: RateLimitQueueParts) {
    this.parts = parts;
  }

  /** Lets the request go now or when it is its turn. */
  admit(shield: Shield, name: string, request: QueuedRequest): void {
    const now = this.parts.now();
    const client = this.clientOf(name, shield, now);
    if (client.queue.length === 0 && turnOf(client, shield, now, 0) <= now) {
      client.sent.push(now);
      request.release(0);
      return;
    }
    const waiting = client.queue.filter((held) => !held.request.isOver).length;
    if (waiting >= shield.queue || turnOf(client, shield, now, waiting) - now > shield.wait) {
      request.release(0);
      return;
    }
    client.queue.push({ request, since: now });
    this.look(client, shield);
  }

  /** Takes note that the service wants no request of the client for so many seconds. */
  block(name: string, seconds: number): void {
    const client = this.clients.get(name);
    if (client === undefined || !(seconds > 0)) return;
    const until = this.parts.now() + Math.min(seconds * 1000, MOST_BLOCK_MS);
    client.blockedUntil = Math.max(client.blockedUntil, until);
  }

  /** Requests that are held. */
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
    if (this.clients.size >= MOST_CLIENTS) this.forget(now - per);
    const client: Client = { sent: [], blockedUntil: 0, queue: [], nextLook: 0 };
    this.clients.set(name, client);
    return client;
  }

  /** Anybody can send ever new keys: those of whom nothing counts any more go, and if that is none, all that hold nothing. */
  private forget(before: number): void {
    for (const isHard of [false, true]) {
      for (const [name, { sent, queue }] of this.clients) {
        if (queue.length === 0 && (isHard || (sent.at(-1) ?? 0) < before)) this.clients.delete(name);
      }
      if (this.clients.size < MOST_CLIENTS) return;
    }
  }

  /** Lets go whose turn it is, and comes back for the others. */
  private look(client: Client, shield: Shield): void {
    const now = this.parts.now();
    client.sent = client.sent.filter((time) => time > now - shield.per);
    for (;;) {
      const [first] = client.queue;
      if (first === undefined) return;
      const { request, since } = first;
      const turn = turnOf(client, shield, now, 0);
      const at = Math.min(turn, since + shield.wait);
      if (!request.isOver && at > now) {
        this.comeBack(client, shield, at);
        return;
      }
      client.queue.shift();
      if (request.isOver) continue;
      client.sent.push(now);
      request.release(now - since);
    }
  }

  private comeBack(client: Client, shield: Shield, at: number): void {
    const now = this.parts.now();
    if (client.nextLook > now && client.nextLook <= at) return;
    client.nextLook = at;
    this.parts.after(Math.max(1, Math.ceil(at - now)), () => {
      if (client.nextLook !== at) return;
      client.nextLook = 0;
      this.look(client, shield);
    });
  }
}

/** When the request with so many before it may go: each place is free again one period after it was taken. */
function turnOf(client: Client, shield: Shield, now: number, before: number): number {
  const { sent, blockedUntil } = client;
  const open = Math.max(now, blockedUntil);
  const place = sent.length + before - shield.requests;
  if (place < 0) return open;
  const taken = sent[place];
  // It will be taken by one of those that wait too.
  if (taken === undefined) return turnOf(client, shield, now, place - sent.length) + shield.per;
  return Math.max(open, taken + shield.per);
}
