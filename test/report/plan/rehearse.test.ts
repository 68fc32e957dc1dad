import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createClientHash } from '../../../src/node/runtime.ts';
import {
  daysToRehearse,
  Rehearsal,
  rehearsedRefusal,
  movedToLog,
  teachesClient,
  windowSentence,
} from '../../../src/report/plan/rehearse.ts';
import { rehearsalLines } from '../../../src/report/plan/plan-text.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
import type { Brownout, Rollout } from '../../../src/rules/rollout.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { entryAt } from './fleet.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 24);
const clientOf = createClientHash('a secret of the tests');
const KEYS = ['acme', 'globex', 'wrong', undefined] as const;
const HASHES = ['acme', 'globex', 'wrong'].map((key) => clientOf(`Bearer ${key}`));
const PATHS = ['/api/v1/clients', '/api/v1/orders/floor_plans', '/api/v1/unnamed'] as const;
const OPERATIONS = testRuleBook().operations.map(({ id }) => id);

afterEach(() => void vi.useRealTimers());

const request = fc.record({
  minute: fc.integer({ min: 0, max: 60 }),
  method: fc.constantFrom('POST', 'POST', 'OPTIONS'),
  key: fc.constantFrom(...KEYS),
  path: fc.constantFrom(...PATHS),
  body: fc.constantFrom('{"data":{"name":"x"}}', '{', '{"data":1}'),
});

const scope = fc.record(
  {
    clients: fc.subarray(HASHES, { minLength: 1 }),
    except: fc.subarray(HASHES, { minLength: 1 }),
    operations: fc.subarray(OPERATIONS, { minLength: 1 }),
  },
  { requiredKeys: [] },
);

const brownouts = fc.array(
  fc.record({
    from: fc.integer({ min: 0, max: 50 }),
    length: fc.integer({ min: 1, max: 30 }),
    share: fc.constantFrom(100, 100, 30),
    status: fc.constantFrom(410 as const, 503 as const),
    scope,
  }),
  { minLength: 1, maxLength: 3 },
);

/** A minute at which something ends for some, or V1 closes to newcomers; undefined for never. */
const day = fc.option(
  fc.record({ minute: fc.integer({ min: 0, max: 60 }), scope, only: fc.subarray(OPERATIONS) }),
  { nil: undefined },
);
const days = fc.record({ operations: day, whole: day, newcomers: day });

const none: Rollout = { clients: {}, brownouts: [], pins: [] };

function rolloutOf(
  windows: FcValue<typeof brownouts>,
  { operations, whole, newcomers }: FcValue<typeof days>,
): Rollout {
  const end = (minute: number) => ({ sunset: START + minute * MINUTE, links: [], attributes: false });
  const { clients, except } = operations?.scope ?? {};
  const own = { ...(clients && { clients }), ...(except && { except }) };
  return {
    ...none,
    brownouts: windows.map(({ from, length, share, status, scope: of }, at): Brownout => ({
      id: `b${at}`,
      from: START + from * MINUTE,
      until: START + (from + length) * MINUTE,
      share,
      status,
      ...of,
    })),
    ...(operations && {
      ends: {
        operations: Object.fromEntries(
          operations.only.map((id) => [id, { ...end(operations.minute), gone: own }]),
        ),
        changes: {},
      },
    }),
    ...(whole && { gone: whole.scope, signals: end(whole.minute) }),
    ...(newcomers && {
      newcomers: {
        from: START + newcomers.minute * MINUTE,
        answer: 'refuse' as const,
        except: newcomers.scope.except ?? [],
      },
    }),
  };
}

type FcValue<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

