import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { Guide } from '../../src/report/guide.ts';
import { makeReport } from '../../src/report/report.ts';
import { reportCsv, reportMarkdown } from '../../src/report/report-text.ts';
import { Tally } from '../../src/report/tally.ts';
import type { EditRecord } from '../../src/rewrite/rewrite.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const DAY = 86_400_000;
const now = Date.UTC(2026, 10, 21, 12);
const UNWRAP: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' };
const FLAT: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '', path: '', note: 'already-flat' };
const SIBLING: EditRecord = { change: 'body-wrapper', rule: 'strip', from: '/source', note: 'sibling' };
const NEST: EditRecord = {
  change: 'property-address',
  rule: 'nest',
  from: '/data/property/suburb',
  path: '/property/address/suburb',
};

function v1(client: string, daysAgo: number, edits: readonly EditRecord[], more: Partial<Entry> = {}): Entry {
  const { attributes: _attributes, ...entry } = sampleEntry(1, now - daysAgo * DAY);
  return {
    ...entry,
    client,
    edits,
    status: 201,
    verdict: edits.length === 0 ? 'unchanged' : 'rewritten',
    ...more,
  };
}

function tallyOf(entries: readonly Entry[]): Tally {
  const tally = new Tally();
  for (const entry of entries) tally.add(entry);
  return tally;
}

const options = { now: new Date(now).toISOString() };

describe('a client', () => {
  test.each([
    ['gone', [v1('c', 20, [UNWRAP, NEST])]],
    ['url-only', [v1('c', 1, [FLAT]), v1('c', 2, [])]],
    ['unwrap-only', [v1('c', 1, [SIBLING, UNWRAP]), v1('c', 1, [FLAT])]],
    ['field-work', [v1('c', 1, [UNWRAP, NEST]), v1('c', 0, [UNWRAP])]],
    ['unwrap-only', [v1('c', 15, [UNWRAP, NEST]), v1('c', 1, [UNWRAP])]],
  ])('is %s', (expected, entries) => {
    expect(makeReport(tallyOf(entries), options).clients[0]?.class).toBe(expected);
  });

  test('is counted by operation and change, with first and last time, in any order of the log', () => {
    const entries = [
      v1('c', 3, [UNWRAP]),
      v1('c', 5, [UNWRAP, NEST]),
      v1('c', 1, [], { operation: 'create_client' }),
    ];
    const [client] = makeReport(tallyOf(entries), {
      ...options,
      names: new Map([['c', 'Harcourts']]),
    }).clients;
    expect(client).toMatchObject({
      name: 'Harcourts',
      v1: 3,
      firstSeen: '2026-11-16T12:00:00.000Z',
      lastSeen: '2026-11-20T12:00:00.000Z',
      operations: [
        {
          operation: 'order_floor_plan',
          count: 2,
          firstSeen: '2026-11-16T12:00:00.000Z',
          lastSeen: '2026-11-18T12:00:00.000Z',
        },
        { operation: 'create_client', count: 1 },
      ],
      changes: [
        { change: 'body-wrapper', count: 2 },
        { change: 'property-address', count: 1, rules: ['nest'] },
      ],
    });
  });
});

