import { describe, expect, test } from 'vitest';
import { reportTerminal } from '../../../src/cli/report/report.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import type { ClientReport } from '../../../src/report/client-report.ts';
import { FieldReader, packClient, readClient } from '../../../src/report/fleet/client-shard.ts';
import { digestMarkdown, digests } from '../../../src/report/guide/guide-text.ts';
import { reportCsv, reportMarkdown } from '../../../src/report/report-text.ts';
import { makeReport, type Report } from '../../../src/report/report.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { BodyCheckCounts } from '../../../src/report/tally/outcomes.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import { v1TallyEntry } from '../../support/v1-tally-entry.ts';

const NOW = '2026-11-21T12:00:00.000Z';
const UNWRAP = { change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' } as const;
const REFUSED = { status: 422, errorPointers: ['/zip'] };

function on(day: number, more: Partial<TallyEntry> = {}): TallyEntry {
  return v1TallyEntry('c', `2026-11-${String(day).padStart(2, '0')}T10:00:00.000Z`, {
    edits: [UNWRAP],
    ...more,
  });
}

function tallyOf(entries: readonly TallyEntry[]): Tally {
  const tally = new Tally();
  for (const entry of entries) tally.add(entry);
  return tally;
}

function reportOf(...entries: readonly TallyEntry[]): Report {
  return makeReport(tallyOf(entries), { now: NOW });
}

function clientOf(...entries: readonly TallyEntry[]): Pick<ClientReport, 'class' | 'refusals'> | undefined {
  return reportOf(...entries).clients[0];
}

describe('a client with requests that V2 refuses', () => {
  const at = 'V2 did not accept the last create_client: 422 at /zip.';

  test.each([
    ['each, at a member', 'field-work', [at], [on(20, REFUSED), on(21, REFUSED)]],
    ['each, with flat bodies', 'field-work', [at], [on(21, { ...REFUSED, edits: [] })]],
    [
      'each, without a place',
      'blocked',
      ['V2 did not accept the last create_client: 400.'],
      [on(21, { status: 400 })],
    ],
    ['the last ones', 'unknown', [at], [on(19), on(20, REFUSED), on(21, REFUSED)]],
    ['those before the last one', 'unwrap-only', [], [on(20, REFUSED), on(21)]],
    ['those of long ago', 'unwrap-only', [], [on(1, { ...REFUSED, operation: 'a' }), on(21)]],
    ['one call, not another', 'field-work', [at], [on(20, REFUSED), on(21, { operation: 'create_contact' })]],
    ['a resource that is not there, now and then', 'unwrap-only', [], [on(20), on(21, { status: 404 })]],
    [
      'a resource that is never there',
      'unknown',
      ['V2 did not accept the last create_client: 404.'],
      [on(20, { status: 404 }), on(21, { operation: 'create_contact' })],
    ],
    [
      'each, which moves members as well',
      'field-work',
      [at],
      [on(21, { ...REFUSED, edits: [{ ...UNWRAP, rule: 'rename' }] })],
    ],
  ] as const)('%s: %s', (_which, expected, refusals, entries) => {
    expect(clientOf(...entries)).toMatchObject({ class: expected, refusals });
    expect(clientOf(...entries.toReversed())).toMatchObject({ class: expected, refusals });
  });

  test('has its refusals mentioned everywhere its work is mentioned', () => {
    const report = reportOf(on(20, REFUSED), on(21, REFUSED));
    expect(report.remaining).toEqual(['1 client has fields to change.']);
    const digest = digests(report, []);
    const texts = [
      reportTerminal(report, PLAIN),
      reportMarkdown(report).replaceAll('\\', ''),
      reportCsv(report),
      digestMarkdown(digest).replaceAll('\\', ''),
    ];
    for (const text of texts) {
      expect(text).toContain(at);
      expect(text).not.toMatch(/Only the|unwrap only 1|only has/);
    }
  });

  test('has refusals of five calls listed, and further ones counted', () => {
    const report = reportOf(
      ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((operation) => on(21, { ...REFUSED, operation })),
    );
    expect(report.clients[0]?.refusals.slice(4)).toEqual([
      'V2 did not accept the last e: 422 at /zip.',
      'The same applies to 2 more calls.',
    ]);
  });

  test('has refusals by V1 and by the gateway not mentioned', () => {
    const [observed, failed] = [
      { origin: 'v1' as const, would: { verdict: 'rewritten' as const } },
      { failure: 'bad-gateway' },
    ];
    expect(clientOf(on(20), on(21, { ...observed, ...REFUSED }))?.refusals).toEqual([]);
    expect(clientOf(on(20), on(21, { ...failed, status: 502 }))?.refusals).toEqual([]);
    expect(clientOf(on(21, { ...failed, status: 502 }))).toMatchObject({ class: 'unknown', refusals: [] });
  });
});

test.each([
  ['field-work', { v2: 'invalid', at: '/zip' }, 201],
  ['unwrap-only', { v2: 'valid' }, 201],
  // V1 refuses it as well: nothing shows what would be accepted.
  ['unknown', { v2: 'invalid', at: '/zip' }, 422],
] as const)(
  "a client with bodies that only V1 accepts is %s by V2's schema: %j, %i",
  (expected, check, status) => {
    const entry = on(21, {
      origin: 'v1',
      would: { verdict: 'rewritten', ...check },
      responseWould: [],
      status,
    });
    expect(clientOf(entry)?.class).toBe(expected);
  },
);

test('a body that is no JSON is a mistake, whoever refuses it', () => {
  const malformed = (more: Partial<TallyEntry>): TallyEntry =>
    on(21, { edits: [], note: 'malformed-json', status: 400, ...more });
  const mistakes = (more: Partial<TallyEntry>): readonly string[] | undefined =>
    reportOf(malformed(more)).clients[0]?.mistakes.map(({ code }) => code);
  expect(mistakes({})).toEqual(['malformed-json']);
  expect(mistakes({ origin: 'v1' })).toEqual(['malformed-json']);
  expect(mistakes({ note: undefined, verdict: 'refused', failure: 'malformed-json' })).toEqual([
    'malformed-json',
  ]);
  expect(mistakes({ status: 201 })).toEqual([]);
  expect(mistakes({ status: 502, failure: 'upstream-unreachable' })).toEqual([]);
});

test('a client has its failures beside its refusals, in every format, from a record as well', () => {
  const entries = [on(20), on(21, REFUSED), on(21, { verdict: 'refused', failure: 'brownout', status: 410 })];
  const [packed] = tallyOf(entries).clients.values();
  const read = readClient(new FieldReader(JSON.parse(JSON.stringify(packClient(packed ?? fail())))));
  expect([read.failed, read.refused]).toEqual([1, 1]);
  const report = reportOf(...entries);
  expect(report.clients[0]).toMatchObject({ v1: 3, failed: 1, refused: 1 });
  expect(reportTerminal(report, PLAIN)).toMatch(
    /to V1's address +share +failed +refused .*\nc .* 3 +100 % +1 +1 /,
  );
  expect(reportMarkdown(report)).toMatch(/\| to V2's address \| failed \| refused \|/);
  expect(reportCsv(report)).toMatch(/,failed\r\n.*,1\r\n$/s);
});

test('a record of a version without refusals is read', () => {
  const packed: unknown = JSON.parse(
    JSON.stringify(packClient(tallyOf([on(21, REFUSED)]).clients.get('c') ?? fail())),
  );
  const earlier = (Array.isArray(packed) ? packed : []).map((field: unknown, at) =>
    at === CALLS && Array.isArray(field) ? field.map((call: unknown[]) => call.slice(0, -5)) : field,
  );
  const read = readClient(new FieldReader(earlier));
  expect(read.calls.get('create_client')).toMatchObject({ count: 1, v2: { lastRefused: '' } });
  expect(read.outcomes.all.size).toBe(1);
});

/** Place of the calls in a record. */
const CALLS = 11;

function fail(): never {
  throw new Error('no such client');
}

test('the checks of a client count until rules change, not when dates do', () => {
  const checks = new BodyCheckCounts();
  const run = (ruleBook: string, minute: number): void =>
    checks.add('make', {
      ...v1TallyEntry('c', `2026-11-20T12:0${minute}:00.000Z`),
      ruleBook,
      origin: 'v1',
      would: { verdict: 'rewritten', v2: 'invalid', at: '/a' },
    });
  const counted = (ruleBook: string): number | undefined => checks.under(ruleBook).get('make')?.invalid;
  run('0123456700000000', 1);
  run('01234567ffffffff', 2);
  expect([counted('0123456700000000'), counted('01234567ffffffff'), counted('7654321000000000')]).toEqual([
    2,
    2,
    undefined,
  ]);
});
