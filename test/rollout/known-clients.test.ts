import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientSums, CLIENTS, KnownClients } from '../../src/rollout/known-clients.ts';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import { SharedTexts } from '../../src/rollout/shared-texts.ts';
import { StoreContact } from '../../src/rollout/store-contact.ts';
import { type CallFate, FlakyState, FragileState } from '../support/fragile-state.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { storedKnownClients, storeKnownClients } from '../support/known-clients.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const LIST = 'feed000000000000';

const hashOf = (number: number): string => number.toString(16).padStart(16, '0').split('').reverse().join('');

/** One of the processes that share a list. */
class Process {
  readonly known: KnownClients;
  readonly texts: SharedTexts;
  fate: () => CallFate = () => 'sound';
  private readonly contact: StoreContact;
  private readonly time: VirtualTime;

  constructor(state: SharedState, time: VirtualTime, clientOf: () => string | Promise<string> = () => LIST) {
    this.time = time;
    const clock = time.clock();
    this.contact = new StoreContact({ clock, timeoutMs: 1000, onLost: () => {}, onFound: () => {} });
    this.texts = new SharedTexts({
      state: new FlakyState(state, time, () => this.fate()),
      topic: 'rollout',
      clock,
      contact: this.contact,
      sums: clientSums,
      newId: () => `p${clock.random()}`,
      keepMs: 1e10,
    });
    this.known = new KnownClients({ time: clock.time, clientOf });
    this.known.shareWith(this.texts);
  }

  /** Exchanges texts, in which some time passes. */
  async exchange(passMs = 200): Promise<void> {
    const work = this.contact
      .attempt('counts', () => this.texts.exchange())
      .then((isReached) => {
        if (isReached) this.known.read();
      });
    const state = { isOver: false };
    void work.finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) await this.time.pass(100);
    await this.time.pass(passMs);
  }

  standings(clients: readonly string[]): Promise<readonly string[]> {
    return Promise.all(clients.map(async (client) => this.known.standing(client)));
  }
}

/** Processes that share a store, each of which has read it. */
async function sharing(count: number): Promise<{
  readonly time: VirtualTime;
  readonly state: FragileState;
  readonly start: () => Promise<Process>;
  readonly processes: readonly Process[];
}> {
  const time = new VirtualTime();
  const state = new FragileState(() => time.now);
  const start = async (): Promise<Process> => {
    const process = new Process(state, time);
    await process.standings([hashOf(0)]);
    await process.exchange();
    return process;
  };
  const processes: Process[] = [];
  for (let at = 0; at < count; at += 1) processes.push(await start());
  return { time, state, start, processes };
}

test('a client that one process learned is known to every process, and any other client is new', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(5000), { maxLength: 60 }),
      fc.uniqueArray(fc.integer({ min: 5001, max: 9000 }), { minLength: 1, maxLength: 20 }),
      async (used, others) => {
        const { start, processes } = await sharing(3);
        const [first] = processes;
        const begun = first?.known.begun;
        const learned = used.map(hashOf);
        for (const [at, client] of learned.entries()) {
          const process = processes[at % 3];
          expect(process?.known.standing(client)).toBe('new');
          process?.known.learn(client);
          expect(process?.known.standing(client)).toBe('known');
        }
        for (const process of [...processes, ...processes]) await process.exchange();
        for (const process of [...processes, await start()]) {
          expect(await process.standings(learned)).toEqual(learned.map(() => 'known'));
          expect(await process.standings(others.map(hashOf))).toEqual(others.map(() => 'new'));
          expect(process.known.begun).toBe(begun);
        }
      },
    ),
    { numRuns: 30 },
  );
});

test('clients that were learned before the first read are shared with the first exchange', async () => {
  const { time, state, start } = await sharing(1);
  const early = new Process(state, time);
  early.known.learn(hashOf(7));
  expect(early.known.standing(hashOf(8))).toBe('not-known');
  for (let at = 0; at < 2; at += 1) await early.exchange();
  expect((await start()).known.standing(hashOf(7))).toBe('known');
});

