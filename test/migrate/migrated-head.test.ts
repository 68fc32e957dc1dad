import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptedCodings, ALL_CODINGS } from '../../src/http/content.ts';
import { writeFieldLines } from '../../src/http/field-lines.ts';
import { readHead, readHeadLines } from '../../src/http/request-head.ts';
import { type HeadMigration, MigratedHead, migrateHead } from '../../src/migrate/decision.ts';
import { arbitraryLines } from '../support/field-lines.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const LIMITS = { count: 100, bytes: 16_384 };
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const migrations: fc.Arbitrary<HeadMigration> = fc.record({
  version: fc.constantFrom({ sent: '2025-01-01', why: 'absent' }, { sent: '2024-06-30', why: 'client' }),
  isRewritten: fc.boolean(),
  requestId: fc.constantFrom(undefined, '0192f0c1-5b1e-7c4a-8f2d-3a9b1c2d4e5f'),
  hasTrace: fc.boolean(),
  traceparent: fc.constantFrom(undefined, TRACEPARENT),
  codings: fc.constantFrom(undefined, ALL_CODINGS),
});

function migrated(lines: readonly string[], migration: Partial<HeadMigration>): readonly string[] {
  const usual: HeadMigration = {
    version: { sent: '2025-01-01', why: 'absent' },
    isRewritten: true,
    hasTrace: true,
  };
  return new MigratedHead(readHead(lines, LIMITS, false), { ...usual, ...migration }).forwardedHeaders;
}

test('what a migrated request sends as lines is what it sends as a list', () => {
  let known = 0;
  fc.assert(
    fc.property(arbitraryLines, fc.boolean(), migrations, (received, isTrusted, migration) => {
      const ofLines = new MigratedHead(readHeadLines(received, LIMITS, isTrusted, 0), migration);
      const ofList = new MigratedHead(readHead(received.fields, LIMITS, isTrusted), migration);
      expect(ofLines.forwardedHeaders).toEqual(ofList.forwardedHeaders);
      expect(ofList.forwardedLines).toBeUndefined();
      if (ofLines.forwardedLines === undefined) return;
      known += 1;
      expect(ofLines.forwardedLines).toBe(writeFieldLines(ofList.forwardedHeaders));
    }),
    { numRuns: fuzzRuns(3000) },
  );
  expect(known).toBeGreaterThan(fuzzRuns(500));
});

test('the version, the id and the trace of the gateway replace those that are refused, in their places', () => {
  const received = [
    'X-Api-Version',
    'yesterday',
    'X-Request-ID',
    'a b',
    'Traceparent',
    'junk',
    'Tracestate',
    'a=1',
    'Accept',
    '*/*',
  ];
  const set = { requestId: 'id-1', hasTrace: false, traceparent: TRACEPARENT };
  expect(migrated(received, set)).toEqual([
    'X-Api-Version',
    '2025-01-01',
    'X-Request-ID',
    'id-1',
    'Traceparent',
    TRACEPARENT,
    'Accept',
    '*/*',
  ]);
});

test("the client's own version, id and trace stay as they came", () => {
  const version = { sent: '2024-06-30', why: 'client' } as const;
  const trace = ['traceparent', TRACEPARENT.replace('-01', '-00'), 'tracestate', 'a=1'];
  const received = ['X-Api-Version', '2024-06-30', 'x-request-id', 'mine', ...trace];
  const set = { version, requestId: 'id-1', hasTrace: true, traceparent: TRACEPARENT };
  expect(migrated(received, set)).toEqual(received);
});

test('fields that describe the body that came are left out where another one is sent', () => {
  const received = [
    'Content-MD5',
    'x',
    'Repr-Digest',
    'y',
    'Content-Encoding',
    'gzip',
    'Content-Type',
    'a/b',
  ];
  const version = { sent: '2024-06-30', why: 'client' } as const;
  expect(migrated(received, { version })).toEqual(['Content-Type', 'a/b']);
  expect(migrated(received, { version, isRewritten: false })).toEqual(received);
});

