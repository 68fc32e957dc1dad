import type { RollbackRule } from '../rules/rollout.ts';
import {
  bounded,
  BUCKETS,
  bucketOf,
  evidenceAbove,
  evidenceOfMore,
  quantileBounds,
  quantileOf,
  requestsToSee,
  type Sample,
  share,
} from './evidence.ts';
import {
  type CanaryEvidence,
  type FailedShare,
  type FailureCause,
  type LatencyHarm,
  leastDifference,
  NOTICED_MS,
  type OriginCount,
  type RollbackCause,
  SEVERAL,
} from './rollout-state.ts';
import { partOf, printCounts, WINDOW_PARTS } from './canary-texts.ts';

/** Refusals that say nothing about an origin: V1's retirement, the gateway's own limits, and invalid framing by the client. */
export const NEUTRAL_FAILURES: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
  'newcomer',
  'operation-gone',
  'overloaded',
  'buffer-full',
  'client-timeout',
  'bad-framing',
]);

/**
 * Statuses that clients can cause, with their key, their rate, their address, or a resource that has moved. They count against V2 if it
 * responds with them more often than V1, the control group.
 */
const SHARED_FAILURES = ['301', '302', '303', '307', '308', '3xx', '401', '403', '404', '429'] as const;

/** Statuses that always count against an origin, by class: a service that works does not send them. */
const OWN_FAILURES = {
  '4xx': [
    '400',
    '402',
    '405',
    '406',
    '408',
    '409',
    '410',
    '411',
    '412',
    '413',
    '414',
    '415',
    '422',
    '428',
    '4xx',
  ],
  '5xx': ['500', '501', '502', '503', '504', '5xx'],
} as const;

/**
 * Failures that are counted separately and compared with V1's share of the same failure; `3xx`, `4xx` and `5xx` are the others of their
 * class.
 */
export const FAILURES = [...SHARED_FAILURES, ...OWN_FAILURES['4xx'], ...OWN_FAILURES['5xx']] as const;

/** True for a failure that clients can cause: it counts against V2 only if it is less frequent on V1. */
export function isSharedFailure(outcome: CanaryOutcome): boolean {
  return SHARED_FAILURES.some((shared) => shared === outcome);
}

/** The outcome of an exchange for its origin. */
export type CanaryOutcome = 'success' | (typeof FAILURES)[number];

/** Numbers of requests of an origin: all of them, then those with each of `FAILURES`. */
const NUMBERS = 1 + FAILURES.length;

/** Places in the sums: requests to V1 and to V2, latencies of both, and earlier latencies of V2's clients on V1. */
const [V1, V2] = [0, NUMBERS];
const V1_LATENCY = 2 * NUMBERS;
const V2_LATENCY = V1_LATENCY + BUCKETS;
const OWN_LATENCY = V2_LATENCY + BUCKETS;
const LENGTH = OWN_LATENCY + BUCKETS;

/** Number of values in the sums of a canary. */
export type Sums = readonly number[];

type Failure = (typeof FAILURES)[number];

/** Milliseconds of the window for a whole stage: longer than any canary is watched. */
export const STAGE_MS = 84 * 86_400_000;

/**
 * V1's share of a status, in percent, while V1 serves too few requests to know it. A canary of all clients has no control group: a client
 * with an old key is then not V2's fault, but refusals of most requests are.
 */
const UNKNOWN_SHARE = 50;

/** The quantiles of latencies that are compared. */
const QUANTILES = { median: 0.5, p99: 0.99 } as const;

/** The failures of each class that always count against an origin. */
export const OWN_CLASSES: readonly (readonly Failure[])[] = Object.values(OWN_FAILURES);

/** Failures that are compared together, with their part of the probability of a false alarm. */
interface Comparison {
  readonly failures: readonly Failure[];
  readonly weight: number;
}

/**
 * The parts sum up to 1, with an eighth for latencies. Each class is compared as a whole, because different errors add up, and each of
 * its statuses separately, because V1's 422 would otherwise hide V2's 400.
 */
