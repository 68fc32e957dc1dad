import { describe, expect, test } from 'vitest';
import { endWarnings, makePlan, type PlanOptions, PlanTally } from '../../../src/report/plan/plan.ts';
import { planParts } from '../../../src/report/plan/plan-text.ts';
import { makeReport } from '../../../src/report/report.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
import { type Brownout, readInstant } from '../../../src/rules/rollout.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { entryAt, isAwake, REGULAR, type SimulatedClient, simulatedFleet } from './fleet.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;

function optionsFor(zone: Zone, now: number, more: Partial<PlanOptions> = {}): PlanOptions {
  return {
    now,
    zone,
    leadDays: 90,
    goneAfterDays: 14,
    names: new Map(),
    rollout: undefined,
    gaps: [],
    avoid: new Set(),
    ...more,
  };
}

function tallied(clients: readonly SimulatedClient[], zone: Zone, now: number): PlanTally {
  const counts = new PlanTally(zone);
  for (const { times, hash, operation } of clients)
    for (const time of times) if (time < now) counts.add(entryAt(time, hash, operation));
  return counts;
}

// Berlin's clocks change within the log and before the sunset, Sydney's within the log, the other way round.
describe.each([
  ['Europe/Berlin', '2027-01-10T12:00:00Z', 1],
  ['Australia/Sydney', '2026-11-25T01:00:00Z', 2],
])('a plan for 300 simulated clients in %s', (name, at, seed) => {
  const zone = new Zone(name);
  const now = Date.parse(at);
  const fleet = simulatedFleet(seed, zone, { since: now - 150 * DAY, now, end: now + 130 * DAY });
  const counts = tallied(fleet, zone, now);
  const options = optionsFor(zone, now, { avoid: new Set([Math.floor(Date.parse('2027-02-17') / DAY)]) });
  const plan = makePlan(counts, options);
  if (plan === undefined) throw new Error('there is a plan');
  const byHash = new Map(fleet.map((client) => [client.hash, client]));
  const planned = plan.clients.map((client) => {
    const truth = byHash.get(client.client);
    if (truth === undefined) throw new Error(`${client.client} is nobody`);
    const meant = plan.brownouts.filter(
      ({ clients, except }) =>
        (clients === undefined || clients.includes(truth.hash)) && except?.includes(truth.hash) !== true,
    );
    return { client, truth, met: meant.filter(({ from, until }) => isAwake(truth, from, until)) };
  });

  test('names who still uses V1, and nobody else; the pairs of rotated keys are those that were rotated', () => {
    const living = fleet.filter(({ kind }) => kind !== 'gone').map(({ hash }) => hash);
    expect(plan.clients.map(({ client }) => client).sort()).toEqual(living.sort());
    const rotated = fleet.flatMap(({ hash, rotatedFrom }) =>
      rotatedFrom === undefined ? [] : [`${rotatedFrom} ${hash}`],
    );
    expect(plan.rotated.map(({ old, young }) => `${old} ${young}`).sort()).toEqual(rotated.sort());
  });

  test('says of every client with a rhythm when it will notice, and of nobody else', () => {
    for (const { client, truth } of planned)
      expect([truth.kind, client.notices !== undefined]).toEqual([truth.kind, REGULAR.has(truth.kind)]);
    for (const { client } of planned.filter(({ truth }) => truth.kind === 'newcomer'))
      expect(client.remarks.join(' ')).toMatch(/^Its rhythm is not known: it was seen with/);
  });

  test('what it says comes true: clients are awake when it says, and in one brownout at least', () => {
    const regular = planned.filter(({ truth }) => REGULAR.has(truth.kind));
    const right = regular.filter(({ client, truth }) => {
      const brownout = plan.brownouts.find(({ id }) => id === client.notices?.brownout);
      return brownout !== undefined && isAwake(truth, brownout.from, brownout.until);
    });
    expect(right.length / regular.length).toBeGreaterThan(0.93);
    expect(regular.filter(({ met }) => met.length > 0).length / regular.length).toBeGreaterThan(0.98);
  });

  test('nobody who has another hour meets the first brownout in the busiest one', () => {
    const spreadOut = new Set(['office', 'holiday', 'rotated', 'around-the-clock']);
    for (const { truth, met } of planned) {
      const [first] = met;
      if (first === undefined || !spreadOut.has(truth.kind)) continue;
      const begin = (zone.local(first.from) / HOUR) % 24;
      const end = begin + (first.until - first.from) / HOUR;
      const isBusy = [truth.peak, truth.peak + 24].some((hour) => begin < hour + 1 && end > hour);
      expect([truth.hash, isBusy]).toEqual([truth.hash, false]);
    }
  });

  test('dates are in order, windows for all grow from minutes to hours, and avoided days have none', () => {
    const forAll = plan.brownouts.filter(({ clients }) => clients === undefined);
    const lengths = forAll.map(({ from, until }) => until - from);
    expect(lengths).toEqual(lengths.toSorted((one, other) => one - other));
    expect(lengths[0]).toBeLessThan(HOUR);
    expect(lengths.at(-1)).toBeGreaterThan(HOUR);
    expect(plan.sunset).toBeGreaterThan(plan.deprecation + 90 * DAY);
    const pauses = plan.clients.map(({ usualPause = 0 }) => usualPause);
    expect(plan.sunset).toBeGreaterThan(now + 2 * Math.max(...pauses));
    for (const { from, until } of plan.brownouts) {
      expect(from).toBeGreaterThan(plan.deprecation);
      expect(until).toBeLessThan(plan.sunset);
      expect(zone.text(from)).not.toContain('17 Feb 2027');
    }
    expect((zone.local(plan.sunset) / HOUR) % 24).toBe(0);
  });

  test('its brownouts name the clients that they are for, or leave out', () => {
    const [one, other] = plan.clients;
    const [brownout] = plan.brownouts;
    if (one === undefined || other === undefined || brownout === undefined) throw new Error('no plan');
    const named = { ...plan, clients: [{ ...one, name: 'Acme' }, other] };
    const { clients: _, except: __, ...window } = brownout;
    const brownouts = [
      { ...window, clients: [one.client, other.client] },
      { ...window, except: [one.client] },
      window,
    ];
    const part = planParts({ ...named, brownouts }).find(({ title }) => title === 'Brownouts');
    expect(part?.table?.rows.map((row) => row.at(-1))).toEqual([
      `Acme, ${other.client}`,
      'every client but Acme',
      'every client',
    ]);
  });

  test('its text has every client and every brownout, and what is not known', () => {
    const text = JSON.stringify(planParts(plan));
    for (const { client } of plan.clients) expect(text).toContain(client);
    for (const { id } of plan.brownouts) expect(text).toContain(`"${id}"`);
    expect(text).toContain('not known');
    expect(text).not.toContain('..');
  });

  test('check finds nothing in the plan itself but the clients without a rhythm, and much in a hasty end', () => {
    const rollout = {
      clients: {},
      pins: [],
      brownouts: plan.brownouts.map((brownout) => ({ ...brownout, share: 100, status: 410 as const })),
      signals: { since: plan.deprecation, sunset: plan.sunset, attributes: true, links: [] },
    };
    const [unmet, ...others] = endWarnings(counts, { ...options, rollout });
    expect(unmet).toMatch(/^brownouts: none before the sunset is known to meet 20 clients: /);
    expect(others).toEqual([
      expect.stringMatching(/^brownouts: whether one meets 10 more clients is not known/),
    ]);
    const hasty = { ...rollout, brownouts: [], signals: { ...rollout.signals, sunset: now + 20 * DAY } };
    const warnings = endWarnings(counts, { ...options, rollout: hasty });
    expect(warnings[0]).toMatch(
      /in 20 days, nearer than the lead time of 90 days, and 290 clients still call/,
    );
    expect(warnings[1]).toMatch(/known to meet 280 clients/);
    expect(endWarnings(new PlanTally(zone), { ...options, rollout: hasty })).toEqual([]);
  });
});

