import { expect, test } from 'vitest';
import type { EntriesPage, Overview, ProblemsView, Report } from '../../src/inspector/api.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { History, type RequestSums } from '../../src/rewrite-log/history.ts';
import { type OverviewFacts, overviewOf, stateSentence } from '../../src/inspector/overview.ts';
import { makeReport } from '../../src/report/report.ts';
import { LineTally } from '../../src/report/tally/tally-lines.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { inspected } from '../support/inspected.ts';
import { ComparisonTally } from '../../src/rollout/comparison-tally.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { sampleRollout } from '../support/sample-rollout.ts';
import { until } from '../support/until.ts';

test('before the first request, the overview says so, and names the mode and rule book in force', async () => {
  const gateway = await inspected();
  const { state, items } = await gateway.readJson<Overview>('/overview');
  expect(state.counts).toBe(`Send a request to ${gateway.origin} to see it here.`);
  expect(items.map(({ level, place }) => `${level} ${place.view}`)).toEqual(['good rollout', 'good rules']);
});

test('the overview counts what became of the requests, and says the worst first, each with its place', async () => {
  const body = '{"errors":[{"source":{"pointer":"/data/name"}}]}';
  const gateway = await inspected({}, body, undefined, undefined, 422);
  for (let sent = 0; sent < 2; sent += 1)
    await gateway.post('/clients', '{"data":{"name":"A"}}', { authorization: 'Bearer one' });
  await gateway.post('/clients', '{"data":', { authorization: 'Bearer one' });
  await until(async () =>
    (await gateway.readJson<Overview>('/overview')).state.counts.startsWith('3 requests since'),
  );
  const { state, items } = await gateway.readJson<Overview>('/overview');
  expect(withoutStart(state.counts)).toBe('3 requests: 2 sent to V2, 1 not sent. 3 failed.');
  const sentences = items.map(({ sentence }) => sentence);
  expect(sentences[0]).toBe('V1 requests are migrated and go to V2.');
  // Failures are in their own table, and are not repeated here.
  const { problems } = await gateway.readJson<ProblemsView>('/problems');
  expect(problems.map(({ by, status, code, count: times }) => `${by} ${code ?? status}: ${times}`)).toEqual([
    'gateway malformed-json: 1',
    'v2 422: 2',
  ]);
  const levels = items.map(({ level }) => level);
  expect(levels).toEqual(levels.toSorted((one, other) => rank(one) - rank(other)));
  for (const { place } of items) expect(isFilterFault(parseFilter(place.filter ?? ''))).toBe(false);
});

/** The counts of a gateway without the time of its start. */
function withoutStart(counts: string): string {
  return counts.replace(/ since the start at \S+Z(?=:)/, '');
}

const OUTSIDE = ['/', '/favicon.ico', '/robots.txt', '/healthz', '/api', '/api/v2x', '/api/v3/clients'];

test('a request under neither prefix does not count as one of a V2 client, refused or passed on', async () => {
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
    expect(withoutStart(state.counts)).toBe(
      other === 'pass'
        ? "9 requests: 2 of V2's own clients, 7 under neither prefix. None failed."
        : "9 requests: 7 not sent, 2 of V2's own clients. None failed. 7 were refused by the gateway.",
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
    sentence:
      'In the last hour 1 response went to V1 clients as V2 sent it, although a response rule applies.',
  });
  const { entries } = await gateway.readJson<{ readonly entries: readonly unknown[] }>(
    `/entries?filter=${encodeURIComponent(said?.place.filter ?? '')}`,
  );
  expect(entries).toHaveLength(1);
});

const NOW = Date.UTC(2026, 10, 29);
const HOUR = 3_600_000;