const COMPARISONS: readonly Comparison[] = [
  { failures: OWN_CLASSES.flat(), weight: 1 / 4 },
  { failures: OWN_FAILURES['5xx'], weight: 1 / 4 },
  { failures: OWN_FAILURES['4xx'], weight: 1 / 8 },
  ...SHARED_FAILURES.map((failure) => ({ failures: [failure], weight: 1 / 8 / SHARED_FAILURES.length })),
  ...OWN_CLASSES.flat().map((failure) => ({
    failures: [failure],
    weight: 1 / 8 / OWN_CLASSES.flat().length,
  })),
];

/** The part for each bound of a quantile. */
const LATENCY_WEIGHT = 1 / 8 / 4;

/** The smallest part, with which a guarantee must still hold. */
const LEAST_WEIGHT = Math.min(...COMPARISONS.map(({ weight }) => weight));

interface Part {
  /** Start, in multiples of the part length. */
  readonly at: number;
  readonly sums: number[];
  readonly causes: Causes;
}

/** Failures of migrated requests that were counted here, by their common cause. */
type Causes = Map<string, CauseCount>;

interface CauseCount {
  readonly outcome: CanaryOutcome;
  readonly cause: FailureCause;
  count: number;
}

/** Maximum causes of a stage that are counted separately. */
const MAX_CAUSES = 200;

/** Counts of a window: migrated requests, and those that V1 served. */
export interface CanaryCount {
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
}

/** Why a canary is to be rolled back. */
export interface CanaryHarm {
  readonly count: CanaryCount;
  /** The failures that count; others are as frequent on V1, or caused by clients. */
  readonly failures: readonly (typeof FAILURES)[number][];
  readonly latency?: LatencyHarm;
  /** The most frequent of these failures; absent if other replicas counted all of them. */
  readonly cause?: RollbackCause;
}

/** A request to count. */
export interface CountedOutcome {
  readonly origin: 'v1' | 'v2';
  readonly outcome: CanaryOutcome;
  /** Milliseconds to the head of the response, for a success. */
  readonly ms?: number | undefined;
  /** Bucket of an earlier latency on V1, for the client of a migrated request. */
  readonly ownBucket?: number | undefined;
  /** Cause of a migrated request's failure. */
  readonly cause?: FailureCause | undefined;
}

/**
 * Sums up the outcomes of one canary stage, since its beginning and over a sliding window, so that earlier successes do not hide later
 * failures of V2. V1 is the control group. A request takes only a few additions. The evidence is evaluated when the window's requests
 * have grown by a sixteenth, or, with replicas, when their sums arrive: the test is valid at any time, and does not need each request.
 */
export class CanaryWindow {
  private readonly rule: RollbackRule;
  private readonly parts: Part[] = [];
  private readonly stage: number[] = noSums();
  private readonly causes: Causes = new Map();
  /** Counts that the other replicas do not have yet: by part, and for the whole stage. */
  private unsharedParts = new Map<number, number[]>();
  private unshared: number[] | undefined;
  private sharedWindow: Sums | undefined;
  private sharedStage: Sums | undefined;
  private untilLook = 1;

  constructor(rule: RollbackRule) {
    this.rule = rule;
  }

  /** Counts a request at `now` (milliseconds); returns true when it is time to judge. */
  add({ origin, outcome, ms, ownBucket, cause }: CountedOutcome, now: number): boolean {
    const at = this.partAt(now);
    let part = this.parts.at(-1);
    if (part === undefined || part.at !== at) {
      part = { at, sums: noSums(), causes: new Map() };
      this.parts.push(part);
      this.dropBefore(at);
    }
    const isV1 = origin === 'v1';
    this.unshared ??= noSums();
    const unsharedPart = this.unsharedParts.get(at) ?? noSums();
    this.unsharedParts.set(at, unsharedPart);
    for (const sums of [part.sums, this.stage, unsharedPart, this.unshared]) {
      increment(sums, isV1 ? V1 : V2);
      if (outcome !== 'success') increment(sums, (isV1 ? V1 : V2) + indexOf(outcome));
      else if (ms !== undefined) increment(sums, (isV1 ? V1_LATENCY : V2_LATENCY) + bucketOf(ms));
      if (ownBucket !== undefined) increment(sums, OWN_LATENCY + ownBucket);
    }
    if (isV1) return false;
    if (cause !== undefined) {
      const key = JSON.stringify([cause.status, cause.client, cause.operation, cause.pointer]);
      for (const causes of [this.causes, part.causes]) countCause(causes, key, { outcome, cause });
    }
    this.untilLook -= 1;
    return this.untilLook <= 0;
  }

