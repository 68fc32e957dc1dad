import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientKey } from '../../../src/report/fleet/fleet-batch.ts';
import { makeReport } from '../../../src/report/report.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { MemoryRecords } from '../../support/memory-records.ts';
import { inOneOrder, PlayedReplica } from '../../support/played-replica.ts';
import { v1TallyEntry } from '../../support/v1-tally-entry.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { arbitraryEntry } from '../arbitrary-entry.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import type { RecordChange, RecordPage, RecordStore, Replaced } from '../../../src/rollout/store.ts';

/** Fate of a call: `lost` before it arrives, `unanswered` after it was carried out, or `late`: carried out after its caller gave up. */
type CallFate = 'sound' | 'lost' | 'unanswered' | 'late';

/** A way to records on which calls are lost, or their responses, as `next` decides. */
class FlakyRecords implements RecordStore {
  private readonly records: RecordStore;
  private readonly time: VirtualTime;
  private readonly next: () => CallFate;

  constructor(records: RecordStore, time: VirtualTime, next: () => CallFate) {
    this.records = records;
    this.time = time;
    this.next = next;
  }

  changes(after: number, limit: number): Promise<RecordPage> {
    return this.call(() => this.records.changes(after, limit));
  }

  replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    return this.call(() => this.records.replace(life, changes));
  }

  private async call<Value>(run: () => Promise<Value>): Promise<Value> {
    const fate = this.next();
    if (fate === 'lost') throw new Error('the call was lost');
    if (fate === 'late') {
      await this.time.wait(2500);
      return run();
    }
    const value = await run();
    if (fate === 'unanswered') throw new Error('the response was lost');
    return value;
  }
}

const DAY_MS = 86_400_000;

/** The report of one gateway that saw all entries, without what depends on who observed. */
function reportOfOne(entries: readonly TallyEntry[], now: number): unknown {
  const tally = new Tally();
  for (const entry of entries) tally.add(entry);
  return comparable(makeReport(tally, { now: new Date(now).toISOString() }));
}

function comparable(report: object): unknown {
  const {
    switchOff: _,
    canSwitchOff: __,
    gaps: ___,
    coverage: ____,
    ...rest
  } = report as Record<string, unknown>;
  return inOneOrder(rest);
}

/** A V1 request of a client. */
const request = (client: string, at: number): TallyEntry => v1TallyEntry(client, new Date(at).toISOString());

test('whoever counts an entry, in whatever order, and whichever calls are lost: every replica reports as one that saw all', async () => {
  const step = fc.record({
    replica: fc.integer({ min: 0, max: 2 }),
    entries: fc.array(arbitraryEntry, { maxLength: 8 }),
    passMs: fc.integer({ min: 0, max: 9000 }),
    isRestart: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
  });
  const fates = fc.array(
    fc.constantFrom<CallFate[]>('sound', 'sound', 'sound', 'lost', 'unanswered', 'late'),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fates, async (steps, fatesToCome) => {
      const time = new VirtualTime();
      const records = new MemoryRecords();
      const left = [...fatesToCome];
      const flaky = new FlakyRecords(records, time, () => left.shift() ?? 'sound');
      const replicas = [0, 1, 2].map((number) => new PlayedReplica(`r${number}`, flaky, time));
      const all: TallyEntry[] = [];
      for (const { replica: number, entries, passMs, isRestart } of steps) {
        const replica = replicas[number];
        if (replica === undefined) throw new Error('there are three');
        for (const entry of entries) replica.add(entry);
        all.push(...entries);
        await time.pass(passMs);
        if (!isRestart) continue;
        // A process that adds its last counts; what one that is killed did not add is gone with it.
        left.splice(0);
        await time.pass(20_000);
        const closed = replica.totals.close();
        await time.pass(3000);
        await closed;
        replicas[number] = new PlayedReplica(`r${number}`, flaky, time);
      }
      left.splice(0);
      await time.pass(30_000);
      const wanted = reportOfOne(all, time.now);
      for (const replica of replicas) expect(comparable(await replica.report(time.now))).toEqual(wanted);
      for (const { totals } of replicas) expect(totals.coverage()).toMatchObject({ kind: 'fleet', gaps: [] });
    }),
    { numRuns: fuzzRuns(40) },
  );
}, 60_000);