test('report and plan find the rotated keys that there are, and no others, by one rule', () => {
  // The shorter the log, the more keys begin in it that took nobody's place: monthly jobs, and clients where another one is on holiday.
  const logs = [
    [4, 90, 'America/New_York', '2026-12-15T12:00:00Z'],
    [1, 90, 'Europe/Berlin', '2027-01-10T12:00:00Z'],
    [1, 150, 'Europe/Berlin', '2027-01-10T12:00:00Z'],
    [5, 90, 'America/New_York', '2026-12-15T12:00:00Z'],
  ] as const;
  for (const [seed, days, name, at] of logs.slice(0, fuzzRuns(logs.length))) {
    const zone = new Zone(name);
    const now = Date.parse(at);
    const fleet = simulatedFleet(seed, zone, { since: now - days * DAY, now, end: now + 130 * DAY });
    const counts = new PlanTally(zone);
    for (const { times, hash, operation, rotatedFrom, kind } of fleet)
      for (const time of times.filter((one) => one < now)) {
        const isNew = rotatedFrom !== undefined || kind === 'newcomer';
        counts.add({ ...entryAt(time, hash, operation), ...(isNew ? { newcomer: 'would' as const } : {}) });
      }
    const { newcomers = [] } = makeReport(counts.tally, { now: new Date(now).toISOString() });
    const told = newcomers.filter(({ sentence }) => sentence.includes('seems to be the rotated one'));
    const planned = makePlan(counts, optionsFor(zone, now))?.rotated ?? [];
    const truth = fleet.flatMap(({ hash, rotatedFrom }) => (rotatedFrom ? [`${rotatedFrom} ${hash}`] : []));
    expect(told.map(({ client, replaces }) => `${replaces} ${client}`).sort()).toEqual(truth.sort());
    expect(planned.map(({ old, young }) => `${old} ${young}`).sort()).toEqual(truth.sort());
  }
});

