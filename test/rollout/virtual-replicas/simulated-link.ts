import type { Store, WindowAddition, SharedWindow } from '../../../src/rollout/store.ts';
import type { EventQueue } from './event-queue.ts';

/** A network between replicas and their store. */
export interface Network {
  /** Milliseconds of one way: from `minMs`, with a tail of `tailMs` in the mean. */
  readonly minMs: number;
  readonly tailMs: number;
  /** Share of messages that are lost: calls, responses and notices of changes. */
  readonly loss: number;
}

/** What went over all links. */
export interface Traffic {
  reads: number;
  /** Compare-and-sets, and counts of something. */
  writes: number;
  /** Bytes of the payloads, both ways. */
  bytes: number;
}

/** The way of one replica to the store. A message that is lost gets no response. */
export class SimulatedLink implements Store {
  /** True in a partition: everything is lost. */
  isCut = false;
  private readonly store: Store;
  private readonly queue: EventQueue;
  private readonly network: Network;
  private readonly traffic: Traffic;

  constructor(store: Store, queue: EventQueue, network: Network, traffic: Traffic) {
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

  count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const isWrite = additions.some(({ add }) => add.some((number) => number !== 0));
    this.traffic[isWrite ? 'writes' : 'reads'] += 1;
    return this.call(additions, () => this.store.count(additions));
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
