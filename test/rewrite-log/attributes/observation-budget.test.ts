import { describe, expect, test } from 'vitest';
import { ObservationBudget } from '../../../src/rewrite-log/attributes.ts';

/** A budget on a machine where each piece of work takes `workMs` milliseconds of the clock. */
function budgetWhereWorkTakes(workMs: number) {
  let clock = 0;
  const budget = new ObservationBudget(() => clock);
  return {
    observe: (bytes: number, isFailure = false): boolean =>
      budget.run(bytes, isFailure, () => {
        clock += workMs;
        return true;
      }) ?? false,
    nextSecond: () => {
      clock = (Math.floor(clock / 1000) + 1) * 1000;
    },
  };
}

const SMALL = 1024;
const LARGE = 64 * 1024;

describe('the observation budget', () => {
  test('observes ten small bodies of a second whatever the time', () => {
    const { observe, nextSecond } = budgetWhereWorkTakes(30);
    expect(Array.from({ length: 12 }, () => observe(SMALL))).toEqual([
      ...Array.from({ length: 10 }, () => true),
      false,
      false,
    ]);
    nextSecond();
    expect(observe(SMALL)).toBe(true);
  });

  test('observes no large body once the time of the second is used up', () => {
    const { observe, nextSecond } = budgetWhereWorkTakes(30);
    expect(observe(LARGE)).toBe(true);
    expect(observe(LARGE, true)).toBe(false);
    nextSecond();
    expect(observe(LARGE)).toBe(true);
  });

  test('keeps half of the time and of the bytes for failures', () => {
    const slow = budgetWhereWorkTakes(12);
    expect(slow.observe(LARGE)).toBe(true);
    expect(slow.observe(LARGE)).toBe(false);
    expect(slow.observe(LARGE, true)).toBe(true);
    const wide = budgetWhereWorkTakes(0);
    expect(wide.observe(5 * 1024 * 1024)).toBe(false);
    expect(wide.observe(5 * 1024 * 1024, true)).toBe(true);
  });
});
