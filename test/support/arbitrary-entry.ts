import * as fc from 'fast-check';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { CODE_POINT } from './code-point.ts';

const text = fc.string({ unit: CODE_POINT, maxLength: 20 });
const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });

/** Members that an entry has only with a mode. */
const rollout = fc.record({
  mode: fc.constantFrom('observe', 'canary', 'shadow'),
  origin: optional(fc.constant('v1')),
  would: optional(fc.record({ verdict: fc.constant('refused'), failure: text, pointer: text })),
});

/** Members that an entry has only with a failure. */
const failure = fc.record({
  failure: text,
  cause: optional(text),
  pointer: optional(text),
  position: optional(fc.record({ offset: fc.nat(), line: fc.nat(), column: fc.nat() })),
});

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
    route: fc.constantFrom('migrate', 'pass', 'webhook', 'none'),
    side: optional(fc.constantFrom('v1', 'v2', 'neither')),
    method: text,
    path: text,
    upstreamMethod: optional(text),
    upstreamPath: optional(text),
    upstreamStatus: optional(fc.nat({ max: 999 })),
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
    heldMs: optional(fc.nat()),
    editsOmitted: optional(fc.nat()),
    responseEditsOmitted: optional(fc.nat()),
    responseNote: optional(fc.constant('response-too-large')),
    responseWould: optional(fc.array(fc.record({ change: text, from: text, path: text }), { maxLength: 3 })),
    errorPointers: optional(fc.array(text, { maxLength: 3 })),
    deprecated: optional(fc.array(text, { maxLength: 3 })),
    unechoed: optional(fc.array(text, { maxLength: 3 })),
    sent: optional(fc.boolean()),
    incomplete: optional(fc.constant(true)),
    responseEdits: optional(fc.array(fc.record({ change: text, path: text }), { maxLength: 3 })),
    responsePatch: optional(fc.array(fc.record({ op: fc.constant('remove'), path: text }), { maxLength: 3 })),
    attributes: optional(fc.array(text, { maxLength: 3 })),
    ruleBook: fc.constant('d'.repeat(16)),
    rollout: optional(rollout),
    failed: optional(failure),
  })
  .map(
    ({ rollout: chosen, failed, ...entry }) =>
      Object.fromEntries(
        Object.entries({ ...entry, ...chosen, ...failed }).filter(([, value]) => value !== undefined),
      ) as unknown as Entry,
  );
