import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { LineTally, LogLineReader } from '../../../src/report/tally/tally-lines.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

const encoder = new TextEncoder();

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('"client":"x"', '\\', '"', '{', '}]', '],"edits":[', 'é', '\u2028', '\n'),
);

const anyEntry: fc.Arbitrary<Entry> = fc
  .record({
    n: fc.nat(5000),
    at: fc.nat(4_000_000_000_000),
    path: oddText,
    change: oddText,
    operation: fc.option(oddText, { nil: undefined }),
    more: fc.record(
      {
        mode: fc.constant('canary' as const),
        origin: fc.constant('v1' as const),
        would: fc.record({
          verdict: fc.constant('refused' as const),
          failure: oddText,
          v2: fc.constantFrom('valid' as const, 'invalid' as const),
          at: oddText,
        }),
        failure: oddText,
        status: fc.constant(0),
        upstreamPath: fc.oneof(oddText, fc.constant(undefined)),
        sent: fc.boolean(),
        responseEdits: fc.array(
          fc.record({ change: oddText, rule: fc.constant('alias' as const), from: oddText, path: oddText }),
          { maxLength: 2 },
        ),
        responseWould: fc.array(fc.record({ change: oddText, path: oddText }), { maxLength: 2 }),
        responseNote: fc.constant('response-too-large'),
        errorPointers: fc.array(oddText, { maxLength: 2 }),
        deprecated: fc.array(oddText, { maxLength: 2 }),
        unechoed: fc.array(oddText, { maxLength: 2 }),
      },
      { requiredKeys: ['mode'] },
    ),
    note: fc.option(oddText, { nil: undefined }),
    attributes: fc.array(oddText, { maxLength: 3 }),
  })
  .map(({ n, at, path, change, operation, more, note, attributes }) => ({
    ...sampleEntry(n, at),
    ...more,
    path,
    operation,
    attributes,
    edits: [{ change, rule: 'strip' as const, from: '/a', ...(note === undefined ? {} : { note }) }],
  }));

/** The members that have a value. */
function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

describe('reading a line', () => {
  test('gives the same as parsing the whole line, whatever it contains', () => {
    const reader = new LogLineReader();
    fc.assert(
      fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 5 }), fc.boolean(), (entries, isPlain) => {
        for (const entry of entries) {
          // Other writers, such as an edge worker's console, leave characters beyond ASCII as they are.
          const line = isPlain ? JSON.stringify(entry) : entryLine(entry).trimEnd();
          const bytes = Buffer.from(`\n${line}\n`);
          const read = reader.read(bytes, 1, bytes.length - 1);
          const { time, client, route, operation, verdict, status, edits, apiVersion, attributes } =
            JSON.parse(line) as Entry;
          const { origin, would, failure, method, path: target } = JSON.parse(line) as Entry;
          const { responseEdits, responseWould, responseNote, errorPointers, deprecated, unechoed } =
            JSON.parse(line) as Entry;
          const { upstreamPath, sent } = JSON.parse(line) as Entry;
          const isUnnamed = route !== 'pass' && operation === undefined;
          expect(read).toEqual({
            time,
            client,
            route,
            operation,
            verdict,
            status,
            edits,
            attributes,
            ...(apiVersion === undefined ? {} : { apiVersion }),
            ...defined({ origin, would, failure, responseEdits, responseWould, responseNote }),
            ...defined({ errorPointers, deprecated, unechoed }),
            ...(status === 0 ? defined({ upstreamPath, sent }) : {}),
            ...(isUnnamed ? { method, path: target } : {}),
          });
          // The next piece of a file is read into the same memory.
          bytes.fill(0x20);
        }
      }),
      { numRuns: fuzzRuns(500) },
    );
  });

  test('takes entries with other members, white space and something in front', () => {
    const line = `2026-11-21T10:00:00Z stdout F { "level": 30, "x": {"client":"no","edits":[1]}, ${JSON.stringify(sampleEntry(1, 0)).slice(1)}`;
    const bytes = encoder.encode(line);
    expect(new LogLineReader().read(bytes, 0, bytes.length)).toMatchObject({
      client: sampleEntry(1, 0).client,
    });
  });

  test.each([
    '',
    'hello',
    '{}',
    '{"time":"x"}',
    '[1]',
    '{"time":"2026-11-21T10:00:00.000Z","route":"migrate","status":200,"edits":[]}',
  ])('says that %j is no entry', (line) => {
    const bytes = encoder.encode(line);
    expect(new LogLineReader().read(bytes, 0, bytes.length)).toBeUndefined();
  });

  test('never throws, and takes no cut line for an entry', () => {
    const reader = new LogLineReader();
    const whole = encoder.encode(JSON.stringify(sampleEntry(5, 0)));
    for (let cut = 0; cut < whole.length; cut += 1)
      expect(reader.read(whole.subarray(0, cut), 0, cut)).toBeUndefined();
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
        const broken = whole.slice();
        broken[at] = byte;
        reader.read(broken, 0, broken.length);
        expect(reader.read(whole, 0, whole.length)).toBeDefined();
      }),
      { numRuns: fuzzRuns(1000) },
    );
  });
});

describe('a tally of lines', () => {
  test('equals a tally of the entries, however the bytes are cut into pieces of whole lines', () => {
    const entries = Array.from({ length: 500 }, (_, n) => sampleEntry(n, n * 1_000_000));
    const live = new Tally();
    for (const entry of entries) live.add(entry);
    const read = new Tally();
    const lines = new LineTally(read);
    for (let from = 0; from < entries.length; from += 37) {
      lines.add(
        encoder.encode(
          `${entries
            .slice(from, from + 37)
            .map((entry) => entryLine(entry))
            .join('')}\nno entry\n`,
        ),
      );
    }
    expect(lines.unreadable).toBe(14);
    expect([...read.clients]).toEqual([...live.clients]);
    expect(read.census.result()).toEqual(live.census.result());
    expect([...read.days.keys()]).toEqual([...live.days.keys()]);
  });
});