test('counts of which the response was lost are not shown twice while the rest of the records is still to be read', async () => {
  const time = new VirtualTime();
  const fates: CallFate[] = [];
  const flaky = new FlakyRecords(new MemoryRecords(), time, () => fates.shift() ?? 'sound');
  const one = new PlayedReplica('one', flaky, time);
  await time.pass(1000);
  // With the record of the replica they fill one page, after which there may be more.
  const names = clientsApart(31);
  for (const name of names) one.add(request(name, time.now));
  fates.push('sound', 'unanswered', 'sound', 'lost');
  while (fates.length > 0) await time.pass(10);
  expect((await one.report(time.now)).v1).toBe(31);
  await time.pass(10_000);
  expect((await one.report(time.now)).v1).toBe(31);
});

test('a call that arrives after its repetition was sent is carried out once', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  let late: (() => Promise<unknown>) | undefined;
  let isHeld = false;
  const one = new PlayedReplica(
    'one',
    {
      changes: (after, limit) => records.changes(after, limit),
      replace: async (life, changes) => {
        if (isHeld) {
          isHeld = false;
          late = () => records.replace(life, changes);
          return new Promise(() => {});
        }
        await late?.();
        late = undefined;
        return records.replace(life, changes);
      },
    },
    time,
  );
  await time.pass(1000);
  one.add(request('aa', time.now));
  isHeld = true;
  await time.pass(4000);
  expect(isHeld).toBe(false);
  await time.pass(10_000);
  expect(late).toBe(undefined);
  expect((await one.report(time.now)).v1).toBe(1);
});

test('figures of one replica are those of all within seconds, and the sentence says since when', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  const [one, other] = [new PlayedReplica('one', records, time), new PlayedReplica('other', records, time)];
  await time.pass(1000);
  one.add(request('aa', time.now));
  expect((await one.report(time.now)).clients).toHaveLength(1);
  await time.pass(10_000);
  expect((await other.report(time.now)).clients.map(({ client, v1 }) => [client, v1])).toEqual([['aa', 1]]);
  const { sentence, replicas, oldestMs = Number.NaN } = other.totals.coverage();
  expect(sentence).toMatch(/^Counted since 2027-01-15T08:00:00\.000Z \(2 replicas running\)\.$/);
  expect(replicas).toBe(2);
  expect(oldestMs).toBeLessThan(5000);
});

test('without the store a replica goes on from what was last known, says so, and adds everything once it is back', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  let fate: CallFate = 'sound';
  const flaky = new FlakyRecords(records, time, () => fate);
  const [one, other] = [new PlayedReplica('one', flaky, time), new PlayedReplica('other', records, time)];
  other.add(request('bb', time.now));
  await time.pass(12_000);
  fate = 'lost';
  await time.pass(5000);
  const lostAt = time.now;
  one.add(request('aa', time.now));
  other.add(request('cc', time.now));
  await time.pass(60_000);
  const alone = one.totals.coverage();
  expect(alone.kind).toBe('alone');
  expect(alone.sentence).toMatch(
    /^This replica has been alone since 2027-01-15T08:00:1\d\.\d+Z \(the call was lost\); the counts of the others are from 2027-01-15T08:00:\d\d\.\d+Z\.$/,
  );
  expect(alone.oldestMs).toBeGreaterThan(60_000);
  expect((await one.report(time.now)).clients.map(({ client }) => client).sort()).toEqual(['aa', 'bb']);
  expect(alone.gaps.map(({ log }) => log)).toEqual(['store', 'other']);
  expect(Date.parse(alone.gaps[0]?.from ?? '')).toBeLessThanOrEqual(lostAt);
  // The others cannot know whether it still counts.
  expect(other.totals.coverage().gaps).toEqual([
    expect.objectContaining({
      log: 'one',
      sentence: expect.stringMatching(/^Replica one has added nothing since /),
    }),
  ]);
  fate = 'sound';
  await time.pass(10_000);
  for (const replica of [one, other]) {
    expect((await replica.report(time.now)).clients.map(({ client }) => client).sort()).toEqual([
      'aa',
      'bb',
      'cc',
    ]);
    expect(replica.totals.coverage()).toMatchObject({ kind: 'fleet', gaps: [] });
  }
});