describe('the report', () => {
  test('says what stands between today and switching off, day by day', () => {
    const native: Entry = { ...v1('n', 0, []), route: 'pass', verdict: 'passed' };
    const { client: _client, ...keyless } = v1('x', 2, [UNWRAP], { verdict: 'refused' });
    const report = makeReport(
      tallyOf([
        v1('a', 0, [NEST]),
        v1('a', 1, [NEST], { apiVersion: { sent: 'x', why: 'invalid' } }),
        keyless,
        v1('z', 90, []),
        native,
      ]),
      options,
    );
    expect(report).toMatchObject({ v1: 4, v2: 1, entries: 5, canSwitchOff: false });
    expect(report.classes).toEqual({ gone: 1, 'url-only': 0, 'unwrap-only': 1, 'field-work': 1 });
    expect(
      report.days.map(({ day, v1: old, clients, rewritten, refused }) => [
        day,
        old,
        clients,
        rewritten,
        refused,
      ]),
    ).toEqual([
      ['2026-08-23', 1, 1, 0, 0],
      ['2026-11-19', 1, 1, 1, 1],
      ['2026-11-20', 1, 1, 1, 0],
      ['2026-11-21', 1, 1, 1, 0],
    ]);
    expect(report.remaining.join(' ')).toMatch(
      /1 client has fields.*1 client only has to drop.*not a date.*without a key/,
    );
    expect(makeReport(tallyOf([v1('z', 90, [])]), options).canSwitchOff).toBe(true);
    expect(makeReport(new Tally(), options).canSwitchOff).toBe(false);
  });

  test('breaks neither CSV nor Markdown, and lets no name be a formula', () => {
    const report = makeReport(tallyOf([v1('c', 0, [UNWRAP])]), {
      ...options,
      names: new Map([['c', '=HYPERLINK("x"),|a|\n']]),
    });
    expect(reportCsv(report)).toContain(String.raw`c,"'=HYPERLINK(""x""),|a|\u000a",unwrap-only`);
    expect(reportMarkdown(report)).toContain(String.raw`\=HYPERLINK\(\"x\"\),\|a\|\\u000a`);
  });

  test('stays bounded whatever the log says', () => {
    const tally = new Tally();
    for (let n = 0; n < 25_000; n += 1) tally.add(v1(`c${n}`, 0, [], { operation: `o${n}` }));
    expect(tally.clients.size).toBe(20_000);
    expect(tally.omittedClients).toBe(5000);
    expect(tally.operations.size).toBe(1000);
  });
});

describe('the census', () => {
  const sent = (status: number, ...names: string[]): Entry =>
    v1('c', 0, [UNWRAP, NEST], { status, attributes: ['/data', ...names.map((name) => `/data${name}`)] });

  test('counts names below the wrapper, and proposes those that were never accepted', () => {
    const census = makeReport(
      tallyOf([
        ...Array.from({ length: 4 }, () =>
          sent(422, '/property', '/property/floor_count', '/legacy', '/property/suburb'),
        ),
        sent(201, '/property', '/property/suburb'),
        v1('c', 0, [UNWRAP]),
      ]),
      options,
    ).census;
    expect([census.sampled, census.exchanges]).toEqual([5, 6]);
    expect(census.rows.find(({ pointer }) => pointer === '/property')).toMatchObject({
      count: 5,
      accepted: 1,
      unprocessable: 4,
    });
    expect(census.rows.find(({ pointer }) => pointer === '/property/suburb')).toMatchObject({
      change: 'property-address',
    });
    expect(census.proposal).toContain('- strip: [legacy]');
    expect(census.proposal).toContain('- strip: [floor_count]\n        in: property');
    expect(census.proposal).not.toContain('suburb');
  });
});

describe('the guide', () => {
  test('shows the calls of one client, before and after, without values', () => {
    const guide = new Guide('3fa9');
    guide.add(
      v1('3fa90000', 0, [UNWRAP, NEST], {
        attributes: ['/data', '/data/property', '/data/property/suburb', '/data/note'],
      }),
    );
    guide.add(v1('ffff', 0, [UNWRAP]));
    const text = guide.markdown(
      [{ id: 'property-address', summary: 'The address is nested.' }],
      '2025-01-01',
      'Harcourts',
    );
    expect(text).toContain('# From V1 to V2: Harcourts');
    expect(text).toContain(
      'POST /api/v2/orders/floor_plans\n\n{\n  "property": {\n    "address": {\n      "suburb": "…"\n    }\n  },\n  "note": "…"\n}',
    );
    expect(text).toContain('- The address is nested.');
    expect(guide.clients).toEqual(['3fa90000']);
  });
});