/** The overview of a gateway that has seen nothing but these facts. */
function overviewWith(facts: Partial<OverviewFacts>): Pick<Overview, 'items' | 'whose'> {
  const history = new History();
  return overviewOf({
    sums: history.sums,
    lastHour: history.lastHour(NOW),
    startedAt: '1970-01-01T00:00:00Z',
    now: NOW,
    origin: 'http://g',
    errors: { exchanges: 0, groups: [], omitted: 0 },
    report: makeReport(new Tally(), { now: new Date(NOW).toISOString() }),
    rules: { hash: 'h', loadedAt: '1970-01-01T00:00:00Z', operations: 1, changes: 0, gone: ['loan_slip'] },
    rollout: undefined,
    ...facts,
  });
}

/** The report of one client whose last V1 request was so long ago. */
function reportOfClient(
  ago: number,
  names = new Map([['a'.repeat(16), 'acme']]),
  operations = ['create_client'],
): Report {
  const tally = new Tally();
  const time = new Date(NOW - ago).toISOString();
  const would = { verdict: 'refused', failure: 'malformed-json' } as const;
  const mode = { mode: 'observe', verdict: 'passed', status: 201, origin: 'v1', would } as const;
  for (const operation of operations)
    tally.add({ ...sampleEntry(1, 0), time, client: 'a'.repeat(16), operation, ...mode });
  const agents = new Map([['a'.repeat(16), 'Desk/2.1']]);
  return makeReport(tally, { now: new Date(NOW).toISOString(), names, agents });
}

/** The report of two clients that got 410 so long ago for an operation that the rule book calls gone. */
function goneReport(ago: number): Report {
  const tally = new Tally();
  const gone = { verdict: 'refused', failure: 'operation-gone', status: 410, origin: undefined } as const;
  const time = new Date(NOW - ago).toISOString();
  for (const client of ['a'.repeat(16), undefined])
    tally.add({ ...sampleEntry(1, 0), time, client, operation: 'loan_slip', ...gone });
  return makeReport(tally, { now: new Date(NOW).toISOString(), names: new Map([['a'.repeat(16), 'acme']]) });
}

/** A tally of a read that differed so long ago, and of one that did not. */
function differing(ago: number): RolloutView['shadows'] {
  const tally = new ComparisonTally();
  const same = { verdict: 'same', differences: [], noise: 0, extra: 0 } as const;
  tally.add('read_client', { ...same, verdict: 'different' }, false, NOW - ago);
  tally.add('read_client', same, false, NOW);
  // As it crosses from one isolate to another.
  const merged = new ComparisonTally();
  merged.merge(tally.list);
  return merged.list;
}

const REMOVED = { path: '/data/*/colour', kind: 'missing', count: 4, change: 'colour' } as const;

/** The same tally with four reads that differ in these fields. */
function differingIn(fields: RolloutView['shadows'][number]['fields']): RolloutView['shadows'] {
  return differing(1000).map((one) => ({ ...one, same: 1, different: 4, unknown: 0, fields }));
}

const MIGRATED: RolloutView['default'] = { mode: 'migrate', from: 'operator' };

const EXCEPT_ACME = { except: ['acme'], hashes: { except: ['a'.repeat(16)] } };
const ENDED: Partial<RolloutView> = { sunset: '2026-11-01T00:00:00Z', gone: {} };

