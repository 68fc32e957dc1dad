import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/rollout/store.ts';
import { RateLimitQueue } from '../../src/rollout/rate-limit.ts';
import { Replica } from '../../src/rollout/replica.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import type { Shield } from '../../src/rules/rollout.ts';
import { DistantStore } from '../support/distant-store.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const SHIELD: Shield = { requests: 60, per: 60_000, wait: 600_000, queue: 1000 };

/** Replicas that shield one service; their clocks differ. */
class Fleet {
  readonly time = new VirtualTime();
  readonly links: DistantStore[] = [];
  /** Times of the requests that reached the service, by client. */
  readonly sent = new Map<string, number[]>();
  /** Milliseconds for which each request was held. */
  readonly held: number[] = [];
  private readonly shield: Shield;
  private readonly queues: RateLimitQueue[] = [];

  constructor(shield = SHIELD) {
    this.shield = shield;
  }

  async start(skews: readonly number[]): Promise<this> {
    const store = new MemoryStore(() => this.time.now);
    const starts = skews.map((skew, number) => {
      const clock = this.time.clock(skew);
      const link = new DistantStore(store, this.time);
      const queue = new RateLimitQueue({ now: clock.time, after: clock.after, random: clock.random });
      const replica = new Replica({
        control: new RolloutControl({ time: clock.time, onNotice: () => {} }),
        store: link,
        name: `r${number}`,
        clock,
        parse: JSON.parse,
        onNotice: () => {},
      });
      replica.shareRateLimits(queue);
      this.links.push(link);
      this.queues.push(queue);
      return replica.start();
    });
    await this.time.pass(30_000);
    await Promise.all(starts);
    return this;
  }

  /** A client sends a request; without a number the replicas take turns. */
  send(client: string, number: number): void {
    const times = this.sent.get(client) ?? [];
    this.sent.set(client, times);
    const queue = this.queues[number % this.queues.length];
    const release = (heldMs: number): void => {
      times.push(this.time.now);
      this.held.push(heldMs);
    };
    queue?.admit(this.shield, client, { isSettled: false, release });
  }

  /** Sends requests at so many a second, in turn to each replica. */
  async sendEvenly(client: string, count: number, perSecond: number): Promise<void> {
    for (let number = 0; number < count; number += 1) {
      this.send(client, number);
      await this.time.pass(1000 / perSecond);
    }
  }

  /** The most requests of a client that reached the service in any minute. */
  peak(client: string): number {
    const times = this.sent.get(client) ?? [];
    return Math.max(
      ...times.map((start) => times.filter((at) => at >= start && at < start + this.shield.per).length),
    );
  }
}

test.each([
  ['0 s', [0, 0, 0]],
  ['±2 s', [0, 2000, -2000]],
])('60 a minute are 60 over all replicas, with clocks %s apart', async (_, skews) => {
  const fleet = await new Fleet().start(skews);
  await fleet.sendEvenly('a', 130, 10);
  await fleet.time.pass(200_000);
  expect(fleet.sent.get('a')).toHaveLength(130);
  expect(fleet.peak('a')).toBe(60);
});

test('a client whose requests all go to one replica has the whole limit there', async () => {
  const fleet = await new Fleet().start([0, 0, 0]);
  for (let number = 0; number < 100; number += 1) fleet.send('a', 0);
  await fleet.time.pass(59_000);
  expect(fleet.sent.get('a')).toHaveLength(60);
  await fleet.time.pass(60_000);
  expect(fleet.sent.get('a')).toHaveLength(100);
});

test.each([
  [2, 1],
  [3, 1],
  [3, 100],
  [8, 10],
])(
  'bursts at %d replicas, %d ms from the store, never come to more than the limit',
  async (replicas, delay) => {
    const fleet = await new Fleet().start(Array.from({ length: replicas }, () => 0));
    for (const link of fleet.links) link.delay = delay;
    const { random } = fleet.time.clock();
    // Each replica has met the client: a stranger's limit is told below.
    for (let number = 0; number < replicas; number += 1) fleet.send('a', number);
    await fleet.time.pass(2000);
    for (let burst = 0; burst < 12; burst += 1) {
      const most = Math.floor(random() * replicas);
      const size = Math.floor(random() * 40);
      for (let number = 0; number < size; number += 1)
        fleet.send('a', random() < 0.5 ? most : Math.floor(random() * replicas));
      await fleet.time.pass(random() * 30_000);
    }
    await fleet.time.pass(120_000);
    expect(fleet.peak('a')).toBe(60);
  },
);