  /** Returns the counts that the other replicas do not have yet, as a text; undefined if there are none. */
  takeUnshared(now: number): string | undefined {
    const { unshared, unsharedParts: parts } = this;
    if (unshared === undefined) return undefined;
    this.unshared = undefined;
    this.unsharedParts = new Map();
    const { window: windowMs } = this.rule;
    return printCounts({ windowMs, at: partOf(now, windowMs), parts, stage: unshared });
  }

  /** Takes the sums of all replicas over the window, and over the whole stage. */
  merge(window: Sums, stage: Sums): void {
    this.sharedWindow = window;
    this.sharedStage = stage;
  }

  /** Returns the harm that V2 does at `now` (milliseconds), by the counts of this replica or of all; undefined if there is none. */
  judge(now: number, isShared: boolean): CanaryHarm | undefined {
    const { window, stage } = this.known(now, isShared);
    this.dropBefore(this.partAt(now));
    this.untilLook = 1 + Math.floor(numberAt(window, V2) / 16);
    const inStage = harmIn(stage, stage, 0, this.rule);
    if (inStage !== undefined) return withCause(inStage, [this.causes]);
    const inWindow = harmIn(window, stage, before(window, stage), this.rule);
    return (
      inWindow &&
      withCause(
        inWindow,
        this.parts.map(({ causes }) => causes),
      )
    );
  }

  /** Counts of the window that ends at `now` (milliseconds), of this replica or of all. */
  count(now: number, isShared: boolean): CanaryCount {
    const { window } = this.known(now, isShared);
    return countOf(window, countedOf(window, this.rule, harmIn(window, window, 0, this.rule) !== undefined));
  }

  /** The evidence of the stage until `now` (milliseconds), of this replica or of all. */
  evidence(now: number, isShared: boolean): CanaryEvidence {
    return evidenceOf(this.known(now, isShared).stage, this.rule);
  }

  private known(now: number, isShared: boolean): { readonly window: Sums; readonly stage: Sums } {
    const [window, stage] = [this.sharedWindow, this.sharedStage];
    return isShared && window !== undefined && stage !== undefined
      ? { window, stage }
      : { window: this.sums(now), stage: this.stage };
  }

  private sums(now: number): Sums {
    this.dropBefore(this.partAt(now));
    const sums = noSums();
    for (const part of this.parts)
      for (const [index, number] of part.sums.entries()) sums[index] = numberAt(sums, index) + number;
    return sums;
  }

  private partAt(now: number): number {
    return partOf(now, this.rule.window);
  }

  /** Drops parts that are before a window ending with the part `at`. */
  private dropBefore(at: number): void {
    while ((this.parts[0]?.at ?? at) <= at - WINDOW_PARTS) this.parts.shift();
    for (const old of this.unsharedParts.keys()) if (old <= at - WINDOW_PARTS) this.unsharedParts.delete(old);
  }
}

/** Counts a failure. Clients influence its cause, so the number of causes is limited. */
function countCause(causes: Causes, key: string, failure: Omit<CauseCount, 'count'>): void {
  const known = causes.get(key);
  if (known !== undefined) known.count += 1;
  else if (causes.size < MAX_CAUSES) causes.set(key, { ...failure, count: 1 });
}

/**
 * Names the most frequent error in the count of a harm, with its client and its operation if one of them has most of it; if V2 fails for
 * all clients, none is named.
 */
