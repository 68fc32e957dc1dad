import { expect, test } from 'vitest';
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

// Attack: a line that an attacker put into a log to end the program that reads it.
test('a line that is not an entry, or has members of a wrong type, is not read', () => {
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
  for (const [name, value] of Object.entries(ENTRY))
    expect([name, readEntry({ ...ENTRY, [name]: typeof value === 'number' ? '7' : 7 })]).toEqual([
      name,
      undefined,
    ]);
  const tally = new Tally();
  const lines = new LineTally(tally);
  const time = 'zzzz-zz-zzTzz:zz:zz.zzzZ';
  lines.add(Buffer.from(entryLine({ ...ENTRY, time })));
  const edits = JSON.stringify([{ change: 'c', rule: 'strip', from: 5 }]);
  lines.add(Buffer.from(entryLine({ ...ENTRY, edits: [] }).replace('"edits":[]', `"edits":${edits}`)));
  expect(makeReport(tally, { now: ENTRY.time }).clients).toHaveLength(1);
});

test('a line that a shipper cut to what an exchange needs is an entry', () => {
  const { time, requestId, route, method, path, verdict, status, totalMs, ruleBook } = ENTRY;
  const cut = { time, requestId, route, method, path, verdict, status, totalMs, ruleBook };
  expect(readEntry(cut)).toEqual(cut);
  for (const name of Object.keys(cut))
    expect([name, readEntry({ ...cut, [name]: undefined })]).toEqual([name, undefined]);
});
