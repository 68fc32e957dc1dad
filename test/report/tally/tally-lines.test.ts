import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reportTerminal } from '../../../src/cli/report/report.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { reportMarkdown } from '../../../src/report/report-text.ts';
import { makeReport, type Report } from '../../../src/report/report.ts';
import { LineTally, LogLineReader } from '../../../src/report/tally/tally-lines.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { CODE_POINT } from '../../support/code-point.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { v1TallyEntry } from '../../support/v1-tally-entry.ts';

const NOW = '2026-11-24T11:30:00.000Z';

const encoder = new TextEncoder();

/** A line of a client's request, or of native traffic, so many days before `NOW`. */
function line(client: string, daysAgo: number): string {
  const time = new Date(Date.parse(NOW) - daysAgo * 86_400_000).toISOString();
  const more = client === 'native' ? { route: 'pass' as const, verdict: 'passed' as const } : {};
  return `${JSON.stringify(v1TallyEntry(client, time, more))}\n`;
}

function reportAt(now: string, lines: readonly string[]): Report {
  const tally = new Tally();
  const tallied = new LineTally(tally, () => now);
  tallied.add(new TextEncoder().encode(lines.join('')));
  return makeReport(tally, { now, later: tallied.later });
}

/** A client that left V1 in time, and native traffic on each day. */
const LEFT = [line('c', 60), line('c', 45), ...Array.from({ length: 60 }, (_, day) => line('native', day))];

test('a report on a terminal says that it does not show all days', () => {
  const days = (number: number): string =>
    reportTerminal(
      reportAt(
        NOW,
        Array.from({ length: number }, (_, day) => line('native', day)),
      ),
      PLAIN,
    );
  expect(days(43)).toContain('… and 3 earlier days; --format json lists all.');
  expect(days(40)).not.toContain('earlier');
});

test('a log with only failures is mentioned, because its gateway may have been set to write no other entries', () => {
  const failed = { ...sampleEntry(1, 0), verdict: 'refused', failure: 'malformed-json' } as const;
  const reportOf = (...entries: readonly Entry[]): Report => {
    const tally = new Tally();
    const lines = new LineTally(tally);
    for (const file of ['a.log', 'a.log.1', 'b.log'])
      for (const entry of entries) lines.add(encoder.encode(entryLine(entry)), file);
    return makeReport(tally, { now: '2026-11-24T12:00:00.000Z', withoutInfo: lines.withoutInfo });
  };
  expect(reportOf(failed).switchOff.conditions.at(-1)).toEqual({
    state: 'unknown',
    text: 'The log of a.log has only failures, as if filtered by level: other requests are not in it. The same applies to 1 more log.',
  });
  expect(JSON.stringify(reportOf(failed, sampleEntry(2, 0)))).not.toContain('failures only');
});

test('future entries do not hide entries that a log lacks', () => {
  const ended = LEFT.filter((_, at) => at !== 2 && at !== 3);
  const { switchOff, until, v1, v2 } = reportAt(NOW, [...ended, line('native', -30)]);
  expect(switchOff.verdict).toBe('unknown');
  expect(switchOff.conditions.map(({ text }) => text)).toContain(
    '1 entry is dated after the time of the report, at 2026-12-24T11:30:00.000Z, and left out.',
  );
  expect([until, v1, v2]).toEqual(['2026-11-22T11:30:00.000Z', 2, 58]);
  expect(reportAt(NOW, LEFT).switchOff.verdict).toBe('yes');
});

test('a report as of an earlier time names no later use of V1', () => {
  const { switchOff, clients } = reportAt(NOW, [...LEFT, line('d', -1), line('d', -2)]);
  expect(clients.map(({ client }) => client)).toEqual(['c']);
  expect(switchOff.conditions.map(({ state }) => state)).toEqual(['met', 'met', 'unknown', 'met']);
  expect(switchOff.conditions[2]?.text).toBe(
    '2 entries are dated after the time of the report, the latest at 2026-11-26T11:30:00.000Z, and left out.',
  );
});

test('a report as of a time before the first entry does not say that the log is empty', () => {
  const report = reportAt(NOW, [line('d', -1)]);
  const sentence =
    '1 entry is dated after the time of the report, at 2026-11-25T11:30:00.000Z, and left out.';
  expect(reportTerminal(report, PLAIN)).toBe(
    `No V1 request was seen yet. ${sentence} The log has no other entries.\n`,
  );
  expect(reportMarkdown(report).replaceAll('\\', '')).toContain(`- not known: ${sentence}`);
  expect(reportTerminal(reportAt(NOW, []), PLAIN)).toBe(
    'No V1 request was seen yet. The log has no entries.\n',
  );
});

test('entries that are written while the log is read do not count as future ones', () => {
  const tally = new Tally();
  let clock = Date.parse(NOW);
  const tallied = new LineTally(tally, () => new Date(clock).toISOString());
  const encoder = new TextEncoder();
  tallied.add(encoder.encode(line('c', 0)));
  clock += 86_400_000;
  tallied.add(encoder.encode(line('c', -0.5)));
  expect([tally.v1, tallied.later.count]).toEqual([2, 0]);
});

