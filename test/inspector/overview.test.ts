import { expect, test } from 'vitest';
import type { EntriesPage, Overview, ProblemsView, Report } from '../../src/inspector/api.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { History } from '../../src/rewrite-log/history.ts';
import { overviewOf } from '../../src/inspector/overview.ts';
import { makeReport } from '../../src/report/report.ts';
import { LineTally } from '../../src/report/tally/tally-lines.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { inspected } from '../support/inspected.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { sampleRollout } from '../support/sample-rollout.ts';
import { until } from '../support/until.ts';

test('before the first request, the overview says so, and what holds', async () => {
  const gateway = await inspected();
  const { state, items } = await gateway.readJson<Overview>('/overview');
  expect(state).toBe(`Send a request to ${gateway.origin} to see it here.`);
  expect(items.map(({ level, place }) => `${level} ${place.view}`)).toEqual(['good rollout', 'good rules']);
});

test('the overview counts what became of the requests, and says the worst first, each with its place', async () => {
  const body = '{"errors":[{"source":{"pointer":"/data/name"}}]}';
  const gateway = await inspected({}, body, undefined, undefined, 422);
  for (let sent = 0; sent < 2; sent += 1)
    await gateway.post('/clients', '{"data":{"name":"A"}}', { authorization: 'Bearer one' });
  await gateway.post('/clients', '{"data":', { authorization: 'Bearer one' });
  await until(async () => (await gateway.readJson<Overview>('/overview')).state.startsWith('3 requests'));
  const { state, items } = await gateway.readJson<Overview>('/overview');
  expect(state).toBe('3 requests: 2 migrated, 1 sent to neither service; of all, 3 failed.');
  const sentences = items.map(({ sentence }) => sentence);
  expect(sentences[0]).toBe('V1 requests are migrated and go to V2.');
  // What failed stands in a table of its own, and is not said again.
  const { problems } = await gateway.readJson<ProblemsView>('/problems');
  expect(problems.map(({ by, status, code, count: times }) => `${by} ${code ?? status}: ${times}`)).toEqual([
    'gateway malformed-json: 1',
    'v2 422: 2',
  ]);
  const levels = items.map(({ level }) => level);
  expect(levels).toEqual(levels.toSorted((one, other) => rank(one) - rank(other)));
  for (const { place } of items) expect(isFilterFault(parseFilter(place.filter ?? ''))).toBe(false);
});

const OUTSIDE = ['/', '/favicon.ico', '/robots.txt', '/healthz', '/api', '/api/v2x', '/api/v3/clients'];

test('what is under neither prefix is no request of a client of V2, whether it is refused or passed on', async () => {
  for (const other of ['refuse', 'pass'] as const) {
    const rules = compiledTestRuleBook({ other });
    const gateway = await inspected({}, '{}', undefined, rules, 200);
    for (const path of [...OUTSIDE, '/api/v2/clients', '/api/v2'])
      await (await fetch(gateway.origin + path)).arrayBuffer();
    await gateway.entry(OUTSIDE.length + 2);
    const { entries } = await gateway.readJson<EntriesPage>('/entries');
    const routes = entries.toReversed().map(({ route }) => route);
    expect(routes).toEqual([...OUTSIDE.map(() => (other === 'pass' ? 'other' : 'none')), 'pass', 'pass']);
    const { state } = await gateway.readJson<Overview>('/overview');
    expect(state).toBe(
      other === 'pass'
        ? '9 requests: 0 migrated, 2 of V2 clients, 7 under neither prefix; of all, none failed.'
        : '9 requests: 0 migrated, 2 of V2 clients, 7 sent to neither service; of all, 7 refused by the gateway, none failed.',
    );
    expect(await gateway.readJson<Report>('/report')).toMatchObject({ v1: 0, v2: 2 });
    const read = new Tally();
    new LineTally(read).add(new TextEncoder().encode(entries.map((entry) => entryLine(entry)).join('')));
    expect([read.entries, read.v1, read.v2]).toEqual([9, 0, 2]);
  }
});

