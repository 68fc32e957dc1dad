import { expect, test } from 'vitest';
import { parseEntry } from '../../src/node/log/log-files.ts';
import { LineTally } from '../../src/report/tally/tally-lines.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { readEntry } from '../../src/rewrite-log/read-entry.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const ENTRY: Entry = {
  ...sampleEntry(1, Date.UTC(2026, 10, 1)),
  responseEdits: [{ change: 'highlight-type', rule: 'alias', path: '/data/transition_type' }],
  responseNote: 'response-too-large',
};

/** The line as gateways before the renaming wrote it. */
const OLD_LINE = entryLine(ENTRY)
  .replace('"responseEdits"', '"answerEdits"')
  .replace('"responseBytes"', '"answerBytes"')
  .replace('"responseNote":"response-', '"answerNote":"answer-');

test('a line of an older gateway is read as one of now', () => {
  expect(OLD_LINE).toContain('"answerNote":"answer-too-large"');
  expect(OLD_LINE).not.toContain('"response');
  expect(parseEntry(OLD_LINE)).toEqual(parseEntry(entryLine(ENTRY)));
});

test('a report of old lines is the report of new ones', () => {
  const reportOf = (line: string): unknown => {
    const tally = new Tally();
    const lines = new LineTally(tally);
    lines.add(Buffer.from(line));
    return makeReport(tally, { now: ENTRY.time, unreadable: lines.unreadable });
  };
  expect(reportOf(OLD_LINE)).toEqual(reportOf(entryLine(ENTRY)));
  expect(reportOf(OLD_LINE)).toMatchObject({ entries: 1, unreadable: 0 });
});

// Attack: a line that somebody put into a log, to end the program that reads it.
test('a line that is no entry, or has members of a wrong kind, is not read', () => {
  for (const wrong of [
    null,
    7,
    'x',
    [],
    {},
    { ...ENTRY, client: 7 },
    { ...ENTRY, operation: {} },
    { ...ENTRY, edits: [1] },
    { ...ENTRY, edits: [{ change: 'c', rule: 'strip', from: 5 }] },
    { ...ENTRY, responseEdits: 'x' },
    { ...ENTRY, responseEdits: [{ change: 'c', rule: 'alias', path: 5 }] },
    { ...ENTRY, responseWould: [{ change: 'c' }] },
    { ...ENTRY, attributes: null },
    { ...ENTRY, errorPointers: 5 },
    { ...ENTRY, deprecated: [5] },
    { ...ENTRY, apiVersion: 7 },
    { ...ENTRY, traceId: 7 },
    { ...ENTRY, responseNote: 7 },
    { ...ENTRY, comparison: { verdict: 'different', differences: [1] } },
  ])
    expect(readEntry(wrong)).toBeUndefined();
  const tally = new Tally();
  const lines = new LineTally(tally);
  const time = 'zzzz-zz-zzTzz:zz:zz.zzzZ';
  lines.add(Buffer.from(entryLine({ ...ENTRY, time })));
  const edits = JSON.stringify([{ change: 'c', rule: 'strip', from: 5 }]);
  lines.add(Buffer.from(entryLine({ ...ENTRY, edits: [] }).replace('"edits":[]', `"edits":${edits}`)));
  expect(makeReport(tally, { now: ENTRY.time }).clients).toHaveLength(1);
});
