import { expect, test } from 'vitest';
import { BufferBudget } from '../../src/gateway/buffer-budget.ts';

test('the budget gives what it has, and takes back', () => {
  const budget = new BufferBudget(10);
  expect([budget.take(6), budget.take(5), budget.take(4)]).toEqual([true, false, true]);
  budget.release(6);
  expect(budget.held).toBe(4);
});
