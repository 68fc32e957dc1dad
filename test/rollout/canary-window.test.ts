import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CanaryWindow } from '../../src/rollout/canary-window.ts';

const RULE = { window: 60_000, margin: 5, requests: 20 };

/** Counts so many requests of an origin at one time, of which so many fail; true when one of them was one failure too many. */
function add(
  window: CanaryWindow,
  origin: 'v1' | 'v2',
  requests: number,
  failures: number,
  now: number,
): boolean {
  let isTooOften = false;
  for (let k = 0; k < requests; k += 1)
    if (window.add(origin, k >= requests - failures, now)) isTooOften = true;
  return isTooOften;
}

test('nothing is said before there are enough migrated requests', () => {
  const window = new CanaryWindow(RULE);
  expect(add(window, 'v2', 19, 19, 0)).toBe(false);
  expect(window.add('v2', true, 0)).toBe(true);
});

test('failures of V1 itself are allowed for, and the margin is more than', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 10, 0);
  // 15 % is V1's 10 and the margin's 5.
  expect(add(window, 'v2', 100, 15, 0)).toBe(false);
  expect(window.add('v2', true, 0)).toBe(true);
});

test('a success never rolls back, nor does a failure of V1', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v2', 40, 40, 0);
  expect([window.add('v2', false, 0), window.add('v1', true, 0)]).toEqual([false, false]);
});

test('requests older than the window do not count', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v2', 100, 100, 0);
  add(window, 'v2', 10, 0, 54_999);
  expect(window.count(54_999).migrated).toEqual({ requests: 110, failures: 100 });
  window.add('v2', false, 60_000);
  expect(window.count(60_000).migrated).toEqual({ requests: 11, failures: 0 });
  window.add('v1', true, 10_000_000);
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
        window.add(origin, failed, now);
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
