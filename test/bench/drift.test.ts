import { expect, test } from 'vitest';
import { driftOf } from '../../bench/guard/drift.ts';

const NOISY = [1, 1.3, 0.9, 1.1, 1, 0.95, 1.2, 1.05, 1];
const times = (by: number, values: readonly number[] = NOISY): readonly number[] =>
  values.map((value) => value * by);

test('a tenth more in every round is slower, however noisy the rounds are', () => {
  const drift = driftOf({ before: NOISY, again: NOISY, now: times(1.1) });
  expect(drift).toMatchObject({ verdict: 'slower', noise: 0 });
  expect(drift.ratio).toBeCloseTo(1.1, 6);
});

test('a tenth less in every round is faster', () => {
  expect(driftOf({ before: NOISY, again: NOISY, now: times(0.9) }).verdict).toBe('faster');
});

test('two hundredths are no difference', () => {
  expect(driftOf({ before: NOISY, again: NOISY, now: times(1.02) }).verdict).toBe('same');
});

test('a difference that the commit has to itself is no difference', () => {
  expect(driftOf({ before: NOISY, again: times(1.2), now: times(1.2) }).verdict).toBe('same');
});

test('one bad round does not hide a difference, and does not make one', () => {
  const spoiled = (by: number): readonly number[] => times(by).with(3, 9);
  expect(driftOf({ before: NOISY, again: NOISY, now: spoiled(1.1) }).verdict).toBe('slower');
  expect(driftOf({ before: NOISY, again: NOISY, now: spoiled(1) }).verdict).toBe('same');
  expect(driftOf({ before: NOISY, again: NOISY, now: times(1.1).with(3, 0.1) }).verdict).toBe('slower');
});
