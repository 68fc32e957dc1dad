import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type CanaryOutcome,
  canaryOutcome,
  CanaryWindow,
  FAILURES,
} from '../../src/rollout/canary-window.ts';

const RULE = { window: 60_000, margin: 5, requests: 20 };

/** Counts so many requests of an origin at one time, of which so many fail; true when one of them was one failure too many. */
function add(
  window: CanaryWindow,
  origin: 'v1' | 'v2',
  requests: number,
  failures: number,
  now: number,
  failure: CanaryOutcome = '5xx',
): boolean {
  let isTooOften = false;
  for (let k = 0; k < requests; k += 1)
    if (window.add(origin, k >= requests - failures ? failure : 'success', now)) isTooOften = true;
  return isTooOften;
}

test('nothing is said before there are enough migrated requests', () => {
  const window = new CanaryWindow(RULE);
  expect(add(window, 'v2', 19, 19, 0)).toBe(false);
  expect(window.add('v2', '5xx', 0)).toBe(true);
});

test('failures of V1 itself are allowed for, and the margin is more than', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 10, 0);
  // 15 % is V1's 10 and the margin's 5.
  expect(add(window, 'v2', 100, 15, 0)).toBe(false);
  expect(window.add('v2', '5xx', 0)).toBe(true);
});

test('a success never rolls back, nor does a failure of V1', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v2', 40, 40, 0);
  expect([window.add('v2', 'success', 0), window.add('v1', '5xx', 0)]).toEqual([false, false]);
});

test.each(FAILURES)('%s is judged by the difference to V1', (failure) => {
  const broken = new CanaryWindow(RULE);
  add(broken, 'v1', 34, 0, 0);
  expect(add(broken, 'v2', 26, 26, 0, failure)).toBe(true);
  expect(broken.count(0)).toEqual({
    migrated: { requests: 26, failures: 26 },
    v1: { requests: 34, failures: 0 },
  });
  const alike = new CanaryWindow(RULE);
  add(alike, 'v1', 100, 30, 0, failure);
  expect(add(alike, 'v2', 100, 35, 0, failure)).toBe(false);
  expect(alike.add('v2', failure, 0)).toBe(true);
});

test.each([
  ['404', '5xx'],
  ['4xx', '5xx'],
  ['5xx', '401'],
  ['422', '400'],
  ['500', '503'],
  ['302', '301'],
] as const)('%s of V1 hides no %s of V2', (ofV1, ofV2) => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 40, 0, ofV1);
  expect(add(window, 'v2', 100, 40, 0, ofV2)).toBe(true);
  expect(window.count(0)).toEqual({
    migrated: { requests: 100, failures: 40 },
    v1: { requests: 100, failures: 0 },
  });
});

test('failures of one class count together, however many statuses they have', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 0, 0);
  add(window, 'v2', 100, 3, 0, '500');
  expect(add(window, 'v2', 0, 0, 0)).toBe(false);
  expect(add(window, 'v2', 20, 4, 0, '503')).toBe(true);
  expect(window.count(0).migrated).toEqual({ requests: 120, failures: 7 });
});

test('statuses of clients are left out where both sides have them alike', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 10, 0, '404');
  add(window, 'v2', 100, 12, 0, '404');
  add(window, 'v2', 100, 1, 0, '5xx');
  expect(window.count(0)).toEqual({
    migrated: { requests: 200, failures: 1 },
    v1: { requests: 100, failures: 0 },
  });
});

test('without a control group, statuses of clients count once most requests have them', () => {
  const window = new CanaryWindow(RULE);
  expect(add(window, 'v2', 100, 50, 0, '401')).toBe(false);
  expect(add(window, 'v2', 100, 100, 0, '401')).toBe(true);
  const alike = new CanaryWindow(RULE);
  add(alike, 'v1', RULE.requests - 1, RULE.requests - 1, 0, '401');
  expect(add(alike, 'v2', 100, 100, 0, '401')).toBe(false);
});