// Otherwise a client that takes zstd, as browsers do, would read V2's names.
test.each([
  ['gzip, deflate', 'gzip, deflate'],
  ['gzip;q=0.5, br , X-GZIP, identity;q=0', 'gzip;q=0.5, br , X-GZIP, identity;q=0'],
  ['gzip;q=0.5, X-GZIP, identity;q=0, *', 'gzip;q=0.5, X-GZIP, identity;q=0, deflate, br'],
  ['*', 'gzip,deflate,br'],
  ['*;q=0.5, zstd', 'gzip;q=0.5,deflate;q=0.5,br;q=0.5'],
  ['br;q=0, * ;q=0.1', 'br;q=0, gzip ;q=0.1, deflate ;q=0.1'],
  ['identity, *;q=0', 'identity, *;q=0'],
  ['gzip, deflate;q=0.3, br, *', 'gzip, deflate;q=0.3, br'],
  ['gzip, deflate, br, zstd', 'gzip, deflate, br'],
  ['zstd;q=1.0, GZIP;q=0.8', 'GZIP;q=0.8'],
  ['compress,zstd', 'identity'],
  ['zstd, *;q=0', 'identity'],
  ['zstd, identity;q=0.0 , gzip; q=0', 'identity'],
  ['zstd, gzip;q=0.5, *;q=0', 'gzip;q=0.5, *;q=0'],
  ['*,*, gzip, *;q=0', 'deflate,br, gzip'],
  ['*;q=0, *, zstd', 'identity'],
  ['', ''],
])('of the codings %j V2 is asked for %j where its response may be rewritten', (accepted, asked) => {
  expect(acceptedCodings(accepted, ALL_CODINGS)).toBe(asked);
  const received = ['accept-encoding', accepted, 'A', 'b'];
  const version = { sent: '2024-06-30', why: 'client' } as const;
  expect(migrated(received, { version, codings: ALL_CODINGS })).toEqual(['accept-encoding', asked, 'A', 'b']);
  expect(migrated(received, { version })).toEqual(received);
});

// Attack: `*` may stand for each coding that no other member names. In quadratic time this test does not end.
test.each(['*,', '*;q=0,', 'zstd,', ',', ' ,', ';', 'gzip;', 'gzip, ', 'gzip;q=1 ', '*'])(
  'an Accept-Encoding of a million of %j is read in one pass, and does not grow',
  (member) => {
    const accepted = member.repeat(1_000_000);
    expect(acceptedCodings(accepted, ALL_CODINGS).length).toBeLessThanOrEqual(accepted.length);
  },
);

test('a part is asked for only where the response is not rewritten: it would be one of another body', () => {
  const received = ['Range', 'bytes=0-9', 'If-Range', '"v7"', 'A', 'b'];
  const version = { sent: '2024-06-30', why: 'client' } as const;
  expect(migrated(received, { version, codings: ALL_CODINGS })).toEqual(['A', 'b']);
  expect(migrated(received, { version })).toEqual(received);
});

// The gateway weakens V2's tag where it rewrites the body; V2 would carry out no request that names the weak one.
test.each([
  ['W/"v7"', '"v7"'],
  ['"v6", W/"v7",W/""', '"v6", "v7",""'],
  ['"a,W/"', '"a,W/"'],
  ['*', '*'],
  ['W/v7', 'W/v7'],
])('a request that is to match %s asks V2 for %s', (received, sent) => {
  const version = { sent: '2024-06-30', why: 'client' } as const;
  expect(migrated(['If-Match', received, 'If-None-Match', 'W/"v7"'], { version })).toEqual([
    'If-Match',
    sent,
    'If-None-Match',
    'W/"v7"',
  ]);
});

test('a runtime that reads fewer codings asks for fewer, and several fields become one', () => {
  expect(acceptedCodings('gzip, br', ['gzip', 'deflate'])).toBe('gzip');
  const received = ['Accept-Encoding', 'zstd', 'A', 'b', 'Accept-Encoding', 'br'];
  const version = { sent: '2024-06-30', why: 'client' } as const;
  expect(migrated(received, { version, codings: ALL_CODINGS })).toEqual(['Accept-Encoding', 'br', 'A', 'b']);
});

// RFC 9110 §9.3.2: its fields are those of the GET.
test.each([
  ['/orders/post_productions', 'identity'],
  ['/images/1', 'zstd'],
])(
  'of the codings that a client takes, V2 is asked for those of %s by HEAD as by GET: %s',
  async (rest, asked) => {
    const rules = await compiledShippedRuleBook();
    const head = readHead(['Accept-Encoding', 'zstd', 'X-Api-Version', '2025-01-01'], LIMITS, false);
    for (const method of ['GET', 'HEAD']) {
      const request = { method, rest, operation: rules.match(method, rest) };
      const { fields } = migrateHead(head, {
        rules,
        request,
        now: Date.now(),
        isRewritten: false,
        hasTrace: true,
      });
      expect(fields.forwardedHeaders.slice(0, 2)).toEqual(['Accept-Encoding', asked]);
    }
  },
);
