import { expect, test } from 'vitest';
import { IdleLimit } from '../../../src/node/upstream/pool.ts';

function limitAfter(...ages: readonly number[]): number {
  const idleLimit = new IdleLimit();
  for (const age of ages) idleLimit.closed(age, 0);
  return idleLimit.ms;
}

test('without a closing there is no limit; with one it is four fifths of it', () => {
  expect(limitAfter()).toBe(Number.POSITIVE_INFINITY);
  expect(limitAfter(5000)).toBe(4000);
});

test('of servers that look at their timers now and then the shortest life counts', () => {
  expect(limitAfter(3000, 2100, 2700)).toBe(1680);
});

test('a restart, which closes connections of any age, says nothing', () => {
  expect(limitAfter(5000, 10, 0, 300)).toBe(4000);
});

test('is forgotten after a while, for V2 may keep connections longer by now', () => {
  const idleLimit = new IdleLimit();
  idleLimit.closed(2000, 0);
  idleLimit.update(599_999);
  expect(idleLimit.ms).toBe(1600);
  idleLimit.update(600_000);
  expect(idleLimit.ms).toBe(Number.POSITIVE_INFINITY);
});
