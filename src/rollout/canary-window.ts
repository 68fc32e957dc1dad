import type { RollbackRule } from '../rules/rollout.ts';
import {
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
  type FailureCause,
  type LatencyHarm,
  type OriginCount,
  type RollbackCause,
  SEVERAL,
} from './rollout-state.ts';
import { type SharedWindow, WINDOW_PARTS, windowSums } from './store.ts';

/** Refusals that say nothing about an origin: V1's retirement, the gateway's own limits, and invalid framing by the client. */
const NEUTRAL_FAILURES: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
  'newcomer',
  'overloaded',
  'buffer-full',
  'client-timeout',
  'bad-framing',
]);

/**
 * Statuses that clients also earn: by their key, their rate, their address, or a resource that has moved. They tell on V2 where it
 * answers them more often than V1, the control group.
 */
const SHARED_FAILURES = ['301', '302', '303', '307', '308', '3xx', '401', '403', '404', '429'] as const;

/** Statuses that tell on an origin by themselves, by class: nobody expects them of a service that works. */
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

/** Failures that are counted apart, each against V1's share of the same; `3xx`, `4xx` and `5xx` are the others of their class. */
export const FAILURES = [...SHARED_FAILURES, ...OWN_FAILURES['4xx'], ...OWN_FAILURES['5xx']] as const;

/** What an exchange says about its origin. */
export type CanaryOutcome = 'success' | (typeof FAILURES)[number];

/** How many numbers of requests an origin has: all of them, then those of each of `FAILURES`. */
const NUMBERS = 1 + FAILURES.length;

/** Places in the sums: requests of V1 and of V2, latencies of both, and latencies of V2's clients on V1 before. */
const [V1, V2] = [0, NUMBERS];
const V1_LATENCY = 2 * NUMBERS;
const V2_LATENCY = V1_LATENCY + BUCKETS;
const OWN_LATENCY = V2_LATENCY + BUCKETS;
const LENGTH = OWN_LATENCY + BUCKETS;

/** Number of values in the sums of a canary. */
export type Sums = readonly number[];

type Failure = (typeof FAILURES)[number];

/** Length of the window that holds a whole stage, in milliseconds: longer than anybody watches a canary. */
export const STAGE_MS = 84 * 86_400_000;

/**
 * V1's share of a status, in percent, while V1 serves too few requests to know it. A canary of all clients has no control group, and
 * a client with an old key is no fault of V2; most requests refused is one.
 */
const UNKNOWN_SHARE = 50;

/** Milliseconds by which V2 is slower at the least where that counts as harm: nobody notices less. */
const NOTICED_MS = 50;

/** The quantiles of latencies that are compared. */
const QUANTILES = { median: 0.5, p99: 0.99 } as const;

/** The failures of each class that tell on an origin by themselves. */
export const OWN_CLASSES: readonly (readonly Failure[])[] = Object.values(OWN_FAILURES);

/** Failures that are compared together, with their part of the probability of a false alarm. */
interface Comparison {
  readonly failures: readonly Failure[];
  readonly weight: number;
}

/**
 * The parts sum up to 1, with an eighth for latencies. A class is compared as a whole: five errors of one request each are five
 * errors; and each status of it, as V1's 422 would else hide V2's 400.
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

/** The part of each bound of a quantile. */
const LATENCY_WEIGHT = 1 / 8 / 4;

/** The smallest part that a promise must hold for. */
const LEAST_WEIGHT = Math.min(...COMPARISONS.map(({ weight }) => weight));

interface Part {
  /** Start, in multiples of the part length. */
  readonly at: number;
  readonly sums: number[];
  readonly causes: Causes;
}

/** Failures of migrated requests that were counted here, by what they have in common. */
type Causes = Map<string, CauseCount>;

interface CauseCount {
  readonly outcome: CanaryOutcome;
  readonly cause: FailureCause;
  count: number;
}

/** Different failures of a stage that are told apart. */
const MAX_CAUSES = 200;

/** Counts of a window: migrated requests, and those that V1 served. */
export interface CanaryCount {
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
}

/** Why a canary is to be rolled back. */
export interface CanaryHarm {
  readonly count: CanaryCount;
  /** The failures that are in the count: others are as frequent on V1, or the clients' own. */
  readonly failures: readonly (typeof FAILURES)[number][];
  readonly latency?: LatencyHarm;
  /** The most frequent of these failures that was counted here; absent where other replicas counted them all. */
  readonly cause?: RollbackCause;
}

/** A request to count. */
export interface CountedOutcome {
  readonly origin: 'v1' | 'v2';
  readonly outcome: CanaryOutcome;
  /** Milliseconds to the head of the response; of a success. */
  readonly ms?: number | undefined;
  /** Bucket of what the client of a migrated request waited on V1 before. */
  readonly ownBucket?: number | undefined;
  /** What the failure of a migrated request has in common with others. */
  readonly cause?: FailureCause | undefined;
}

