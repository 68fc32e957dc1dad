import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** One address of V2. */
export interface Address {
  readonly host: string;
  readonly family: number;
  /** Time until which other addresses are preferred, on the pool's clock; 0 for one that accepts connections. */
  failedUntil: number;
  /** Grows with every connection and request: the address with the least is next. */
  turn: number;
}

/** Milliseconds for which a resolved name is reused: connections that are opened together resolve it once. */
const RESOLVED_MS = 1000;
/** Milliseconds for which a failed address is left out while another one works. */
const FAILED_MS = 10_000;

type Waiter = (error: NodeJS.ErrnoException | null, address?: Address) => void;

/** The addresses of V2's name: resolved again for new connections, used in turn, failing ones last. */
export class Addresses {
  private readonly lookup: LookupFunction;
  private list: readonly Address[] = [];
  private resolvedAt = Number.NEGATIVE_INFINITY;
  private waiters: Waiter[] | undefined = undefined;
  private turns = 0;

  constructor(lookup: LookupFunction | undefined) {
    this.lookup = lookup ?? systemLookup;
  }

  /** Number of addresses; 1 for a name that is not resolved yet, an address and a Unix socket. */
  get count(): number {
    return Math.max(1, this.list.length);
  }

  /** Number of addresses not known to fail. */
  aliveCount(now: number): number {
    return this.list.filter(({ failedUntil }) => failedUntil <= now).length;
  }

  /** True while some address is not known to fail. */
  hasUsableAddress(now: number): boolean {
    return this.list.some(({ failedUntil }) => failedUntil <= now);
  }

  /** The address for the next connection. */
  next(hostname: string, done: Waiter): void {
    if (performance.now() - this.resolvedAt < RESOLVED_MS) {
      done(null, this.pick());
      return;
    }
    if (this.waiters !== undefined) {
      this.waiters.push(done);
      return;
    }
    const waiters = (this.waiters = [done]);
    this.lookup(hostname, { all: true }, (error, found) => {
      this.waiters = undefined;
      if (error === null) this.replace(found);
      // When resolving fails, the previous addresses stay.
      const fault = this.list.length === 0 ? error : null;
      for (const waiter of waiters) waiter(fault, this.pick());
    });
  }

  /** A connection to the address could not be made. */
  failed(address: Address | undefined, now: number): void {
    if (address !== undefined) address.failedUntil = now + FAILED_MS;
    // The address may have been reassigned, as when a container is replaced.
    this.resolvedAt = Number.NEGATIVE_INFINITY;
  }

  /** Bytes were sent to the address, or are about to be. */
  took(address: Address): void {
    this.turns += 1;
    address.turn = this.turns;
  }

  /** The next of the addresses not known to fail; where all fail, of all. */
  private pick(): Address | undefined {
    const now = performance.now();
    let best: Address | undefined;
    for (const address of this.list) {
      if (best !== undefined && !comesBefore(address, best, now)) continue;
      best = address;
    }
    if (best !== undefined) this.took(best);
    return best;
  }

  private replace(found: string | readonly { address: string; family: number }[]): void {
    const known = new Map(this.list.map((address) => [address.host, address]));
    const entries = typeof found === 'string' ? [{ address: found, family: 0 }] : found;
    this.list = entries.map(
      ({ address: host, family }) => known.get(host) ?? { host, family, failedUntil: 0, turn: 0 },
    );
    this.resolvedAt = performance.now();
  }
}

function comesBefore(one: Address, other: Address, now: number): boolean {
  const [isOneDown, isOtherDown] = [one.failedUntil > now, other.failedUntil > now];
  return isOneDown === isOtherDown ? one.turn < other.turn : isOtherDown;
}
