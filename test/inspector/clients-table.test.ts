import { describe, expect, test } from 'vitest';
import {
  type ClientRow,
  type ClientsFacts,
  type ClientsQuery,
  clientDetail,
  clientsTable,
} from '../../src/inspector/clients-table.ts';
import { makeReport } from '../../src/report/report.ts';
import { PlanTally } from '../../src/report/plan/activity.ts';
import { Zone } from '../../src/report/plan/zone.ts';
import { ClientTrends } from '../../src/report/tally/client-trends.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const NOW = Date.UTC(2026, 10, 29, 12);
const DAY = 86_400_000;

const hashOf = (n: number): string => n.toString(16).padStart(16, '0');

/** So many clients: client n sends n requests, one a day at most before today, and every fifth of them fails. */
function factsOf(count: number): ClientsFacts {
  const [tally, trends, judge] = [new Tally(), new ClientTrends(), new AnswerJudge()];
  for (let n = 1; n <= count; n += 1)
    for (let request = 0; request < n; request += 1) {
      const entry: Entry = {
        ...sampleEntry(1, NOW - (request % 20) * DAY - n * 1000),
        operation: n % 2 === 0 ? 'create_client' : 'order_floor_plan',
        route: 'migrate',
        verdict: 'rewritten',
        client: hashOf(n),
        status: request % 5 === 4 ? 500 : 201,
        ...(n % 3 === 0 && request === 0
          ? { verdict: 'refused', failure: 'brownout', status: 503, note: 'first' }
          : {}),
      };
      tally.add(entry);
      trends.add(entry, judge.judge(entry));
    }
  const names = new Map([
    [hashOf(2), 'acme'],
    [hashOf(7), 'Zulu'],
  ]);
  return {
    report: makeReport(tally, { now: new Date(NOW).toISOString(), names }),
    known: 'Counted by a test.',
    now: NOW,
    trendOf: (client) => trends.of(client),
    traces: new Map([[hashOf(3), { userAgents: ['okhttp/4.9'], addresses: ['192.0.2.7'] }]]),
    hasLog: false,
    keptSince: new Date(NOW - DAY).toISOString(),
  };
}

const NOWHERE: Partial<Entry> = {
  route: 'none',
  verdict: 'refused',
  failure: 'not-found',
  path: '/films',
  status: 404,
};
const QUERY: ClientsQuery = { q: '', sort: 'requests', isReversed: false, offset: 0, limit: 3 };
const facts = factsOf(30);
const numbers = (query: Partial<ClientsQuery>): readonly number[] =>
  clientsTable(facts, { ...QUERY, ...query }).rows.map(({ client }) => Number.parseInt(client, 16));

/** The row of a client with these entries. */
function rowFor(
  entries: readonly Partial<Entry>[],
  known: Partial<ClientsFacts> = {},
): ClientRow | undefined {
  const tally = new Tally();
  for (const [at, more] of entries.entries())
    tally.add({ ...sampleEntry(1, NOW - DAY + at * 1000), route: 'migrate', client: hashOf(1), ...more });
  const report = makeReport(tally, { now: new Date(NOW).toISOString() });
  return clientsTable({ ...facts, report, ...known }, QUERY).rows[0];
}

