import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { redactTarget } from '../../src/rewrite-log/redact-target.ts';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
const entries = fc
  .record({
    time: fc.constant('2026-11-21T07:00:00.000Z'),
    level: fc.constantFrom('info', 'warn', 'error'),
    requestId: text,
    traceId: optional(fc.constant('a'.repeat(32))),
    spanId: optional(fc.constant('b'.repeat(16))),
    spanOfClient: optional(fc.constant(true)),
    parentSpanId: optional(fc.constant('00f067aa0ba902b7')),
    isSampled: optional(fc.constant(true)),
    client: optional(fc.constant('c'.repeat(16))),
    route: fc.constantFrom('migrate', 'pass', 'none'),
    method: text,
    path: text,
    upstreamPath: optional(text),
    operation: optional(text),
    apiVersion: optional(
      fc.record({ sent: text, why: fc.constantFrom('absent', 'invalid', 'client', 'pin') }),
    ),
    verdict: fc.constantFrom('rewritten', 'unchanged', 'refused', 'passed'),
    edits: fc.array(fc.record({ change: text, rule: fc.constant('strip'), from: text }), { maxLength: 3 }),
    patch: optional(fc.array(fc.record({ op: fc.constant('remove'), path: text }), { maxLength: 3 })),
    note: optional(text),
    bytesIn: fc.nat(),
    bytesOut: fc.nat(),
    responseBytes: fc.nat(),
    status: fc.nat({ max: 999 }),
    upstreamMs: optional(fc.nat()),
    totalMs: fc.nat(),
    rewriteMs: optional(fc.nat()),
    attempts: optional(fc.integer({ min: 2, max: 3 })),
    attributes: optional(fc.array(text, { maxLength: 3 })),
    ruleBook: fc.constant('d'.repeat(16)),
  })
  .map(
    (entry) =>
      Object.fromEntries(
        Object.entries(entry).filter(([, value]) => value !== undefined),
      ) as unknown as Entry,
  );

test('a line is the entry in printable ASCII, whatever the texts are', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      const line = entryLine(entry);
      expect(line).toMatch(/^[ -~]+\n$/);
      expect(JSON.parse(line)).toEqual(entry);
    }),
  );
});

test('times are printed as JSON has them', () => {
  const [base] = fc.sample(entries, 1);
  const times = fc.oneof(
    fc.nat({ max: 2_000_000_000 }).map((count) => Math.round(count) / 1000),
    fc.double({ min: 0, max: 1e22, noNaN: true }),
    fc.constantFrom(0, 0.001, 0.1, 1, 999.999, 1e-7, 1e21, Number.MAX_SAFE_INTEGER),
  );
  fc.assert(
    fc.property(times, (totalMs) => {
      const line = entryLine({ ...base, totalMs, upstreamMs: totalMs } as Entry);
      const text = JSON.stringify(totalMs);
      expect(line).toContain(`"upstreamMs":${text},"totalMs":${text},`);
    }),
    { numRuns: 2000 },
  );
});

test('a failure is logged with its cause and place', () => {
  const [base] = fc.sample(entries, 1);
  const entry = {
    ...base,
    failure: 'malformed-json',
    cause: 'X',
    pointer: '/a',
    position: { offset: 1, line: 1, column: 2 },
  } as Entry;
  expect(JSON.parse(entryLine(entry))).toEqual(entry);
});

describe('query values and user information are not logged', () => {
  test.each([
    ['/api/v1/x', '/api/v1/x'],
    ['/api/v1/x?', '/api/v1/x?'],
    ['/api/v1/x?a=1&b=2&&=c', '/api/v1/x?a=…&b=…&&=…'],
    ['/api/v1/x?secret', '/api/v1/x?…'],
    ['/x?a==b&a=c?d=e', '/x?a=…&a=…'],
    ['http://u:p@h/x?a=1', 'http://…@h/x?a=…'],
    ['//u:p@h/x', '//…@h/x'],
  ])('%s', (target, redacted) => {
    expect(redactTarget(target)).toBe(redacted);
  });

  test('a long target is cut', () => {
    expect(redactTarget(`/${'x'.repeat(5000)}`)).toHaveLength(2049);
  });
});
