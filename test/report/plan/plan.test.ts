import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogGap } from '../../../src/report/log-gaps.ts';
import { PlanTally } from '../../../src/report/plan/activity.ts';
import {
  endWarnings,
  makePlan,
  noPlanSentence,
  type Plan,
  type PlanOptions,
} from '../../../src/report/plan/plan.ts';
import { planParts } from '../../../src/report/plan/plan-text.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import type { Brownout, Rollout } from '../../../src/rules/rollout.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';
import { entryAt, simulatedFleet } from './fleet.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const QUARTER = HOUR / 4;
const UTC = new Zone('UTC');
const NOW = Date.parse('2026-11-25T00:00:00Z');
const [A, B, Z] = ['a', 'b', 'z'].map((letter) => letter.repeat(16)) as [string, string, string];
const NONE: Rollout = { clients: {}, brownouts: [], pins: [] };

function optionsAt(now: number, more: Partial<PlanOptions> = {}): PlanOptions {
  const none = { names: new Map(), rollout: undefined, gaps: [], avoid: () => false };
  return { now, leadDays: 90, goneAfterDays: 14, ...none, ...more };
}

function tallied(zone: Zone, entries: readonly TallyEntry[], rollout?: Rollout): PlanTally {
  const tally = new PlanTally(zone, rollout?.ends);
  for (const entry of entries) tally.add(entry);
  return tally;
}

/** Entries of one client at these times in UTC, as in `2026-11-03 10:05`. */
function at(
  client: string | undefined,
  times: readonly string[],
  more: Partial<TallyEntry> = {},
): TallyEntry[] {
  return times.map((time) => ({
    ...entryAt(Date.parse(`${time.replace(' ', 'T')}Z`), client, 'bill'),
    ...more,
  }));
}

function gap(from: string, until: string): LogGap {
  const [begin, end] = [from, until].map((time) => `${time.replace(' ', 'T')}:00.000Z`);
  return { log: 'x', kind: 'silent', from: begin ?? '', until: end ?? '', sentence: '' };
}

/** A client that says from when until when the log goes: it is active at no time of the week twice. */
const LOG = at(Z, ['2026-10-25 00:03', '2026-11-24 23:59']);

function planned(entries: readonly TallyEntry[], more: Partial<PlanOptions> = {}, zone = UTC): Plan {
  return makePlan(tallied(zone, entries, more.rollout), optionsAt(NOW, more)) ?? expect.fail('a plan');
}

const TUESDAYS = ['2026-11-03 10:05', '2026-11-10 10:05', '2026-11-17 10:14', '2026-11-24 10:00'];
const BROWNOUT = { verdict: 'refused', status: 410, failure: 'brownout', note: 'first' } as const;