async function played(
  traffic: readonly {
    readonly minute: number;
    readonly method: string;
    readonly key: string | undefined;
    readonly path: string;
    readonly body: string;
  }[],
  rollout: Rollout,
): Promise<{ readonly statuses: readonly number[]; readonly gateway: TestGateway }> {
  const v2 = await rawServer((socket, received) =>
    socket.write(received.includes('Bearer wrong') ? 'HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n' : ok()),
  );
  const gateway = await gatewayFor(v2.origin, { ruleBook: { rollout } });
  // The list of known clients was begun long ago, and is empty.
  vi.setSystemTime(START - 60 * DAY);
  await gateway.gateway.knownClients.standing(clientOf('Bearer nobody'));
  const statuses: number[] = [];
  for (const { minute, method, key, path, body } of traffic) {
    vi.setSystemTime(START + minute * MINUTE);
    const auth = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`;
    statuses.push(
      statusOf(
        await exchange(
          gateway.port,
          `${method} ${path} HTTP/1.1\r\nHost: g\r\n${auth}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        ),
      ),
    );
  }
  await gateway.entry(traffic.length);
  return { statuses, gateway };
}

test('what a rehearsal refuses, the gateway then refuses of the same traffic, request by request', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const traffic = fc
    .array(request, { minLength: 1, maxLength: 10 })
    .map((requests) => requests.toSorted((one, other) => one.minute - other.minute));
  const counts: Record<string, number> = { brownout: 0, sunset: 0, newcomer: 0, served: 0 };
  await fc.assert(
    fc.asyncProperty(traffic, brownouts, days, fc.nat(), async (requests, windows, dates, chance) => {
      const random = (chance % 1000) / 1000;
      vi.spyOn(Math, 'random').mockReturnValue(random);
      const rollout = rolloutOf(windows, dates);
      const before = await played(requests, none);
      const log = before.gateway.entries();
      const learned = log.filter(
        (entry) =>
          teachesClient(entry, rollout) &&
          rehearsedRefusal(entry, rollout, { to: '/api/v2' }, random) === undefined,
      );
      const known = {
        clients: new Set(learned.flatMap(({ client }) => client ?? [])),
        since: START - 60 * DAY,
      };
      const rehearsed = log.map((entry) =>
        rehearsedRefusal(entry, rollout, { to: '/api/v2' }, random, known),
      );
      const after = await played(requests, rollout);
      const entries = after.gateway.entries();
      const refusals = new Set(['brownout', 'sunset', 'newcomer']);
      expect(rehearsed.map((refusal) => refusal?.note)).toEqual(
        entries.map(({ failure, note }) => (refusals.has(failure ?? '') ? note : undefined)),
      );
      const preflights = entries.filter(({ method }) => method === 'OPTIONS');
      expect(preflights.filter(({ failure }) => refusals.has(failure ?? ''))).toEqual([]);
      expect(after.statuses).toEqual(before.statuses.map((status, at) => rehearsed[at]?.status ?? status));
      for (const refusal of rehearsed) {
        const code = refusal?.code ?? 'served';
        counts[code] = (counts[code] ?? 0) + 1;
      }
      vi.restoreAllMocks();
    }),
    { numRuns: fuzzRuns(300) },
  );
  // A few random cases may happen to miss an outcome; three hundred may not.
  if (fuzzRuns(300) >= 300) expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
});

