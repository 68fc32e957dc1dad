import { expect, test } from 'vitest';
import { IdleLife } from '../../../src/node/upstream/idle-life.ts';

function limitAfter(...ages: readonly number[]): number {
  const life = new IdleLife();
  for (const age of ages) life.closed(age, 0);
  return life.limit;
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
  const life = new IdleLife();
  life.closed(2000, 0);
  life.update(599_999);
  expect(life.limit).toBe(1600);
  life.update(600_000);
  expect(life.limit).toBe(Number.POSITIVE_INFINITY);
});
