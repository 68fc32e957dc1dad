import { expect, test } from 'vitest';
import { driftOf } from '../../bench/guard/drift.ts';

const NOISY = [1, 1.3, 0.9, 1.1, 1, 0.95, 1.2, 1.05, 1];
const times = (by: number): readonly number[] => NOISY.map((value) => value * by);

test.each([
  ['a tenth more in every round is slower, however noisy the rounds are', NOISY, times(1.1), 'slower'],
  ['a tenth less in every round is faster', NOISY, times(0.9), 'faster'],
  ['two hundredths are no difference', NOISY, times(1.02), 'same'],
  ['a difference within the noise of one commit is no difference', times(1.2), times(1.2), 'same'],
  ['one bad round does not hide a difference', NOISY, times(1.1).with(3, 9), 'slower'],
  ['a round that is too good does not hide one either', NOISY, times(1.1).with(3, 0.1), 'slower'],
  ['one bad round alone makes no difference', NOISY, times(1).with(3, 9), 'same'],
])('%s', (_what, again, now, verdict) => {
  expect(driftOf({ before: NOISY, again, now }).verdict).toBe(verdict);
});

test('a difference is reported with its ratio and the noise', () => {
  const { noise, ratio } = driftOf({ before: NOISY, again: NOISY, now: times(1.1) });
  expect([noise, ratio]).toEqual([0, expect.closeTo(1.1, 6)]);
});
