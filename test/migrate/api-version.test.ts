import { expect, test } from 'vitest';
import { DEFAULT_POLICIES } from '../support/plan-of.ts';
import { chooseApiVersion } from '../../src/migrate/api-version.ts';

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
