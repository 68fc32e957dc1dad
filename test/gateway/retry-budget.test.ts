import { expect, test } from 'vitest';
import { RetryBudget } from '../../src/gateway/resilience.ts';

test('a fifth of the requests of ten seconds may be resent, and ten in any case', () => {
  let now = 0;
  const budget = new RetryBudget(() => now);
  const taken = (): number => {
    let count = 0;
    while (budget.take()) count += 1;
    return count;
  };
  expect(taken()).toBe(10);
  for (let count = 0; count < 100; count += 1) budget.count(now);
  expect(taken()).toBe(10);
  now = 9000;
  for (let count = 0; count < 100; count += 1) budget.count(now);
  expect(taken()).toBe(20);
  now = 10_000;
  expect(taken()).toBe(0);
  now = 100_000;
  expect(taken()).toBe(10);
});
