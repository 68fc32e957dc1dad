import { afterEach, expect, test, vi } from 'vitest';
import { LimitedLines, openProcessLog, type ProcessLine } from '../../../src/node/log/process-log.ts';
import type { LogSink } from '../../../src/node/log/log-sink.ts';
import { until } from '../../support/until.ts';

afterEach(() => void vi.useRealTimers());

function sinkOf(lines: string[]): Pick<LogSink, 'write'> {
  return { write: (line) => void lines.push(line) };
}

const FAULT: ProcessLine = {
  level: 'warn',
  event: 'upstream-fault',
  message: 'upstream: V2 failed.',
  fields: { cause: 'ECONNREFUSED' },
};

test('JSON is one object a line, with level, time, event, members and sentence', () => {
  const lines: string[] = [];
  openProcessLog(sinkOf(lines), { level: 'info', format: 'json' })(FAULT);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\{.*\}\n$/);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    event: 'upstream-fault',
    cause: 'ECONNREFUSED',
    msg: 'upstream: V2 failed.',
  });
});

test.each([
  ['info', 3],
  ['warn', 2],
  ['error', 1],
  ['silent', 0],
] as const)('level %s writes %i of three lines', (level, count) => {
  const lines: string[] = [];
  const write = openProcessLog(sinkOf(lines), { level, format: 'json' });
  for (const each of ['info', 'warn', 'error'] as const) write({ ...FAULT, level: each });
  expect(lines).toHaveLength(count);
});

test('text is a line with time, level and sentence, and the stack of an error below it', () => {
  const lines: string[] = [];
  const write = openProcessLog(sinkOf(lines), { level: 'info', format: 'text' });
  write(FAULT);
  write({
    level: 'error',
    event: 'unexpected-error',
    message: 'bug: no',
    fields: { stack: 'Error: no\n    at x', repeated: 3 },
  });
  write({ level: 'info', event: 'started', message: 'It serves.', text: 'banner\n  of two lines' });
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z warn upstream: V2 failed\.\n$/);
  expect(lines[1]).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z error bug: no \(3 more like it\)\nError: no\n {4}at x\n$/,
  );
  expect(lines[2]).toBe('banner\n  of two lines\n');
});

// Attack: words of a client or of V2 that reach the log hold escape sequences and line feeds, to steer the terminal or forge a line.
test('quoted text cannot steer the terminal or forge lines', () => {
  const lines: string[] = [];
  const write = openProcessLog(sinkOf(lines), { level: 'info', format: 'text' });
  write({ ...FAULT, message: 'a\u001b[2Jb\nc\u202Ed\u009b' });
  expect(lines[0]).toMatch(/ warn a�\[2Jb�c�d�\n$/);
});

test('repetitions are counted and written as one line: an outage does not fill the log', async () => {
  const lines: ProcessLine[] = [];
  const limited = new LimitedLines((line) => void lines.push(line), 30);
  for (let count = 0; count < 1000; count += 1) limited.add('a', FAULT);
  limited.add('b', FAULT);
  expect(lines).toHaveLength(2);
  await until(() => lines.length === 3);
  expect(lines[2]?.fields).toEqual({ cause: 'ECONNREFUSED', repeated: 999 });
});

test('beyond a number of kinds, all further messages count as one kind', () => {
  const lines: ProcessLine[] = [];
  const limited = new LimitedLines((line) => void lines.push(line), 60_000);
  for (let count = 0; count < 10_000; count += 1) limited.add(`kind ${count}`, FAULT);
  expect(lines.length).toBeLessThan(100);
});

// Attack: a client causes errors whose messages hold a part of its request, so that each is of a new kind.
test('new kinds still count as one kind after some earlier kinds have expired', () => {
  vi.useFakeTimers();
  const lines: ProcessLine[] = [];
  const limited = new LimitedLines((line) => void lines.push(line), 100);
  const add = (count: number): void => limited.add(`kind ${count}`, FAULT);
  for (let count = 0; count < 64; count += 1) add(count);
  // All kinds but the first are repeated, and so watched for longer.
  for (let count = 1; count < 64; count += 1) add(count);
  vi.advanceTimersByTime(150);
  lines.length = 0;
  for (let count = 100; count < 1100; count += 1) add(count);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(lines.map(({ fields }) => fields?.['repeated'])).toEqual([1000]);
});