test('a window says how many requests of whom it would have refused, and whose only run of the day', () => {
  const zone = new Zone('Europe/Berlin');
  const at = (day: number, hour: number, minute = 0): number =>
    START + day * DAY + hour * 60 * MINUTE + minute * MINUTE;
  const brownout = (
    id: string,
    from: number,
    until: number,
    share = 100,
  ): { readonly brownout: Brownout } => ({
    brownout: { id, from, until, share, status: 410 },
  });
  const rehearsal = new Rehearsal(
    [
      brownout('nine', at(0, 8), at(0, 9)),
      brownout('half', at(0, 8), at(0, 9), 50),
      brownout('late', at(9, 8), at(9, 9)),
      brownout('night', at(0, 2), at(0, 3), 50),
    ],
    { to: '/api/v2' },
    zone,
  );
  for (let day = -3; day < 2; day += 1) {
    rehearsal.add(entryAt(at(day, 8, 10), 'nightly000000000', 'bill'));
    for (let hour = 6; hour < 18; hour += 1)
      rehearsal.add(entryAt(at(day, hour, 30), 'office0000000000', 'bill'));
  }
  rehearsal.add(entryAt(at(0, 8, 20), undefined, 'bill'));
  rehearsal.add({
    ...entryAt(at(0, 8, 21), 'office0000000000', 'bill'),
    verdict: 'refused',
    failure: 'overloaded',
  });
  for (let minute = 0; minute < 4; minute += 1) rehearsal.add(entryAt(at(0, 2, minute), undefined, 'bill'));
  const [nine, half, late, night] = rehearsal.result(new Map([['nightly000000000', 'Harcourts']]));
  if (nine === undefined || half === undefined || late === undefined || night === undefined)
    throw new Error('there are four');
  expect(windowSentence(nine, zone)).toBe(
    'Tue 24 Nov 2026, 09:00 to 10:00 would have refused 3 requests of 2 clients, 1 of them a job that runs once a day at most and would have lost a whole run (Harcourts); 1 request had no key.',
  );
  expect(windowSentence(half, zone)).toContain('(50 %) would have refused about 2 requests');
  expect(windowSentence(late, zone)).toBe(
    'Thu 3 Dec 2026, 09:00 to 10:00 would have refused 0 requests. The logs do not cover all of it.',
  );
  expect(rehearsalLines([night], zone)).toEqual([
    'Tue 24 Nov 2026, 03:00 to 04:00 (50 %) would have refused about 2 requests; 2 requests had no key.',
    '  requests without a key  up to 4 requests',
  ]);
});

// Each client comes on twenty days; the window is on one of them, or meets midnight between two.
test.each<[string, [from: number, until: number], minutes: number[], every: number, boolean]>([
  ['its only request', [2, 4], [3 * 60], 1, true],
  ['its weekly run', [2, 4], [3 * 60], 7, true],
  ['a run over midnight', [23, 25], [24 * 60 - 5, 24 * 60 + 5], 1, true],
  ['half of such a run', [23, 24], [24 * 60 - 5, 24 * 60 + 5], 1, false],
  ['half of a run within an hour', [9.5, 10], [9 * 60 + 5, 9 * 60 + 35], 1, false],
  ['all but the end of a run', [9, 10], [9 * 60 + 5, 10 * 60 + 1], 1, false],
  ['both runs of a client that runs twice a day', [2, 16], [3 * 60, 15 * 60], 1, false],
  ['all requests of a long day', [8, 18], [9, 10, 11, 12].map((hour) => hour * 60), 1, false],
])('a client loses a run with %s: %j of %j', (_, [from, until], minutes, every, loses) => {
  const zone = new Zone('UTC');
  const hour = (at: number): number => START + at * 60 * MINUTE;
  const brownout: Brownout = { id: 'b', from: hour(from), until: hour(until), share: 100, status: 410 };
  const rehearsal = new Rehearsal([{ brownout }], { to: '/api/v2' }, zone);
  for (let day = -10 * every; day < 10 * every; day += every)
    for (const minute of minutes)
      rehearsal.add(entryAt(START + day * DAY + minute * MINUTE, 'a'.repeat(16), 'bill'));
  const gap = { log: 'a', kind: 'silent', sentence: '' } as const;
  const time = (at: number): string => new Date(hour(at)).toISOString();
  const [window] = rehearsal.result(new Map(), [{ ...gap, from: time(-9), until: time(from) }]);
  expect(window?.clients[0]?.losesRun).toBe(loses);
  expect(window?.isCovered).toBe(true);
  const [lacking] = rehearsal.result(new Map(), [{ ...gap, from: time(-9), until: time(from + 0.1) }]);
  expect(lacking?.isCovered).toBe(false);
});

