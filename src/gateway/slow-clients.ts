import { addressBits } from '../http/forwarding.ts';
import type { Shortage } from '../rewrite-log/entry.ts';
import type { ClientPace } from './exchange.ts';
import type { BufferBudget } from './limits.ts';
import type { Upstream } from './upstream.ts';

/** Distinguishes clients: the key, the address, and the HTTP/2 connection of their exchanges. */
export type ClientIdentity = readonly [
  key: string | undefined,
  address: string,
  connection: object | undefined,
];

/** An exchange that may have to end in favour of others. */
export interface OpenExchange {
  readonly client: ClientIdentity;
  /** When its request arrived, on the gateway's clock. */
  readonly since: number;
  /** The pace of its client; undefined if the platform does not tell. */
  readonly pace: ClientPace | undefined;
  /** True while it counts as in flight. */
  readonly holdsPlace: boolean;
  /** Bytes that it holds in the budget. */
  readonly reservedBytes: number;
  /** True while its response is not read from its origin because its client does not read. */
  readonly isHeldBack: boolean;
  /** True while a paused response is read into memory whole. */
  readonly isTakenAhead: boolean;
  /** True while it occupies its connection to this upstream. */
  holds(upstream: Upstream): boolean;
  /** True while it waits for a connection to this upstream. */
  awaits(upstream: Upstream): boolean;
  /** Sets its position in the queue for a connection: the lowest is served first. */
  setRank(rank: number): void;
  /** Reads the rest of its response, or a part of unknown length, into memory; false if there is not enough memory. */
  takeAhead(): boolean;
  /** Ends at once: with a 503 if its response has not begun, else with a reset. */
  giveWay(shortage: Shortage): void;
}

/** The data and functions of the gateway that {@link SlowClients} uses. */
export interface SlowClientsParts {
  readonly exchanges: Iterable<OpenExchange>;
  readonly budget: BufferBudget;
  /** Maximum number of exchanges in flight. */
  readonly places: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
}

/** Milliseconds between two measurements of all clients that the gateway waits for. */
const LOOK_MS = 90;
/** Minimum milliseconds for measuring the rate of a client. */
const MEASURED_MS = 180;
/** Age of an exchange in milliseconds below which its client's rate is uncertain. */
const YOUNG_MS = 250;
/** Milliseconds for which an order of candidates is valid, and after which one without candidates is computed again. */
const ORDER_MS = 250;
const RETRY_MS = 10;
/** A client is slow if its rest takes more seconds than this; faster ones soon free their places themselves. */
const SLOW_SECONDS = 1;
/** Assumed remaining bytes of a response of unknown length. */
const UNKNOWN_REST_BYTES = 1024 * 1024;
/** The share of places or connections beyond which exchanges of a client end first. */
const CLIENT_SHARE = 1 / 8;
/** Weights that differ by less are treated as equal. */
const SAME_WEIGHT = 9 / 8;

/** Bytes that a client had moved at its first and last measurement. */
interface Measurement {
  readonly at: number;
  readonly moved: number;
  lastAt: number;
  lastMoved: number;
}

/** An exchange that only waits for its client, and would take long. */
interface Candidate {
  readonly exchange: OpenExchange;
  /** The weight of its client, or 0 within the client's share. */
  readonly excess: number;
  readonly seconds: number;
  /** True while the exchange is too new to have a rate: it then ends only in favour of a lighter client. */
  readonly isYoung: boolean;
}

/**
 * Decides which exchanges end when places for requests, connections to an origin or memory are scarce. Only exchanges end that wait just
 * for their client: to read its response, or to send the rest of its body. Those of clients with more than their share end first, then
 * those that would take longest: the slowest readers of the largest responses.
 *
 * While nothing is scarce, the class keeps no data about exchanges. The weight of a client is the sum of its counts: exchanges with its key,
 * its address (a network of 64 bits with IPv6) and its HTTP/2 connection. So the weight is high for many connections, many keys at one
 * address, or one key at many addresses, and lower for a client that only shares its address.
 */