const oddText = fc.oneof(
  fc.string({ unit: CODE_POINT, maxLength: 20 }),
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
        comparison: fc.record({
          verdict: fc.constantFrom('same' as const, 'different' as const),
          differences: fc.array(fc.record({ path: oddText, kind: fc.constant('value' as const) })),
          noise: fc.nat(9),
          extra: fc.nat(9),
        }),
        failure: fc.oneof(oddText, fc.constant('brownout')),
        note: oddText,
        status: fc.constant(0),
        upstreamPath: fc.oneof(oddText, fc.constant(undefined)),
        sent: fc.boolean(),
        responseEdits: fc.array(
          fc.record(
            {
              change: oddText,
              rule: fc.constant('alias' as const),
              from: oddText,
              path: oddText,
              header: oddText,
            },
            { requiredKeys: ['change', 'rule'] },
          ),
          { maxLength: 2 },
        ),
        responseWould: fc.array(fc.record({ change: oddText, path: oddText }), { maxLength: 2 }),
        responseNote: fc.constant('response-too-large'),
        cause: oddText,
        incomplete: fc.constant(true as const),
        totalMs: fc.oneof(
          fc.nat(100_000_000).map((us) => us / 1000),
          fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
        ),
        upstreamMs: fc.nat(100_000_000).map((us) => us / 1000),
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

/** The members that a report needs of each entry. */
const KEPT = [
  'time client route operation verdict status edits attributes apiVersion origin would failure',
  'responseEdits responseWould responseNote errorPointers deprecated unechoed comparison ruleBook',
  'cause incomplete totalMs upstreamMs mode',
].flatMap((names) => names.split(' '));

describe('reading a line', () => {
  test.each([false, true])(
    'gives the same as parsing the whole line, for any content (all paths: %s)',
    (isAll) => {
      const reader = new LogLineReader(isAll);
      fc.assert(
        fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 5 }), fc.boolean(), (entries, isPlain) => {
          for (const entry of entries) {
            // Other writers, such as an edge worker's console, leave characters beyond ASCII as they are.
            const line = isPlain ? JSON.stringify(entry) : entryLine(entry).trimEnd();
            const bytes = Buffer.from(`\n${line}\n`);
            const read = reader.read(bytes, 1, bytes.length - 1);
            const whole = JSON.parse(line) as Entry;
            const names = new Set<string>([
              ...KEPT,
              'upstreamPath',
              ...(whole.status === 0 ? ['sent'] : []),
              'note',
              ...(whole.route !== 'pass' && (isAll || whole.operation === undefined)
                ? ['method', 'path']
                : []),
            ]);
            // The path itself is needed only where the client got no response.
            const kept = Object.entries(whole).map(
              ([name, value]) => [name, name === 'upstreamPath' && whole.status !== 0 ? '' : value] as const,
            );
            expect(read).toEqual(Object.fromEntries(kept.filter(([name]) => names.has(name))));
            // The next piece of a file is read into the same memory.
            bytes.fill(0x20);
          }
        }),
        { numRuns: fuzzRuns(500) },
      );
    },
  );

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
  const entry = entryLine(sampleEntry(3, 1_000_000)).trim();
  test.each([
    ['> shop@1.0.0 start', 'others'],
    ['npm warn deprecated uuid@3.4.0', 'others'],
    ['    at Object.<anonymous> (/srv/app.js:3:9) {', 'others'],
    ['{"level":30,"time":1795330800000,"pid":7,"msg":"another program"}', 'others'],
    ['10.0.0.7 - - [22/Nov/2026:07:00:00 +0000] "GET / HTTP/1.1" 200 5', 'others'],
    ['{"level":"info","time":"2026-11-22T07:00:00.000Z","event":"ready"}', 'events'],
    [entry.slice(0, 20), 'unreadable'],
    [entry.slice(0, 40), 'unreadable'],
    [entry.slice(0, 300), 'unreadable'],
    [entry.slice(-100), 'unreadable'],
    [JSON.stringify(entry).slice(1, 200), 'unreadable'],
    [entry.replace('"edits":', '"edits":{'), 'unreadable'],
    ['{"MESSAGE":null,"_PID":"12"}', 'unreadable'],
  ] as const)('%s: %s', (line, kind) => {
    const lines = new LineTally(new Tally());
    lines.begin('a.log');
    lines.add(encoder.encode(`${line}\n`), 'a.log');
    const none = { entries: 0, unreadable: 0, others: 0, events: 0 };
    expect(lines.coverage).toEqual([{ ...none, file: 'a.log', [kind]: 1 }]);
  });

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
    expect(lines.others).toBe(14);
    expect([...read.clients]).toEqual([...live.clients]);
    expect(read.census.result()).toEqual(live.census.result());
    expect([...read.days.keys()]).toEqual([...live.days.keys()]);
  });
});