function withCause(harm: CanaryHarm, all: readonly Causes[]): CanaryHarm {
  if (harm.latency !== undefined) return harm;
  const { failures, count } = harm;
  // A status that V1 responds with as often, such as 401 to an old key, is not the cause.
  const counted = all
    .flatMap((causes) => [...causes.values()])
    .filter(({ outcome }) => failures.some((failure) => failure === outcome));
  const error = mostOf(counted, ({ status, pointer }) => JSON.stringify([status, pointer]));
  const [first] = error;
  if (first === undefined) return harm;
  const ofClient = mostOf(error, ({ client }) => client);
  const ofOne = isMost(ofClient, error) ? ofClient : error;
  const ofOperation = mostOf(ofOne, ({ operation }) => operation);
  const harmed = isMost(ofOperation, ofOne) ? ofOperation : ofOne;
  const { client, operation, ...cause } = harmed[0]?.cause ?? first.cause;
  const clients = ofOne === ofClient ? client : SEVERAL;
  const operations = harmed === ofOperation ? operation : SEVERAL;
  return {
    ...harm,
    cause: {
      ...cause,
      ...(clients === undefined ? {} : { client: clients }),
      ...(operations === undefined ? {} : { operation: operations }),
      // The sums of all replicas may not have the latest counts of this one.
      count: Math.min(sumOf(harmed), count.migrated.failures),
    },
  };
}

/** The largest group of failures with something in common. */
function mostOf(
  failures: readonly CauseCount[],
  common: (cause: FailureCause) => string | undefined,
): readonly CauseCount[] {
  const groups = [...Map.groupBy(failures, ({ cause }) => common(cause)).values()];
  return groups.toSorted((one, other) => sumOf(other) - sumOf(one))[0] ?? [];
}

/** True for at least three quarters: a smaller part would not justify looking only there. */
function isMost(some: readonly CauseCount[], all: readonly CauseCount[]): boolean {
  return sumOf(some) * 4 >= sumOf(all) * 3;
}

function sumOf(failures: readonly CauseCount[]): number {
  return failures.reduce((sum, { count }) => sum + count, 0);
}

function noSums(): number[] {
  return Array.from({ length: LENGTH }, () => 0);
}

function increment(sums: number[], index: number): void {
  sums[index] = numberAt(sums, index) + 1;
}

function numberAt(sums: Sums, index: number): number {
  return sums[index] ?? 0;
}

/** Requests of the stage before its window. */
function before(window: Sums, stage: Sums): number {
  const all = (sums: Sums): number => numberAt(sums, V1) + numberAt(sums, V2);
  return Math.max(0, all(stage) - all(window));
}

/**
 * Looks for harm in sums that begin after `begun` requests of the stage. Each beginning is a separate test; the one after n requests has
 * 1 / ((n + 1)(n + 2)) of the probability of a false alarm, and these sum up to 1 over a stage of any length. If the sums have too few
 * requests to V1, the whole stage is the control group.
 */
function harmIn(sums: Sums, stage: Sums, begun: number, rule: RollbackRule): CanaryHarm | undefined {
  if (numberAt(sums, V2) < rule.requests) return undefined;
  const control = numberAt(sums, V1) < rule.requests ? stage : sums;
  const needed = neededFor(rule) + Math.log(begun + 1) + Math.log(begun + 2);
  const isHarm = COMPARISONS.some(({ failures, weight }) =>
    failsTooOften(sampleOf(control, V1, failures), sampleOf(sums, V2, failures), {
      rule,
      limit: failures.some(isSharedFailure) ? UNKNOWN_SHARE : limitAlone(control, sums, rule),
      needed: needed - Math.log(weight),
    }),
  );
  const latency = isHarm
    ? undefined
    : latencyHarm(control, sums, rule.slower, needed - Math.log(LATENCY_WEIGHT), rule.requests);
  if (!isHarm && latency === undefined) return undefined;
  const failures = countedOf(sums, rule, isHarm);
  return { count: countOf(sums, failures), failures, ...(latency === undefined ? {} : { latency }) };
}

/**
 * The share of own failures that V2 may have without a control group: the margin, if V2 has many requests and V1 none, as in a canary of
 * all clients. While V1 has a few, the limit is higher, until there are enough to compare.
 */