export class SlowClients {
  private readonly parts: SlowClientsParts;
  private readonly measurements = new WeakMap<OpenExchange, Measurement>();
  private weights = new Weights([]);
  /** The candidates; the last one ends first. */
  private order: Candidate[] = [];
  private orderedAt = Number.NEGATIVE_INFINITY;
  private lookedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: SlowClientsParts) {
    this.parts = parts;
  }

  /** Measures clients while places are nearly exhausted, so that the slow ones are known when they are. */
  watch(): void {
    const now = this.parts.now();
    if (now - this.lookedAt >= LOOK_MS) void this.look(now);
  }

  /** Frees a place for a request of this client; false if no exchange waits only for its client. */
  makePlace(client: ClientIdentity): boolean {
    return this.endOne('places', client, (exchange) => exchange.holdsPlace);
  }

  /** Frees memory for so many bytes of an exchange; false if slow clients do not hold that much. */
  makeMemory(exchange: OpenExchange, bytes: number): boolean {
    const { budget } = this.parts;
    while (!budget.fits(bytes, 1)) {
      const holds = (other: OpenExchange): boolean => other !== exchange && other.reservedBytes > 0;
      if (!this.endOne('memory', exchange.client, holds)) return false;
    }
    return true;
  }

  /**
   * Called regularly while `count` exchanges wait for a connection to an upstream. Reads paused responses into memory, those with the
   * smallest rest first, and ends the slowest if that is not enough. Waiting exchanges of clients with the fewest connections go first.
   */
  relieve(upstream: Upstream, connections: number, count: number): void {
    const now = this.parts.now();
    void this.look(now);
    const all = [...this.parts.exchanges];
    const holders = all.filter((exchange) => exchange.holds(upstream));
    const weights = new Weights(holders);
    const waiting = all
      .filter((exchange) => exchange.awaits(upstream))
      .map((exchange) => ({ exchange, weight: weights.of(exchange.client) }))
      .sort((left, right) => left.weight - right.weight);
    for (const { exchange, weight } of waiting) exchange.setRank(weight);
    const missing = count - takeAhead(holders);
    if (missing <= 0) return;
    const share = connections * CLIENT_SHARE;
    const left = holders.filter((exchange) => !exchange.isTakenAhead);
    const candidates = this.candidates(left, weights, share, now);
    for (const { weight } of waiting.slice(0, missing)) {
      const at = candidates.findLastIndex((one) => mayEnd(one, excessOf(weight, share)));
      if (at < 0) return;
      const [worst] = candidates.splice(at, 1);
      worst?.exchange.giveWay('connections');
    }
  }

  /** Ends the first exchange in the order that helps, unless the client for which it would end is heavier. */
  private endOne(
    shortage: Shortage,
    client: ClientIdentity,
    isOfUse: (exchange: OpenExchange) => boolean,
  ): boolean {
    const now = this.parts.now();
    if (now - this.lookedAt >= LOOK_MS) void this.look(now);
    if (now - this.orderedAt >= ORDER_MS) this.arrange(now);
    const worst =
      this.take(client, isOfUse) ?? (this.arrangeAgain(now) ? this.take(client, isOfUse) : undefined);
    worst?.giveWay(shortage);
    return worst !== undefined;
  }

  private take(
    client: ClientIdentity,
    isOfUse: (exchange: OpenExchange) => boolean,
  ): OpenExchange | undefined {
    const excess = excessOf(this.weights.of(client), this.share);
    const at = this.order.findLastIndex(
      (one) => mayEnd(one, excess) && one.exchange.pace?.awaitsClient === true && isOfUse(one.exchange),
    );
    return at < 0 ? undefined : this.order.splice(at, 1)[0]?.exchange;
  }

  private get share(): number {
    return this.parts.places * CLIENT_SHARE;
  }

  /** Computes the order again, unless that was just done: a busy gateway must not do it for every request. */
  private arrangeAgain(now: number): boolean {
    if (now - this.orderedAt < RETRY_MS) return false;
    this.arrange(now);
    return true;
  }

  private arrange(now: number): void {
    const all = [...this.parts.exchanges];
    this.orderedAt = now;
    this.weights = new Weights(all);
    this.order = this.candidates(all, this.weights, this.share, now);
  }

  /** The exchanges that may end; the last one ends first. */
  private candidates(
    exchanges: readonly OpenExchange[],
    weights: Weights,
    share: number,
    now: number,
  ): Candidate[] {
    const candidates: Candidate[] = [];
    for (const exchange of exchanges) {
      if (exchange.pace?.awaitsClient !== true) continue;
      const { seconds, isYoung } = this.secondsLeft(exchange, exchange.pace, now);
      if (seconds < SLOW_SECONDS) continue;
      candidates.push({ exchange, seconds, isYoung, excess: excessOf(weights.of(exchange.client), share) });
    }
    return candidates.sort(
      (left, right) =>
        left.excess - right.excess || left.seconds - right.seconds || restOf(left) - restOf(right),
    );
  }

  /** Seconds that a client needs for the rest, at its measured rate, or else at its average rate. */
  private secondsLeft(
    exchange: OpenExchange,
    pace: ClientPace,
    now: number,
  ): Pick<Candidate, 'seconds' | 'isYoung'> {
    const measured = this.measurements.get(exchange);
    const age = now - exchange.since;
    const isMeasured = measured !== undefined && measured.lastAt - measured.at >= MEASURED_MS;
    const moved = isMeasured ? measured.lastMoved - measured.moved : pace.moved;
    const seconds = (isMeasured ? measured.lastAt - measured.at : age) / 1000;
    const rest = Number.isFinite(pace.rest) ? pace.rest : UNKNOWN_REST_BYTES;
    return { seconds: (rest / Math.max(moved, 1)) * seconds, isYoung: !isMeasured && age < YOUNG_MS };
  }

  /** Measures the clients that the gateway waits for. */
  private async look(now: number): Promise<void> {
    this.lookedAt = now;
    const { exchanges } = this.parts;
    const awaiting = [...exchanges].flatMap((exchange) =>
      exchange.pace?.awaitsClient === true ? [{ exchange, pace: exchange.pace }] : [],
    );
    const all = await Promise.all(
      awaiting.map(async ({ exchange, pace }) => ({ exchange, moved: await pace.transferred() })),
    );
    const at = this.parts.now();
    for (const { exchange, moved } of all) {
      const measurement = this.measurements.get(exchange);
      if (measurement === undefined)
        this.measurements.set(exchange, { at, moved, lastAt: at, lastMoved: moved });
      else {
        measurement.lastAt = at;
        measurement.lastMoved = moved;
      }
    }
  }
}