test.each<[what: string, facts: Partial<OverviewFacts>, item: string | undefined]>([
  [
    'clients that call what is gone',
    { rollout: sampleRollout({ default: { mode: 'migrate', from: 'operator' } }), report: goneReport(1000) },
    'note: V2 does not have loan_slip any more: 2 requests of acme, requests without a key got 410, the last at 2026-11-28T23:59:59.000Z.',
  ],
  ['clients that called what is gone an hour ago', { report: goneReport(HOUR) }, undefined],
  [
    'reads that differed a moment ago',
    { rollout: sampleRollout({ shadows: differing(1000) }) },
    'note: Of 2 reads that both services got, 1 differed: read_client 1 of 2; the last at 2026-11-28T23:59:59.000Z.',
  ],
  [
    'reads that differ in what the rule book removes',
    { rollout: sampleRollout({ shadows: differingIn([REMOVED]) }) },
    'good: Of 5 reads that both services got, 4 differed: read_client 4 of 5, mostly /data/*/colour (missing); the last at 2026-11-28T23:59:59.000Z, only in members that the rule book removes.',
  ],
  [
    'reads that differ in more than that',
    {
      rollout: sampleRollout({
        shadows: differingIn([REMOVED, { path: '/data/*/name', kind: 'value', count: 1 }]),
      }),
    },
    'note: Of 5 reads that both services got, 4 differed: read_client 4 of 5, mostly /data/*/colour (missing); the last at 2026-11-28T23:59:59.000Z.',
  ],
  [
    'reads that differed an hour ago',
    { rollout: sampleRollout({ shadows: differing(HOUR) }) },
    'good: Of 2 reads that both services got, 1 differed: read_client 1 of 2; the last at 2026-11-28T23:00:00.000Z.',
  ],
  [
    'reads that were compared an hour ago, in a shadow that is over',
    { rollout: sampleRollout({ shadows: differing(1000) }), now: NOW + HOUR },
    undefined,
  ],
  [
    'reads that differed in a shadow before everything was migrated',
    { rollout: sampleRollout({ default: MIGRATED, shadows: differing(1000) }) },
    'good: Of 2 reads that both services got, 1 differed: read_client 1 of 2; the last at 2026-11-28T23:59:59.000Z.',
  ],
  [
    'a client that would fail in what is migrated, and not in what V1 serves',
    {
      report: reportOfClient(HOUR, new Map(), ['create_client', 'read_client']),
      rollout: sampleRollout({
        default: MIGRATED,
        operations: { read_client: { mode: 'observe', from: 'operator' } },
        bodyChecks: { counts: [], omitted: 0, past: 1 },
      }),
    },
    undefined,
  ],
  [
    'responses that went on as V2 sent them',
    { lastHour: { asV2SentIt: 2 } },
    'note: In the last hour 2 responses went to V1 clients as V2 sent them, although a response rule applies.',
  ],
  [
    'a client that would fail',
    { report: reportOfClient(HOUR), rollout: sampleRollout() },
    'note: acme: 1 of 1 checked request would fail after the migration, last seen at 2026-11-28T23:00:00.000Z.',
  ],
  [
    'a client without a name that would fail',
    { report: reportOfClient(HOUR, new Map()), rollout: sampleRollout() },
    'note: Desk/2.1: 1 of 1 checked request would fail after the migration, last seen at 2026-11-28T23:00:00.000Z.',
  ],
  ['a client that would fail, and is gone', { report: reportOfClient(60 * 24 * HOUR) }, undefined],
  [
    'a client that has called since V1 ended',
    { report: reportOfClient(HOUR / 2), rollout: sampleRollout(ENDED) },
    'note: 1 client has called V1 after its end, the last at 2026-11-28T23:30:00.000Z: acme.',
  ],
  [
    'a client that called after the end of V1, long ago',
    { report: reportOfClient(3 * HOUR), rollout: sampleRollout(ENDED) },
    'good: 1 client has called V1 after its end, the last at 2026-11-28T21:00:00.000Z: acme.',
  ],
  [
    'a client that the end of V1 excepts, and that V1 serves',
    {
      report: reportOfClient(HOUR / 2),
      rollout: sampleRollout({ ...ENDED, gone: EXCEPT_ACME }),
    },
    'note: acme: 1 of 1 checked request would fail after the migration, last seen at 2026-11-28T23:30:00.000Z.',
  ],
  [
    'a client that the end of V1 excepts, and that calls what is gone',
    {
      report: goneReport(1000),
      rollout: sampleRollout({ ...ENDED, gone: EXCEPT_ACME, default: MIGRATED }),
    },
    'note: V2 does not have loan_slip any more: 1 request of acme got 410, the last at 2026-11-28T23:59:59.000Z.',
  ],
  [
    'a client that the end of V1 excepts, and that is migrated',
    {
      report: reportOfClient(HOUR / 2),
      rollout: sampleRollout({ ...ENDED, gone: EXCEPT_ACME, default: MIGRATED }),
    },
    undefined,
  ],
  [
    'an end of V1 that all clients keep',
    { report: reportOfClient(60 * 24 * HOUR), rollout: sampleRollout(ENDED) },
    undefined,
  ],
])('a note has an age, and disappears when it is over: %s', (_, facts, item) => {
  const { items } = overviewWith(facts);
  const told = items
    .filter(({ sentence }) => /reads|responses|would fail|got 410|end/.test(sentence))
    .filter(({ sentence }) => !/dry run|migration would/.test(sentence))
    .map(({ level, sentence }) => `${level}: ${sentence}`);
  if (item === undefined) expect(told).toEqual([]);
  else expect(told[0]).toBe(item);
});