describe('the table of clients', () => {
  test.each<[query: Partial<ClientsQuery>, first: readonly number[]]>([
    [{}, [30, 29, 28]],
    [{ isReversed: true }, [1, 2, 3]],
    [{ offset: 28 }, [2, 1]],
    [{ sort: 'name' }, [2, 7, 1]],
    [{ sort: 'failed' }, [30, 29, 28]],
    [{ sort: 'lastSeen' }, [1, 2, 3]],
    [{ sort: 'notices' }, [30, 27, 24]],
    [{ q: 'ACME' }, [2]],
    [{ q: hashOf(17) }, [17]],
    [{ q: 'okhttp' }, [3]],
    [{ q: '192.0.2.7' }, [3]],
    [{ q: 'create_client' }, [30, 28, 26]],
    [{ q: 'nobody' }, []],
  ])('is sorted, searched and paged: %j', (query, first) => {
    expect(numbers(query)).toEqual(first);
  });

  test('counts notices, and what would fail only until a client is migrated', () => {
    const checked = {
      origin: 'v1',
      would: { verdict: 'rewritten', v2: 'invalid', at: '/a' },
      status: 200,
    } as const;
    const refused = { verdict: 'refused', failure: 'brownout', status: 503, note: 'first' } as const;
    expect(rowFor([checked])).toMatchObject({ wouldFail: { failing: 1, judged: 1 } });
    expect(rowFor([checked, { status: 201 }])).not.toHaveProperty('wouldFail');
    const gone = { verdict: 'refused', failure: 'operation-gone', status: 410 } as const;
    expect(rowFor([checked, gone])).not.toHaveProperty('wouldFail');
    expect(rowFor([{ status: 201 }, checked])).toHaveProperty('wouldFail');
    expect(rowFor([refused, refused, refused])).toMatchObject({ notices: 1 });
    const ended = { ...refused, failure: 'sunset', status: 410, note: undefined };
    expect(rowFor([refused, ended, ended])).toMatchObject({ notices: 2 });
  });

  test('has counts, trends and notices that agree with each other', () => {
    const { rows, all, matching, known } = clientsTable(facts, { ...QUERY, q: 'acme', limit: 500 });
    expect({ all, matching, known }).toEqual({ all: 30, matching: 1, known: 'Counted by a test.' });
    expect(rows[0]).toMatchObject({ name: 'acme', v1: 2, failed: 0, notices: 0, guide: 'made' });
    for (const row of clientsTable(facts, { ...QUERY, limit: 500 }).rows) {
      const n = Number.parseInt(row.client, 16);
      expect([row.v1, row.failed, row.notices]).toEqual([n, Math.floor(n / 5), n % 3 === 0 ? 1 : 0]);
      expect(row.trend).toHaveLength(14);
      const inTrend = row.trend.reduce((sum, { requests }) => sum + requests, 0);
      expect(inTrend).toBe(Array.from({ length: n }, (_, at) => at % 20).filter((day) => day < 14).length);
    }
  });

  test.each<[said: string, known: Partial<ClientsFacts>, guide: ClientRow['guide'], entry: Partial<Entry>]>([
    ['with a kept request', { keptSince: '2026-01-01' }, 'made', {}],
    ['with a log', { hasLog: true }, 'made', {}],
    ['without either', { keptSince: undefined }, 'no request', {}],
    ['without a key', { hasLog: true }, 'no key', { client: '-' }],
    ['of calls outside the rule book', { hasLog: true }, 'no operation', NOWHERE],
  ])('the row of a client %s says whether it has a guide', (_, known, guide, entry) => {
    expect(rowFor([entry], known)).toMatchObject({ guide });
  });

  test('one client has its operations, with the failures of each, and its traces', () => {
    expect(clientDetail(facts, hashOf(3))).toMatchObject({
      operations: [{ operation: 'order_floor_plan', count: 3, failed: 0 }],
      brownouts: [{ brownout: 'first', count: 1 }],
      userAgents: ['okhttp/4.9'],
      addresses: ['192.0.2.7'],
    });
    expect(clientDetail(facts, hashOf(25))?.operations).toMatchObject([{ count: 25, failed: 5 }]);
    expect(clientDetail(facts, hashOf(31))).toBeUndefined();
  });

  test.each([
    [
      'a brownout twice',
      [
        ['brownout', 'first'],
        ['brownout', 'first'],
      ],
      1,
    ],
    [
      'two brownouts',
      [
        ['brownout', 'first'],
        ['brownout', 'second'],
      ],
      2,
    ],
    [
      'a brownout, and the sunset twice',
      [
        ['brownout', 'first'],
        ['sunset', 'sunset'],
        ['sunset', 'sunset'],
      ],
      2,
    ],
    ['the end for new clients', [['newcomer', 'newcomer']], 1],
    ['an operation that V2 does not have', [['operation-gone', undefined]], 0],
  ] as const)('counts as notices what a plan counts: %s', (_, refusals, notices) => {
    const [tally, plan] = [new Tally(), new PlanTally(new Zone('UTC'))];
    for (const [failure, note] of refusals) {
      const sample = sampleEntry(1, NOW - DAY);
      const entry: Entry = { ...sample, route: 'migrate', verdict: 'refused', status: 503, failure, note };
      tally.add(entry);
      plan.add(entry);
    }
    const report = makeReport(tally, { now: new Date(NOW).toISOString() });
    expect(clientsTable({ ...facts, report }, QUERY).rows.map((row) => row.notices)).toEqual([notices]);
    expect([...plan.clients.values()].map((client) => client.notices?.size ?? 0)).toEqual([notices]);
  });

  test('shows 300 clients on one page', () => {
    const { rows, all } = clientsTable(factsOf(300), { ...QUERY, limit: 300 });
    expect([rows.length, all, rows[0]?.v1]).toEqual([300, 300, 300]);
  });
});