test.each<[string, old: number[], young: number[], string, boolean]>([
  ['days after the end of the other', [40, 39, 38, 37, 36, 35], [34, 33, 32, 31, 30], 'seems to be', true],
  // Its weekend is not over.
  ['and the other may only pause', [14, 13, 12, 11, 7, 5, 4, 3], [2, 1.9, 1.8, 1.7, 1.6], 'may be', false],
  ['while the other is still in use', [14, 13, 12, 11, 10, 2, 1], [9, 8, 7, 6, 5], 'first came', false],
  ['long after the end of the other', [40, 39, 38, 37, 36, 35], [25, 24, 23, 22, 21], 'first came', false],
])(
  'a key that begins %s is told so by the report, and merged by the plan where that is settled',
  (_, old, young, words, isMerged) => {
    const zone = new Zone('UTC');
    const now = Date.parse('2027-01-10T12:00:00Z');
    const counts = new PlanTally(zone);
    // Somebody else, so that the log goes on.
    for (let day = 60; day >= 0; day -= 1) counts.add(entryAt(now - day * DAY, 'c'.repeat(16), 'other'));
    for (const day of old) counts.add(entryAt(now - day * DAY, 'a'.repeat(16), 'bill'));
    for (const day of young)
      counts.add({ ...entryAt(now - day * DAY, 'b'.repeat(16), 'bill'), newcomer: 'would' });
    const { newcomers } = makeReport(counts.tally, { now: new Date(now).toISOString() });
    expect(newcomers?.[0]?.sentence).toContain(words);
    expect(newcomers?.[0]?.replaces).toBe(words === 'first came' ? undefined : 'a'.repeat(16));
    const plan = makePlan(counts, optionsFor(zone, now, { goneAfterDays: 60 }));
    expect(plan?.rotated.map(({ young: client }) => client)).toEqual(isMerged ? ['b'.repeat(16)] : []);
    expect(plan?.clients.map(({ client }) => client[0]).sort()).toEqual(
      isMerged ? ['b', 'c'] : ['a', 'b', 'c'],
    );
  },
);

test('a client that comes once a quarter moves the sunset beyond twice its pause', () => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const times = ['2025-10-15', '2026-01-15', '2026-04-15', '2026-07-15', '2026-10-15'].flatMap((day) =>
    [0, 1, 2].map((minute) => (readInstant(`${day}T06:10:00Z`) ?? 0) + minute * 60_000),
  );
  const client: SimulatedClient = {
    hash: '00000000000000aa',
    kind: 'monthly',
    peak: 6,
    times,
    operation: 'bill',
  };
  const plan = makePlan(tallied([client], zone, now), optionsFor(zone, now));
  expect(plan?.sunset).toBeGreaterThan(now + 182 * DAY);
  const [only] = plan?.clients ?? [];
  expect(only?.rhythm).toContain('the 15th of a month of each quarter');
  expect(only?.notices?.at).toBeGreaterThan(Date.parse('2027-01-15T05:00:00Z'));
  expect(only?.notices?.at).toBeLessThan(Date.parse('2027-01-15T07:00:00Z'));
  expect(plan?.brownouts).toContainEqual(expect.objectContaining({ id: only?.notices?.brownout, meets: 1 }));
});

test('of a sunset that is decades away, the brownouts come in the last 400 days', () => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const sunset = Date.parse('2099-06-30T00:00:00Z');
  const counts = new PlanTally(zone);
  for (let hour = 1; hour < 24 * 60; hour += 1)
    counts.add(entryAt(now - hour * 3_600_000, '00000000000000aa', 'bill'));
  const rollout = { clients: {}, brownouts: [], pins: [], signals: { sunset, links: [], attributes: false } };
  const plan = makePlan(counts, optionsFor(zone, now, { rollout }));
  expect(plan?.sunset).toBe(sunset);
  expect(plan?.brownouts.length).toBeGreaterThan(0);
  for (const { from } of plan?.brownouts ?? []) expect(from).toBeGreaterThan(sunset - 420 * DAY);
});