test('a brownout that lies ahead is played on the latest such weekday of the log, by the clock on the wall', () => {
  const zone = new Zone('Europe/Berlin');
  const log = { since: Date.parse('2027-03-01T00:00Z'), until: Date.parse('2027-03-25T12:00Z') };
  const ahead = (from: string, until: string): Brownout => ({
    id: 'b',
    from: Date.parse(from),
    until: Date.parse(until),
    share: 100,
    status: 410,
  });
  // Daylight saving begins between both: 09:00 is 07:00 UTC then, and was 08:00.
  const moved = movedToLog(ahead('2027-03-30T07:00Z', '2027-03-30T08:00Z'), log, zone);
  expect(new Date(moved?.brownout.from ?? 0).toISOString()).toBe('2027-03-23T08:00:00.000Z');
  expect(new Date(moved?.brownout.until ?? 0).toISOString()).toBe('2027-03-23T09:00:00.000Z');
  const past = ahead('2027-03-10T07:00Z', '2027-03-10T08:00Z');
  expect(movedToLog(past, log, zone)).toEqual({ brownout: past });
  expect(movedToLog(ahead('2027-02-10T07:00Z', '2027-02-10T08:00Z'), log, zone)).toBeUndefined();
  expect(movedToLog({ id: 'b', share: 100, status: 410 }, log, zone)).toBeUndefined();
  const short = { since: log.until - DAY, until: log.until };
  expect(movedToLog(ahead('2027-03-30T07:00Z', '2027-03-30T08:00Z'), short, zone)).toBeUndefined();
});

test('a day that lies ahead is played from the beginning of the log, newcomers once clients were learned for a fortnight', () => {
  const zone = new Zone('Europe/Berlin');
  const log = { since: START, until: START + 30 * DAY };
  const end = { sunset: START + 90 * DAY, links: [], attributes: false };
  const rollout: Rollout = {
    ...none,
    gone: {},
    signals: end,
    ends: { operations: { bill: { ...end, gone: {} }, kept: end }, changes: {} },
    newcomers: { from: START + 60 * DAY, answer: 'refuse', except: [] },
  };
  const { days: played, left } = daysToRehearse(rollout, log);
  expect(left).toEqual([]);
  const rehearsal = new Rehearsal(played, { to: '/api/v2', rollout }, zone);
  // The old one comes late in the log first, as lines of several replicas may.
  for (const at of [29, 3, 0]) rehearsal.add(entryAt(START + at * DAY, 'old0000000000000', 'bill'));
  for (const at of [21, 22]) rehearsal.add(entryAt(START + at * DAY, 'young00000000000', 'other'));
  const [bill, whole, newcomers] = rehearsal.result(new Map());
  if (bill === undefined || whole === undefined || newcomers === undefined)
    throw new Error('there are three');
  expect(rehearsalLines([bill, whole, newcomers], zone)).toEqual([
    'The rule book has Mon 22 Feb 2027, 01:00. sunset of bill, from Tue 24 Nov 2026, 01:00 on, would have refused 3 requests of 1 client.',
    '  old0000000000000  3 requests',
    'The rule book has Mon 22 Feb 2027, 01:00. sunset, from Tue 24 Nov 2026, 01:00 on, would have refused 5 requests of 2 clients.',
    '  old0000000000000  3 requests',
    '  young00000000000  2 requests',
    'The rule book has Sat 23 Jan 2027, 01:00. newcomers, from Tue 8 Dec 2026, 01:00 on, would have refused 2 requests of 1 client.',
    '  young00000000000  2 requests',
  ]);
  const short = daysToRehearse(rollout, { since: START, until: START + 10 * DAY });
  expect([short.days.map(({ id }) => id), short.left]).toEqual([['sunset of bill', 'sunset'], ['newcomers']]);
  expect(daysToRehearse(rollout, { since: Infinity, until: -Infinity }).days).toEqual([]);
});
