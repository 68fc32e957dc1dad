import { expect, test } from 'vitest';
import { OwnGaps } from '../../../src/report/log-gaps.ts';

const START = Date.UTC(2026, 10, 24);
const DAY = 86_400_000;

function clocks(): {
  now: number;
  ticks: number;
  readonly gaps: OwnGaps;
  readonly pass: (ms: number) => void;
} {
  const clock = {
    now: START,
    ticks: 0,
    pass: (ms: number): void => {
      clock.now += ms;
      clock.ticks += ms;
    },
  };
  return Object.assign(clock, {
    gaps: new OwnGaps(
      () => clock.now,
      () => clock.ticks,
    ),
  });
}

test('a clock that is set leaves a gap, and one that drifts does not', () => {
  const clock = clocks();
  for (let hour = 0; hour < 100; hour += 1) {
    clock.pass(DAY / 24);
    clock.now += 50_000;
    expect(clock.gaps.all).toEqual([]);
  }
  const before = clock.now;
  clock.now += 60 * DAY;
  expect(clock.gaps.all).toEqual([
    {
      log: 'clock',
      kind: 'silent',
      from: new Date(before).toISOString(),
      until: new Date(clock.now).toISOString(),
      sentence: `The clock was set 60 days forward at ${new Date(clock.now).toISOString()}.`,
    },
  ]);
  clock.now -= 5 * 3_600_000;
  clock.gaps.checkClock();
  clock.now -= 90_000;
  expect(clock.gaps.all.map(({ sentence }) => sentence.slice(0, 37))).toEqual([
    'The clock was set 60 days forward at ',
    'The clock was set 5 hours back at 202',
    'The clock was set 2 minutes back at 2',
  ]);
});

test('a worker that ended is told, and of many gaps the latest are', () => {
  const { gaps } = clocks();
  gaps.addWorkerEnd(2, START - 1000, 'SIGKILL');
  expect(gaps.all).toEqual([
    {
      log: 'worker 2',
      kind: 'silent',
      from: '2026-11-23T23:59:59.000Z',
      until: '2026-11-24T00:00:00.000Z',
      sentence:
        'Worker 2 ended at 2026-11-24T00:00:00.000Z (SIGKILL), perhaps with counts that it had not reported.',
    },
  ]);
  for (let end = 0; end < 200; end += 1) gaps.addWorkerEnd(3, START, 'exit code 1');
  expect(gaps.all).toHaveLength(100);
  expect(gaps.all[0]?.log).toBe('worker 3');
});
