import { expect, test } from 'vitest';
import { atClock, clockAhead } from '../../../src/report/fleet/fleet-texts.ts';

const WRITTEN = Date.UTC(2026, 10, 29);

test.each<[what: string, read: number, ahead: number]>([
  ['of the same clock', 0, 0],
  ['that took some seconds', 4999, 0],
  ['of a clock some seconds ahead', -4999, 0],
  ['that took longer, or has another clock', 5000, 5000],
  ['of a clock an hour ahead', -3_600_000, -3_600_000],
])('times of a text %s are compared with one tolerance', (_, read, ahead) => {
  expect(clockAhead(WRITTEN + read, WRITTEN)).toBe(ahead);
  const run = { id: 'a', name: 'a', since: WRITTEN - 2, at: WRITTEN - 1, hasStopped: true, formerIds: [] };
  const runs = { clock: WRITTEN, first: WRITTEN - 3, runs: [run] };
  expect(atClock(runs, WRITTEN + read, WRITTEN + 9000)).toEqual({
    clock: WRITTEN + 9000,
    first: WRITTEN - 3 + ahead,
    runs: [{ ...run, since: run.since + ahead, at: run.at + ahead }],
  });
});
