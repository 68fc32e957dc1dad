import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MarkedNumbers } from '../../../src/report/tally/time-slots.ts';

test('marked numbers come back in order and once, marked in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 20_000, max: 21_000 })), (given) => {
      const marked = new MarkedNumbers(4096);
      for (const value of given) marked.add(value);
      expect([...marked.values()]).toEqual([...new Set(given)].toSorted((one, other) => one - other));
    }),
  );
});

test('a number beyond the span of the others is left out', () => {
  const marked = new MarkedNumbers(64);
  for (const value of [1000, 1_000_000, 1001, 0]) marked.add(value);
  expect([...marked.values()]).toEqual([1000, 1001]);
});
