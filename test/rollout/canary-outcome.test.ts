import { expect, test } from 'vitest';
import { hasFailedForCanary } from '../../src/rollout/canary-outcome.ts';

test.each([
  [200, undefined, false],
  [422, undefined, true],
  [500, undefined, true],
  [401, undefined, false],
  [429, undefined, false],
  [200, 'upstream-broken', true],
  [502, 'upstream-unreachable', true],
  [0, undefined, undefined],
  [408, 'client-timeout', undefined],
  [503, 'overloaded', undefined],
])('status %d with failure %s has failed for a canary: %s', (status, failure, failed) => {
  expect(hasFailedForCanary(status, failure)).toBe(failed);
});