/** The report of a client all of whose refunds are refused, by V2 or in dry runs by V1, and of one whose refunds are not. */
function refusedReport(facts: Partial<Entry>, times = 5, last?: Partial<Entry>): Report {
  const tally = new Tally();
  const refused = { ...sampleEntry(1, 0), operation: 'create_refund', status: 422, edits: [] };
  for (let sent = 1; sent <= times; sent += 1) {
    const time = new Date(NOW - sent * 1000).toISOString();
    tally.add({ ...refused, client: 'a'.repeat(16), time, operation: 'get_booking', status: 200 });
    tally.add({ ...refused, client: 'a'.repeat(16), time, errorPointers: ['/booking_id'], ...facts });
    tally.add({ ...refused, client: 'b'.repeat(16), time, status: sent === 1 ? 201 : 422 });
  }
  const now = new Date(NOW).toISOString();
  if (last !== undefined) tally.add({ ...refused, client: 'a'.repeat(16), time: now, ...last });
  return makeReport(tally, { now, names: new Map([['a'.repeat(16), 'acme']]) });
}

test.each<[what: string, facts: Partial<OverviewFacts>, item: string | undefined]>([
  [
    'by V2',
    { report: refusedReport({}) },
    'V2 has refused each create_refund of acme, the last at 2026-11-28T23:59:59.000Z with 422 at /booking_id.',
  ],
  [
    'by V2, and later on purpose',
    { report: refusedReport({}, 5, { verdict: 'refused', status: 503, failure: 'brownout' }) },
    'V2 has refused each create_refund of acme, the last at 2026-11-28T23:59:59.000Z with 422 at /booking_id.',
  ],
  [
    'by V1, as it would be by V2',
    {
      report: refusedReport({
        origin: 'v1',
        mode: 'observe',
        verdict: 'passed',
        would: { verdict: 'rewritten', v2: 'invalid' },
      }),
    },
    'V1 has refused each create_refund of acme, the last at 2026-11-28T23:59:59.000Z.',
  ],
  ['four times', { report: refusedReport({}, 4) }, undefined],
  [
    'by V2, which is a problem of its own',
    { report: refusedReport({}), failing: ['create_refund'] },
    undefined,
  ],
  ['yesterday', { report: refusedReport({}), now: NOW + 25 * HOUR }, undefined],
])('a client whose requests for an operation are always refused is named: %s', (_, facts, words) => {
  const { items } = overviewWith({ rollout: sampleRollout({ default: MIGRATED }), ...facts });
  const told = items.filter(({ sentence }) => sentence.includes('has refused each'));
  expect(told.map(({ sentence }) => sentence)).toEqual(words === undefined ? [] : [words]);
  for (const { place } of told)
    expect(place.filter).toBe(`op:create_refund client:${'a'.repeat(16)} status:4xx`);
});

