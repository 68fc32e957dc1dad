import { expect, test } from 'vitest';
import { MemoryState, type SharedState } from '../../src/rollout/shared-state.ts';
import type { RoutedMode } from '../../src/rollout/modes-in-force.ts';
import { Replica, type ReplicaNotice, type ReplicaParts } from '../../src/rollout/replica.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { ROLLOUT_KEY } from '../../src/rollout/stored-rollout.ts';
import type { Mode } from '../../src/rules/rollout.ts';
import { DistantStore } from '../support/distant-store.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** A request of any client. */
const KEYLESS = { client: undefined, operation: undefined, pointer: undefined };

const CANARY: Mode = { mode: 'canary', share: 20 };
const OBSERVE: Mode = { mode: 'observe' };
const MIGRATE: Mode = { mode: 'migrate' };
const ROLLBACK = { window: 60_000, margin: 5, slower: 2, requests: 30, certainty: 99 };
const BOOK = testRuleBook({
  rollout: {
    clients: {},
    brownouts: [],
    pins: [],
    modes: { default: OBSERVE, operations: {}, clients: {}, rollback: ROLLBACK },
  },
});

/** A replica with its way to the store. */
interface Player {
  readonly control: RolloutControl;
  readonly replica: Replica;
  readonly link: DistantStore;
  readonly notices: ReplicaNotice[];
}

/** Replicas on one store, in virtual time. */
class Fleet {
  readonly time = new VirtualTime();
  readonly players: Player[] = [];
  store: SharedState = new MemoryState(() => this.time.now);

  /** Starts replicas whose clocks are so many milliseconds ahead. */
  async start(...skews: readonly number[]): Promise<this> {
    const starts = skews.map((skew) => this.join(skew).replica.start());
    await this.time.pass(100);
    await Promise.all(starts);
    return this;
  }

  join(skew = 0, part: Partial<ReplicaParts> = {}): Player {
    const link = new DistantStore(this.store, this.time);
    const clock = this.time.clock(skew);
    const notices: ReplicaNotice[] = [];
    const control = new RolloutControl({ time: clock.time, onNotice: () => {} });
    const replica = new Replica({
      control,
      store: link,
      name: `r${this.players.length}`,
      clock,
      parse: JSON.parse,
      onNotice: (notice) => notices.push(notice),
      ...part,
    });
    const player = { control, replica, link, notices };
    this.players.push(player);
    return player;
  }

  player(number: number): Player {
    const player = this.players[number];
    if (player === undefined) throw new Error(`there is no replica ${number}`);
    return player;
  }

  /** The default mode on each replica. */
  get modes(): readonly (string | undefined)[] {
    return this.players.map(({ control }) => control.modes(BOOK).default.mode);
  }

  /** Lets each replica count requests of the canary. */
  serve(origin: 'v1' | 'v2', requests: number, failed: boolean, players = this.players): void {
    for (const { control } of players) {
      const modes = control.modes(BOOK);
      const { share } = modes.default;
      if (share === undefined) continue;
      const routed: RoutedMode = {
        mode: modes.default,
        origin,
        canary: { operation: undefined, share },
        modes,
      };
      for (let n = 0; n < requests; n += 1) control.count(routed, failed ? '5xx' : 'success', KEYLESS);
    }
  }

  kinds(number: number): readonly string[] {
    return this.player(number).notices.map(({ kind }) => kind);
  }
}

test('a choice made on one replica holds on all within a second, with any clocks', async () => {
  const fleet = await new Fleet().start(0, 2000, -2000);
  fleet.player(1).control.command({ mode: CANARY });
  await fleet.time.pass(50);
  expect(fleet.modes).toEqual(['canary', 'canary', 'canary']);
  expect(fleet.player(0).notices).toEqual([
    { kind: 'changed', sentence: 'Revision 1 is in force, set by r1.' },
  ]);
  for (const { link } of fleet.players) link.state = 'deaf';
  fleet.player(2).control.command({ mode: OBSERVE });
  await fleet.time.pass(1000);
  expect(fleet.modes).toEqual(['observe', 'observe', 'observe']);
});

test('a canary is judged on the sums, and rolled back once: each log says by whom and why', async () => {
  const fleet = await new Fleet().start(0, 2000, -2000);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  // No replica alone has the 30 requests that a decision needs.
  fleet.serve('v1', 30, false);
  fleet.serve('v2', 11, true);
  await fleet.time.pass(500);
  expect(fleet.modes).toEqual(['observe', 'observe', 'observe']);
  const [first] = fleet.players;
  expect(first?.control.state.rollbacks).toMatchObject([
    { share: 20, migrated: { requests: 33, failures: 33 }, v1: { requests: 90, failures: 0 } },
  ]);
  const by = first?.control.state.rollbacks[0]?.by;
  for (const { control, notices } of fleet.players) {
    expect(control.state).toEqual(first?.control.state);
    const told = notices.filter(({ kind }) => kind === 'rolled-back');
    expect(told).toEqual([
      {
        kind: 'rolled-back',
        sentence: `canary of 20 % rolled back to observe by ${by}: 33 of 33 compared requests failed on V2, 0 of 90 on V1. At least 11 of 33 failures: 5xx, from requests without a key. It stays in observe until an operator sets a mode.`,
      },
    ]);
  }
});