/**
 * Sums up the outcomes of one canary stage: since its beginning, and over a sliding window, so that a V2 that breaks late is not
 * outweighed by all that went well. V1 is the control group. A request costs a few additions; the evidence is looked at when the
 * requests of the window have grown by a sixteenth, or, among replicas, when their sums come in: a test that may be looked at any
 * time need not be looked at each time.
 */
export class CanaryWindow {
  private readonly rule: RollbackRule;
  private readonly parts: Part[] = [];
  private readonly stage: number[] = noSums();
  private readonly causes: Causes = new Map();
  private unshared: number[] = noSums();
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
    for (const sums of [part.sums, this.stage, this.unshared]) {
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

  /** Returns what was not yet added to the sums of all replicas. */
  takeUnshared(): Sums {
    const { unshared } = this;
    this.unshared = noSums();
    return unshared;
  }

  /** Takes the sums of all replicas over the window, or over the whole stage. */
  merge(counts: SharedWindow, isStage: boolean): void {
    const sums = windowSums(counts, LENGTH);
    if (isStage) this.sharedStage = sums;
    else this.sharedWindow = sums;
  }

  /** Returns what is wrong with V2 at `now` (milliseconds) by all that is known here, or of all replicas; undefined where nothing is. */
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

  /** Counts of the window that ends at `now` (milliseconds), here or of all replicas. */
  count(now: number, isShared: boolean): CanaryCount {
    const { window } = this.known(now, isShared);
    return countOf(window, countedOf(window, this.rule, harmIn(window, window, 0, this.rule) !== undefined));
  }

  /** What the stage has shown until `now` (milliseconds), here or of all replicas. */
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
    return Math.floor((now / this.rule.window) * WINDOW_PARTS);
  }

  /** Forgets parts that the window which ends with the part `at` no longer reaches. */
  private dropBefore(at: number): void {
    while ((this.parts[0]?.at ?? at) <= at - WINDOW_PARTS) this.parts.shift();
  }
}

/** Counts a failure; clients choose what tells failures apart, so others than the first ones are not told. */
function countCause(causes: Causes, key: string, failure: Omit<CauseCount, 'count'>): void {
  const known = causes.get(key);
  if (known !== undefined) known.count += 1;
  else if (causes.size < MAX_CAUSES) causes.set(key, { ...failure, count: 1 });
}

/**
 * Names the error that is in the count of a harm more often than any other, with its client and its operation where one of them has
 * most of it: when V2 fails everybody, no client is to blame.
 */
function withCause(harm: CanaryHarm, all: readonly Causes[]): CanaryHarm {
  if (harm.latency !== undefined) return harm;
  const { failures, count } = harm;
  // What V1 responds with as often, such as 401 to an old key, is no cause.
  const counted = all
    .flatMap((causes) => [...causes.values()])
    .filter(({ outcome }) => failures.some((failure) => failure === outcome));
  const error = mostOf(counted, ({ status, pointer }) => JSON.stringify([status, pointer]));
  const [first] = error;
  if (first === undefined) return harm;
  const ofClient = mostOf(error, ({ client }) => client);
  const ofOne = isMost(ofClient, error) ? ofClient : error;
  const ofOperation = mostOf(ofOne, ({ operation }) => operation);
  const told = isMost(ofOperation, ofOne) ? ofOperation : ofOne;
  const { client, operation, ...cause } = told[0]?.cause ?? first.cause;
  const clients = ofOne === ofClient ? client : SEVERAL;
  const operations = told === ofOperation ? operation : SEVERAL;
  return {
    ...harm,
    cause: {
      ...cause,
      ...(clients === undefined ? {} : { client: clients }),
      ...(operations === undefined ? {} : { operation: operations }),
      // What is counted here is on its way to the sums of all replicas.
      count: Math.min(sumOf(told), count.migrated.failures),
    },
  };
}

/** Those of the failures that have the most frequent one of something in common. */
function mostOf(
  failures: readonly CauseCount[],
  common: (cause: FailureCause) => string | undefined,
): readonly CauseCount[] {
  const groups = [...Map.groupBy(failures, ({ cause }) => common(cause)).values()];
  return groups.toSorted((one, other) => sumOf(other) - sumOf(one))[0] ?? [];
}

/** True for three quarters: a smaller part is no reason to look there alone. */
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
 * Looks for harm in sums that begin after so many requests of the stage. Each beginning is a test of its own; the one after n requests
 * has 1 / ((n + 1)(n + 2)) of the probability of a false alarm, and these sum up to 1 over a stage of any length. Where the sums hold
 * too few requests to V1, those of the whole stage are the control group.
 */
