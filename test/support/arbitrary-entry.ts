import * as fc from 'fast-check';
import type { Entry } from '../../src/rewrite-log/entry.ts';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });

/** An entry with any texts and lists. */
export const arbitraryEntry: fc.Arbitrary<Entry> = fc
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
    responseEdits: optional(fc.array(fc.record({ change: text, path: text }), { maxLength: 3 })),
    responsePatch: optional(fc.array(fc.record({ op: fc.constant('remove'), path: text }), { maxLength: 3 })),
    attributes: optional(fc.array(text, { maxLength: 3 })),
    ruleBook: fc.constant('d'.repeat(16)),
  })
  .map(
    (entry) =>
      Object.fromEntries(
        Object.entries(entry).filter(([, value]) => value !== undefined),
      ) as unknown as Entry,
  );
