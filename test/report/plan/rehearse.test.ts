import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createClientHash } from '../../../src/node/runtime.ts';
import {
  Rehearsal,
  rehearsedRefusal,
  movedToLog,
  windowSentence,
} from '../../../src/report/plan/rehearse.ts';
import { Zone } from '../../../src/report/plan/zone.ts';
import type { Brownout, Rollout } from '../../../src/rules/rollout.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { entryAt } from './fleet.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const START = Date.UTC(2026, 10, 24);
const clientOf = createClientHash('a secret of the tests');
const KEYS = ['acme', 'globex', undefined] as const;
const HASHES = ['acme', 'globex'].map((key) => clientOf(`Bearer ${key}`));
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
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin, { ruleBook: { rollout } });
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

test('what a rehearsal refuses is what the gateway then refuses of the same traffic, request by request', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const traffic = fc.array(request, { minLength: 1, maxLength: 10 });
  let refused = 0;
  let served = 0;
  await fc.assert(
    fc.asyncProperty(traffic, brownouts, fc.nat(), async (requests, windows, chance) => {
      const random = (chance % 1000) / 1000;
      vi.spyOn(Math, 'random').mockReturnValue(random);
      const none: Rollout = { clients: {}, brownouts: [], pins: [] };
      const rollout: Rollout = {
        ...none,
        brownouts: windows.map(({ from, length, share, status, scope: of }, at): Brownout => ({
          id: `b${at}`,
          from: START + from * MINUTE,
          until: START + (from + length) * MINUTE,
          share,
          status,
          ...of,
        })),
      };
      const before = await played(requests, none);
      const rehearsed = before.gateway
        .entries()
        .map((entry) => rehearsedRefusal(entry, rollout, { to: '/api/v2' }, random));
      const after = await played(requests, rollout);
      const entries = after.gateway.entries();
      expect(rehearsed.map((refusal) => refusal?.note)).toEqual(
        entries.map(({ failure, note }) => (failure === 'brownout' ? note : undefined)),
      );
      const preflights = entries.filter(({ method }) => method === 'OPTIONS');
      expect(preflights.filter(({ failure }) => failure === 'brownout')).toEqual([]);
      expect(after.statuses).toEqual(before.statuses.map((status, at) => rehearsed[at]?.status ?? status));
      refused += rehearsed.filter((refusal) => refusal !== undefined).length;
      served += rehearsed.filter((refusal) => refusal === undefined).length;
      vi.restoreAllMocks();
    }),
    { numRuns: 25 },
  );
  expect(Math.min(refused, served)).toBeGreaterThan(0);
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
  const [nine, half, late] = rehearsal.result(new Map([['nightly000000000', 'Harcourts']]));
  if (nine === undefined || half === undefined || late === undefined) throw new Error('there are three');
  expect(windowSentence(nine, zone)).toBe(
    'Tue 24 Nov 2026, 09:00 to 10:00 would have refused 3 requests of 2 clients, 1 of them a job that runs once a day and would have lost that run (Harcourts); 1 request had no key.',
  );
  expect(windowSentence(half, zone)).toContain('(50 %) would have refused about 2 requests');
  expect(windowSentence(late, zone)).toBe(
    'Thu 3 Dec 2026, 09:00 to 10:00 would have refused 0 requests. The logs do not cover all of it.',
  );
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