test('a replica that never read the store does not speak for others, and V1 is not said to be unused', async () => {
  const time = new VirtualTime();
  const flaky = new FlakyRecords(new MemoryRecords(), time, () => 'lost');
  const replica = new PlayedReplica('one', flaky, time);
  replica.add(request('aa', time.now));
  time.now += 90 * DAY_MS;
  await time.pass(6000);
  const { switchOff } = await replica.report(time.now);
  expect(replica.totals.coverage().sentence).toMatch(
    /^Counts of this replica alone: the store has not been read since its start at .+ \(the call was lost\)\.$/,
  );
  expect(switchOff.verdict).toBe('unknown');
  expect(switchOff.conditions.map(({ text }) => text).join(' ')).toContain(
    'the counts of other replicas are not known',
  );
});

test('a client that only another replica saw is a client, also after that one stopped', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  const [one, other] = [new PlayedReplica('one', records, time), new PlayedReplica('other', records, time)];
  for (let day = 0; day < 3; day += 1) {
    other.add(request('bb', time.now));
    await time.pass(6000);
  }
  const closed = other.totals.close();
  await time.pass(3000);
  await closed;
  await time.pass(20_000);
  const report = await one.report(time.now);
  expect(report.switchOff).toMatchObject({ verdict: 'no' });
  expect(report.clients).toHaveLength(1);
  expect(one.totals.coverage()).toMatchObject({ replicas: 1, gaps: [] });
  expect(one.totals.coverage().sentence).toMatch(/^Counted since \S+ \(1 replica running, 1 stopped\)\.$/);
});

test('what a killed replica had added stays, and what it had not is told for a day and until it decides nothing', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  let fate: CallFate = 'sound';
  const one = new PlayedReplica('one', records, time);
  await time.pass(6000);
  time.now += 20 * DAY_MS;
  await time.pass(6000);
  const killed = new PlayedReplica('killed', new FlakyRecords(records, time, () => fate), time);
  killed.add(request('bb', time.now));
  await time.pass(10_000);
  fate = 'lost';
  killed.add(request('cc', time.now));
  await time.pass(30_000 + 10_000);
  const { clients } = await one.report(time.now);
  expect(clients.map(({ client, v1 }) => [client, v1])).toEqual([['bb', 1]]);
  expect(one.totals.coverage().gaps).toHaveLength(1);
  time.now += 2 * DAY_MS;
  await time.pass(6000);
  const [gap] = one.totals.coverage().gaps;
  expect(gap?.sentence).toMatch(/^Replica killed ended after .+ without adding its last counts\.$/);
  expect(Date.parse(gap?.until ?? '') - Date.parse(gap?.from ?? '')).toBe(DAY_MS);
  expect((await one.report(time.now)).switchOff.conditions.map(({ text }) => text)).toContainEqual(
    expect.stringContaining('without adding its last counts'),
  );
});

test('a store that lost everything gets it again from the replicas, and the loss is told', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  const [one, other] = [new PlayedReplica('one', records, time), new PlayedReplica('other', records, time)];
  for (let client = 0; client < 50; client += 1)
    (client % 2 === 0 ? one : other).add(request(`c${client}`, time.now));
  await time.pass(12_000);
  records.lose();
  one.add(request('late', time.now));
  await time.pass(20_000);
  const late = new PlayedReplica('late', records, time);
  await time.pass(5000);
  for (const replica of [one, other, late]) {
    const { clients } = await replica.report(time.now);
    expect(clients.map(({ v1 }) => v1)).toEqual(Array.from({ length: 51 }, () => 1));
    expect(replica.totals.coverage().gaps.map(({ sentence }) => sentence)).toContainEqual(
      expect.stringMatching(/^The store lost counts of replica /),
    );
  }
});