test('what V2 does not have is one note with its clients, before the migration and after it', () => {
  const error = {
    error: { by: 'would', code: 'operation-gone' },
    count: 3,
    clients: 1,
    operations: ['loan_slip'],
    firstSeen: '2026-11-28T20:00:00.000Z',
    lastSeen: '2026-11-28T22:00:00.000Z',
  } as const;
  const notes = (default_: RolloutView['default']): readonly string[] => {
    const tally = new Tally();
    const entry = { ...sampleEntry(1, 0), client: 'a'.repeat(16), operation: 'loan_slip' };
    const would = { verdict: 'refused', failure: 'operation-gone' } as const;
    const time = (ago: number): string => new Date(NOW - ago).toISOString();
    tally.add({
      ...entry,
      time: time(2 * HOUR),
      status: 200,
      origin: 'v1',
      mode: 'observe',
      verdict: 'passed',
      would,
    });
    tally.add({ ...entry, time: time(1000), status: 410, verdict: 'refused', failure: 'operation-gone' });
    const { items } = overviewWith({
      report: makeReport(tally, { now: time(0), names: new Map([['a'.repeat(16), 'acme']]) }),
      errors: { exchanges: 3, groups: [error], omitted: 0 },
      rollout: sampleRollout({ default: default_ }),
    });
    return items.flatMap(({ level, sentence }) => (level === 'note' ? [sentence] : []));
  };
  expect(notes({ mode: 'observe', from: 'operator' })).toEqual([
    'V2 does not have loan_slip any more: a migration would have refused 3 requests of acme, the last at 2026-11-28T22:00:00.000Z.',
  ]);
  expect(notes(MIGRATED)).toEqual([
    'V2 does not have loan_slip any more: 1 request of acme got 410, the last at 2026-11-28T23:59:59.000Z.',
  ]);
});

test('a dry run that a migration would refuse is listed with the time of the last one', () => {
  const { items } = overviewWith({
    errors: {
      exchanges: 2,
      omitted: 0,
      groups: [
        {
          error: { by: 'schema', code: 'invalid', pointer: '/name' },
          count: 2,
          clients: 1,
          operations: ['create_client'],
          firstSeen: '2026-11-28T20:00:00.000Z',
          lastSeen: '2026-11-28T22:00:00.000Z',
        },
      ],
    },
    rollout: sampleRollout(),
  });
  expect(items[0]?.sentence).toBe(
    "V2's schema refuses the bodies of 2 requests of 1 client at /name, in create_client, the last at 2026-11-28T22:00:00.000Z. V2 itself was not asked.",
  );
});

test('after the end of V1 no item is about a migration', () => {
  const rollout = sampleRollout({ ...ENDED, default: { mode: 'migrate', from: 'default' } });
  const { items } = overviewWith({ report: reportOfClient(60 * 24 * HOUR), rollout });
  // The verdict says that V1 has ended.
  expect(items.map(({ sentence }) => sentence)).toEqual([expect.stringMatching(/^The rule book h with /)]);
});

test.each<[name: string, end: Partial<RolloutView>, words: RegExp | undefined]>([
  ['V1 has no end', {}, /^V1 requests are migrated and go to V2\.$/],
  ['it is to come', { sunset: '2026-12-24T00:00:00Z', gone: {} }, /^V1 requests are migrated/],
  ['it ended for all', { sunset: '2026-11-01T00:00:00Z', gone: {} }, undefined],
  [
    'it ended for one client',
    { sunset: '2026-11-01T00:00:00Z', gone: { clients: ['acme'] } },
    /^V1 requests are/,
  ],
  ['it ended but for one', { sunset: '2026-11-01T00:00:00Z', gone: { except: ['acme'] } }, undefined],
  ['its end refuses no request', { sunset: '2026-11-01T00:00:00Z' }, /^V1 requests are migrated/],
])('if %s, requests are called migrated, or not', (_, end, words) => {
  const { items } = overviewWith({
    rollout: { ...sampleRollout(), default: { mode: 'migrate', from: 'default' }, ...end },
  });
  const said = items.find(({ sentence }) => sentence.startsWith('V1 requests are'));
  if (words === undefined) expect(said).toBeUndefined();
  else expect(said?.sentence).toMatch(words);
});