describe('the sentence about a client', () => {
  test.each<[string, TallyEntry[], LogGap[], string, Zone?]>([
    ['each of the last four weeks', at(A, TUESDAYS), [], 'active in 4 of 4 Tuesdays, 10:00 to 10:15'],
    ['five weeks', at(A, ['2026-10-27 10:05', ...TUESDAYS]), [], 'active in 4 of 4 Tuesdays, 10:00 to 10:15'],
    ['three of four', at(A, TUESDAYS.slice(1)), [], 'active in 3 of 4 Tuesdays, 10:00 to 10:15'],
    [
      'a week that the log lacks does not count as silence',
      at(A, TUESDAYS.toSpliced(1, 1)),
      [gap('2026-11-10 10:10', '2026-11-10 10:20')],
      'active in 3 of 3 Tuesdays, 10:00 to 10:15; the log covers only 3 of the last 4 Tuesdays',
    ],
    [
      'two weeks that the log lacks',
      at(A, TUESDAYS.slice(2)),
      [gap('2026-11-02 00:00', '2026-11-16 00:00')],
      'active in 2 of 2 Tuesdays, 10:00 to 10:15; the log covers only 2 of the last 4 Tuesdays',
    ],
    [
      'a gap at another time does not matter',
      at(A, TUESDAYS.slice(1)),
      [gap('2026-11-03 10:15', '2026-11-03 12:00')],
      'active in 3 of 4 Tuesdays, 10:00 to 10:15',
    ],
    [
      'two of four',
      at(A, TUESDAYS.slice(2)),
      [],
      'active in 2 of 4 Tuesdays, 07:00 to 11:00, and in no more at any other time',
    ],
    [
      'at another hour each week',
      at(A, ['2026-11-03 08:00', '2026-11-10 09:30', '2026-11-17 10:00', '2026-11-24 11:59']),
      [],
      'active in 4 of 4 Tuesdays, 08:00 to 12:00',
    ],
    [
      'once a month',
      at(A, ['2026-11-24 10:05']),
      [],
      'active in 1 of 4 Tuesdays, 07:00 to 11:00, and in no more at any other time',
    ],
    [
      'many times in one week',
      at(
        A,
        Array.from({ length: 15 }, (_, n) => `2026-11-24 10:${10 + n}`),
      ),
      [],
      'active in 1 of 4 Tuesdays, 07:00 to 11:00, and in no more at any other time',
    ],
    [
      'a brownout of the log',
      [...at(A, TUESDAYS), ...at(A, ['2026-11-12 12:00', '2026-11-12 12:01'], BROWNOUT)],
      [],
      'brownout first refused 2 requests, the last on Thu 12 Nov 2026 12:01',
    ],
    [
      'a brownout of the log, and later the sunset',
      [
        ...at(A, ['2026-11-13 12:00', '2026-11-14 12:00'], {
          ...BROWNOUT,
          failure: 'sunset',
          note: 'sunset',
        }),
        ...at(A, TUESDAYS),
        ...at(A, ['2026-11-12 12:00', '2026-11-12 12:01'], BROWNOUT),
      ],
      [],
      'brownout first refused 2 requests, the last on Thu 12 Nov 2026 12:01',
    ],
    [
      'the end of an operation',
      [
        ...at(A, TUESDAYS),
        ...at(A, ['2026-11-12 12:00'], { ...BROWNOUT, failure: 'sunset', note: undefined }),
      ],
      [],
      'the sunset refused 1 request, on Thu 12 Nov 2026 12:00',
    ],
    [
      'a brownout that only would have refused the client is not a notice',
      at(A, TUESDAYS, { would: { verdict: 'refused', failure: 'brownout' } }),
      [],
      'active in 4 of 4 Tuesdays, 10:00 to 10:15',
    ],
    [
      'a Deprecation field is not a notice, nor is a refusal for another reason',
      at(A, TUESDAYS, { deprecated: ['suburb'], verdict: 'refused', status: 400, failure: 'bad-request' }),
      [],
      'active in 4 of 4 Tuesdays, 10:00 to 10:15',
    ],
    [
      'a zone whose hours begin at a quarter of others',
      at(A, ['2026-11-03 04:20', '2026-11-10 04:20', '2026-11-17 04:20', '2026-11-24 04:20']),
      [],
      'active in 4 of 4 Tuesdays, 10:00 to 10:15',
      new Zone('Asia/Kathmandu'),
    ],
    [
      'a day that has begun only in another zone',
      at(A, ['2026-10-30 23:50', '2026-11-06 23:50', '2026-11-13 23:50', '2026-11-20 23:50']),
      [],
      'active in 4 of 4 Saturdays, 10:45 to 11:00',
      new Zone('Australia/Sydney'),
    ],
  ])('%s', (_, entries, gaps, because, zone) => {
    const { clients } = planned([...LOG, ...entries], { gaps }, zone);
    expect(clients.find(({ client }) => client === A)?.because).toBe(because);
    // The order of a log, which may be of several replicas, is of no importance.
    expect(planned([...LOG, ...entries].reverse(), { gaps }, zone).clients).toEqual(
      expect.arrayContaining([...clients]),
    );
  });

  test.each<[string, string, string[], string]>([
    [
      // 00:30 and 01:30 in UTC are both 02:30 on 25 October, and 01:30 is 02:30 from then on.
      'the hour that comes twice is one hour of one week',
      '2026-11-13T00:00:00Z',
      ['2026-10-18 00:30', '2026-10-25 00:30', '2026-10-25 01:30', '2026-11-01 01:30', '2026-11-08 01:30'],
      'active in 4 of 4 Sundays, 02:30 to 02:45',
    ],
    [
      'a job that goes by UTC has another hour on the wall',
      '2026-11-13T00:00:00Z',
      ['2026-10-18 01:30', '2026-10-25 01:30', '2026-11-01 01:30', '2026-11-08 01:30'],
      'active in 3 of 4 Sundays, 02:30 to 02:45',
    ],
    [
      'the hour that is skipped does not count as silence',
      '2027-04-09T00:00:00Z',
      ['2027-03-14 01:30', '2027-03-21 01:30', '2027-04-04 00:30'],
      'active in 3 of 3 Sundays, 02:30 to 02:45; the log covers only 3 of the last 4 Sundays',
    ],
  ])('in Berlin, %s', (_, now, times, because) => {
    const end = Date.parse(now);
    const log = [end - 32 * DAY, end - 60_000].map((time) => entryAt(time, Z, 'bill'));
    const tally = tallied(new Zone('Europe/Berlin'), [...log, ...at(A, times)]);
    const plan = makePlan(tally, optionsAt(end));
    expect(plan?.clients.find(({ client }) => client === A)?.because).toBe(because);
    for (const { from, until } of plan?.brownouts ?? [])
      expect([1, 2, 4, 8, 16]).toContain((until - from) / QUARTER);
  });

  test.each<[string, TallyEntry[], string, string]>([
    [
      'three days',
      [...at(Z, ['2026-11-22 00:00', '2026-11-24 23:59']), ...at(A, ['2026-11-24 10:05'])],
      'active on the only Tuesday that the log covers, 10:00 to 10:15',
      'The log covers 2 days: it shows each time of the week once at most.',
    ],
    [
      'ten minutes',
      at(A, ['2026-11-24 10:05', '2026-11-24 10:14']),
      'active on the only Tuesday that the log covers, 10:00 to 10:15',
      'The log covers less than a day: it shows each time of the week once at most.',
    ],
    [
      'a month',
      [...LOG, ...at(A, TUESDAYS)],
      'active in 4 of 4 Tuesdays, 10:00 to 10:15',
      'The log covers 30 days: a client that comes once in a quarter or more rarely may not be in it.',
    ],
  ])('by a log of %s', (_, entries, because, unknown) => {
    const plan = planned(entries);
    expect(plan.clients.find(({ client }) => client === A)?.because).toBe(because);
    expect(plan.caveat).toBe(unknown);
    expect(planParts(plan)[0]?.sentences[0]).toBe(unknown);
  });
});