test('failures of one replica do not roll back what works for the fleet', async () => {
  const fleet = await new Fleet().start(0, 0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  fleet.serve('v2', 700, false, fleet.players.slice(1));
  await fleet.time.pass(500);
  fleet.serve('v2', 40, true, fleet.players.slice(0, 1));
  await fleet.time.pass(2000);
  expect(fleet.modes).toEqual(['canary', 'canary', 'canary']);
  expect(fleet.player(2).control.counts.get(undefined)).toMatchObject({
    migrated: { requests: 1440, failures: 40 },
  });
});

test.each(['down', 'hung'] as const)(
  'without the store (%s), the last known state holds, and each replica judges alone',
  async (state) => {
    const fleet = await new Fleet().start(0, 0);
    fleet.player(0).control.command({ mode: CANARY });
    await fleet.time.pass(1000);
    const lostAt = fleet.time.now;
    for (const { link } of fleet.players) link.state = state;
    await fleet.time.pass(5000);
    expect(fleet.modes).toEqual(['canary', 'canary']);
    for (const [number, { replica, notices }] of fleet.players.entries()) {
      expect(fleet.kinds(number).at(-1)).toBe('alone');
      expect(notices.at(-1)?.sentence).toMatch(
        /^The store is unreachable \(.+\); revision 1 of the rollout stays in force, and this replica counts alone\.$/,
      );
      expect(replica.status.aloneSince).toBeGreaterThan(lostAt);
      expect(replica.status.aloneSince).toBeLessThan(lostAt + 1700);
    }
    fleet.serve('v2', 29, true);
    expect(fleet.modes).toEqual(['canary', 'canary']);
    fleet.serve('v2', 1, true, fleet.players.slice(0, 1));
    expect(fleet.modes).toEqual(['observe', 'canary']);
    expect(fleet.player(0).replica.status.waiting).toBe(1);
    for (const { link } of fleet.players) link.state = 'up';
    await fleet.time.pass(2500);
    expect(fleet.modes).toEqual(['observe', 'observe']);
    expect(fleet.player(1).control.state.rollbacks).toMatchObject([{ by: 'r0', migrated: { requests: 30 } }]);
    for (const number of [0, 1]) {
      expect(fleet.kinds(number).filter((kind) => kind === 'together')).toHaveLength(1);
      expect(fleet.kinds(number).filter((kind) => kind === 'rolled-back')).toHaveLength(1);
      expect(fleet.player(number).replica.status).not.toHaveProperty('aloneSince');
    }
  },
);

test('one lost call is no reason to judge the fleet by the requests of one replica', async () => {
  const fleet = await new Fleet().start(0, 0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  fleet.serve('v2', 700, false, fleet.players.slice(1));
  await fleet.time.pass(500);
  fleet.player(0).link.state = 'down';
  await fleet.time.pass(1500);
  expect(fleet.player(0).replica.status).toHaveProperty('aloneSince');
  fleet.serve('v2', 40, true, fleet.players.slice(0, 1));
  fleet.player(0).link.state = 'up';
  await fleet.time.pass(2000);
  expect(fleet.modes).toEqual(['canary', 'canary', 'canary']);
});

test('with a slow store nothing is lost, and a choice holds as soon as the store responds', async () => {
  const fleet = await new Fleet().start(0, 0);
  for (const { link } of fleet.players) link.delay = 600;
  fleet.player(0).control.command({ mode: CANARY });
  expect(fleet.modes).toEqual(['canary', 'observe']);
  await fleet.time.pass(4000);
  expect(fleet.modes).toEqual(['canary', 'canary']);
  expect([fleet.kinds(0), fleet.kinds(1)]).toEqual([[], ['changed']]);
});

test.each(['down', 'hung', 'slow'] as const)(
  'choices of one millisecond are all stored once the store responds: %s',
  async (state) => {
    const fleet = await new Fleet().start(0, 0);
    const { control, link } = fleet.player(0);
    if (state === 'slow') link.delay = 2500;
    else link.state = state;
    const operations = { list: CANARY, read: MIGRATE, write: OBSERVE };
    for (const [operation, mode] of Object.entries(operations)) control.command({ mode, operation });
    await fleet.time.pass(4000);
    link.state = 'up';
    link.delay = 1;
    await fleet.time.pass(4000);
    for (const player of fleet.players) {
      expect(player.control.state.operations).toEqual(operations);
      expect(player.control.state.history).toHaveLength(3);
    }
  },
);

test('the choices of two operators at once are both recorded, and the later one holds everywhere', async () => {
  const fleet = await new Fleet().start(0, 0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  fleet.player(1).control.command({ mode: MIGRATE });
  fleet.player(2).control.command({ mode: MIGRATE, client: '0123456789abcdef' });
  await fleet.time.pass(1000);
  const [first] = fleet.players;
  expect(first?.control.state.revision).toBe(3);
  expect(new Set(fleet.modes).size).toBe(1);
  expect(first?.control.state.clients).toEqual({ '0123456789abcdef': MIGRATE });
  for (const { control } of fleet.players) expect(control.state).toEqual(first?.control.state);
});

test('in a split, a choice made alone gives way to one that was stored in the meantime, and says so', async () => {
  const fleet = await new Fleet().start(0, 0, 0);
  fleet.player(0).link.state = 'down';
  await fleet.time.pass(2000);
  fleet.player(0).control.command({ mode: CANARY });
  fleet.player(0).control.command({ mode: OBSERVE, operation: 'create_client' });
  fleet.player(1).control.command({ mode: MIGRATE });
  await fleet.time.pass(5000);
  expect(fleet.modes).toEqual(['canary', 'migrate', 'migrate']);
  fleet.player(0).link.state = 'up';
  await fleet.time.pass(1000);
  expect(fleet.modes).toEqual(['migrate', 'migrate', 'migrate']);
  // What contradicts nothing is kept.
  for (const { control } of fleet.players)
    expect(control.state.operations).toEqual({ create_client: OBSERVE });
  expect(fleet.player(0).notices.filter(({ kind }) => kind === 'overtaken')).toEqual([
    {
      kind: 'overtaken',
      sentence: expect.stringMatching(
        /^The mode canary for everything, set here at .+Z without the store, is dropped: another replica set a different one in the meantime\.$/,
      ),
    },
  ]);
});

test('a rollback decided alone does not undo what an operator chose since', async () => {
  const fleet = await new Fleet().start(0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  fleet.player(0).link.state = 'down';
  await fleet.time.pass(4000);
  fleet.serve('v2', 30, true, fleet.players.slice(0, 1));
  expect(fleet.modes).toEqual(['observe', 'canary']);
  fleet.player(1).control.command({ mode: MIGRATE });
  await fleet.time.pass(1000);
  fleet.player(0).link.state = 'up';
  await fleet.time.pass(1000);
  expect(fleet.modes).toEqual(['migrate', 'migrate']);
});

test('a store that was emptied gets the last known state again', async () => {
  const fleet = await new Fleet().start(0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  const empty = new MemoryState(() => fleet.time.now);
  for (const { link } of fleet.players) link.store = empty;
  await fleet.time.pass(1000);
  expect(fleet.modes).toEqual(['canary', 'canary']);
  fleet.store = empty;
  const late = fleet.join();
  const started = late.replica.start();
  await fleet.time.pass(100);
  await started;
  expect(late.control.state).toEqual(fleet.player(0).control.state);
  // History is no news for a replica that starts.
  expect(late.notices).toEqual([]);
});

test('a text that cannot be read changes nothing, and the next choice replaces it', async () => {
  const fleet = await new Fleet().start(0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  const before = await fleet.store.read(ROLLOUT_KEY);
  await fleet.store.compareAndSet(ROLLOUT_KEY, before, '{"format":2}');
  await fleet.time.pass(2000);
  expect(fleet.modes).toEqual(['canary', 'canary']);
  expect(await fleet.store.read(ROLLOUT_KEY)).toBe('{"format":2}');
  expect(fleet.player(1).notices.filter(({ kind }) => kind === 'damaged')).toHaveLength(1);
  fleet.player(1).control.command({ mode: OBSERVE });
  await fleet.time.pass(1000);
  expect(fleet.modes).toEqual(['observe', 'observe']);
  expect(fleet.player(0).control.state.revision).toBe(2);
});

test('a store that takes no writes leaves the replicas alone, once', async () => {
  const fleet = await new Fleet().start(0, 0);
  const { link } = fleet.player(0);
  link.store = {
    ...bound(fleet.store),
    exchange: () => Promise.reject(new Error('OOM command not allowed')),
  };
  await fleet.time.pass(8000);
  expect(fleet.kinds(0)).toEqual(['alone']);
  expect(fleet.player(0).notices[0]?.sentence).toContain('(OOM command not allowed)');
  link.store = fleet.store;
  await fleet.time.pass(2000);
  expect(fleet.kinds(0)).toEqual(['alone', 'together']);
});

test('a canary is judged on all its requests, even if other modes are chosen in the meantime', async () => {
  const fleet = await new Fleet().start(0, 0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  fleet.serve('v2', 10, true);
  await fleet.time.pass(1000);
  fleet.player(1).control.command({ mode: OBSERVE, operation: 'create_client' });
  await fleet.time.pass(1000);
  fleet.serve('v2', 10, true);
  await fleet.time.pass(1000);
  expect(fleet.modes).toEqual(['observe', 'observe']);
  const [rollback] = fleet.player(1).control.state.rollbacks;
  expect(rollback?.migrated.requests).toBeGreaterThanOrEqual(30);
});

test('replicas count each other', async () => {
  const fleet = await new Fleet().start(0, 2000, -2000, 0, 0);
  await fleet.time.pass(30_000);
  expect(fleet.players.map(({ replica }) => replica.status.replicas)).toEqual([5, 5, 5, 5, 5]);
  for (const { link } of fleet.players.slice(0, 3)) link.state = 'down';
  await fleet.time.pass(30_000);
  expect(fleet.players.map(({ replica }) => replica.status.replicas)).toEqual([5, 5, 5, 2, 2]);
});

test('a replica that joins or leaves is counted within two seconds, and the number holds from then on', async () => {
  const fleet = await new Fleet().start(0, 2000);
  const told = (): ReadonlySet<number | undefined> =>
    new Set(fleet.players.map(({ replica }) => replica.status.replicas));
  const holds = async (replicas: number): Promise<void> => {
    await fleet.time.pass(2000);
    for (let step = 0; step < 80; step += 1) {
      expect([...told()]).toEqual([replicas]);
      await fleet.time.pass(250);
    }
  };
  await holds(2);
  // At any place of the parts in which the store counts.
  for (let more = 3; more < 6; more += 1) {
    void fleet.join().replica.start();
    await holds(more);
    await fleet.time.pass(1300);
  }
  for (let left = 4; left > 1; left -= 1) {
    const [last] = fleet.players.splice(-1);
    await Promise.all([last?.replica.close(), fleet.time.pass(100)]);
    await fleet.time.pass(5000);
    await holds(left);
  }
});

test('replicas that come back to the store hold their number until they were counted again', async () => {
  const fleet = await new Fleet().start(0, 2000, -2000, 0, 0);
  await fleet.time.pass(30_000);
  for (const { link } of fleet.players) link.state = 'down';
  await fleet.time.pass(40_000);
  for (const { link } of fleet.players) link.state = 'up';
  const told = new Set<number | undefined>();
  for (let step = 0; step < 60; step += 1) {
    await fleet.time.pass(250);
    for (const { replica } of fleet.players) told.add(replica.status.replicas);
  }
  expect([...told]).toEqual([5]);
  for (const { link } of fleet.players.slice(0, 3)) link.state = 'down';
  await fleet.time.pass(30_000);
  expect(fleet.players.map(({ replica }) => replica.status.replicas)).toEqual([5, 5, 5, 2, 2]);
});

test('the workers of a gateway share its place among replicas, but each has its part of a rate limit', async () => {
  const fleet = new Fleet();
  fleet.join();
  fleet.join(0, { isServing: false });
  fleet.join(0, { isGateway: false });
  fleet.join(0, { isGateway: false });
  for (const { replica } of fleet.players) void replica.start();
  await fleet.time.pass(30_000);
  expect(fleet.players.map(({ replica }) => replica.status.replicas)).toEqual([2, 2, 2, 2]);
  expect(fleet.players.map(({ replica }) => replica.processes)).toEqual([3, 3, 3, 3]);
});

test('calls of the store do not grow with requests', async () => {
  const fleet = await new Fleet().start(0);
  fleet.player(0).control.command({ mode: CANARY });
  await fleet.time.pass(1000);
  const { link } = fleet.player(0);
  const before = link.calls;
  for (let second = 0; second < 10; second += 1) {
    fleet.serve('v2', 1000, false);
    await fleet.time.pass(1000);
  }
  expect(link.calls - before).toBeLessThan(80);
});

test('a replica that closes stores what waits, and then calls no more', async () => {
  const fleet = await new Fleet().start(0);
  const { control, replica, link } = fleet.player(0);
  control.command({ mode: CANARY });
  const closed = replica.close();
  await fleet.time.pass(100);
  await closed;
  expect(await fleet.store.read(ROLLOUT_KEY)).toContain('"canary"');
  const before = link.calls;
  await fleet.time.pass(10_000);
  expect(link.calls).toBe(before);
});

/** The methods of a store as an object's own. */
function bound(store: SharedState): SharedState {
  return {
    read: (key) => store.read(key),
    compareAndSet: (key, before, after) => store.compareAndSet(key, before, after),
    exchange: (call) => store.exchange(call),
    subscribe: (key, changed) => store.subscribe(key, changed),
    close: () => store.close(),
  };
}