test('texts that did not change are not looked through again', () => {
  const asked: string[] = [];
  const prefix = `${CLIENTS}${LIST}/`;
  const all = new Map([
    [`${prefix}since`, '1'],
    [`${prefix}${hashOf(7).slice(0, 2)}`, hashOf(7)],
  ]);
  const known = new KnownClients({ time: () => 1, clientOf: () => LIST });
  known.shareWith({
    readAt: 1,
    get keys() {
      return new Set(all.keys());
    },
    add: (added) => {
      for (const [key, text] of added) all.set(key, text);
    },
    ownTexts: (key) => {
      asked.push(key);
      const own = all.get(key);
      return own === undefined ? [] : [own];
    },
    otherTexts: () => [],
  });
  expect(known.standing(hashOf(7))).toBe('known');
  asked.length = 0;
  known.read();
  expect(asked).toEqual([...all.keys()]);
  // The store lost them.
  all.clear();
  known.read();
  expect(all.size).toBe(2);
});

test('with another secret it is another list', async () => {
  const { time, state, processes } = await sharing(1);
  processes[0]?.known.learn(hashOf(7));
  await processes[0]?.exchange();
  const other = new Process(state, time, async () => 'beef000000000000');
  await other.standings([hashOf(7)]);
  await other.exchange();
  expect(other.known.standing(hashOf(7))).toBe('new');
});

test('the list of a process that has ended stays, with its age', async () => {
  const { time, state } = await sharing(0);
  const since = time.now - 60 * 86_400_000;
  await storeKnownClients(state, { list: LIST, since, clients: [hashOf(7)] });
  const process = new Process(state, time);
  await process.standings([hashOf(0)]);
  // The texts have to be known for a while before another process takes them over.
  for (let at = 0; at < 100; at += 1) await process.exchange(1000);
  expect([process.known.begun, ...(await process.standings([hashOf(7), hashOf(8)]))]).toEqual([
    since,
    'known',
    'new',
  ]);
  expect(await storedKnownClients(state)).toEqual({ clients: [hashOf(7)], since: [since] });
});

describe('no client counts as new', () => {
  test.each<CallFate>(['lost', 'unanswered', 'late'])('while calls of the store are %s', async (fate) => {
    const { time, processes } = await sharing(1);
    const [process] = processes;
    if (process === undefined) return expect.fail();
    process.known.learn(hashOf(1));
    process.fate = () => fate;
    expect(process.known.standing(hashOf(2))).toBe('new');
    await process.exchange(10_000);
    expect(await process.standings([hashOf(1), hashOf(2)])).toEqual(['known', 'not-known']);
    process.fate = () => 'sound';
    await process.exchange(0);
    await process.exchange(0);
    expect(process.known.standing(hashOf(2))).toBe('new');
    // A clock that is set back.
    time.now -= 5000;
    expect(process.known.standing(hashOf(2))).toBe('not-known');
  });

  // Attack: keys that are made up until the list is full, so that another client is refused.
  test('if the list is full, whose size is bounded', async () => {
    const { state, start, processes } = await sharing(1);
    const clients = Array.from({ length: 450 }, (_, at) => `ab${at.toString(16).padStart(14, '0')}`);
    for (const client of clients) processes[0]?.known.learn(client);
    await processes[0]?.exchange();
    expect((await storedKnownClients(state)).clients).toHaveLength(400);
    const { known } = await start();
    expect(known.standing(clients[449] ?? '')).toBe('not-known');
    expect(known.standing(clients[0] ?? '')).toBe('known');
  });

  test('if a text cannot be read, which stays in the store', async () => {
    const { time, state, start } = await sharing(0);
    await storeKnownClients(state, { list: LIST, since: time.now, clients: ['0nonsense'] });
    const { known } = await start();
    expect(known.standing(hashOf(1))).toBe('new');
    expect(clientSums.adopt(`${CLIENTS}${LIST}/0n`, '0nonsense', 0, 'ended')).toBe('unreadable');
  });
});