test('the overview says how many responses V1 clients got as V2 sent them', async () => {
  const gateway = await inspected({}, '{"errors":[', undefined, undefined, 422);
  await gateway.post('/clients', '{"data":{"name":"A"}}', { authorization: 'Bearer one' });
  await gateway.entry();
  const { items } = await gateway.readJson<Overview>('/overview');
  const said = items.find(({ sentence }) => sentence.includes('as V2 sent it'));
  expect(said).toMatchObject({
    level: 'note',
    sentence: '1 response went to V1 clients as V2 sent it, although a response rule applies.',
  });
  const { entries } = await gateway.readJson<{ readonly entries: readonly unknown[] }>(
    `/entries?filter=${encodeURIComponent(said?.place.filter ?? '')}`,
  );
  expect(entries).toHaveLength(1);
});

const NOW = Date.UTC(2026, 10, 29);

test.each<[name: string, end: Partial<RolloutView>, words: RegExp | undefined]>([
  ['V1 has no end', {}, /^V1 requests are migrated and go to V2\.$/],
  ['it is to come', { sunset: '2026-12-24T00:00:00Z', gone: {} }, /^V1 requests are migrated/],
  ['it ended for all', { sunset: '2026-11-01T00:00:00Z', gone: {} }, undefined],
  [
    'it ended for one client',
    { sunset: '2026-11-01T00:00:00Z', gone: { clients: ['acme'] } },
    /^V1 requests are/,
  ],
  [
    'it ended but for one',
    { sunset: '2026-11-01T00:00:00Z', gone: { except: ['acme'] } },
    /^V1 requests are/,
  ],
  ['its end refuses nothing', { sunset: '2026-11-01T00:00:00Z' }, /^V1 requests are migrated/],
])('where %s, requests are said to be migrated, or not', (_, end, words) => {
  const { items } = overviewOf({
    sums: new History().sums,
    startedAt: '1970-01-01T00:00:00Z',
    now: NOW,
    origin: 'http://g',
    verdict: { level: 'good', label: 'All well', sentence: 'All well for 3 days.' },
    errors: { exchanges: 0, groups: [], omitted: 0 },
    report: makeReport(new Tally(), { now: '1970-01-01T00:00:00Z' }),
    rules: { hash: 'h', loadedAt: '1970-01-01T00:00:00Z', operations: 1, changes: 0 },
    rollout: { ...sampleRollout(), default: { mode: 'migrate', from: 'default' }, ...end },
  });
  const said = items.find(({ sentence }) => sentence.startsWith('V1 requests are'));
  if (words === undefined) expect(said).toBeUndefined();
  else expect(said?.sentence).toMatch(words);
});

test.each<[name: string, modes: Partial<RolloutView>, told: number]>([
  ['V1 serves all', {}, 2],
  ['all is migrated', { default: { mode: 'migrate', from: 'operator' } }, 0],
  [
    'V1 serves one client',
    {
      default: { mode: 'migrate', from: 'operator' },
      clients: { acme: { mode: 'observe', from: 'operator' } },
    },
    2,
  ],
  [
    'V1 serves another operation',
    {
      default: { mode: 'migrate', from: 'operator' },
      operations: { other: { mode: 'observe', from: 'operator' } },
    },
    1,
  ],
])('dry runs are told of what V1 still serves: where %s', (_, modes, told) => {
  const history = new History();
  const entry: Entry = {
    ...sampleEntry(1, 0),
    operation: 'create_client',
    origin: 'v1',
    ruleBook: 'h',
    would: { verdict: 'refused', failure: 'malformed-json' },
  };
  history.add(entry, 1, 'well');
  const { items } = overviewOf({
    sums: history.sums,
    startedAt: '1970-01-01T00:00:00Z',
    now: NOW,
    origin: 'http://g',
    verdict: { level: 'good', label: 'All well', sentence: 'All well for 3 days.' },
    errors: {
      exchanges: 1,
      omitted: 0,
      groups: [
        {
          error: { by: 'would', code: 'malformed-json' },
          count: 1,
          clients: 1,
          operations: ['create_client'],
          firstSeen: '1970-01-01T00:00:00Z',
          lastSeen: '1970-01-01T00:00:00Z',
        },
      ],
    },
    report: makeReport(new Tally(), { now: '1970-01-01T00:00:00Z' }),
    rules: { hash: 'h', loadedAt: '1970-01-01T00:00:00Z', operations: 1, changes: 0 },
    rollout: sampleRollout(modes),
  });
  expect(items.filter(({ level }) => level === 'note')).toHaveLength(told);
});