test('the text of a plan names each client and count, and the clients that no brownout reaches', () => {
  const names = new Map([[A, 'Acme']]);
  const entries = [...LOG, ...at(A, TUESDAYS), ...at(B, TUESDAYS.slice(2)), ...at(undefined, TUESDAYS)];
  const quiet = at('e'.repeat(16), ['2026-10-30 10:00']);
  const plan = planned([...entries, ...quiet], { names });
  const [dates, brownouts, clients, hours, unknown] = planParts(plan);
  expect(dates?.sentences).toEqual([
    'The log covers 30 days: a client that comes once in a quarter or more rarely may not be in it.',
    'Deprecation: Thu 26 Nov 2026 00:00. Sunset: Thu 25 Feb 2027 00:00, at least 90 days after the deprecation. All times are those of UTC.',
    '3 clients still use V1. A planned brownout is the first notice for 1 of them.',
    `No time of the week reaches 2 clients: ${Z}, ${B}.`,
  ]);
  expect(brownouts?.table?.rows[0]).toEqual([
    'plan-1',
    'Tue 22 Dec 2026, 10:00 to 10:15',
    '15 minutes',
    '1',
    '1',
    '1 of 3 clients was active in 3 or more of 4 Tuesdays, 10:00 to 10:15',
  ]);
  expect(brownouts?.table?.rows.map((row) => row[2])).toEqual([
    '15 minutes',
    '30 minutes',
    '60 minutes',
    '2 hours',
    '4 hours',
  ]);
  expect(clients?.table?.rows.at(-1)).toEqual([
    `Acme (${A})`,
    '4',
    'Tue 22 Dec 2026 10:00 (plan-1)',
    'active in 4 of 4 Tuesdays, 10:00 to 10:15',
  ]);
  expect(hours?.table).toEqual({
    head: ['hour', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'],
    rows: [['10:00', '0', '1', '0', '0', '0', '0', '0']],
  });
  expect(unknown?.sentences).toEqual([
    `1 client sent nothing in the last 14 days of the log and is left out: ${'e'.repeat(16)}.`,
    '4 requests had no API key, so the log does not show which clients sent them.',
  ]);
  expect(planParts(plan, 2)[2]).toMatchObject({
    sentences: ['The first 2 of 3 are listed; capture-gateway plan lists all.'],
    table: { rows: [{ length: 4 }, { length: 4 }] },
  });
});

test('a client that calls only addresses that no service has is left out, as the report has it', () => {
  const lost: Partial<TallyEntry> = {
    operation: undefined,
    method: 'GET',
    path: '/api/v1/bill_list',
    status: 404,
  };
  const entries = [...LOG, ...at(A, TUESDAYS, lost)];
  const plan = planned(entries, { names: new Map([[A, 'Acme']]) });
  expect(plan.clients.map(({ client }) => client)).toEqual([Z]);
  expect(plan.unknown).toEqual(['1 client calls only addresses that no service has and is left out: Acme.']);
  const isPlanned = (more: readonly TallyEntry[], book?: ReturnType<typeof testRuleBook>): boolean => {
    const tally = new PlanTally(UTC, undefined, book);
    for (const entry of [...entries, ...more]) tally.add(entry);
    return makePlan(tally, optionsAt(NOW))?.clients.some(({ client }) => client === A) === true;
  };
  // V1 has it, another call is served, the gateway refused it, or an operation fits it by now.
  expect(isPlanned(at(A, TUESDAYS, { ...lost, status: 200, origin: 'v1' }))).toBe(true);
  expect(isPlanned(at(A, TUESDAYS.slice(3)))).toBe(true);
  expect(isPlanned(at(A, ['2026-11-01 10:00'], { ...lost, status: 200 }))).toBe(false);
  const book = testRuleBook();
  const { method, template } = book.operations.find((one) => !one.template.includes('{')) ?? expect.fail();
  expect(isPlanned(at(A, TUESDAYS, { ...lost, method, path: `/api/v1${template}` }), book)).toBe(true);
  expect(makePlan(tallied(UTC, at(A, TUESDAYS, lost)), optionsAt(NOW))).toBeUndefined();
});

test('each round has the slot that reaches most clients without a notice, and a client that had one still counts as reached', () => {
  // Three on Tuesdays, two of them also on Mondays; one of these two, and two more, of which one had a notice, on Fridays.
  const [c, d, e] = ['c', 'd', 'e'].map((letter) => letter.repeat(16));
  const shifted = (days: number): string[] =>
    TUESDAYS.map(
      (time) => `2026-11-${String(Number(time.slice(8, 10)) + days).padStart(2, '0')}${time.slice(10)}`,
    );
  const entries = [
    ...[A, B, c].flatMap((client) => at(client, TUESDAYS)),
    ...[A, B].flatMap((client) => at(client, shifted(-1))),
    ...[A, d, e].flatMap((client) =>
      at(client, ['2026-10-30 16:40', '2026-11-06 16:40', '2026-11-13 16:40', '2026-11-20 16:40']),
    ),
    ...at(d, ['2026-11-12 12:00'], BROWNOUT),
  ];
  const { brownouts } = planned([...LOG, ...entries]);
  expect(brownouts.slice(0, 3).map(({ reaches, first, because }) => [reaches, first, because])).toEqual([
    [3, 2, '3 of 6 clients were active in 3 or more of 4 Fridays, 16:30 to 16:45'],
    [3, 2, '3 of 6 clients were active in 3 or more of 4 Tuesdays, 10:00 to 10:15'],
    [3, 0, '3 of 6 clients were active in 3 or more of 4 Tuesdays, 10:00 to 10:30'],
  ]);
});

test.each([5, 10, 16, 30, 90, 4000])(
  'a lead time of %d days has brownouts, announced before, in its last part',
  (leadDays) => {
    const hourly = Array.from({ length: 24 * 35 }, (_, hour) =>
      entryAt(NOW - (hour + 0.5) * HOUR, A, 'bill'),
    );
    const { announcements, brownouts, clients, deprecation, sunset } = planned(hourly, { leadDays });
    expect(clients[0]?.notice).toBeDefined();
    const told = announcements.find(({ text }) => text.startsWith('Announce the brownouts'));
    expect(told?.at).toBeGreaterThanOrEqual(deprecation);
    for (const { from, until } of brownouts) {
      expect(told?.at).toBeLessThan(from);
      expect(until).toBeLessThan(sunset);
      expect(from).toBeGreaterThan(sunset - 420 * DAY);
    }
  },
);

test('if no day is left there is no brownout, but the plan still describes the clients', () => {
  const plan = planned([...LOG, ...at(A, TUESDAYS)], { avoid: (day) => day < NOW / DAY + 120 });
  expect(plan.brownouts).toEqual([]);
  expect(plan.clients.at(-1)?.because).toBe(
    'active in 4 of 4 Tuesdays, 07:00 to 11:00, but no brownout is planned then',
  );
  expect(JSON.stringify(planParts(plan))).toContain(
    `1 client is active at times without a planned brownout: ${A}.`,
  );
});

describe('a brownout that the rule book declares', () => {
  const TUESDAY = Date.parse('2026-12-01T10:01:00Z');
  const declared = (brownout: Partial<Brownout> = {}): Rollout => ({
    ...NONE,
    brownouts: [{ id: 'mine', from: TUESDAY, until: TUESDAY + 75_000, share: 40, status: 503, ...brownout }],
    gone: {},
    signals: { since: NOW, sunset: NOW + 100 * DAY, attributes: true, links: [] },
  });
  const entries = [...LOG, ...at(A, TUESDAYS), ...at(B, TUESDAYS)];
  const rowOf = (plan: Plan): readonly string[] | undefined =>
    planParts(plan)[1]?.table?.rows.find(([id]) => id?.startsWith('mine'));

  test('is counted as a planned one, and is the first notice of the clients that it reaches', () => {
    const plan = planned(entries, { rollout: declared() });
    expect(rowOf(plan)).toEqual([
      'mine (declared, 40 %)',
      'Tue 1 Dec 2026, 10:01 to 10:02:15',
      '1 minute',
      '2',
      '2',
      '2 of 3 clients were active in 3 or more of 4 Tuesdays, 10:00 to 10:15',
    ]);
    expect(planParts(plan)[0]?.sentences).toContain(
      '3 clients still use V1. A declared brownout is the first notice for 2 of them. A planned brownout is the first notice for none of them.',
    );
    expect(plan.clients.find(({ client }) => client === A)?.notice).toMatchObject({
      by: 'mine',
      at: TUESDAY,
      isDeclared: true,
    });
    // The reminders of the plan reach nobody for the first time.
    expect(plan.brownouts.map(({ first }) => first)).toEqual(plan.brownouts.map(() => 0));
  });

  test.each<[string, Partial<Brownout>, string[]]>([
    ['for one client', { clients: [A] }, ['1', '1']],
    ['at a time at which none is active', { from: TUESDAY + HOUR, until: TUESDAY + 2 * HOUR }, ['0', '0']],
    ['for some operations', { operations: ['bill'] }, ['–', '–']],
    ['that is on', { from: NOW - HOUR, until: NOW + HOUR }, ['0', '0']],
  ])('%s has its own count', (_, brownout, counts) => {
    expect(rowOf(planned(entries, { rollout: declared(brownout) }))?.slice(3, 5)).toEqual(counts);
  });

  test.each([
    [3, 'in 3 or more of 4 Tuesdays, 10:00 to Friday 10:15'],
    [30, 'in 3 or more of 4 weeks'],
  ])('for %i days is counted by its whole time', (days, words) => {
    const rollout = declared({ until: TUESDAY + days * DAY });
    expect(rowOf(planned(entries, { rollout }))?.[5]).toBe(`2 of 3 clients were active ${words}`);
  });

  test('that is over is told with the clients that met it, those without a key and those that the sunset excepts', () => {
    const over = declared({ from: NOW - 14 * DAY, until: NOW - 13 * DAY });
    const refused = [A, A, B, undefined].flatMap((client) =>
      at(client, ['2026-11-11 12:00'], { ...BROWNOUT, note: 'mine' }),
    );
    const plan = planned([...entries, ...refused], { rollout: { ...over, gone: { except: [B] } } });
    expect(rowOf(plan)).toBeUndefined();
    expect(planParts(plan)[1]?.sentences[0]).toBe(
      `Brownout mine refused 4 requests from 2 clients and requests without a key, the last one at Wed 11 Nov 2026 12:00: ${A}, ${B}, requests without a key.`,
    );
  });

  test('that the plan proposed does not change what it proposes', () => {
    const rollout = declared();
    const { brownouts } = planned(entries, { rollout: { ...rollout, brownouts: [] } });
    const own = brownouts.map(({ id, from, until }) => ({
      id,
      from,
      until,
      share: 100,
      status: 410 as const,
    }));
    const plan = planned(entries, { rollout: { ...rollout, brownouts: own } });
    expect(plan.brownouts).toEqual(brownouts);
    expect(planParts(plan)[1]?.table?.rows.map(([id]) => id)).toEqual(
      own.map(({ id }) => `${id} (declared)`),
    );
  });
});

test('where no day is left and the log covers some minutes, clients were active in these', () => {
  const rollout = { ...NONE, signals: { attributes: true, links: [], sunset: NOW + HOUR } };
  const plan = planned(at(A, ['2026-11-24 10:05', '2026-11-24 10:14']), { rollout });
  expect(plan.brownouts).toEqual([]);
  expect(plan.clients[0]).toMatchObject({
    isReachable: true,
    because:
      'active on the only Tuesday that the log covers, 10:00 to 10:15, but no brownout is planned then',
  });
});

test('dates of the rule book: its sunset stays, nothing is planned after it, and a plan does not begin from one that is over', () => {
  const entries = [...LOG, ...at(A, TUESDAYS), ...at(B, TUESDAYS)];
  const with_ = (since: number, sunset?: number): Plan =>
    planned(entries, {
      rollout: {
        ...NONE,
        gone: { except: [A] },
        signals: { since, attributes: true, links: [], ...(sunset !== undefined && { sunset }) },
      },
    });
  const late = with_(NOW - 30 * DAY, NOW + 200 * DAY);
  expect(late.sunset).toBe(NOW + 200 * DAY);
  expect(late.sunsetBecause).toBe(
    'the time that the rule book declares, 230 days after the deprecation; it could be Wed 24 Feb 2027 00:00',
  );
  expect(late.shortfall).toBeUndefined();
  const soon = with_(NOW - 30 * DAY, NOW + 20 * DAY);
  expect(soon.sunset).toBe(NOW + 20 * DAY);
  expect(soon.sunsetBecause).toBe('the time that the rule book declares, 50 days after the deprecation');
  expect(soon.shortfall).toBe(
    'The declared sunset, Tue 15 Dec 2026 00:00, is 50 days after the deprecation: clients have less than the lead time of 90 days to migrate. The first day that gives them so much is Wed 24 Feb 2027 00:00.',
  );
  expect(planParts(soon)[0]?.sentences).toContain(soon.shortfall);
  expect(soon.brownouts.length).toBeGreaterThan(0);
  expect(with_(NOW + DAY).sunsetBecause).toBe('at least 90 days after the deprecation');
  // A plan that is under way keeps its lead time, which began with the deprecation.
  expect(with_(NOW - 80 * DAY, NOW + 20 * DAY).shortfall).toBeUndefined();
  // Less than a working day before the sunset, V1 is deprecated from now on.
  const now = planned(entries, {
    rollout: { ...NONE, signals: { attributes: true, links: [], sunset: NOW + DAY / 2 } },
  });
  expect([now.deprecation, now.sunset]).toEqual([NOW, NOW + DAY / 2]);
  for (const plan of [late, soon, now]) {
    for (const { until } of plan.brownouts) expect(until).toBeLessThan(plan.sunset);
    for (const { at: time } of plan.announcements) {
      expect(time).toBeGreaterThanOrEqual(NOW);
      expect(time).toBeLessThan(plan.sunset);
    }
  }
  // Whom the sunset spares, the plan does.
  expect(soon.clients.map(({ client }) => client).sort()).toEqual([B, Z]);
  expect(soon.unknown).toContain(`The sunset of the rule book spares 1 client, so the plan does: ${A}.`);
  for (const { except } of soon.brownouts) expect(except).toEqual([A]);
});

test.each([
  ['gone', {}, 'V1 ended on Tue 24 Nov 2026 00:00 (UTC), as the rule book declares (after: gone).'],
  [
    'serve',
    undefined,
    'the sunset that the rule book announces, Tue 24 Nov 2026 00:00 (UTC), is over, and V1 is still served (after: serve). Write after: gone to end V1, or another time.',
  ],
])('after a sunset with after: %s there is no plan', (_, gone, why) => {
  const signals = { attributes: true, links: [], sunset: NOW - DAY };
  const options = optionsAt(NOW, { rollout: { ...NONE, signals, ...(gone && { gone }) } });
  expect(makePlan(tallied(UTC, [...LOG, ...at(A, TUESDAYS)]), options)).toBeUndefined();
  expect(noPlanSentence(options, UTC)).toBe(`There is nothing to plan: ${why}`);
});

test('without clients, with only requests without a key, or with only silent clients, there is no plan', () => {
  for (const entries of [
    [],
    at(undefined, TUESDAYS),
    [...at(A, ['2026-10-01 10:00']), ...at(undefined, TUESDAYS)],
  ])
    expect(makePlan(tallied(UTC, entries), optionsAt(NOW))).toBeUndefined();
});

test('the plan from an old log begins at its end, and says so', () => {
  const plan = makePlan(tallied(UTC, [...LOG, ...at(A, TUESDAYS)]), optionsAt(NOW + 60 * DAY));
  expect(plan?.clients.at(-1)?.because).toBe('active in 4 of 4 Tuesdays, 10:00 to 10:15');
  expect(plan?.unknown).toContain('The log ends on Tue 24 Nov 2026 23:59, 60 days before this plan.');
});

test('a plan mentions clocks that change before a brownout', () => {
  const plan = planned([...LOG, ...at(A, TUESDAYS)], { leadDays: 200 }, new Zone('Europe/Berlin'));
  expect(plan.unknown.at(-1)).toMatch(
    /^The clocks of Europe\/Berlin change before plan-\d: a client that goes by UTC then comes at another hour than in the log\.$/,
  );
});

/** A log at random, and what a reader with pencil and paper counts in it. */
const anyLog = fc.record({
  zone: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu'),
  // Berlin's and Lord Howe's clocks change in the weeks before these days.
  now: fc.constantFrom('2026-11-10T09:20:00Z', '2027-04-10T23:50:00Z', '2026-08-01T00:00:00Z'),
  days: fc.integer({ min: 0, max: 40 }),
  clients: fc.array(
    fc.record({
      // Times of the week in quarters of an hour, kept so often, and some odd ones.
      weekly: fc.array(fc.nat(671), { maxLength: 4 }),
      share: fc.constantFrom(0.4, 0.8, 1),
      odd: fc.array(fc.nat(40 * 96), { maxLength: 5 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  gaps: fc.array(fc.tuple(fc.nat(40 * 96), fc.integer({ min: 1, max: 300 })), { maxLength: 2 }),
  avoided: fc.array(fc.nat(6), { maxLength: 3 }),
  seed: fc.nat(),
});

test(
  'every count of a plan is one that a reader counts in the log, and no brownout is on an avoided day',
  fuzzTime(),
  () => {
    fc.assert(
      fc.property(anyLog, ({ zone: name, now: text, days, clients, gaps: spans, avoided, seed }) => {
        const zone = new Zone(name);
        const now = Date.parse(text);
        const end = Math.floor(now / QUARTER);
        const since = end - days * 96;
        const isKept = (quarter: number, share: number): boolean =>
          ((quarter * 7919 + seed) % 101) / 101 < share;
        const times = clients.map(({ weekly, share, odd }) => {
          const regular = weekly.flatMap((slot) =>
            Array.from({ length: 6 }, (_, week) => end - week * 672 - slot).filter((one) =>
              isKept(one, share),
            ),
          );
          return [...regular, ...odd.map((one) => end - one)].filter((one) => one >= since);
        });
        const gaps = spans.map(([from, length]) =>
          gap(
            ...([end - from, end - from + length].map((one) =>
              new Date(one * QUARTER).toISOString().slice(0, 16),
            ) as [string, string]),
          ),
        );
        const avoid = (day: number): boolean => avoided.includes(day % 7);
        const hash = (at: number): string => String(at).padStart(16, '0');
        const entries = [entryAt(since * QUARTER, undefined, 'x'), entryAt(end * QUARTER, undefined, 'x')];
        for (const [at, quarters] of times.entries())
          for (const quarter of quarters) entries.push(entryAt(quarter * QUARTER + 1000, hash(at), 'x'));
        const options = optionsAt(now, { goneAfterDays: 60, gaps, avoid });
        const plan = makePlan(tallied(zone, entries), options);
        if (plan === undefined) {
          expect(times.flat()).toEqual([]);
          return;
        }
        expect(makePlan(tallied(zone, entries.toReversed()), options)?.brownouts).toEqual(plan.brownouts);

        // Pencil and paper: the quarters of the log by the clock on the wall, without its gaps.
        const cellOf = (quarter: number): number => Math.floor(zone.local(quarter * QUARTER) / QUARTER);
        const all = Array.from({ length: end - since + 1 }, (_, at) => since + at);
        const isInGap = (quarter: number): boolean =>
          gaps.some(
            ({ from, until }) =>
              quarter * QUARTER >= Date.parse(from) && quarter * QUARTER < Date.parse(until),
          );
        const lacking = new Set(all.filter(isInGap).map(cellOf));
        const covered = new Set(all.map(cellOf).filter((cell) => !lacking.has(cell)));
        const last = Math.max(...all.map(cellOf));
        const awake = times.map((quarters) => new Set(quarters.map(cellOf)));
        const countsAt = (from: number, until: number): { weeks: number; active: number[] } => {
          const [begin, length] = [Math.floor(zone.local(from) / QUARTER), (until - from) / QUARTER];
          let latest = begin;
          while (latest + length - 1 > last) latest -= 672;
          const cells = (week: number): number[] =>
            Array.from({ length }, (_, at) => latest - week * 672 + at);
          const weeks = [0, 1, 2, 3].filter((week) => cells(week).every((cell) => covered.has(cell)));
          const active = awake.map(
            (one) => weeks.filter((week) => cells(week).some((cell) => one.has(cell))).length,
          );
          return { weeks: weeks.length, active };
        };
        const reached = new Set<number>();
        for (const [at, { from, until, weeks, reaches, first, least }] of plan.brownouts.entries()) {
          const counts = countsAt(from, until);
          const clientsReached = counts.active.flatMap((active, client) =>
            active > 0 && active >= least ? [client] : [],
          );
          expect([weeks, least, reaches]).toEqual([
            counts.weeks,
            Math.ceil(weeks * 0.75),
            clientsReached.length,
          ]);
          expect(first).toBe(clientsReached.filter((client) => !reached.has(client)).length);
          for (const client of clientsReached) reached.add(client);
          expect([1, 2, 4, 8, 16]).toContain((until - from) / QUARTER);
          expect(until - from).toBeGreaterThanOrEqual(
            (plan.brownouts[at - 1]?.until ?? 0) - (plan.brownouts[at - 1]?.from ?? 0),
          );
          expect(
            avoid(Math.floor(zone.local(from) / DAY)) || avoid(Math.floor((zone.local(until) - 1) / DAY)),
          ).toBe(false);
          expect(from > plan.deprecation && until < plan.sunset).toBe(true);
        }
        for (const { client, notice, brownouts } of plan.clients) {
          const at = Number(client);
          const meeting = plan.brownouts.filter(({ from, until, least }) => {
            const active = countsAt(from, until).active[at] ?? 0;
            return active > 0 && active >= least;
          });
          expect(brownouts).toBe(meeting.length);
          expect(notice?.by).toBe(meeting[0]?.id);
          if (notice === undefined || !('weeks' in notice)) continue;
          const counts = countsAt(notice.at, meeting[0]?.until ?? 0);
          expect([notice.active, notice.weeks]).toEqual([counts.active[at], counts.weeks]);
        }
      }),
      { numRuns: fuzzRuns(60) },
    );
  },
);

test('of 300 simulated clients the plan names those that are alive, and check misses in it those that it names as not reached', () => {
  const zone = new Zone('Europe/Berlin');
  const now = Date.parse('2027-01-10T12:00:00Z');
  const fleet = simulatedFleet(1, zone, { since: now - 60 * DAY, now, end: now });
  const tally = tallied(
    zone,
    fleet.flatMap(({ times, hash, operation }) => times.map((time) => entryAt(time, hash, operation))),
  );
  const plan = makePlan(tally, optionsAt(now, { goneAfterDays: 32 })) ?? expect.fail('a plan');
  const living = fleet.filter(({ times }) => (times.at(-1) ?? 0) >= now - 32 * DAY);
  expect(plan.clients.map(({ client }) => client).sort()).toEqual(living.map(({ hash }) => hash).sort());
  const kindsOf = (list: Plan['clients']): Set<string | undefined> =>
    new Set(list.map(({ client }) => fleet.find(({ hash }) => hash === client)?.kind));
  // Who comes each day or week at its hour is reached; who comes once a month, or as chance wants, is not.
  const isMet = ({ notice }: Plan['clients'][number]): boolean => notice !== undefined;
  for (const kind of ['office', 'around-the-clock', 'nightly', 'weekly'])
    expect(kindsOf(plan.clients.filter(isMet))).toContain(kind);
  const unmet = plan.clients.filter((client) => !isMet(client));
  expect(kindsOf(unmet.filter(({ isReachable }) => !isReachable))).toContain('monthly');
  const brownouts = plan.brownouts.map((one) => ({ ...one, share: 100, status: 410 as const }));
  const signals = { since: now, sunset: plan.sunset, links: [], attributes: false };
  const warnings = endWarnings(
    tally,
    optionsAt(now, { goneAfterDays: 32, rollout: { ...NONE, brownouts, signals } }),
  );
  expect(warnings).toEqual([
    expect.stringContaining(` ${unmet.length} clients were active in most of the last 4 weeks: `),
  ]);
});

describe('check warns of the clients', () => {
  // The office calls ten times a day, and the job of the night once; the sunset is in a hundred days.
  const [office, night] = [[8, 9, 10, 11, 12, 13, 14, 15, 16, 17], [3]].map((hours, client) =>
    Array.from({ length: 40 }, (_, day) => hours.map((hour) => NOW - (day + 1) * DAY + hour * HOUR + 600_000))
      .flat()
      .map((time) => entryAt(time, client === 0 ? A : B, 'bill')),
  );
  const entries = [...(office ?? []), ...(night ?? [])];
  const NIGHT = { from: 50 * DAY + 2 * HOUR, until: 50 * DAY + 6 * HOUR };

  test.each<[string, Partial<Brownout>, string[]]>([
    ['at night', NIGHT, [A]],
    ['in the day', { from: 50 * DAY + 8 * HOUR, until: 50 * DAY + 18 * HOUR }, [B]],
    ['over midnight', { from: 50 * DAY + 22 * HOUR, until: 51 * DAY + 9 * HOUR }, []],
    ['after the sunset', { from: 110 * DAY, until: 112 * DAY }, [A, B]],
    ['that begins after the sunset would be', { from: 101 * DAY }, [A, B]],
    ['that begins before the sunset and goes on', { from: 98 * DAY, until: 120 * DAY }, []],
    ['without an end', {}, []],
    ['for one of them', { clients: [A] }, [B]],
    ['that excepts one of them', { except: [A] }, [A]],
    [
      'of some operations, which a count by hours does not distinguish',
      { ...NIGHT, operations: ['bill'] },
      [A, B],
    ],
    ['of half of the requests, at night', { ...NIGHT, share: 50 }, [A]],
  ])('that no brownout %s reaches', (_, { from, until, ...more }, missed) => {
    const times = { ...(from && { from: NOW + from }), ...(until && { until: NOW + until }) };
    const rollout = {
      ...NONE,
      brownouts: [{ id: 'x', share: 100, status: 410 as const, ...more, ...times }],
      signals: { since: NOW, sunset: NOW + 100 * DAY, attributes: true, links: [] },
    };
    const [warning = ''] = endWarnings(tallied(UTC, entries), optionsAt(NOW, { rollout }));
    expect([A, B].filter((client) => warning.includes(client))).toEqual(missed);
    // Whom a brownout has refused already needs no other one.
    const refused = [A, B].flatMap((client) => at(client, ['2026-11-12 12:00'], BROWNOUT));
    expect(endWarnings(tallied(UTC, [...entries, ...refused]), optionsAt(NOW, { rollout }))).toEqual([]);
    // Whom the sunset spares, nothing ends for.
    const spared = { ...rollout, gone: { except: [A, B] } };
    expect(endWarnings(tallied(UTC, entries), optionsAt(NOW, { rollout: spared }))).toEqual([]);
  });
});

test('an operation that ends first is in the plan, and check warns while its clients still use it', () => {
  const entries = Array.from({ length: 29 }, (_, day) => entryAt(NOW - (day + 1) * DAY, A, 'bill'));
  const withSunset = (sunset: number): Rollout => ({
    ...NONE,
    ends: { operations: { bill: { sunset, links: [] }, other: { sunset, links: [] } }, changes: {} },
  });
  const warningsFor = (sunset: number): readonly string[] => {
    const rollout = withSunset(sunset);
    return endWarnings(tallied(UTC, entries, rollout), optionsAt(NOW, { rollout }));
  };
  expect(warningsFor(NOW + 20 * DAY)).toEqual([
    `operations.bill.sunset: it ends on 2026-12-15, in 20 days, nearer than the lead time of 90 days, and 1 client still uses it: ${A}; choose a later day`,
  ]);
  expect(warningsFor(NOW + 91 * DAY)).toEqual([]);
  expect(warningsFor(NOW - DAY)).toEqual([]);
  const rollout = withSunset(NOW + 20 * DAY);
  expect(planned(entries, { rollout }).endings.map(({ sentence }) => sentence)).toEqual([
    `Operation bill ends on 2026-12-15T00:00:00Z; 1 client still uses it: ${A}.`,
    'Operation other ends on 2026-12-15T00:00:00Z; no client uses it any more.',
  ]);
  // In the zone of the plan, as all of its times.
  expect(JSON.stringify(planParts(planned(entries, { rollout }, new Zone('Europe/Berlin'))))).toContain(
    'Operation bill ends on Tue 15 Dec 2026 01:00;',
  );
});

test('a change that ends first is used by requests and by responses that it edits', () => {
  const edits = [{ change: 'suburb', rule: 'nest' }] as unknown as TallyEntry['edits'];
  const responseEdits = [
    { change: 'city', rule: 'flatten', path: '/data/city' },
  ] as unknown as TallyEntry['responseEdits'];
  const end = { sunset: NOW + 20 * DAY, links: [] };
  const rollout = { ...NONE, ends: { operations: {}, changes: { suburb: end, city: end, street: end } } };
  const entries = [...at(A, TUESDAYS, { edits }), ...at(B, TUESDAYS, { responseEdits })];
  expect(
    planned(entries, { rollout }).endings.map(({ id, clients }) => [id, clients.map(({ client }) => client)]),
  ).toEqual([
    ['suburb', [A]],
    ['city', [B]],
    ['street', []],
  ]);
});

/** Now, and the day on which the end is announced: a working day, at least a day ahead. */
test.each([
  ['2026-11-24T23:59:00Z', 'Thu 26 Nov 2026 00:00'],
  ['2026-11-25T00:00:00Z', 'Thu 26 Nov 2026 00:00'],
  ['2026-11-25T00:01:00Z', 'Fri 27 Nov 2026 00:00'],
  ['2026-11-26T12:00:00Z', 'Mon 30 Nov 2026 00:00'],
  ['2026-11-29T23:41:00Z', 'Tue 1 Dec 2026 00:00'],
])('at %s the end is announced for %s', (now, day) => {
  const plan = planned([...LOG, ...at(A, TUESDAYS)], { now: Date.parse(now) });
  expect(new Zone('UTC').text(plan.deprecation)).toBe(day);
  expect(plan.announcements[0]?.at).toBe(plan.deprecation);
});

test('a day to avoid is no day of an announcement', () => {
  const avoided = Date.parse('2026-11-26') / 86_400_000;
  const plan = planned([...LOG, ...at(A, TUESDAYS)], { avoid: (day) => day === avoided });
  expect(new Zone('UTC').text(plan.deprecation)).toBe('Fri 27 Nov 2026 00:00');
});

test('a log of some minutes says that it is too short for hours of the week, without a table', () => {
  const hours = planParts(planned(at(A, ['2026-11-24 10:05', '2026-11-24 10:14']))).find(
    ({ title }) => title === 'Hours of the week',
  );
  expect(hours).toEqual({
    title: 'Hours of the week',
    sentences: ['The log is too short: it covers no whole hour in which a client was active.'],
  });
});
