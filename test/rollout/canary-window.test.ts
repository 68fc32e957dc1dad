import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CanaryOutcome,
  canaryOutcome,
  CanaryWindow,
  FAILURES,
} from '../../src/rollout/canary-window.ts';
import { readCounts, windowSums } from '../../src/rollout/canary-texts.ts';
import { bucketOf, share } from '../../src/rollout/evidence.ts';
import { slowerSentence } from '../../src/rollout/rollout-state.ts';
import type { RollbackRule } from '../../src/rules/rollout.ts';

const RULE = { window: 60_000, margin: 5, slower: 2, requests: 20, certainty: 99 };

/** Counts so many requests of an origin at one time, of which so many fail; true when that is harm. */
function add(
  window: CanaryWindow,
  origin: 'v1' | 'v2',
  requests: number,
  failures: number,
  now: number,
  failure: CanaryOutcome = '5xx',
): boolean {
  for (let k = 0; k < requests; k += 1)
    window.add({ origin, outcome: k >= requests - failures ? failure : 'success' }, now);
  return window.judge(now, false) !== undefined;
}

test('there is no verdict before there are enough migrated requests', () => {
  const window = new CanaryWindow(RULE);
  expect(add(window, 'v2', 19, 19, 0)).toBe(false);
  expect(add(window, 'v2', 1, 1, 0)).toBe(true);
});

test('failures of V1 itself are allowed for, and a difference that may be chance', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 10, 0);
  expect(add(window, 'v2', 100, 15, 0)).toBe(false);
  // The same shares in more requests are no chance.
  add(window, 'v1', 2900, 290, 0);
  expect(add(window, 'v2', 2900, 435, 0)).toBe(true);
});

test('a difference below half of the margin never counts as harm, however certain it is', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 20_000, 200, 0);
  expect(add(window, 'v2', 20_000, 640, 0)).toBe(false);
  expect(add(window, 'v2', 0, 0, 0)).toBe(false);
});

test('it is time to judge when the migrated requests of the window have grown by a sixteenth', () => {
  const window = new CanaryWindow(RULE);
  const times: number[] = [];
  for (let n = 1; n <= 100; n += 1) {
    if (!window.add({ origin: 'v2', outcome: 'success' }, 0)) continue;
    window.judge(0, false);
    times.push(n);
  }
  expect(times.slice(0, 18)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1).concat(18, 20));
  expect(times.at(-1)).toBeGreaterThan(93);
  expect(window.add({ origin: 'v1', outcome: '5xx' }, 0)).toBe(false);
});

test.each(FAILURES)('a share of %s is judged by the difference to V1', (failure) => {
  const broken = new CanaryWindow(RULE);
  add(broken, 'v1', 34, 0, 0);
  expect(add(broken, 'v2', 26, 26, 0, failure)).toBe(true);
  expect(broken.count(0, false)).toEqual({
    migrated: { requests: 26, failures: 26 },
    v1: { requests: 34, failures: 0 },
  });
  const alike = new CanaryWindow(RULE);
  add(alike, 'v1', 1000, 300, 0, failure);
  expect(add(alike, 'v2', 1000, 320, 0, failure)).toBe(false);
  expect(add(alike, 'v2', 1000, 600, 0, failure)).toBe(true);
});

test.each([
  ['404', '5xx'],
  ['4xx', '5xx'],
  ['5xx', '401'],
  ['422', '400'],
  ['500', '503'],
  ['302', '301'],
] as const)('%s of V1 does not hide %s of V2', (ofV1, ofV2) => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 40, 0, ofV1);
  expect(add(window, 'v2', 100, 40, 0, ofV2)).toBe(true);
  expect(window.count(0, false)).toEqual({
    migrated: { requests: 100, failures: 40 },
    v1: { requests: 100, failures: 0 },
  });
});

test('failures of one class count together, however many statuses they have', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 200, 0, 0);
  let isHarm = false;
  for (const failure of ['500', '501', '502', '503', '504'] as const)
    isHarm = add(window, 'v2', 40, 4, 0, failure);
  expect(isHarm).toBe(true);
  expect(window.count(0, false).migrated).toEqual({ requests: 200, failures: 20 });
});

test('4xx are left out if both sides have similar shares of them', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 100, 10, 0, '404');
  add(window, 'v2', 100, 12, 0, '404');
  add(window, 'v2', 100, 1, 0, '5xx');
  expect(window.count(0, false)).toEqual({
    migrated: { requests: 200, failures: 1 },
    v1: { requests: 100, failures: 0 },
  });
});

test('without a control group, 4xx count once most requests have them', () => {
  const window = new CanaryWindow(RULE);
  expect(add(window, 'v2', 100, 50, 0, '401')).toBe(false);
  expect(add(window, 'v2', 100, 100, 0, '401')).toBe(true);
  const few = new CanaryWindow(RULE);
  add(few, 'v1', RULE.requests - 1, RULE.requests - 1, 0, '401');
  expect(add(few, 'v2', 100, 50, 0, '401')).toBe(false);
});