test('a log of an hour is less than a day, and shows no rhythm', () => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const counts = new PlanTally(zone);
  for (const minutes of [50, 10]) counts.add(entryAt(now - minutes * 60_000, '00000000000000aa', 'bill'));
  const plan = makePlan(counts, optionsFor(zone, now));
  expect(plan?.clients[0]?.remarks).toEqual([
    'Its rhythm is not known: it was seen with 2 requests in less than a day.',
  ]);
  expect(plan?.unknown).toContainEqual(expect.stringMatching(/^The logs cover less than a day: /));
});

/** A client with a hash of `letter` alone, seen in these hours (UTC) of each of the last days. */
function daily(counts: PlanTally, now: number, letter: string, hours: readonly number[], last = 1): void {
  for (let day = 100; day >= last; day -= 1)
    for (const hour of hours)
      counts.add(entryAt(now - day * DAY + hour * HOUR + 600_000, letter.repeat(16), 'bill'));
}

const OFFICE = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17];

test.each([5, 10, 16, 30, 90])('a lead time of %d days has brownouts, announced before', (leadDays) => {
  const now = Date.parse('2026-11-25T00:00:00Z');
  const counts = new PlanTally(new Zone('UTC'));
  daily(counts, now, 'a', OFFICE);
  const plan = makePlan(counts, optionsFor(new Zone('UTC'), now, { leadDays }));
  const { announcements = [], brownouts = [], clients = [], deprecation = 0, sunset = 0 } = plan ?? {};
  expect(clients[0]?.notices).toBeDefined();
  const told = announcements.find(({ text }) => text.startsWith('Announce the brownouts'));
  expect(told?.at).toBeGreaterThanOrEqual(deprecation);
  for (const { from, until } of brownouts) {
    expect(told?.at).toBeLessThan(from);
    expect(until).toBeLessThan(sunset);
  }
});

test('where no day is left for a brownout, the reason is not the rhythm of a client', () => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const counts = new PlanTally(zone);
  daily(counts, now, 'a', OFFICE);
  const today = now / DAY;
  const plan = makePlan(
    counts,
    optionsFor(zone, now, { avoid: new Set(Array.from({ length: 120 }, (_, day) => today + day)) }),
  );
  const text = JSON.stringify(plan && planParts(plan));
  expect(text).toContain(
    'No brownout can be chosen: no client is surely awake on a day that is left for one.',
  );
  expect(text).toContain('no brownout could be chosen in which it is surely awake');
  expect(text).not.toContain('no rhythm');
});

test('dates of the rule book: a later sunset stays, and one that is over is not counted from', () => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const counts = new PlanTally(zone);
  daily(counts, now, 'a', OFFICE);
  daily(counts, now, 'b', OFFICE, 10);
  const planned = (since: number, sunset?: number) =>
    makePlan(
      counts,
      optionsFor(zone, now, {
        rollout: {
          clients: {},
          pins: [],
          brownouts: [],
          gone: { except: ['a'.repeat(16)] },
          signals: { since, attributes: true, links: [], ...(sunset !== undefined && { sunset }) },
        },
      }),
    );
  const late = planned(now - 30 * DAY, now + 200 * DAY);
  expect(late?.sunset).toBe(now + 200 * DAY);
  expect(late?.sunsetBecause).toBe('the day that the rule book declares; it could be Wed 24 Feb 2027 00:00');
  const soon = planned(now - 30 * DAY, now + 20 * DAY);
  expect(soon?.sunset).toBe(Date.parse('2027-02-24T00:00:00Z'));
  expect(soon?.sunsetBecause).toMatch(/^at least 90 days from now, /);
  expect(planned(now + DAY)?.sunsetBecause).toMatch(/^at least 90 days after the deprecation, /);
  for (const { at } of soon?.announcements ?? []) expect(at).toBeGreaterThanOrEqual(now);
  expect(soon?.clients.map(({ client, remarks }) => [client[0], remarks])).toEqual([
    ['a', ["The rule book's sunset spares it."]],
    ['b', ['It has been silent for 9 days, longer than ever before in the logs: it may be gone.']],
  ]);
});

const NIGHT = { from: 50 * DAY + 2 * HOUR, until: 50 * DAY + 6 * HOUR };

