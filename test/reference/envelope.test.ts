import { expect, test } from 'vitest';
import { createRateLimit } from '../../src/reference/envelope.ts';

test('the window opens with the first request and lasts a minute', () => {
  let time = 5_000;
  const wait = createRateLimit(2, () => time);
  expect([wait('a'), wait('a'), wait('a')]).toEqual([0, 0, 60]);
  time += 59_500;
  expect(wait('a')).toBe(1);
  time += 500;
  expect([wait('a'), wait('a'), wait('a')]).toEqual([0, 0, 60]);
});

test('keys are counted separately', () => {
  const wait = createRateLimit(1, () => 0);
  expect([wait('a'), wait('b'), wait('a'), wait('b')]).toEqual([0, 0, 60, 60]);
});

test('without a rate there is no limit', () => {
  const wait = createRateLimit(0, () => 0);
  expect(Array.from({ length: 1000 }, () => wait('a')).every((seconds) => seconds === 0)).toBe(true);
});

// Attack: a flood of invented keys, to fill the memory with windows. The oldest ones are let go.
test('at most ten thousand keys are remembered', () => {
  const wait = createRateLimit(1, () => 0);
  wait('first');
  for (let index = 0; index < 10_000; index++) wait(`key ${index}`);
  expect(wait('key 9999')).toBe(60);
  expect(wait('first')).toBe(0);
});
