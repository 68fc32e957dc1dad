import { expect, test } from 'vitest';
import { censusTerminal, reportTerminal } from '../../src/cli/report/report.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { censusMarkdown, reportMarkdown } from '../../src/report/report-text.ts';
import { makeReport, type Report } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { v1TallyEntry } from '../support/v1-tally-entry.ts';

const TIME = '2026-11-20T10:00:00.000Z';

/** A report of so many requests, days, lines, entries and clients beyond what a terminal shows. */
function reportOf(one: number, now: string): Report {
  const tally = new Tally();
  for (let n = 0; n < one; n += 1) tally.add(v1TallyEntry('-', TIME, { attributes: ['/data'] }));
  for (let n = 0; n < 39 + one; n += 1) tally.add(v1TallyEntry(`c${n}`, TIME));
  return makeReport(tally, {
    now,
    goneAfterDays: one,
    unreadable: one,
    logs: Array.from({ length: 20 + one }, (_, n) => ({
      file: `${n}.log`,
      since: TIME,
      until: TIME,
      entries: one,
      unreadable: 0,
      others: 0,
      events: 0,
    })),
  });
}

function textsOf(report: Report): string {
  return [
    reportTerminal(report, PLAIN),
    reportMarkdown(report).replaceAll('\\', ''),
    censusTerminal(report.census, PLAIN),
    censusMarkdown(report.census),
  ].join('\n');
}

test.each([
  [
    1,
    [
      'Skipped: 1 line that is not an entry.',
      '0.log: 1 entry from',
      '… and 1 more client; --format json lists all.',
      '… and 1 more log; --format json lists all.',
      '1 V1 request had no API key, so its client is unknown.',
      'called V1 in the last day:',
      'no call to V1 for 1 day or more',
      'less than 1 day ago.',
    ],
  ],
  [
    2,
    [
      'Skipped: 2 lines that are not entries.',
      '0.log: 2 entries from',
      '… and 2 more clients; --format json lists all.',
      '… and 2 more logs; --format json lists all.',
      '2 V1 requests had no API key, so their clients are unknown.',
      'called V1 in the last 2 days:',
      'no call to V1 for 2 days or more',
      'less than 2 days ago.',
    ],
  ],
])('has singular or plural for %i of everything', (one, sentences) => {
  const text = textsOf(reportOf(one, '2026-11-20T12:00:00.000Z'));
  for (const sentence of sentences) expect(text).toContain(sentence);
  expect(text).not.toMatch(/(?<![\d,V])1 (?:more |V1 )?(?:clients|days|entries|lines|logs|requests|times)\b/);
});

test.each([
  [1, '2026-11-22T10:00:00.000Z', `No V1 request for 1 day: the last one was at ${TIME}.`],
  [2, '2026-11-23T10:00:00.000Z', `No V1 request for 2 days: the last one was at ${TIME}.`],
])('has singular or plural for a silence of %i days', (goneAfterDays, now, sentence) => {
  const tally = new Tally();
  tally.add(v1TallyEntry('c', TIME));
  expect(makeReport(tally, { now, goneAfterDays }).switchOff.conditions[0]?.text).toBe(sentence);
});
