import { expect, test } from 'vitest';
import { Figures } from '../../bench/proxies/figures.ts';
import type { Row } from '../../bench/proxies/rows.ts';
import { boundsOfMedian } from '../../bench/statistics.ts';
import { worksOf } from '../../bench/work.ts';

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, k) => k + 1);

test.each([
  // By tables of the sign test: the values that are left out on each side.
  [1, 0],
  [5, 0],
  [6, 0],
  [8, 0],
  [9, 1],
  [11, 1],
  [12, 2],
  [15, 3],
  [20, 5],
  [100, 39],
])('the bounds of the median of %i values leave out %i on each side', (count, outside) => {
  expect(boundsOfMedian(upTo(count).toReversed())).toEqual({ least: outside + 1, most: count - outside });
});

const row: Row = {
  id: '1kb',
  title: '1 KB',
  form: 'plain',
  works: worksOf(1000),
  lanes: 1,
  length: 1,
  goals: { pass: 1, migrate: 1 },
};

function ratioOf(ours: readonly number[], theirs: readonly number[]): ReturnType<Figures['ratio']> {
  const figures = new Figures();
  const all = Object.entries({ ours, theirs });
  for (const [peer, times] of all)
    for (const cpu of times) figures.add(row, 'pass', peer, { cpu, p50: 1, p99: 1, late: 0 });
  return figures.ratio([row, 'pass', 'ours'], [row, 'pass', 'theirs']);
}

test.each([
  ['a machine that is slower for some rounds', [11, 22, 44, 11, 33], [10, 20, 40, 10, 30], [1.1, 1.1, 1.1]],
  // The medians of these are 30 and 10.
  ['medians of other rounds', [10, 30, 30], [10, 10, 40], [1, 0.75, 3]],
  ['one bad round among nine', [11, 11, 99, 11, 11, 11, 11, 11, 11], Array(9).fill(10), [1.1, 1.1, 1.1]],
  ['a peer that was not measured', [11, 11], [], [Number.NaN, Number.NaN, Number.NaN]],
])('a ratio is that of rounds: %s', (_what, ours, theirs, [of, least, most]) => {
  const close = (value = 0): unknown => (Number.isNaN(value) ? Number.NaN : expect.closeTo(value, 9));
  expect(ratioOf(ours, theirs)).toEqual({ of: close(of), least: close(least), most: close(most) });
});
