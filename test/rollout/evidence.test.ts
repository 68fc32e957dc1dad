import { describe, expect, test } from 'vitest';
import type { CanaryOutcome } from '../../src/rollout/canary-window.ts';
import {
  BUCKETS,
  bucketOf,
  endOf,
  evidenceAbove,
  evidenceOfMore,
  bounded,
  quantileBounds,
  quantileOf,
  requestsToSee,
} from '../../src/rollout/evidence.ts';
import {
  type CanaryEvidence,
  evidenceSentence,
  latencySentence,
  reasonSentence,
} from '../../src/rollout/rollout-state.ts';
import { chooseMode } from '../../src/rollout/modes-in-force.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { randomFrom } from '../support/random-from.ts';
import { testRuleBook } from '../support/rule-book.ts';

/** A service: how often it fails, and with which median it responds. */
interface Service {
  readonly share: number;
  readonly medianMs: number;
}

interface Played {
  readonly share: number;
  readonly failure: CanaryOutcome;
  readonly v1: Service;
  readonly v2: Service;
  /** Requests after which a canary is no longer watched. */
  readonly requests: number;
  /** Whether it ends once it says that a difference of the margin would have been detected. */
  readonly untilPromise: boolean;
}

const CLIENTS = 400;

/** Plays a canary from its beginning: 400 clients at about 30 requests a second. Returns whether it was rolled back. */
function play(seed: number, { share, failure, v1, v2, requests, untilPromise }: Played): boolean {
  const random = randomFrom(seed);
  let now = 1_800_000_000_000;
  const control = new RolloutControl({ time: () => now, onNotice: () => {} });
  const book = testRuleBook();
  control.command({ mode: { mode: 'canary', share } });
  const clients = Array.from({ length: CLIENTS }, (_, at) =>
    Math.floor(((at + random()) / CLIENTS) * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
      .padEnd(16, 'a'),
  );
  for (let n = 1; n <= requests; n += 1) {
    now += random() * 66;
    const client = clients[Math.floor(random() * CLIENTS)];
    const routed = chooseMode(control.modes(book), { client, operation: 'read' });
    const service = routed.origin === 'v1' ? v1 : v2;
    const outcome = random() < service.share ? failure : 'success';
    const ms = service.medianMs * Math.exp(0.7 * normal(random));
    control.count(routed, outcome, { client, operation: 'read', pointer: undefined, ms });
    if (control.state.rollbacks.length > 0) return true;
    const isDue = n % 50 === 0 && control.counts.get(undefined)?.evidence.forMargin === 0;
    if (isDue && untilPromise) return false;
  }
  return false;
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const SHARES = [5, 10, 25, 50, 90];
const BASES = [0.001, 0.01, 0.05, 0.2];
const FAILED: readonly CanaryOutcome[] = ['500', '422', '404'];

function chosen<Value>(from: readonly Value[], seed: number): Value {
  const value = from[seed % from.length];
  if (value === undefined) throw new Error('nothing to choose from');
  return value;
}

/** A canary of each share, base and status in turn. */
function canaryOf(seed: number, difference: number): Played {
  const base = chosen(BASES, Math.floor(seed / SHARES.length));
  return {
    share: chosen(SHARES, seed),
    failure: chosen(FAILED, Math.floor(seed / 20)),
    v1: { share: base, medianMs: 40 },
    v2: { share: base + difference, medianMs: 40 },
    ...(difference === 0
      ? { requests: 5000, untilPromise: false }
      : { requests: 200_000, untilPromise: true }),
  };
}

describe('of canaries of every share, base and status', () => {
  test(
    'at most 1 % without a difference are rolled back, however often they are looked at',
    { ...fuzzTime() },
    () => {
      const runs = fuzzRuns(500);
      const rolledBack = seedsTo(runs).filter((seed) => play(seed, canaryOf(seed, 0)));
      expect(rolledBack.length, `seeds ${rolledBack.join(' ')}`).toBeLessThanOrEqual(runs / 100);
    },
  );

  test('99 % with 5 % more failures are, within the sample that was promised', { ...fuzzTime() }, () => {
    const runs = fuzzRuns(500);
    const missed = seedsTo(runs).filter((seed) => !play(seed, canaryOf(seed, 0.05)));
    expect(missed.length, `seeds ${missed.join(' ')}`).toBeLessThanOrEqual(runs / 100);
  });
});

function seedsTo(runs: number): readonly number[] {
  return Array.from({ length: runs }, (_, seed) => seed);
}

describe('evidence', () => {
  test('grows with the requests, and only for the worse', () => {
    const of = (v1: number, v2: number, requests: number): number =>
      evidenceOfMore({ requests, failures: v1 }, { requests, failures: v2 });
    expect(of(0, 20, 100)).toBeGreaterThan(of(0, 10, 100));
    expect(of(10, 100, 1000)).toBeGreaterThan(of(1, 10, 100));
    expect(of(100, 10, 1000)).toBeLessThan(0);
    expect(of(10, 10, 1000)).toBeLessThan(0);
  });

  test('bounds of a quantile hold it, and close in', () => {
    const random = randomFrom(7);
    const counts = Array.from({ length: BUCKETS }, () => 0);
    let width = Number.POSITIVE_INFINITY;
    for (let n = 1; n <= 20_000; n += 1) {
      const bucket = bucketOf(100 * Math.exp(normal(random)));
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      if (n % 500 !== 0) continue;
      const { above, below } = quantileBounds(counts, 0.5, Math.log(1000));
      expect(above).toBeLessThan(100);
      expect(below).toBeGreaterThanOrEqual(100);
      expect(below - above).toBeLessThanOrEqual(width);
      width = below - above;
    }
    expect(quantileOf(counts, 0.5)).toBe(endOf(bucketOf(100)));
    expect(quantileOf([], 0.5)).toBeUndefined();
  });

  test('a sample is larger for a smaller difference, more certainty, and a smaller control group', () => {
    const plan = { share: 0.01, difference: 0.01, ratio: 1, needed: Math.log(100) };
    const usual = requestsToSee(plan) ?? 0;
    expect(usual).toBeGreaterThan(2000);
    expect(requestsToSee({ ...plan, difference: 0.05 })).toBeLessThan(usual / 4);
    expect(requestsToSee({ ...plan, needed: Math.log(1000) })).toBeGreaterThan(usual);
    expect(requestsToSee({ ...plan, ratio: 0.1 })).toBeGreaterThan(usual);
    expect(requestsToSee({ ...plan, share: 1 })).toBeUndefined();
  });
});

const UNKNOWN = { requests: 0, failures: 0, low: 0, high: 1 };
const NO_SHARES = { migrated: UNKNOWN, v1: UNKNOWN };

test.each<[sentence: string, parts: Partial<CanaryEvidence>]>([
  ['Needs about 2,400 more requests to see a difference of 5 percentage points.', { forMargin: 2412 }],
  ['Needs about 1 more request to see a difference of 5 percentage points.', { forMargin: 1 }],
  [
    'No harm: a difference of 5 percentage points would have been detected. Needs about 9,100 more requests to see one of 1 percentage point.',
    { forMargin: 0, finer: { points: 1, needs: 9113 } },
  ],
  ['No harm: a difference of 5 percentage points would have been detected.', { forMargin: 0 }],
  ['The number of requests that show a difference of 5 percentage points is unknown.', {}],
  ['The comparison begins once V2 has served 20 requests: 3 so far.', { migrated: 3 }],
  [
    'The comparison begins once V1 has served 20 requests: 0 so far. Without a control group, only failures of more than 5 % of all requests are detected.',
    { v1: 0 },
  ],
])('%s', (sentence, parts) => {
  const latency = { median: {}, p99: {} };
  expect(
    evidenceSentence({
      migrated: 500,
      v1: 500,
      requests: 20,
      margin: 5,
      failed: NO_SHARES,
      latency,
      ...parts,
    }),
  ).toBe(sentence);
});

test.each<[sentence: string, latency: CanaryEvidence['latency']]>([
  ['No latency is known yet.', { median: {}, p99: {} }],
  [
    'Upper bounds: the median is not known when migrated and 12 ms on V1, the 99 % quantile 180 ms and not known.',
    { median: { v1Ms: 12 }, p99: { v2Ms: 180 } },
  ],
])('%s', (sentence, latency) => {
  expect(latencySentence({ latency, migrated: 9, v1: 9, requests: 20, margin: 5, failed: NO_SHARES })).toBe(
    sentence,
  );
});

test.each([
  [0, 20],
  [1, 20],
  [10, 20],
  [20, 20],
  [0, 1],
  [3, 1000],
])('the bounds of a share of %d in %d hold it, and are those of the test', (failures, requests) => {
  const needed = -Math.log(0.01);
  const { low, high } = bounded({ requests, failures }, needed);
  expect(low).toBeLessThanOrEqual(failures / requests);
  expect(high).toBeGreaterThanOrEqual(failures / requests);
  if (low > 0) expect(evidenceAbove({ requests, failures }, low)).toBeCloseTo(needed, 0);
  if (high < 1)
    expect(evidenceAbove({ requests, failures: requests - failures }, 1 - high)).toBeCloseTo(needed, 0);
});

test('a rollback and its cause are told with separators in thousands', () => {
  const rollback = {
    at: '2026-11-22T00:00:00.000Z',
    operation: undefined,
    share: 50,
    migrated: { requests: 20_000, failures: 1075 },
    v1: { requests: 18_000, failures: 1000 },
    cause: {
      status: '422',
      client: 'aaaaaaaaaaaaaaaa',
      operation: 'create_client',
      pointer: '/name',
      count: 1001,
    },
  } as const;
  expect(reasonSentence(rollback)).toBe(
    '1,075 of 20,000 compared requests failed on V2, 1,000 of 18,000 on V1. 1,001 of 1,075 failures: 422 at /name, from client aaaaaaaaaaaaaaaa, in create_client.',
  );
});