test.each<[name: string, modes: Partial<RolloutView>, told: number]>([
  ['V1 serves all', {}, 2],
  ['everything is migrated', { default: { mode: 'migrate', from: 'operator' } }, 0],
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
])('dry runs of requests that V1 still serves are listed: if %s', (_, modes, told) => {
  const history = new History();
  const entry: Entry = {
    ...sampleEntry(1, 0),
    operation: 'create_client',
    origin: 'v1',
    ruleBook: 'h',
    would: { verdict: 'refused', failure: 'malformed-json' },
  };
  history.add(entry, 1, 'well');
  const { items } = overviewWith({
    sums: history.sums,
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
    rollout: sampleRollout(modes),
  });
  expect(items.filter(({ sentence }) => /in dry runs|migration would/.test(sentence))).toHaveLength(told);
});

test.each([
  [9, '9 clients send'],
  [10, 'At least 10 clients send'],
  [30, 'At least 10 clients send'],
])('of %i clients that send a member that V2 refuses, the overview names the minimum', (clients, words) => {
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
  const { items } = overviewWith({ report: makeReport(tally, { now: '1970-01-01T00:00:00Z' }) });
  expect(items.map(({ sentence }) => sentence)).toContain(
    `${words} floor_count in create_client, which V2 does not take and no rule handles.`,
  );
});

test.each<[what: string, facts: Partial<Entry>, told: boolean]>([
  ['404 of the gateway', { status: 404, verdict: 'refused', failure: 'not-found', origin: undefined }, true],
  ['404 of V1', { status: 404, origin: 'v1' }, true],
  ['the end of V1', { status: 410, verdict: 'refused', failure: 'sunset', origin: undefined }, false],
])('a client that gets nothing but refusals comes first, with what it gets: %s', (_, facts, told) => {
  const tally = new Tally();
  const sent = (client: string, at: number, own: Partial<Entry> = {}): void =>
    tally.add({
      ...sampleEntry(1, NOW - at),
      client,
      operation: undefined,
      method: 'GET',
      path: '/api/v1/films',
      ...facts,
      ...own,
    });
  for (let at = 6; at > 0; at -= 1) {
    sent('a'.repeat(16), at * 1000);
    sent(
      'b'.repeat(16),
      at * 1000,
      at === 6 ? { status: 200, verdict: 'rewritten', failure: undefined } : {},
    );
  }
  const report = makeReport(tally, {
    now: new Date(NOW).toISOString(),
    names: new Map([['a'.repeat(16), 'acme']]),
  });
  const ended = { sunset: new Date(NOW - 10_000).toISOString(), gone: {} };
  for (const rollout of [sampleRollout(), sampleRollout(ended)]) {
    const { items } = overviewWith({ report, rollout });
    const said = items.filter(({ sentence }) => sentence.includes('nothing but refusals'));
    expect(said).toHaveLength(told ? 1 : 0);
    if (!told) continue;
    expect(items[0]).toEqual(said[0]);
    expect(said[0]?.sentence).toMatch(
      /^acme gets nothing but refusals: 404 .*6×, in GET \/films, the last at 2026-11-28T23:59:59\.000Z\.$/,
    );
    // Each fact is told once.
    expect(
      items.filter(
        ({ level, sentence }) => level === 'note' && /acme/.test(sentence.replace(/.*after its end.*/, '')),
      ),
    ).toEqual(said);
  }
});