// The office calls ten times a day, and the job of the night once; the sunset is in a hundred days.
test.each<[string, Partial<Brownout>, string[]]>([
  ['at night', NIGHT, ['a']],
  ['in the day', { from: 50 * DAY + 8 * HOUR, until: 50 * DAY + 18 * HOUR }, ['b']],
  ['after the sunset', { from: 110 * DAY, until: 112 * DAY }, ['a', 'b']],
  ['that begins after the sunset would be', { from: 101 * DAY }, ['a', 'b']],
  ['that begins before the sunset and goes on', { from: 98 * DAY, until: 120 * DAY }, []],
  ['without an end', {}, []],
  ['of their operation', { ...NIGHT, operations: ['bill', 'other'] }, ['a']],
  ['of another operation', { ...NIGHT, operations: ['other'] }, ['a', 'b']],
  ['of half of the requests, at night', { ...NIGHT, share: 50 }, ['a', 'b']],
  [
    'of half of the requests, in the day',
    { from: 50 * DAY + 8 * HOUR, until: 50 * DAY + 18 * HOUR, share: 50 },
    ['b'],
  ],
  ['of a hundredth', { from: 50 * DAY, until: 51 * DAY, share: 1 }, ['a', 'b']],
])('check names whom a brownout %s may miss', (_, { from, until, ...more }, missed) => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const counts = new PlanTally(zone);
  daily(counts, now, 'a', OFFICE);
  daily(counts, now, 'b', [3]);
  const times = { ...(from && { from: now + from }), ...(until && { until: now + until }) };
  const rollout = {
    clients: {},
    pins: [],
    brownouts: [{ id: 'x', share: 100, status: 410 as const, ...more, ...times }],
    signals: { since: now, sunset: now + 100 * DAY, attributes: true, links: [] },
  };
  const [warning = ''] = endWarnings(counts, optionsFor(zone, now, { rollout }));
  expect(['a', 'b'].filter((letter) => warning.includes(letter.repeat(16)))).toEqual(missed);
  // Whom the sunset spares, nothing ends for.
  const spared = { ...rollout, gone: { except: ['a'.repeat(16), 'b'.repeat(16)] } };
  expect(endWarnings(counts, optionsFor(zone, now, { rollout: spared }))).toEqual([]);
});

test('nobody, or only requests without a key: there is no plan', () => {
  const zone = new Zone('UTC');
  const counts = new PlanTally(zone);
  expect(makePlan(counts, optionsFor(zone, 0))).toBeUndefined();
  counts.add(entryAt(DAY, undefined, 'bill'));
  expect(makePlan(counts, optionsFor(zone, 2 * DAY))).toBeUndefined();
});

test('an operation that ends first is in the plan, and check warns while its clients still use it', () => {
  const zone = new Zone('UTC');
  const now = Date.parse('2026-11-25T00:00:00Z');
  const counts = new PlanTally(zone);
  for (let day = 1; day < 30; day += 1) counts.add(entryAt(now - day * DAY, '00000000000000aa', 'bill'));
  const withSunset = (sunset: number): Partial<PlanOptions> => ({
    rollout: {
      clients: {},
      brownouts: [],
      pins: [],
      ends: { operations: { bill: { sunset, links: [] }, other: { sunset, links: [] } }, changes: {} },
    },
  });
  const soon = optionsFor(zone, now, withSunset(now + 20 * DAY));
  expect(endWarnings(counts, soon)).toEqual([
    'operations.bill.sunset: it ends on 2026-12-15, in 20 days, nearer than the lead time of 90 days, and 1 client still uses it: 00000000000000aa; choose a later day',
  ]);
  expect(endWarnings(counts, optionsFor(zone, now, withSunset(now + 91 * DAY)))).toEqual([]);
  expect(endWarnings(counts, optionsFor(zone, now, withSunset(now - DAY)))).toEqual([]);
  const plan = makePlan(counts, soon);
  expect(plan?.endings.map(({ sentence }) => sentence)).toEqual([
    'Operation bill ends on 2026-12-15T00:00:00Z; 1 client still uses it: 00000000000000aa.',
    'Operation other ends on 2026-12-15T00:00:00Z; no client uses it any more.',
  ]);
  // In the zone of the plan, as all of its times.
  const berlin = makePlan(counts, { ...soon, zone: new Zone('Europe/Berlin') });
  expect(berlin && JSON.stringify(planParts(berlin))).toContain(
    'Operation bill ends on Tue 15 Dec 2026 01:00;',
  );
});
