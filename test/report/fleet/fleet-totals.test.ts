import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeReport } from '../../../src/report/report.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { type Answer, AnswerJudge } from '../../../src/rewrite-log/answers.ts';
import { type CallFate, FlakyState, FragileState } from '../../support/fragile-state.ts';
import { inOneOrder, PlayedReplica } from '../../support/played-replica.ts';
import { v1TallyEntry } from '../../support/v1-tally-entry.ts';
import { VirtualTime } from '../../support/virtual-time.ts';
import { arbitraryEntry } from '../arbitrary-entry.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

const DAY_MS = 86_400_000;

/** The report of one gateway that saw all entries, without what depends on who observed. */
function reportOfOne(entries: readonly (readonly [TallyEntry, Answer])[], now: number): unknown {
  const tally = new Tally();
  for (const [entry, answer] of entries) tally.add(entry, answer);
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

test('in any order of entries, and with any calls lost, every replica reports as one that saw all', async () => {
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
      const records = new FragileState(() => time.now);
      const left = [...fatesToCome];
      const flaky = new FlakyState(records, time, () => left.shift() ?? 'sound');
      const replicas = [0, 1, 2].map((number) => new PlayedReplica(`r${number}`, flaky, time));
      // What is a failure depends on what a gateway saw before; here all of them judge alike.
      const judge = new AnswerJudge();
      const all: (readonly [TallyEntry, Answer])[] = [];
      for (const { replica: number, entries, passMs, isRestart } of steps) {
        const replica = replicas[number];
        if (replica === undefined) throw new Error('there are three');
        const judged = entries.map((entry) => [entry, judge.judge(entry)] as const);
        for (const [entry, answer] of judged) replica.add(entry, answer);
        all.push(...judged);
        await time.pass(passMs);
        if (!isRestart) continue;
        // A process that adds its last counts; counts that a killed process did not add are lost.
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
});

test('counts of which the response was lost, or that arrive late, are not shown twice', async () => {
  for (const fate of ['unanswered', 'late', 'lost'] as const) {
    const time = new VirtualTime();
    const fates: CallFate[] = [];
    const state = new FragileState(() => time.now);
    const one = new PlayedReplica('one', new FlakyState(state, time, () => fates.shift() ?? 'sound'), time);
    const other = new PlayedReplica('other', state, time);
    await time.pass(3000);
    for (let client = 0; client < 31; client += 1) one.add(request(`c${client}`, time.now));
    fates.push(fate, 'lost', 'lost');
    for (let step = 0; step < 24; step += 1) {
      await time.pass(500);
      expect((await one.report(time.now)).v1).toBe(31);
      expect([0, 31]).toContain((await other.report(time.now)).v1);
    }
    expect((await other.report(time.now)).v1).toBe(31);
  }
});

test('a replica that sleeps while another takes over its counts goes on under a new name, and nothing counts twice', async () => {
  const time = new VirtualTime();
  const state = new FragileState(() => time.now);
  let isAsleep = false;
  const one = new PlayedReplica(
    'one',
    new FlakyState(state, time, () => (isAsleep ? 'lost' : 'sound')),
    time,
  );
  const other = new PlayedReplica('other', state, time);
  one.add(request('aa', time.now));
  await time.pass(10_000);
  isAsleep = true;
  one.add(request('aa', time.now));
  await time.pass(180_000);
  expect((await other.report(time.now)).v1).toBe(1);
  expect(other.totals.coverage().gaps).toHaveLength(1);
  isAsleep = false;
  await time.pass(15_000);
  for (const replica of [one, other]) {
    expect((await replica.report(time.now)).v1).toBe(2);
    expect(replica.totals.coverage()).toMatchObject({ kind: 'fleet', replicas: 2, gaps: [] });
  }
});

test('clocks that are an hour apart change neither counts nor the list of running replicas', async () => {
  const time = new VirtualTime();
  const state = new FragileState(() => time.now);
  const skews = [0, 3_600_000, -3_600_000];
  const replicas = skews.map((skewMs, number) => new PlayedReplica(`r${number}`, state, time, { skewMs }));
  for (const replica of replicas) replica.add(request('aa', time.now));
  await time.pass(15_000);
  for (const replica of replicas) {
    expect((await replica.report(time.now)).v1).toBe(3);
    const { kind, replicas: running, gaps, oldestMs = Number.NaN } = replica.totals.coverage();
    expect([kind, running, gaps]).toEqual(['fleet', 3, []]);
    expect(oldestMs).toBeLessThan(5000);
  }
  const closed = replicas[1]?.totals.close();
  await time.pass(3000);
  await closed;
  await time.pass(150_000);
  for (const replica of [replicas[0], replicas[2]]) {
    expect((await replica?.report(time.now))?.v1).toBe(3);
    expect(replica?.totals.coverage().sentence).toMatch(/\(2 replicas running, 1 stopped\)\.$/);
    expect(replica?.totals.coverage().gaps).toEqual([]);
  }
});

test('the figures of one replica reach all within seconds, and the sentence says since when', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
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

test('without the store a replica continues from the last known counts, says so, and adds everything once the store is back', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
  let fate: CallFate = 'sound';
  const flaky = new FlakyState(records, time, () => fate);
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

test('a replica that never read the store does not speak for others, and does not call V1 unused', async () => {
  const time = new VirtualTime();
  const flaky = new FlakyState(new FragileState(() => time.now), time, () => 'lost');
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
  const records = new FragileState(() => time.now);
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

test('the counts that a killed replica had added stay, and its lost ones are a gap for a day and as long as they matter', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
  let fate: CallFate = 'sound';
  const one = new PlayedReplica('one', records, time);
  await time.pass(6000);
  time.now += 20 * DAY_MS;
  await time.pass(6000);
  const killed = new PlayedReplica('killed', new FlakyState(records, time, () => fate), time);
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

test('replicas read the facts of each other; one that is stuck or gone is named for an hour, or until another with its name runs', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
  let fate: CallFate = 'sound';
  const flaky = new FlakyState(records, time, () => fate);
  let words = 'well';
  const says = { said: () => words };
  const one = new PlayedReplica('one', records, time, says);
  const stuck = new PlayedReplica('stuck', flaky, time, { ...says, skewMs: 3_600_000 });
  const stopped = new PlayedReplica('stopped', records, time, says);
  const heard = (): readonly string[] =>
    one.totals.heard
      .map(({ name, text, ageMs }) => `${name}: ${text}${ageMs < 5000 ? '' : ', long ago'}`)
      .sort();
  const silent = (): readonly string[] => one.totals.silent.map(({ name }) => name);
  await time.pass(6000);
  expect([heard(), silent()]).toEqual([['stopped: well', 'stuck: well'], []]);
  const closed = stopped.totals.close();
  words = 'ill';
  await time.pass(6000);
  await closed;
  expect([heard(), silent()]).toEqual([['stuck: ill'], []]);
  const last = time.now;
  fate = 'lost';
  await time.pass(40_000);
  expect([heard(), silent()]).toEqual([[], ['stuck']]);
  const at = one.totals.silent[0]?.at ?? 0;
  expect(Math.abs(at - last)).toBeLessThan(5000);
  // It knows that it is alone itself, and says nothing about others.
  expect([stuck.totals.heard, stuck.totals.silent]).toEqual([[], []]);
  // Another replica has taken over its counts.
  await time.pass(180_000);
  expect(silent()).toEqual(['stuck']);
  const anew = new PlayedReplica('stuck', records, time, says);
  await time.pass(10_000);
  expect([heard(), silent()]).toEqual([['stuck: ill'], []]);
  const left = anew.totals.close();
  await time.pass(6000);
  await left;
  expect([heard(), silent()]).toEqual([[], []]);
  await time.pass(3_600_000);
  expect(silent()).toEqual([]);
});

test('a store that lost everything gets it again from the replicas, and the report names the loss', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
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
  }
  // Who began later knows of no loss.
  for (const [replica, told] of [
    [one, 1],
    [other, 1],
    [late, 0],
  ] as const)
    expect(
      replica.totals
        .coverage()
        .gaps.filter(({ sentence }) => sentence.startsWith('The store lost its data before ')),
    ).toHaveLength(told);
});

test('a time in which no replica counted is a gap of the report', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
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

test('a text that cannot be read is named, and stays in the store', async () => {
  const time = new VirtualTime();
  const state = new FragileState(() => time.now);
  const one = new PlayedReplica('one', state, time);
  await time.pass(3000);
  const rows = state.stored.get('report');
  if (rows === undefined) throw new Error('there are some');
  for (const [key, text] of [
    ['clients/7', '[["aa",1]]'],
    ['sums', '[]'],
  ] as const) {
    const revision = (rows.head?.revision ?? 0) + 1;
    rows.head = { life: rows.head?.life ?? '', revision };
    rows.setText('stranger', key, { text, revision, setAt: time.now });
  }
  one.add(request('bb', time.now));
  await time.pass(90_000);
  const { gaps = [], v1 } = await one.report(time.now);
  expect(v1).toBe(1);
  expect(gaps.map(({ sentence }) => sentence)).toEqual([
    'Counts in the store are not known: the value sums of the process stranger cannot be read.',
    'The value clients/7 in the store cannot be read.',
  ]);
  expect(rows.text('stranger', 'clients/7')?.text).toBe('[["aa",1]]');
});

test('while clients are left out, the report does not call V1 unused', async () => {
  const time = new VirtualTime();
  const one = new PlayedReplica('one', new FragileState(() => time.now), time, { maxClients: 10 });
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

test('a client that was not seen for the time to keep is forgotten, and the report begins later', async () => {
  const time = new VirtualTime();
  const records = new FragileState(() => time.now);
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
