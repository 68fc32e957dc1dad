import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KnownClients, type KnownClientsParts } from '../../src/rollout/known-clients.ts';
import { MemoryState, type SharedState } from '../../src/rollout/shared-state.ts';

const hashOf = (number: number): string => number.toString(16).padStart(16, '0').split('').reverse().join('');

/** Lists on one store whose clock the test moves. */
function listsOn(
  store: SharedState,
  more: Partial<KnownClientsParts> = {},
): { clock: { now: number }; list: () => KnownClients } {
  const clock = { now: 1_000_000 };
  return {
    clock,
    list: () =>
      new KnownClients({
        store,
        time: () => clock.now,
        after: (_, run) => void setTimeout(run, 20),
        clientOf: () => 'feed000000000000',
        ...more,
      }),
  };
}

const standings = (list: KnownClients, clients: readonly string[]): Promise<readonly string[]> =>
  Promise.all(clients.map(async (client) => list.standing(client)));

test('what one replica learns, every replica knows; whoever learned nothing is new', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(5000), { maxLength: 60 }),
      fc.uniqueArray(fc.integer({ min: 5001, max: 9000 }), { minLength: 1, maxLength: 20 }),
      async (used, others) => {
        const { list } = listsOn(new MemoryState(() => 0));
        const replicas = [list(), list(), list()];
        const learned = used.map(hashOf);
        await Promise.all(
          learned.map(async (client, at) => {
            const replica = replicas[at % 3];
            expect(await replica?.standing(client)).toBe('new');
            replica?.learn(client);
            expect(replica?.standing(client)).toBe('known');
          }),
        );
        for (const replica of replicas) await replica.settled();
        const young = list();
        expect(await standings(young, learned)).toEqual(learned.map(() => 'known'));
        expect(await standings(young, others.map(hashOf))).toEqual(others.map(() => 'new'));
        for (const client of [...learned, ...others.map(hashOf)])
          expect(young.sinceOf(client)).toBe(1_000_000);
      },
    ),
    { numRuns: 30 },
  );
});

test('a client that is learned the moment a write ends is stored as well', async () => {
  // However many promises are between the end of a write and what knows of it.
  for (let steps = 0; steps < 12; steps += 1) {
    const store = new MemoryState(() => 0);
    let written = (): void => {};
    const { list } = listsOn({
      read: (key) => store.read(key),
      compareAndSet: async (key, before, after) => {
        const isSet = await store.compareAndSet(key, before, after);
        if (after.includes('\n')) written();
        return isSet;
      },
    } as SharedState);
    const replica = list();
    const [first, second] = [1, 17].map((number) => `0${hashOf(number).slice(1)}`);
    await standings(replica, [first ?? '', second ?? '']);
    const learned = new Promise<void>((resolve) => {
      written = () => {
        written = () => {};
        void (async () => {
          for (let step = 0; step < steps; step += 1) await Promise.resolve();
          replica.learn(second ?? '');
          resolve();
        })();
      };
    });
    replica.learn(first ?? '');
    await learned;
    await replica.settled();
    expect([steps, ...(await standings(list(), [first ?? '', second ?? '']))]).toEqual([
      steps,
      'known',
      'known',
    ]);
  }
});

test('a client that another replica learned is found after a few seconds', async () => {
  const { clock, list } = listsOn(new MemoryState(() => 0));
  const [one, other] = [list(), list()];
  const client = hashOf(7);
  expect(await standings(other, [client])).toEqual(['new']);
  expect(await standings(one, [client])).toEqual(['new']);
  one.learn(client);
  await one.settled();
  expect(other.standing(client)).toBe('new');
  clock.now += 5001;
  expect(await other.standing(client)).toBe('known');
});

test('with another secret it is another list', async () => {
  const store = new MemoryState(() => 0);
  const one = listsOn(store).list();
  await one.standing(hashOf(7));
  one.learn(hashOf(7));
  await one.settled();
  const other = listsOn(store, { clientOf: async () => 'beef000000000000' }).list();
  expect(await other.standing(hashOf(7))).toBe('new');
});

describe('nobody is new', () => {
  const broken = (read: () => Promise<string | undefined>): SharedState =>
    Object.assign(new MemoryState(() => 0), { read });

  test.each<[string, () => Promise<string | undefined>]>([
    ['while the store fails', () => Promise.reject(new Error('away'))],
    ['while the store hangs', () => new Promise(() => {})],
    ['of a damaged text', async () => 'nonsense'],
  ])('%s', async (_, read) => {
    const { clock, list } = listsOn(broken(read));
    const known = list();
    expect(await known.standing(hashOf(1))).toBe('not-known');
    // The next request does not wait for it.
    expect(known.standing(hashOf(2))).toBe('not-known');
    clock.now += 2001;
    expect(known.standing(hashOf(2))).toBeInstanceOf(Promise);
  });

  // Attack: keys that are made up until the list is full, so that somebody else's client is refused.
  test('of a full list, whose size is bounded', async () => {
    const store = new MemoryState(() => 0);
    const { list } = listsOn(store);
    const known = list();
    const clients = Array.from({ length: 3400 }, (_, at) => `a${at.toString(16).padStart(15, '0')}`);
    await known.standing(clients[0] ?? '');
    for (const client of clients) known.learn(client);
    await known.settled();
    const kept = (await store.read('clients-feed000000000000-a')) ?? '';
    expect(kept.split('\n')).toHaveLength(1 + 3200);
    expect(await list().standing(clients[3399] ?? '')).toBe('not-known');
    expect(await list().standing(clients[0] ?? '')).toBe('known');
  });
});

