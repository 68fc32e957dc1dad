import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_POLICIES } from '../support/plan-of.ts';
import { chooseApiVersion } from '../../src/migrate/decision.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const NOW = Date.UTC(2028, 1, 29, 9, 59);

function book(future: 'forward' | 'replace') {
  return {
    version: '2025-01-01',
    policies: { ...DEFAULT_POLICIES, future },
  };
}

test.each([
  ['2025-01-01', 'client'],
  ['2028-02-29', 'client'],
  ['2027-02-29', 'invalid'],
  ['2025-13-01', 'invalid'],
  ['2024-12-31', 'invalid'],
  ['2025-1-1', 'invalid'],
  [' 2025-01-01', 'invalid'],
  ['', 'invalid'],
  [undefined, 'absent'],
])('x-api-version %j is %s', (given, why) => {
  expect(chooseApiVersion(given, book('forward'), NOW)).toEqual({
    sent: why === 'client' ? given : '2025-01-01',
    why,
  });
});

test('a day still to come is the future where it is latest, and the policy decides on it', () => {
  const today = Date.UTC(2026, 10, 22, 9, 59);
  expect(chooseApiVersion('2026-11-22', book('replace'), today)).toEqual({
    sent: '2026-11-22',
    why: 'client',
  });
  expect(chooseApiVersion('2026-11-23', book('forward'), today)).toEqual({
    sent: '2026-11-23',
    why: 'future',
  });
  expect(chooseApiVersion('2026-11-23', book('forward'), today + 60_000).why).toBe('client');
  expect(chooseApiVersion('2099-01-01', book('replace'), today)).toEqual({
    sent: '2025-01-01',
    why: 'future',
  });
  expect(chooseApiVersion('2099-01-01', book('replace'), today, '2026-01-01')).toEqual({
    sent: '2026-01-01',
    why: 'future',
  });
});

/** The day in the first time zone, as text. */
function latestDay(now: number): string {
  return new Date(now + 14 * 3_600_000).toISOString().slice(0, 10);
}

test('any day is of the future exactly when it is after the day in the first time zone', () => {
  const DAY_MS = 86_400_000;
  const [first, last] = [Date.UTC(2025, 0, 1), Date.UTC(9998, 11, 31)];
  const days = fc.integer({ min: first / DAY_MS, max: last / DAY_MS }).map((day) => day * DAY_MS);
  // Clocks at any time, and within two days of the day: from the millisecond before it begins to the one after.
  const clocks = (day: number): fc.Arbitrary<number> =>
    fc.oneof(
      fc.integer({ min: 0, max: last }),
      fc.integer({ min: day - 2 * DAY_MS, max: day + 2 * DAY_MS }),
      fc.integer({ min: -2, max: 2 }).map((away) => day - 14 * 3_600_000 + away),
    );
  const cases = days.chain((day) => fc.tuple(fc.constant(day), clocks(day)));
  fc.assert(
    fc.property(cases, ([day, now]) => {
      const requested = new Date(day).toISOString().slice(0, 10);
      const { why } = chooseApiVersion(requested, book('forward'), now);
      expect(why).toBe(requested <= latestDay(now) ? 'client' : 'future');
    }),
    { numRuns: fuzzRuns(5000) },
  );
});
