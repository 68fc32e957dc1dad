import { expect, test } from 'vitest';
import { reportTerminal } from '../../../src/cli/report/report-terminal.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { makeReport, type Report } from '../../../src/report/report.ts';
import { reportMarkdown } from '../../../src/report/report-text.ts';
import { LineTally } from '../../../src/report/tally/tally-lines.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
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

test('a terminal says that it has not all days', () => {
  const days = (number: number): string =>
    reportTerminal(
      reportAt(
        NOW,
        Array.from({ length: number }, (_, day) => line('native', day)),
      ),
      PLAIN,
    );
  expect(days(43)).toContain('… and 3 earlier days; --format json has all.');
  expect(days(40)).not.toContain('earlier');
});

test('a log that has failures only is told, for its gateway may have been told to write no others', () => {
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
    text: 'The log of a.log has failures only, as GATEWAY_REWRITE_LOG_LEVEL=warn makes it: requests without one are not in it. The same applies to 1 more log.',
  });
  expect(JSON.stringify(reportOf(failed, sampleEntry(2, 0)))).not.toContain('failures only');
});

test('entries of the future do not stand for those that a log lacks', () => {
  const ended = LEFT.filter((_, at) => at !== 2 && at !== 3);
  const { switchOff, until, v1, v2 } = reportAt(NOW, [...ended, line('native', -30)]);
  expect(switchOff.verdict).toBe('unknown');
  expect(switchOff.conditions.map(({ text }) => text)).toContain(
    '1 entry is dated after the time of the report, at 2026-12-24T11:30:00.000Z, and left out.',
  );
  expect([until, v1, v2]).toEqual(['2026-11-22T11:30:00.000Z', 2, 58]);
  expect(reportAt(NOW, LEFT).switchOff.verdict).toBe('yes');
});

test('a report of an earlier time names no use of V1 after it', () => {
  const { switchOff, clients } = reportAt(NOW, [...LEFT, line('d', -1), line('d', -2)]);
  expect(clients.map(({ client }) => client)).toEqual(['c']);
  expect(switchOff.conditions.map(({ state }) => state)).toEqual(['met', 'met', 'unknown', 'met']);
  expect(switchOff.conditions[2]?.text).toBe(
    '2 entries are dated after the time of the report, the latest at 2026-11-26T11:30:00.000Z, and left out.',
  );
});

test('a report of a time before the first entry does not say that there are none', () => {
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

test('what is written while a log is read is not of the future', () => {
  const tally = new Tally();
  let clock = Date.parse(NOW);
  const tallied = new LineTally(tally, () => new Date(clock).toISOString());
  const encoder = new TextEncoder();
  tallied.add(encoder.encode(line('c', 0)));
  clock += 86_400_000;
  tallied.add(encoder.encode(line('c', -0.5)));
  expect([tally.v1, tallied.later.count]).toEqual([2, 0]);
});