test.each(['read', 'compareAndSet'] as const)(
  'who was learned while the store’s %s failed is stored when it is back, by a request of anybody',
  async (call) => {
    const store = new MemoryState(() => 0);
    const { clock, list } = listsOn(store);
    const known = list();
    const whole = store[call].bind(store);
    const isReadFirst = call === 'compareAndSet';
    if (isReadFirst) await known.standing(hashOf(7));
    Object.assign(store, { [call]: () => Promise.reject(new Error('away')) });
    expect(await known.standing(hashOf(7))).toBe(isReadFirst ? 'new' : 'not-known');
    known.learn(hashOf(7));
    await known.settled();
    Object.assign(store, { [call]: whole });
    clock.now += 2001;
    await known.standing(hashOf(8));
    await known.settled();
    expect(await list().standing(hashOf(7))).toBe('known');
    expect(known.standing(hashOf(7))).toBe('known');
  },
);

// A Redis that restarts empty: most texts were never read by this process, and would have nobody in them.
test('a list that the store lost begins anew, with the clients that are known here', async () => {
  const stores = [new MemoryState(() => 0), new MemoryState(() => 0)];
  let at = 0;
  const current = (): MemoryState => stores[at] ?? new MemoryState(() => 0);
  const store: SharedState = Object.assign(new MemoryState(() => 0), {
    read: (key: string) => current().read(key),
    compareAndSet: (...call: Parameters<SharedState['compareAndSet']>) => current().compareAndSet(...call),
  });
  const { clock, list } = listsOn(store);
  const known = list();
  await known.standing(hashOf(7));
  known.learn(hashOf(7));
  await known.settled();
  expect(known.sinceOf(hashOf(7))).toBe(1_000_000);
  at = 1;
  clock.now += 6000;
  await known.standing(hashOf(8));
  expect(known.sinceOf(hashOf(8))).toBe(1_006_000);
  expect(known.standing(hashOf(7))).toBe('known');
  await known.standing(hashOf(0x17));
  await known.settled();
  const young = list();
  expect(await young.standing(hashOf(7))).toBe('known');
  expect(young.sinceOf(hashOf(7))).toBe(1_006_000);
});

test('the store gets a client back that it lost from a text that it kept', async () => {
  const store = new MemoryState(() => 0);
  const { clock, list } = listsOn(store);
  const known = list();
  await known.standing(hashOf(7));
  known.learn(hashOf(7));
  await known.settled();
  const key = 'clients-feed000000000000-7';
  const text = await store.read(key);
  expect(text).toBe(`since 1000000\n${hashOf(7)}`);
  await store.compareAndSet(key, text, 'since 1000000');
  clock.now += 60_000;
  expect(known.standing(hashOf(7))).toBe('known');
  await known.settled();
  expect(await store.read(key)).toBe(text);
});

// A Redis with `maxmemory-policy allkeys-lru` loses any key, and never says so.
test('whichever texts a store loses, nobody who was learned is new to a list that is old enough to refuse', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(200), { minLength: 1, maxLength: 40 }),
      fc.uniqueArray(fc.constantFrom(...Array.from('0123456789abcdef')), { minLength: 1 }),
      fc.boolean(),
      async (used, lost, isRestarted) => {
        const store = new MemoryState(() => 0);
        const evicted = new Set<string>();
        const read = store.read.bind(store);
        const compareAndSet = store.compareAndSet.bind(store);
        // Lost once: what is stored again stays.
        store.read = async (key) => (evicted.has(key) ? undefined : read(key));
        store.compareAndSet = async (key, before, after) => {
          if (!evicted.has(key)) return compareAndSet(key, before, after);
          if (before !== undefined) return false;
          await compareAndSet(key, await read(key), after);
          return evicted.delete(key);
        };
        const { clock, list } = listsOn(store);
        const before = list();
        const learned = used.map(hashOf);
        await standings(before, learned);
        for (const client of learned) before.learn(client);
        await before.settled();
        for (const digit of lost) evicted.add(`clients-feed000000000000-${digit}`);
        clock.now += 61_000;
        const after = isRestarted ? list() : before;
        for (const client of learned) {
          const standing = await after.standing(client);
          await after.settled();
          const isOld = after.sinceOf(client) === 1_000_000;
          expect(standing === 'known' || !isOld).toBe(true);
          // What the other texts know they still know.
          if (!lost.includes(client.slice(0, 1))) expect([standing, isOld]).toEqual(['known', true]);
        }
        // A process that knew them has written them anew, so that the next one knows them.
        if (!isRestarted) expect(new Set(await standings(list(), learned))).toEqual(new Set(['known']));
      },
    ),
    { numRuns: 100 },
  );
});