test.each([
  [0.8, 0],
  [0.95, 20],
])('a client that sends %d of its limit evenly waits %d ms at most', async (part, milliseconds) => {
  const fleet = await new Fleet().start([0, 0, 0]);
  await fleet.sendEvenly('a', 100, part);
  expect(fleet.sent.get('a')).toHaveLength(100);
  expect(Math.max(...fleet.held)).toBeLessThanOrEqual(milliseconds);
});

test('a replica that never met the client lets no more than its share through before it knows', async () => {
  const fleet = await new Fleet().start([0, 0, 0]);
  for (let number = 0; number < 60; number += 1) fleet.send('a', 0);
  await fleet.time.pass(20_000);
  for (let number = 0; number < 60; number += 1) fleet.send('a', 1);
  await fleet.time.pass(35_000);
  expect(fleet.sent.get('a')).toHaveLength(80);
});

test('what the queue has no room for goes at once and counts, where there seems to be a slot', async () => {
  const fleet = await new Fleet({ ...SHIELD, queue: 10 }).start([0, 0, 0]);
  fleet.send('a', 1);
  await fleet.time.pass(2000);
  for (let number = 0; number < 54; number += 1) fleet.send('a', 0);
  expect(fleet.sent.get('a')).toHaveLength(45);
  await fleet.time.pass(5000);
  expect(fleet.sent.get('a')).toHaveLength(55);
  for (let number = 0; number < 6; number += 1) fleet.send('a', 1);
  await fleet.time.pass(20_000);
  expect(fleet.sent.get('a')).toHaveLength(60);
});

test('a limit of few requests, or of seconds, is not divided: most requests would wait', async () => {
  for (const shield of [
    { ...SHIELD, requests: 3, per: 1000 },
    { ...SHIELD, requests: 5 },
  ]) {
    const fleet = await new Fleet(shield).start([0, 0, 0]);
    await fleet.sendEvenly('a', 10, (0.8 * shield.requests) / (shield.per / 1000));
    expect(Math.max(...fleet.held)).toBe(0);
  }
});

test('clients do not share a limit', async () => {
  const fleet = await new Fleet().start([0, 0]);
  for (let number = 0; number < 50; number += 1)
    for (const client of ['a', 'b', 'c']) fleet.send(client, number);
  expect([...fleet.sent.values()].map((times) => times.length)).toEqual([50, 50, 50]);
});

test('a replica that a client comes to for the first time knows what the others sent', async () => {
  const fleet = await new Fleet().start([0, 0]);
  for (let number = 0; number < 60; number += 1) fleet.send('a', 0);
  await fleet.time.pass(20_000);
  fleet.send('a', 1);
  await fleet.time.pass(1000);
  for (let number = 0; number < 20; number += 1) fleet.send('a', 1);
  await fleet.time.pass(35_000);
  expect(fleet.sent.get('a')).toHaveLength(61);
});

test('a burst after a pause finds what the client sent elsewhere in the meantime', async () => {
  const fleet = await new Fleet().start([0, 0]);
  fleet.send('a', 0);
  await fleet.time.pass(1000);
  for (let number = 0; number < 59; number += 1) fleet.send('a', 1);
  await fleet.time.pass(1500);
  for (let number = 0; number < 20; number += 1) fleet.send('a', 0);
  await fleet.time.pass(50_000);
  expect(fleet.sent.get('a')).toHaveLength(60);
});

test('without the store each replica has its share of the limit', async () => {
  const fleet = await new Fleet().start([0, 0, 0]);
  for (const link of fleet.links) link.state = 'down';
  await fleet.time.pass(5000);
  for (let number = 0; number < 150; number += 1) fleet.send('a', number);
  await fleet.time.pass(50_000);
  expect(fleet.sent.get('a')).toHaveLength(60);
  for (const link of fleet.links) link.state = 'up';
  await fleet.time.pass(120_000);
  expect(fleet.sent.get('a')).toHaveLength(150);
});

test('the store is asked about some hundred clients a second, however many there are', async () => {
  const fleet = await new Fleet().start([0]);
  for (let number = 0; number < 3000; number += 1) fleet.send(`client${number}`, 0);
  await fleet.time.pass(1000);
  const [link] = fleet.links;
  const before = link?.calls ?? 0;
  await fleet.time.pass(10_000);
  expect((link?.calls ?? 0) - before).toBeLessThan(50);
});
