import {
  MemoryState,
  type SharedState,
  type StateCall,
  type StateNews,
} from '../../../src/rollout/shared-state.ts';
import { type RolloutCommand } from '../../../src/rollout/rollout-state.ts';
import { chooseMode } from '../../../src/rollout/modes-in-force.ts';
import { Replica, type ReplicaNotice } from '../../../src/rollout/replica.ts';
import { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import type { RuleBook } from '../../../src/rules/rule-book.ts';
import type { EventQueue } from './event-queue.ts';

/** A network between replicas and their store. */
interface Network {
  /** Milliseconds of one way: from `minMs`, with a tail of `tailMs` in the mean. */
  readonly minMs: number;
  readonly tailMs: number;
  /** Share of messages that are lost: calls, responses and notices of changes. */
  readonly loss: number;
}

/** What went over all links. */
interface Traffic {
  reads: number;
  /** Compare-and-sets, and texts that are set. */
  writes: number;
  /** Bytes of the payloads, both ways. */
  bytes: number;
}

/** The way of one replica to the store. A message that is lost gets no response. */
class SimulatedLink implements SharedState {
  /** True in a partition: everything is lost. */
  isCut = false;
  private readonly store: SharedState;
  private readonly queue: EventQueue;
  private readonly network: Network;
  private readonly traffic: Traffic;

  constructor(store: SharedState, queue: EventQueue, network: Network, traffic: Traffic) {
    this.store = store;
    this.queue = queue;
    this.network = network;
    this.traffic = traffic;
  }

  read(key: string): Promise<string | undefined> {
    this.traffic.reads += 1;
    return this.call(key, () => this.store.read(key));
  }

  compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    this.traffic.writes += 1;
    return this.call([key, before, after], () => this.store.compareAndSet(key, before, after));
  }

  exchange(call: StateCall): Promise<StateNews> {
    this.traffic[call.put.length > 0 ? 'writes' : 'reads'] += 1;
    return this.call(call, () => this.store.exchange(call));
  }

  subscribe(key: string, changed: () => void): () => void {
    return this.store.subscribe(key, () => {
      if (!this.isLost()) this.queue.after(this.wayMs(), changed);
    });
  }

  async close(): Promise<void> {}

  private async call<Value>(sent: unknown, run: () => Promise<Value>): Promise<Value> {
    this.traffic.bytes += bytesOf(sent);
    if (this.isLost()) return never();
    await this.queue.wait(this.wayMs());
    const value = await run();
    if (this.isLost()) return never();
    this.traffic.bytes += bytesOf(value);
    await this.queue.wait(this.wayMs());
    return value;
  }

  private isLost(): boolean {
    return this.isCut || this.queue.random() < this.network.loss;
  }

  private wayMs(): number {
    const { minMs, tailMs } = this.network;
    return minMs - tailMs * Math.log(1 - this.queue.random());
  }
}

function bytesOf(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** A gateway of the simulation: the real rollout on a simulated link. */
export interface SimulatedReplica {
  readonly control: RolloutControl;
  readonly replica: Replica;
  readonly link: SimulatedLink;
  readonly notices: ReplicaNotice[];
}

/** Size and load of a simulation. */
export interface FleetOptions {
  readonly replicas: number;
  readonly clients: number;
  /** Requests a second of one replica. */
  readonly rate: number;
  readonly network: Network;
}

/** Milliseconds between two turns of the clients. */
const TURN_MS = 100;
/** Largest difference between the clock of a replica and the true time, in milliseconds. */
const SKEW_MS = 2000;
/** Milliseconds within which all replicas start. */
const START_MS = 5000;
/** Share of requests that fail without a fault. */
const USUAL_FAILURES = 0.01;

/** Many replicas in one process and in virtual time, with clients that ask any of them. */
export class SimulatedFleet {
  readonly players: readonly SimulatedReplica[];
  readonly traffic: Traffic = { reads: 0, writes: 0, bytes: 0 };
  /** Share of migrated requests that V2 fails. */
  failing = USUAL_FAILURES;
  /** Clients that went from V2 back to V1 since the last `mark`. */
  readonly movedBack = new Set<string>();
  private readonly origins = new Map<string, 'v1' | 'v2'>();
  private readonly clients: readonly string[];
  private readonly queue: EventQueue;
  private readonly options: FleetOptions;
  private readonly book: RuleBook;

  constructor(queue: EventQueue, book: RuleBook, options: FleetOptions) {
    this.queue = queue;
    this.book = book;
    this.options = options;
    const store = new MemoryState(() => queue.now);
    this.players = Array.from({ length: options.replicas }, (_, number) => this.player(store, number));
    this.clients = Array.from({ length: options.clients }, () =>
      Array.from({ length: 16 }, () => Math.floor(queue.random() * 16).toString(16)).join(''),
    );
  }

  /** Starts all replicas, one after the other, and then the clients. */
  async start(): Promise<void> {
    for (const { replica } of this.players)
      this.queue.after(this.queue.random() * START_MS, () => void replica.start());
    await this.queue.pass(START_MS + 2000);
    this.turn();
  }

  /** Makes a choice on a replica. */
  choose(number: number, command: RolloutCommand): void {
    this.players[number]?.control.command(command);
  }

  /** Lets time pass until the wanted state is in force in all of these replicas; returns the milliseconds. */
  until(
    wanted: (control: RolloutControl) => boolean,
    players: readonly SimulatedReplica[] = this.players,
  ): Promise<number> {
    let left = players;
    return this.queue.pass(60_000, () => {
      left = left.filter(({ control }) => !wanted(control));
      return left.length === 0;
    });
  }

  /** Returns the number of clients that were moved back since the last mark, and forgets them. */
  mark(): number {
    const { size } = this.movedBack;
    this.movedBack.clear();
    return size;
  }

  private player(store: MemoryState, number: number): SimulatedReplica {
    const clock = this.queue.clock(Math.round((this.queue.random() * 2 - 1) * SKEW_MS));
    const control = new RolloutControl({ time: clock.time, onNotice: () => {} });
    const link = new SimulatedLink(store, this.queue, this.options.network, this.traffic);
    const notices: ReplicaNotice[] = [];
    const replica = new Replica({
      control,
      store: link,
      name: `replica ${number}`,
      clock,
      parse: (text) => JSON.parse(text) as unknown,
      onNotice: (notice) => notices.push(notice),
    });
    return { control, replica, link, notices };
  }

  private turn(): void {
    const { rate } = this.options;
    for (const player of this.players) {
      const requests = Math.floor((rate * TURN_MS) / 1000 + this.queue.random());
      for (let request = 0; request < requests; request += 1) this.request(player);
    }
    this.queue.after(TURN_MS, () => this.turn());
  }

  private request({ control }: SimulatedReplica): void {
    const client = this.clients[Math.floor(this.queue.random() * this.clients.length)] ?? '';
    const routed = chooseMode(control.modes(this.book), { client, operation: undefined });
    if (routed.origin === 'v1' && this.origins.get(client) === 'v2') this.movedBack.add(client);
    this.origins.set(client, routed.origin);
    const share = routed.origin === 'v2' ? this.failing : USUAL_FAILURES;
    control.count(routed, this.queue.random() < share ? '5xx' : 'success', {
      client,
      operation: undefined,
      pointer: undefined,
    });
  }
}
