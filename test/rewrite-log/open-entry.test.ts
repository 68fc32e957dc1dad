import { expect, test } from 'vitest';
import { closeEntry, openEntry } from '../../src/rewrite-log/open-entry.ts';

const FIRST = {
  route: 'migrate',
  method: 'POST',
  requestId: 'r',
  verdict: 'unchanged',
  ruleBook: 'h',
} as const;
const LAST = { time: 0, target: '/api/v1/x', upstreamTarget: undefined, attempts: 1 } as const;

test.each([
  [200, undefined, 'info'],
  [503, undefined, 'info'],
  [422, 'wrapper-not-object', 'warn'],
  [0, 'client-timeout', 'warn'],
  [500, 'internal', 'error'],
  [502, 'upstream-unreachable', 'error'],
  [200, 'upstream-broken', 'error'],
])('the level of an exchange with the status %d and the failure %s: %s', (status, failure, level) => {
  const entry = Object.assign(openEntry(FIRST), { status, failure });
  expect(closeEntry(entry, LAST).level).toBe(level);
});