function limitAlone(control: Sums, sums: Sums, { requests, margin }: RollbackRule): number {
  const isAlone = numberAt(control, V1) === 0 && numberAt(sums, V2) >= 5 * requests;
  return isAlone ? margin : UNKNOWN_SHARE;
}

/** Logarithm of the evidence that a rule's certainty requires. */
function neededFor({ certainty }: RollbackRule): number {
  return -Math.log(1 - certainty / 100);
}

/** Harm needs an observed difference besides the evidence. While the control group is small, V2 is also compared with a limit. */
function failsTooOften(
  v1: Sample,
  v2: Sample,
  { rule, limit, needed }: { readonly rule: RollbackRule; readonly limit: number; readonly needed: number },
): boolean {
  if (v2.failures === 0) return false;
  const isMore = (share(v2) - share(v1)) * 100 >= leastDifference(rule);
  if (v1.requests > 0 && !isMore) return false;
  if (v1.requests < rule.requests && evidenceAbove(v2, limit / 100) >= needed) return true;
  return v1.requests > 0 && evidenceOfMore(v1, v2) >= needed;
}

/**
 * Whether an operation fails more often now than in its past, by the test of a canary, whose control group the past is. The present may
 * begin after any of the `begun` requests that V2 got of it, as a window does in a stage. Requests to V1 do not count: it is known when the
 * operation went to V2.
 */
export function failsMoreThanBefore(
  past: Sample,
  now: Sample,
  rule: RollbackRule,
  begun = past.requests,
): boolean {
  if (past.requests < rule.requests) return false;
  const needed = neededFor(rule) + Math.log(begun + 1) + Math.log(begun + 2);
  return failsTooOften(past, now, { rule, limit: UNKNOWN_SHARE, needed });
}

/** Whether requests fail more often now than before, by any difference, with the certainty of a rule. */
export function failsMoreOften(before: Sample, now: Sample, rule: RollbackRule): boolean {
  return evidenceOfMore(before, now) >= neededFor(rule);
}

function sampleOf(sums: Sums, origin: number, failures: readonly Failure[]): Sample {
  return {
    requests: numberAt(sums, origin),
    failures: failures.reduce((sum, failure) => sum + numberAt(sums, origin + indexOf(failure)), 0),
  };
}

function latenciesOf(sums: Sums, from: number): Sums {
  return sums.slice(from, from + BUCKETS);
}

/**
 * Returns the quantile in which V2 is `slower` times as slow as V1, with its bounds by the evidence; undefined if it is not. Known
 * clients must have been faster on V1 before: slow calls of a client are not V2's fault.
 */
function latencyHarm(
  control: Sums,
  sums: Sums,
  slower: number | false,
  needed: number,
  requests: number,
): LatencyHarm | undefined {
  if (slower === false) return undefined;
  const own = latenciesOf(sums, OWN_LATENCY);
  const knowsOwn = own.reduce((sum, count) => sum + count, 0) >= Math.max(requests, numberAt(sums, V2) / 2);
  for (const name of ['median', 'p99'] as const) {
    const quantile = QUANTILES[name];
    const v1Ms = quantileBounds(latenciesOf(control, V1_LATENCY), quantile, needed).below;
    const v2Ms = quantileBounds(latenciesOf(sums, V2_LATENCY), quantile, needed).above;
    const ownMs = knowsOwn ? (quantileOf(own, quantile) ?? 0) : 0;
    const usual = Math.max(v1Ms, ownMs);
    if (v2Ms >= slower * usual && v2Ms - usual >= NOTICED_MS) return { quantile: name, v1Ms, v2Ms };
  }
  return undefined;
}

/** A share of failures with the bounds that hold with the certainty of a rule, from 0 to 1. */
export function boundedShare(sample: Sample, rule: RollbackRule): FailedShare {
  return bounded(sample, neededFor(rule));
}

