import { expect, test } from 'vitest';
import { MemoryState } from '../../src/rollout/shared-state.ts';
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
  readonly replicas: Replica[] = [];
  readonly notices: string[] = [];
  /** Times of the requests that reached the service. */
  readonly sent: number[] = [];
  private readonly shield: Shield;
  private readonly queues: RateLimitQueue[] = [];

  constructor(shield = SHIELD) {
    this.shield = shield;
  }

  async start(skews: readonly number[]): Promise<this> {
    const store = new MemoryState(() => this.time.now);
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
        onNotice: ({ sentence }) => this.notices.push(`r${number}: ${sentence}`),
      });
      replica.share({ queue, shieldOf: () => this.shield });
      this.links.push(link);
      this.queues.push(queue);
      this.replicas.push(replica);
      return replica.start();
    });
    await this.time.pass(30_000);
    await Promise.all(starts);
    return this;
  }

  /** The client sends so many requests at once, in turn to these replicas. */
  burst(count: number, ...numbers: readonly number[]): void {
    for (let request = 0; request < count; request += 1) {
      const queue = this.queues[numbers[request % numbers.length] ?? 0];
      queue?.admit(this.shield, 'a', { isSettled: false, release: () => this.sent.push(this.time.now) });
    }
  }

  /** The most requests that reached the service in any minute. */
  get peak(): number {
    return Math.max(
      ...this.sent.map(
        (start) => this.sent.filter((at) => at >= start && at < start + this.shield.per).length,
      ),
    );
  }
}

test.each([
  ['0 s', [0, 0, 0]],
  ['an hour', [0, 3_600_000, -3_600_000]],
])(
  '60 a minute are 20 in each of three replicas, with clocks %s apart, and all that waits goes in time',
  async (_, skews) => {
    const fleet = await new Fleet().start(skews);
    fleet.burst(180, 0, 1, 2);
    expect(fleet.sent).toHaveLength(60);
    await fleet.time.pass(200_000);
    expect(fleet.sent).toHaveLength(180);
    expect(fleet.peak).toBe(60);
  },
);

test('a client whose requests all reach one replica has only that share of its limit', async () => {
  const fleet = await new Fleet().start([0, 0, 0]);
  fleet.burst(60, 1);
  await fleet.time.pass(59_000);
  expect(fleet.sent).toHaveLength(20);
});

test('a limit of fewer requests than replicas is one request in each', async () => {
  const fleet = await new Fleet({ ...SHIELD, requests: 2 }).start([0, 0, 0]);
  fleet.burst(30, 0, 1, 2);
  await fleet.time.pass(59_000);
  expect(fleet.sent).toHaveLength(3);
});

test('a replica that leaves or joins changes the share of the others within seconds', async () => {
  const fleet = await new Fleet().start([0, 0]);
  const part = (of: string, parts: string): string =>
    `${of}: Each client's rate limit of 60 in 60 s is divided by ${parts} in each process.`;
  expect(fleet.notices.toSorted()).toEqual([part('r0', '2: 30'), part('r1', '2: 30')]);
  const closed = fleet.replicas[1]?.close();
  await fleet.time.pass(3000);
  await closed;
  expect(fleet.notices.at(-1)).toBe(part('r0', '1: 60'));
  fleet.burst(100, 0);
  expect(fleet.sent).toHaveLength(60);
});

test('without the store the last known share holds', async () => {
  const fleet = await new Fleet().start([0, 0, 0]);
  for (const link of fleet.links) link.state = 'down';
  await fleet.time.pass(5000);
  fleet.burst(150, 0, 1, 2);
  await fleet.time.pass(50_000);
  expect(fleet.sent).toHaveLength(60);
});
