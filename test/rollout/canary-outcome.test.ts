import { expect, test } from 'vitest';
import { canaryOutcome } from '../../src/rollout/canary-window.ts';

test.each([
  [200, undefined, 'success'],
  [304, undefined, 'success'],
  [301, undefined, '3xx'],
  [422, undefined, '4xx'],
  [500, undefined, '5xx'],
  [401, undefined, '401'],
  [403, undefined, '403'],
  [404, undefined, '404'],
  [429, undefined, '429'],
  [200, 'upstream-broken', '5xx'],
  [502, 'upstream-unreachable', '5xx'],
  [0, undefined, undefined],
  [408, 'client-timeout', undefined],
  [503, 'overloaded', undefined],
])('status %d with failure %s is for a canary: %s', (status, failure, outcome) => {
  expect(canaryOutcome(status, failure)).toBe(outcome);
});