/** Reads paused responses into memory, the smallest first; returns how many connections that will free. */
function takeAhead(holders: readonly OpenExchange[]): number {
  const isKnown = ({ pace }: OpenExchange): boolean => Number.isFinite(pace?.rest ?? Infinity);
  const restOfPace = ({ pace }: OpenExchange): number => pace?.rest ?? Infinity;
  let freed = holders.filter((exchange) => exchange.isTakenAhead && isKnown(exchange)).length;
  const held = holders
    .filter((exchange) => exchange.isHeldBack)
    .sort((left, right) => Math.sign(restOfPace(left) - restOfPace(right)) || 0);
  for (const exchange of held) {
    const isLast = isKnown(exchange);
    if (!exchange.takeAhead()) break;
    if (isLast) freed += 1;
  }
  return freed;
}

function restOf({ exchange }: Candidate): number {
  const rest = exchange.pace?.rest ?? 0;
  return Number.isFinite(rest) ? rest : UNKNOWN_REST_BYTES;
}

/** True if a candidate may end in favour of a client with this excess. */
function mayEnd({ excess, isYoung }: Candidate, other: number): boolean {
  return isYoung ? excess > other * SAME_WEIGHT : excess * SAME_WEIGHT >= other;
}

function excessOf(weight: number, share: number): number {
  return weight > share ? weight : 0;
}

/** The number of exchanges of each client, among some. */
class Weights {
  private readonly counts: readonly [
    Map<string | undefined, number>,
    Map<string, number>,
    Map<object | undefined, number>,
  ] = [new Map(), new Map(), new Map()];

  constructor(exchanges: Iterable<OpenExchange>) {
    const [keys, addresses, connections] = this.counts;
    for (const { client } of exchanges) {
      const [key, address, connection] = client;
      increment(keys, key);
      increment(addresses, address);
      increment(connections, connection);
    }
  }

  /** The weight of a client: the sum of its counts. */
  of([key, address, connection]: ClientIdentity): number {
    const [keys, addresses, connections] = this.counts;
    // All clients without a key count as one key; with HTTP/1.1 each exchange has its own connection, which counts one.
    const ofKey = keys.get(key) ?? 0;
    const ofConnection = connection === undefined ? 1 : (connections.get(connection) ?? 0);
    return ofKey + (addresses.get(address) ?? 0) + ofConnection;
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Low bits of an IPv6 address that do not distinguish clients, because each client has a network of 64 bits. */
const HOST_BITS = 64n;

/** The address of a client for counting: with IPv6, its network. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const bits = addressBits(address);
  if (bits === undefined || bits >> 32n === 0xff_ffn) return address;
  return `${(bits >> HOST_BITS).toString(16)}/64`;
}
