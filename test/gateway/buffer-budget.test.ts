import { expect, test } from 'vitest';
import { BufferBudget } from '../../src/gateway/limits.ts';

test('the budget grants bytes up to its limit, and takes them back', () => {
  const budget = new BufferBudget(10);
  expect([budget.take(6), budget.take(5), budget.take(4)]).toEqual([true, false, true]);
  budget.release(6);
  expect(budget.held).toBe(4);
});