test('a list that a store lost comes back from a process that runs, with those that it knows from others', async () => {
  const { time, state, start, processes } = await sharing(2);
  const [one, other] = processes;
  if (one === undefined || other === undefined) return expect.fail();
  const { begun } = one.known;
  one.known.learn(hashOf(7));
  for (const process of [one, other]) await process.exchange();
  time.now += 60_000;
  state.lose();
  // Texts of a process that does not say anything are taken over after some time.
  for (let at = 0; at < 100; at += 1) await other.exchange(1000);
  const { known } = await start();
  expect([known.standing(hashOf(7)), known.begun]).toEqual(['known', begun]);
});

test('a list that a store lost while no process ran begins again', async () => {
  const { time, state, start, processes } = await sharing(1);
  processes[0]?.known.learn(hashOf(7));
  await processes[0]?.exchange();
  time.now += 60_000;
  state.lose();
  const { known } = await start();
  expect([known.standing(hashOf(7)), known.begun ?? 0]).toEqual(['new', expect.any(Number)]);
  expect(known.begun).toBeGreaterThan(processes[0]?.known.begun ?? Number.POSITIVE_INFINITY);
});

test(
  'with any lost calls, killed processes and losses of the store, no learned client is new to a list that is old enough',
  fuzzTime(),
  async () => {
    const step = fc.record({
      process: fc.integer({ min: 0, max: 2 }),
      learns: fc.array(fc.nat(40), { maxLength: 3 }),
      event: fc.constantFrom('none', 'none', 'none', 'kill', 'lose', 'keep', 'restore'),
      passMs: fc.constantFrom(200, 1000, 12_000, 70_000),
    });
    const fates = fc.array(
      fc.constantFrom<CallFate[]>('sound', 'sound', 'sound', 'lost', 'unanswered', 'late'),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), fates, async (steps, toCome) => {
        const time = new VirtualTime();
        const state = new FragileState(() => time.now);
        const left = [...toCome];
        const start = (): Process => {
          const process = new Process(state, time);
          process.fate = () => left.shift() ?? 'sound';
          void process.known.standing(hashOf(999));
          return process;
        };
        const all = [start(), start(), start()];
        /** Learned by a process that runs, or known to be in the store when its process was killed. */
        const learned = new Set<string>();
        let kept: (() => void) | undefined;
        const own = new Map<Process, Set<string>>(all.map((process) => [process, new Set()]));
        const exchangeAll = async (): Promise<void> => {
          for (const process of all) await process.exchange(0);
        };
        const heal = async (): Promise<void> => {
          for (let turns = 0; turns < 20; turns += 1) {
            await exchangeAll();
            await time.pass(5000);
          }
        };
        for (const { process: at, learns, event, passMs } of steps) {
          const process = all[at];
          if (process === undefined) throw new Error('there are three');
          for (const number of learns) {
            process.known.learn(hashOf(number));
            own.get(process)?.add(hashOf(number));
          }
          await exchangeAll();
          await exchangeAll();
          for (const one of all)
            if (one.texts.isComplete && one.texts.isShared)
              for (const client of own.get(one) ?? []) learned.add(client);
          if (event === 'kill') {
            const next = start();
            all[at] = next;
            own.set(next, new Set());
          }
          if (event === 'keep') kept = state.kept();
          if (event === 'lose') state.lose();
          if (event === 'restore') kept?.();
          // What ended processes had learned is only in others' copies until these take it over.
          if (event === 'lose' || (event === 'restore' && kept !== undefined)) await heal();
          await time.pass(passMs);
        }
        left.splice(0);
        await heal();
        for (const process of all)
          for (const client of [...learned, ...(own.get(process) ?? [])])
            expect(await process.known.standing(client)).toBe('known');
      }),
      { numRuns: fuzzRuns(40) },
    );
  },
);
