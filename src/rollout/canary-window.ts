import type { RollbackRule } from '../rules/rollout.ts';
import type { OriginCount } from './rollout-state.ts';
import { type SharedWindow, WINDOW_PARTS, windowSums } from './store.ts';

/** Refusals that say nothing about an origin: V1's retirement, the gateway's own limits, and invalid framing by the client. */
const NEUTRAL_FAILURES: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
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

/** How many numbers an origin has in a window. */
const NUMBERS = 1 + FAILURES.length;

/**
 * V1's share, in percent, of a status that clients also earn, while V1 serves too few requests to know it. A canary of all clients
 * has no control group, and a client with an old key is no fault of V2; most requests refused is one.
 */
const UNKNOWN_SHARE = 50;

interface Part extends Counters {
  /** Start, in multiples of the part length. */
  readonly at: number;
}

interface Counters {
  readonly v1: Numbers;
  readonly v2: Numbers;
}

/** Requests of one origin: all of them, then those of each of `FAILURES`. */
type Numbers = number[];

type Failure = (typeof FAILURES)[number];

/** Counts of a window: migrated requests, and those that V1 served. */
export interface CanaryCount {
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
}

/** The failures of each class that tell on an origin by themselves. */
export const OWN_CLASSES: readonly (readonly (typeof FAILURES)[number][])[] = Object.values(OWN_FAILURES);

/**
 * Counts the outcomes of one canary stage over a sliding window. V1 is the control group: V2 is judged by how much more often it
 * answers each failing status than V1 does, so a status that both answer alike says nothing.
 */
export class CanaryWindow {
  private readonly rule: RollbackRule;
  private readonly parts: Part[] = [];
  private unshared: Counters = counters();
  private shared: Counters | undefined;

  constructor(rule: RollbackRule) {
    this.rule = rule;
  }

  /** Counts a request at `now` (milliseconds); returns true when migrated requests now fail too often. */
  add(origin: 'v1' | 'v2', outcome: CanaryOutcome, now: number): boolean {
    const at = this.partAt(now);
    let part = this.parts.at(-1);
    if (part === undefined || part.at !== at) {
      part = { at, ...counters() };
      this.parts.push(part);
      this.dropBefore(at);
    }
    addOutcome(part[origin], outcome);
    addOutcome(this.unshared[origin], outcome);
    return outcome !== 'success' && origin === 'v2' && failsTooOften(this.sums(now), this.rule);
  }

  /** Returns what was not yet added to the window of all replicas: the numbers of V1, then of V2. */
  takeUnshared(): readonly number[] {
    const { v1, v2 } = this.unshared;
    this.unshared = counters();
    return [...v1, ...v2];
  }

  /** Takes the counts of all replicas; returns true when their migrated requests fail too often. */
  merge(counts: SharedWindow): boolean {
    const sums = windowSums(counts, 2 * NUMBERS);
    this.shared = { v1: sums.slice(0, NUMBERS), v2: sums.slice(NUMBERS) };
    return failsTooOften(this.shared, this.rule);
  }

  /** Counts of all replicas when they were last known, or else of this one at `now` (milliseconds). */
  sharedCount(now: number): CanaryCount {
    return countOf(this.shared ?? this.sums(now), this.rule);
  }

  /** Counts in this replica of the window that ends at `now` (milliseconds). */
  count(now: number): CanaryCount {
    return countOf(this.sums(now), this.rule);
  }

  private sums(now: number): Counters {
    this.dropBefore(this.partAt(now));
    const sums = counters();
    for (const part of this.parts) {
      for (let index = 0; index < NUMBERS; index += 1) {
        sums.v1[index] = numberAt(sums.v1, index) + numberAt(part.v1, index);
        sums.v2[index] = numberAt(sums.v2, index) + numberAt(part.v2, index);
      }
    }
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

function counters(): Counters {
  return { v1: Array.from({ length: NUMBERS }, () => 0), v2: Array.from({ length: NUMBERS }, () => 0) };
}

function addOutcome(numbers: Numbers, outcome: CanaryOutcome): void {
  numbers[0] = numberAt(numbers, 0) + 1;
  if (outcome === 'success') return;
  numbers[indexOf(outcome)] = numberAt(numbers, indexOf(outcome)) + 1;
}

function numberAt(numbers: Numbers, index: number): number {
  return numbers[index] ?? 0;
}

function failsTooOften(counts: Counters, rule: RollbackRule): boolean {
  if (numberAt(counts.v2, 0) < rule.requests) return false;
  return excess(counts, rule) > rule.margin;
}

/** Percentage points by which V2 fails more often than V1, by what tells on it. */
function excess(counts: Counters, rule: RollbackRule): number {
  const beyondMargin = (failures: readonly Failure[]): number =>
    failures.reduce((sum, failure) => {
      const points = excessOf(counts, failure, rule);
      return points > rule.margin ? sum + points : sum;
    }, 0);
  // A whole class is compared too: five errors of one request each are five errors. By its sum alone V1's 422 would hide V2's 400.
  const ofClasses = OWN_CLASSES.map((failures) => {
    const share = (numbers: Numbers): number =>
      failures.reduce((sum, failure) => sum + percent(numbers, indexOf(failure)), 0);
    return Math.max(share(counts.v2) - share(counts.v1), beyondMargin(failures));
  });
  return ofClasses.reduce((sum, points) => sum + points, beyondMargin(FAILURES.filter(isShared)));
}

/** Percentage points by which V2 answers a failure more often than V1; not above 0 where it is the clients' as far as anybody can tell. */
function excessOf({ v1, v2 }: Counters, failure: Failure, { requests }: RollbackRule): number {
  const index = indexOf(failure);
  const least = isShared(failure) && numberAt(v1, 0) < requests ? UNKNOWN_SHARE : 0;
  return percent(v2, index) - Math.max(least, percent(v1, index));
}

function indexOf(failure: Failure): number {
  return 1 + FAILURES.indexOf(failure);
}

function percent(numbers: Numbers, index: number): number {
  const all = numberAt(numbers, 0);
  return all === 0 ? 0 : (numberAt(numbers, index) * 100) / all;
}

/** Whether V1's share of this failure decides if V2's counts at all. */
function isShared(failure: (typeof FAILURES)[number]): boolean {
  return SHARED_FAILURES.some((shared) => shared === failure);
}

/**
 * The counts for people: failures of both origins, without the statuses of clients that V2 answers as V1 does. Where V2 fails too
 * often, only the statuses that it answers more often count, so that the numbers show why.
 */
function countOf(counts: Counters, rule: RollbackRule): CanaryCount {
  const isTooOften = failsTooOften(counts, rule);
  const counted = FAILURES.filter((failure) => {
    if (isShared(failure)) return excessOf(counts, failure, rule) > rule.margin;
    return !isTooOften || excessOf(counts, failure, rule) > 0;
  });
  const total = (numbers: Numbers): OriginCount => ({
    requests: numberAt(numbers, 0),
    failures: counted.reduce((sum, failure) => sum + numberAt(numbers, indexOf(failure)), 0),
  });
  return { migrated: total(counts.v2), v1: total(counts.v1) };
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
