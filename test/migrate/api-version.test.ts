import { expect, test } from 'vitest';
import { chooseApiVersion } from '../../src/migrate/api-version.ts';

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
  expect(chooseApiVersion(given, '2025-01-01')).toEqual({
    sent: why === 'client' ? given : '2025-01-01',
    why,
  });
});