test('a time in which no replica counted is told', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  const first = new PlayedReplica('first', records, time);
  await time.pass(5000);
  const closed = first.totals.close();
  await time.pass(3000);
  await closed;
  time.now += 3 * 3_600_000;
  const second = new PlayedReplica('second', records, time);
  await time.pass(5000);
  expect(second.totals.coverage().gaps).toEqual([
    expect.objectContaining({ sentence: expect.stringMatching(/^No replica counted between .+ and .+\.$/) }),
  ]);
});

test('a record that nobody can read stops the additions, and is named', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  const one = new PlayedReplica('one', records, time);
  one.add(request('aa', time.now));
  await time.pass(6000);
  const { life, records: all } = await records.changes(0, 100);
  const client = all.find(({ key }) => key.startsWith('clients/'));
  if (client === undefined) throw new Error('there is one');
  await records.replace(life, [{ ...client, text: '[["aa",1]]' }]);
  await time.pass(6000);
  expect((await one.report(time.now)).gaps?.map(({ sentence }) => sentence)).toContain(
    `The record ${client.key} of the store cannot be read.`,
  );
  one.add(request('aa', time.now));
  await time.pass(6000);
  expect(one.totals.coverage().sentence).toContain(`the record ${client.key} of the store cannot be read`);
  expect((await records.changes(0, 100)).records).toContainEqual(
    expect.objectContaining({ text: '[["aa",1]]' }),
  );
});

test('as long as clients are left out, V1 is not said to be unused', async () => {
  const time = new VirtualTime();
  const one = new PlayedReplica('one', new MemoryRecords(), time, { maxClients: 10 });
  for (let client = 0; client < 30; client += 1) one.add(request(`c${client}`, time.now));
  await time.pass(6000);
  const early = await one.report(time.now);
  expect([early.v1, early.clients.length + early.omittedClients, early.switchOff.verdict]).toEqual([
    30,
    30,
    'no',
  ]);
  expect(early.omittedClients).toBeGreaterThan(0);
  time.now += 60 * DAY_MS;
  await time.pass(6000);
  const { switchOff, omittedClients } = await one.report(time.now);
  expect([switchOff.verdict, omittedClients]).toEqual(['unknown', early.omittedClients]);
  expect(switchOff.conditions.filter(({ state }) => state === 'unknown').map(({ text }) => text)).toEqual([
    `${omittedClients} requests came from clients beyond the limit.`,
  ]);
  // They are forgotten as clients are.
  time.now += 130 * DAY_MS;
  await time.pass(6000);
  expect((await one.report(time.now)).omittedClients).toBe(0);
});

test('a client that nobody sees for the time to keep is forgotten, and the report begins later', async () => {
  const time = new VirtualTime();
  const records = new MemoryRecords();
  const one = new PlayedReplica('one', records, time, { keepMs: 2 * DAY_MS });
  one.add(request('aa', time.now));
  await time.pass(6000);
  expect((await one.report(time.now)).clients).toHaveLength(1);
  time.now += 3 * DAY_MS;
  await time.pass(6000);
  one.add(request('bb', time.now));
  expect((await one.report(time.now)).clients.map(({ client }) => client)).toEqual(['bb']);
  expect(one.totals.coverage().since).toBe(time.now - 2 * DAY_MS);
});

/** Names of clients that are in one record each. */
function clientsApart(count: number): readonly string[] {
  const names = new Map<string, string>();
  for (let number = 0; names.size < count; number += 1) {
    const name = `c${number}`;
    names.set(clientKey(name), name);
  }
  return [...names.values()];
}