test('the window of all replicas judges as the window of one', () => {
  const numbers = fc.record({
    v1: fc.constantFrom(0, 10, 100),
    v2: fc.constantFrom(10, 100),
    failures: fc.array(fc.tuple(fc.constantFrom(...FAILURES), fc.boolean()), { maxLength: 40 }),
  });
  fc.assert(
    fc.property(numbers, ({ v1, v2, failures }) => {
      const [one, all] = [new CanaryWindow(RULE), new CanaryWindow(RULE)];
      add(one, 'v1', v1, 0, 0);
      add(one, 'v2', v2, 0, 0);
      for (const [failure, isV1] of failures) one.add(isV1 ? 'v1' : 'v2', failure, 0);
      const isTooOften = all.merge({ part: 0, parts: [{ part: 0, counts: one.takeUnshared() }] });
      expect(all.sharedCount(0)).toEqual(one.count(0));
      const { migrated, v1: control } = one.count(0);
      if (isTooOften) {
        const share = ({ requests, failures: failed }: typeof migrated): number =>
          requests === 0 ? 0 : failed / requests;
        expect(share(migrated)).toBeGreaterThan(share(control));
      }
    }),
  );
});

test('requests older than the window do not count', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v2', 100, 100, 0);
  add(window, 'v2', 10, 0, 54_999);
  expect(window.count(54_999).migrated).toEqual({ requests: 110, failures: 100 });
  window.add('v2', 'success', 60_000);
  expect(window.count(60_000).migrated).toEqual({ requests: 11, failures: 0 });
  window.add('v1', '5xx', 10_000_000);
  expect(window.count(10_000_000)).toEqual({
    migrated: { requests: 0, failures: 0 },
    v1: { requests: 1, failures: 1 },
  });
});

test('requests older than the window do not count either when nothing comes after them', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v2', 18, 0, 0);
  expect(window.count(59_999).migrated).toEqual({ requests: 18, failures: 0 });
  expect(window.count(60_000).migrated).toEqual({ requests: 0, failures: 0 });
});

test('the window holds the requests of its last twelve parts, however they arrive', () => {
  const request = fc.record({
    origin: fc.constantFrom('v1' as const, 'v2' as const),
    failed: fc.boolean(),
    wait: fc.integer({ min: 0, max: 20_000 }),
  });
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 60 }), (requests) => {
      const window = new CanaryWindow(RULE);
      let now = 0;
      const seen = requests.map(({ origin, failed, wait }) => {
        now += wait;
        window.add(origin, failed ? '5xx' : 'success', now);
        return { origin, failed, part: Math.floor(now / 5000) };
      });
      const part = Math.floor(now / 5000);
      const counted = (origin: 'v1' | 'v2'): object => {
        const inside = seen.filter((each) => each.origin === origin && each.part > part - 12);
        return { requests: inside.length, failures: inside.filter(({ failed }) => failed).length };
      };
      expect(window.count(now)).toEqual({ migrated: counted('v2'), v1: counted('v1') });
    }),
  );
});

test.each([
  [200, undefined, 'success'],
  [304, undefined, 'success'],
  [301, undefined, '301'],
  [300, undefined, '3xx'],
  [400, undefined, '400'],
  [422, undefined, '422'],
  [418, undefined, '4xx'],
  [500, undefined, '500'],
  [599, undefined, '5xx'],
  [401, undefined, '401'],
  [403, undefined, '403'],
  [404, undefined, '404'],
  [429, undefined, '429'],
  [200, 'upstream-broken', '5xx'],
  [502, 'upstream-unreachable', '502'],
  [0, undefined, undefined],
  [408, 'client-timeout', undefined],
  [503, 'overloaded', undefined],
])('status %d with failure %s is for a canary: %s', (status, failure, outcome) => {
  expect(canaryOutcome(status, failure)).toBe(outcome);
});