test('a V2 that breaks late is found by the window, even if the stage began well', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v1', 50_000, 0, 0);
  expect(add(window, 'v2', 50_000, 0, 0)).toBe(false);
  // V1 serves nothing in this minute: the whole stage is the control group.
  expect(add(window, 'v2', 30, 30, 600_000)).toBe(true);
  expect(window.judge(600_000, false)?.count).toEqual({
    migrated: { requests: 30, failures: 30 },
    v1: { requests: 0, failures: 0 },
  });
});

test('the sums of all replicas judge as those of one', () => {
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
      for (const [failure, isV1] of failures)
        one.add({ origin: isV1 ? 'v1' : 'v2', outcome: failure, ms: 3, ownBucket: 2 }, 0);
      const counts = readCounts(one.takeUnshared(0) ?? '');
      if (counts === undefined) throw new Error('there are some');
      all.merge(windowSums(counts, 0), counts.stage);
      expect(all.count(0, true)).toEqual(one.count(0, false));
      expect(all.evidence(0, true)).toEqual(one.evidence(0, false));
      const harm = all.judge(0, true);
      expect(harm).toEqual(one.judge(0, false));
      if (harm === undefined) return;
      const { migrated, v1: control } = harm.count;
      expect(share(migrated)).toBeGreaterThan(share(control));
    }),
  );
});

test('requests older than the window do not count in it', () => {
  const window = new CanaryWindow(RULE);
  add(window, 'v2', 100, 10, 0);
  add(window, 'v2', 10, 0, 54_999);
  expect(window.count(54_999, false).migrated.requests).toBe(110);
  window.add({ origin: 'v2', outcome: 'success' }, 60_000);
  expect(window.count(60_000, false).migrated).toEqual({ requests: 11, failures: 0 });
  expect(window.count(120_000, false).migrated).toEqual({ requests: 0, failures: 0 });
  expect(window.evidence(120_000, false).migrated).toBe(111);
});

test('the window holds the requests of its last twelve parts, in any distribution', () => {
  const request = fc.record({
    origin: fc.constantFrom('v1' as const, 'v2' as const),
    wait: fc.integer({ min: 0, max: 20_000 }),
  });
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 60 }), (requests) => {
      const window = new CanaryWindow(RULE);
      let now = 0;
      const seen = requests.map(({ origin, wait }) => {
        now += wait;
        window.add({ origin, outcome: 'success' }, now);
        return { origin, part: Math.floor(now / 5000) };
      });
      const part = Math.floor(now / 5000);
      const counted = (origin: 'v1' | 'v2'): object => ({
        requests: seen.filter((each) => each.origin === origin && each.part > part - 12).length,
        failures: 0,
      });
      expect(window.count(now, false)).toEqual({ migrated: counted('v2'), v1: counted('v1') });
    }),
  );
});

describe('latencies', () => {
  /** Successes of both services that took about so long, and what V2's clients waited on V1 before. */
  function withLatencies(v1: number, v2: number, own?: number, rule: RollbackRule = RULE): CanaryWindow {
    const window = new CanaryWindow(rule);
    for (let n = 0; n < 400; n += 1) {
      const spread = 1 + (n % 5) / 20;
      window.add({ origin: 'v1', outcome: 'success', ms: v1 * spread }, 0);
      const ownBucket = own === undefined ? undefined : bucketOf(own * spread);
      window.add({ origin: 'v2', outcome: 'success', ms: v2 * spread, ownBucket }, 0);
    }
    return window;
  }

  test.each<[name: string, window: CanaryWindow, isHarm: boolean]>([
    ['four times as slow', withLatencies(50, 200), true],
    ['alike', withLatencies(50, 50), false],
    ['quicker', withLatencies(200, 50), false],
    ['a little slower', withLatencies(100, 150), false],
    ['four times as slow, but still fast', withLatencies(4, 16), false],
    ['four times as slow, and these clients were on V1 as well', withLatencies(50, 200, 200), false],
    ['four times as slow, and these clients were not on V1', withLatencies(50, 200, 50), true],
    [
      'four times as slow, and the rule does not mind',
      withLatencies(50, 200, 50, { ...RULE, slower: false }),
      false,
    ],
  ])('%s', (_, window, isHarm) => {
    expect(window.judge(0, false)?.latency !== undefined).toBe(isHarm);
  });

  test('a slow hundredth is harm, and says so', () => {
    const window = new CanaryWindow(RULE);
    for (let n = 0; n < 4000; n += 1) {
      window.add({ origin: 'v1', outcome: 'success', ms: 30 }, 0);
      window.add({ origin: 'v2', outcome: 'success', ms: n % 30 === 0 ? 900 : 30 }, 0);
    }
    const latency = window.judge(0, false)?.latency;
    expect(latency?.quantile).toBe('p99');
    expect(latency?.v2Ms).toBeGreaterThan(500);
    expect(latency === undefined ? '' : slowerSentence(latency)).toBe(
      'the 99 % quantile of the time to a response is above 720 ms when migrated, at most 32 ms on V1',
    );
  });
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
])('status %d with failure %s counts for a canary as: %s', (status, failure, outcome) => {
  expect(canaryOutcome(status, failure)).toBe(outcome);
});