test.each<[when: string, ago: number, told: readonly string[]]>([
  [
    'now',
    HOUR,
    [
      'No operation of the rule book fits GET /bill/*: 3 requests of acme, clients without a key since 2026-11-28T22:00:00.000Z, the last at 2026-11-28T23:00:00.000Z.',
    ],
  ],
  ['the day before', 25 * HOUR, []],
  ['long ago', 60 * 24 * HOUR, []],
])('who calls an address that the rule book does not know is named, with since when: %s', (_, ago, told) => {
  const tally = new Tally();
  const sent = (at: number, path: string, client?: string): void =>
    tally.add({
      ...sampleEntry(1, 0),
      time: new Date(NOW - at).toISOString(),
      client,
      operation: undefined,
      method: 'GET',
      path,
    });
  sent(ago + HOUR, '/api/v1/bill/7', 'a'.repeat(16));
  sent(ago, '/api/v1/bill/8?a=1', 'a'.repeat(16));
  sent(ago + HOUR / 2, '/api/v1/bill/7');
  const report = makeReport(tally, {
    now: new Date(NOW).toISOString(),
    names: new Map([['a'.repeat(16), 'acme']]),
  });
  const { items } = overviewWith({ report, rollout: sampleRollout() });
  const unfit = items.filter(({ sentence }) => sentence.includes('No operation'));
  expect(unfit.map(({ sentence }) => sentence)).toEqual(told);
  for (const { level, place } of unfit)
    expect([level, place]).toEqual(['note', { view: 'traffic', filter: 'op:- route:v1,none' }]);
});

function rank(level: string): number {
  return ['bad', 'note', 'good'].indexOf(level);
}

test.each<[sums: Partial<RequestSums>, ended: string]>([
  [{}, 'None failed.'],
  [{ failed: 3 }, '3 failed.'],
  [{ refusedByV2: 1 }, 'None failed. 1 was refused by V2.'],
  [{ refusedByV2: 2, refusedByGateway: 7 }, 'None failed. 9 were refused: 2 by V2, 7 by the gateway.'],
  [{ onPurpose: 25 }, 'None failed. 25 were refused on purpose.'],
  [{ refusedByGateway: 2, onPurpose: 1 }, 'None failed. 3 were refused: 2 by the gateway, 1 on purpose.'],
  [{ failed: 1234, refusedByV1: 1 }, '1,234 failed. 1 other was refused by V1.'],
  [{ failed: 1, refusedByV1: 40 }, '1 failed. 40 others were refused by V1.'],
])('what failed and what else was refused are told apart: %o', (sums, ended) => {
  const all = { ...new History().sums, all: 2000, migrated: 2000, ...sums };
  expect(stateSentence({ sums: all, origin: 'http://g', startedAt: 'x' })).toBe(
    `2,000 requests since the start at x: 2,000 sent to V2. ${ended}`,
  );
});

test('a request that failed is not counted as refused by any side', () => {
  const history = new History();
  const sample = sampleEntry(1, 0);
  const judge = new AnswerJudge();
  const sent = (facts: Partial<Entry>): void => {
    const entry = { ...sample, ...facts };
    history.add(entry, 1, judge.judge(entry));
  };
  sent({ verdict: 'refused', status: 503, failure: 'circuit-open', sent: false });
  sent({ verdict: 'refused', status: 400, failure: 'bad-framing', sent: false });
  for (const failure of ['brownout', 'sunset', 'newcomer'])
    sent({ verdict: 'refused', status: 503, failure, sent: false });
  sent({ status: 502 });
  sent({ status: 404 });
  // No client got this from V1 before.
  sent({ status: 422 });
  // A refusal that V1 gives as well is not caused by a migration.
  sent({ status: 422, origin: 'v1', would: { verdict: 'refused' } });
  sent({ status: 201, origin: 'v1', would: { verdict: 'refused' } });
  expect(history.sums.would).toMatchObject({ rewritten: 0, unchanged: 0, refused: 2, refusedByBoth: 1 });
  // Under another rule book, counts of dry runs begin again.
  sent({ origin: 'v1', would: { verdict: 'rewritten' }, ruleBook: 'the next' });
  expect(history.sums.would).toEqual({
    ruleBook: 'the next',
    rewritten: 1,
    unchanged: 0,
    refused: 0,
    refusedByBoth: 0,
  });
  expect(history.sums).toMatchObject({
    all: 11,
    refusedByGateway: 1,
    onPurpose: 3,
    refusedByV2: 1,
    failed: 3,
  });
});