test.each([
  [9, '9 clients send'],
  [10, 'At least 10 clients send'],
  [30, 'At least 10 clients send'],
])('of %i clients that send what V2 refuses, the overview knows how many at least', (clients, words) => {
  const tally = new Tally();
  const sent = {
    ...sampleEntry(1, 0),
    operation: 'create_client',
    edits: [],
    attributes: ['/data', '/data/floor_count'],
  };
  for (let client = 0; client < clients; client += 1)
    tally.add({ ...sent, client: `client ${client}`, status: 422, errorPointers: ['/data/floor_count'] });
  tally.add({ ...sent, client: 'client 0', status: 201, origin: 'v1' });
  tally.add({ ...sent, status: 201, attributes: ['/data'], unechoed: [] });
  const { items } = overviewOf({
    sums: new History().sums,
    startedAt: '1970-01-01T00:00:00Z',
    now: 0,
    origin: 'http://g',
    verdict: { level: 'good', label: 'All well', sentence: 'All well for 3 days.' },
    errors: { exchanges: 0, groups: [], omitted: 0 },
    report: makeReport(tally, { now: '1970-01-01T00:00:00Z' }),
    rules: { hash: 'h', loadedAt: '1970-01-01T00:00:00Z', operations: 1, changes: 0 },
    rollout: undefined,
  });
  expect(items.map(({ sentence }) => sentence)).toContain(
    `${words} floor_count in create_client, which V2 does not take and no rule handles.`,
  );
});

function rank(level: string): number {
  return ['bad', 'note', 'good'].indexOf(level);
}

test('a request that failed is not counted as refused, by whomever', () => {
  const history = new History();
  const sample = sampleEntry(1, 0);
  const judge = new AnswerJudge();
  const sent = (facts: Partial<Entry>): void => {
    const entry = { ...sample, ...facts };
    history.add(entry, 1, judge.judge(entry));
  };
  sent({ verdict: 'refused', status: 503, failure: 'circuit-open', sent: false });
  sent({ verdict: 'refused', status: 400, failure: 'bad-framing', sent: false });
  sent({ status: 502 });
  sent({ status: 404 });
  // No client got this from V1 before.
  sent({ status: 422 });
  // What V1 refuses as well is no harm of a migration.
  sent({ status: 422, origin: 'v1', would: { verdict: 'refused' } });
  sent({ status: 201, origin: 'v1', would: { verdict: 'refused' } });
  expect(history.sums.would).toMatchObject({ rewritten: 0, unchanged: 0, refused: 2, refusedByBoth: 1 });
  // Under another rule book dry runs begin anew.
  sent({ origin: 'v1', would: { verdict: 'rewritten' }, ruleBook: 'the next' });
  expect(history.sums.would).toEqual({
    ruleBook: 'the next',
    rewritten: 1,
    unchanged: 0,
    refused: 0,
    refusedByBoth: 0,
  });
  expect(history.sums).toMatchObject({ all: 8, refusedByGateway: 1, refusedByV2: 1, failed: 3 });
});