/** The evidence of a stage, and the requests that it still needs. */
function evidenceOf(sums: Sums, rule: RollbackRule): CanaryEvidence {
  // Any failure may become more frequent; detecting that takes more requests the more failures there are.
  const [v1, v2] = [sampleOf(sums, V1, FAILURES), sampleOf(sums, V2, FAILURES)];
  const measured = (name: LatencyHarm['quantile']): CanaryEvidence['latency']['median'] => ({
    v1Ms: finite(quantileOf(latenciesOf(sums, V1_LATENCY), QUANTILES[name])),
    v2Ms: finite(quantileOf(latenciesOf(sums, V2_LATENCY), QUANTILES[name])),
  });
  const latency = { median: measured('median'), p99: measured('p99') };
  const base = {
    migrated: v2.requests,
    v1: v1.requests,
    requests: rule.requests,
    margin: rule.margin,
    failed: { migrated: boundedShare(v2, rule), v1: boundedShare(v1, rule) },
    latency,
  };
  if (v1.requests < rule.requests || v2.requests < rule.requests) return base;
  const needed = neededFor(rule) + Math.log(2) - Math.log(LEAST_WEIGHT);
  const plan = {
    share: (v1.failures + 1) / (v1.requests + 2),
    ratio: v1.requests / v2.requests,
    needed,
  };
  const sees = (points: number): number | undefined => {
    const total = requestsToSee({ ...plan, difference: points / 100 });
    return total === undefined ? undefined : Math.max(0, total - v2.requests);
  };
  const forMargin = sees(rule.margin);
  // A smaller difference needs more requests than the margin did.
  const finer =
    forMargin === 0 ? FINER.find((points) => points < rule.margin && sees(points) !== 0) : undefined;
  return {
    ...base,
    ...(forMargin === undefined ? {} : { forMargin }),
    ...(finer === undefined ? {} : { finer: { points: finer, needs: sees(finer) } }),
  };
}

/** Differences, in percent, to look for after a canary has shown no difference of the margin. */
const FINER = [5, 2, 1, 0.5, 0.2, 0.1] as const;

function finite(milliseconds: number | undefined): number | undefined {
  return milliseconds === Number.POSITIVE_INFINITY ? undefined : milliseconds;
}

function indexOf(failure: Failure): number {
  return 1 + FAILURES.indexOf(failure);
}

/** The counts of `failures` of both origins, for display. */
function countOf(sums: Sums, failures: readonly Failure[]): CanaryCount {
  return { migrated: sampleOf(sums, V2, failures), v1: sampleOf(sums, V1, failures) };
}

/**
 * The failures in the displayed counts: those of both origins, without clients' statuses that are as frequent on V1. If V2 fails too
 * often, only those that are more frequent on V2, so that the numbers show why.
 */
function countedOf(sums: Sums, rule: RollbackRule, isTooOften: boolean): readonly Failure[] {
  return FAILURES.filter((failure) => {
    const excess = excessOf(sums, failure, rule);
    return isSharedFailure(failure) ? excess > leastDifference(rule) : !isTooOften || excess > 0;
  });
}

/** Percentage points by which a failure is more frequent on V2 than on V1; at most 0 if clients may cause it. */
function excessOf(sums: Sums, failure: Failure, { requests }: RollbackRule): number {
  const least = isSharedFailure(failure) && numberAt(sums, V1) < requests ? UNKNOWN_SHARE : 0;
  const percent = (origin: number): number => 100 * share(sampleOf(sums, origin, [failure]));
  return percent(V2) - Math.max(least, percent(V1));
}

/**
 * Outcome of a finished exchange, for comparing migrated traffic with V1's: by its status, and the code of its failure, if any. Undefined
 * if it says nothing about the origin. A 304 is a success, because the client's condition asked for it (RFC 9110 §15.4.5).
 */
export function canaryOutcome(status: number, failure: string | undefined): CanaryOutcome | undefined {
  if (failure === 'upstream-broken') return '5xx';
  if (status === 0 || (failure !== undefined && NEUTRAL_FAILURES.has(failure))) return undefined;
  if (status < 300 || status === 304) return 'success';
  const text = String(status);
  const others = status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx';
  return FAILURES.find((known) => known === text) ?? others;
}