function harmIn(sums: Sums, stage: Sums, begun: number, rule: RollbackRule): CanaryHarm | undefined {
  if (numberAt(sums, V2) < rule.requests) return undefined;
  const control = numberAt(sums, V1) < rule.requests ? stage : sums;
  const needed = neededFor(rule) + Math.log(begun + 1) + Math.log(begun + 2);
  const isHarm = COMPARISONS.some(({ failures, weight }) =>
    failsTooOften(sampleOf(control, V1, failures), sampleOf(sums, V2, failures), {
      rule,
      limit: failures.some(isShared) ? UNKNOWN_SHARE : limitAlone(control, sums, rule),
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
 * The share of own failures that V2 may have while no control group is there to compare with. One that has begun is waited for; a
 * canary of all clients never has one.
 */
function limitAlone(control: Sums, sums: Sums, { requests, margin }: RollbackRule): number {
  const isAlone = numberAt(control, V1) === 0 && numberAt(sums, V2) >= 5 * requests;
  return isAlone ? margin : UNKNOWN_SHARE;
}

/** Logarithm of the evidence that the certainty of a rule asks for. */
function neededFor({ certainty }: RollbackRule): number {
  return -Math.log(1 - certainty / 100);
}

/**
 * Harm is a difference of which half the margin was seen: with the margin itself as the least, a V2 that fails by exactly the margin
 * more would be found in every other canary. While the control group is small, V2 is also held against a limit.
 */
function failsTooOften(
  v1: Sample,
  v2: Sample,
  { rule, limit, needed }: { readonly rule: RollbackRule; readonly limit: number; readonly needed: number },
): boolean {
  if (v2.failures === 0) return false;
  const isMore = (share(v2) - share(v1)) * 100 >= rule.margin / 2;
  if (v1.requests > 0 && !isMore) return false;
  if (v1.requests < rule.requests && evidenceAbove(v2, limit / 100) >= needed) return true;
  return v1.requests > 0 && evidenceOfMore(v1, v2) >= needed;
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
 * Returns the quantile in which V2 is so many times slower than V1, with the bounds that evidence gives them; undefined where it is
 * not. The same clients must have been quicker on V1 before, as far as they are known: a client with slow calls is no fault of V2.
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

/** What is known of a stage, and what more it takes to know. */
function evidenceOf(sums: Sums, rule: RollbackRule): CanaryEvidence {
  // Any of them may become more; the more of them there are, the more requests that takes.
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
  // What was enough for the margin is a part of what a finer look takes.
  const finer =
    forMargin === 0 ? FINER.find((points) => points < rule.margin && sees(points) !== 0) : undefined;
  return {
    ...base,
    ...(forMargin === undefined ? {} : { forMargin }),
    ...(finer === undefined ? {} : { finer: { points: finer, needs: sees(finer) } }),
  };
}

/** Differences, in percent, that a canary is asked for once it has seen none of the margin. */
const FINER = [5, 2, 1, 0.5, 0.2, 0.1] as const;

function finite(milliseconds: number | undefined): number | undefined {
  return milliseconds === Number.POSITIVE_INFINITY ? undefined : milliseconds;
}

function indexOf(failure: Failure): number {
  return 1 + FAILURES.indexOf(failure);
}

/** Whether V1's share of this failure decides if V2's counts at all. */
function isShared(failure: Failure): boolean {
  return SHARED_FAILURES.some((shared) => shared === failure);
}

/** The counts for people: those of `failures` of both origins. */
function countOf(sums: Sums, failures: readonly Failure[]): CanaryCount {
  return { migrated: sampleOf(sums, V2, failures), v1: sampleOf(sums, V1, failures) };
}

/**
 * What counts as a failure for people: failures of both origins, without the statuses of clients that V2 answers as V1 does. Where V2 fails too
 * often, only the statuses that it answers more often count, so that the numbers show why.
 */
function countedOf(sums: Sums, rule: RollbackRule, isTooOften: boolean): readonly Failure[] {
  return FAILURES.filter((failure) => {
    const excess = excessOf(sums, failure, rule);
    return isShared(failure) ? excess > rule.margin / 2 : !isTooOften || excess > 0;
  });
}

/** Percentage points by which V2 answers a failure more often than V1; not above 0 where it is the clients' as far as anybody can tell. */
function excessOf(sums: Sums, failure: Failure, { requests }: RollbackRule): number {
  const least = isShared(failure) && numberAt(sums, V1) < requests ? UNKNOWN_SHARE : 0;
  const percent = (origin: number): number => 100 * share(sampleOf(sums, origin, [failure]));
  return percent(V2) - Math.max(least, percent(V1));
}

/**
 * Outcome of a finished exchange, for comparing migrated traffic with V1's: by its status, and the code of its failure, if any.
 * Undefined when it says nothing about the origin. 304 is a success: it answers a condition of the client (RFC 9110 §15.4.5).
 */
export function canaryOutcome(status: number, failure: string | undefined): CanaryOutcome | undefined {
  if (failure === 'upstream-broken') return '5xx';
  if (status === 0 || (failure !== undefined && NEUTRAL_FAILURES.has(failure))) return undefined;
  if (status < 300 || status === 304) return 'success';
  const text = String(status);
  const others = status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx';
  return FAILURES.find((known) => known === text) ?? others;
}
