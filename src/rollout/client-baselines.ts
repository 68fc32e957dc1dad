import { type CanaryOutcome, OWN_CLASSES } from './canary-window.ts';
import { bucketOf } from './evidence.ts';
import type { RolloutSubject } from './modes.ts';

/** Requests to V1 from which a client's own failures there are known. */
const ENOUGH = 3;

/** Requests after which the counts of a client are halved, so that they follow it. */
const MAX_REQUESTS = 1000;

/** Pairs of client and operation that are remembered; the one that was seen first is forgotten. */
const MAX_PAIRS = 5000;

/** The failures of one class tell the same of a client: V1 may say 400 where V2 says 422. */
const CLASS_OF: ReadonlyMap<CanaryOutcome, string> = new Map(
  OWN_CLASSES.flatMap((statuses) => statuses.map((status) => [status, statuses.at(-1) ?? status] as const)),
);

interface Counts {
  requests: number;
  /** By class of own failures, or by status. */
  failures: Map<string, number>;
}

/** Latencies on V1 that are remembered of a pair. */
const LATENCIES = 8;

interface Pair {
  readonly v1: Counts;
  readonly v2: Counts;
  /** Buckets of the last latencies on V1. */
  readonly buckets: number[];
  /** Latencies that were added, or taken. */
  turn: number;
}

/**
 * How often V1 refuses each client by itself, by operation, from its requests before it was migrated. A client whose bodies V1
 * refuses as well says nothing about V2, however few of the others' requests V1 refuses.
 */
export class ClientBaselines {
  private readonly pairs = new Map<string, Pair>();

  /** Counts a request that V1 served, in so many milliseconds. */
  addV1(subject: RolloutSubject, outcome: CanaryOutcome, ms: number | undefined): void {
    const pair = this.pairOf(subject, true);
    if (pair === undefined) return;
    addOutcome(pair.v1, outcome);
    if (ms === undefined || outcome !== 'success') return;
    pair.buckets[pair.turn % LATENCIES] = bucketOf(ms);
    pair.turn += 1;
  }

  /** Returns the bucket of a latency that the same client had on V1, another one at each call; undefined where none is known. */
  ownBucket(subject: RolloutSubject): number | undefined {
    const pair = this.pairOf(subject, false);
    if (pair === undefined || pair.buckets.length < ENOUGH) return undefined;
    pair.turn += 1;
    return pair.buckets[pair.turn % pair.buckets.length];
  }

  /**
   * Counts a migrated request; returns true for a failure that the same client gets on V1 as often, which is its own. Its share on
   * V1 of its migrated requests, rounded up, is excused, and no more. A 5xx is nobody's own: an outage of V1 while it was observed
   * must not hide one of V2 now.
   */
  isOwnFailure(subject: RolloutSubject, outcome: CanaryOutcome): boolean {
    const pair = this.pairOf(subject, false);
    if (pair === undefined) return false;
    const { v1, v2 } = pair;
    addOutcome(v2, outcome);
    if (outcome === 'success' || outcome.startsWith('5') || v1.requests < ENOUGH) return false;
    const kind = CLASS_OF.get(outcome) ?? outcome;
    const share = (v1.failures.get(kind) ?? 0) / v1.requests;
    return (v2.failures.get(kind) ?? 0) <= Math.ceil(share * v2.requests);
  }

  private pairOf({ client, operation = '' }: RolloutSubject, makes: boolean): Pair | undefined {
    if (client === undefined) return undefined;
    const key = `${client} ${operation}`;
    const known = this.pairs.get(key);
    if (known !== undefined || !makes) return known;
    const [first] = this.pairs.keys();
    if (this.pairs.size >= MAX_PAIRS && first !== undefined) this.pairs.delete(first);
    const pair = { v1: noCounts(), v2: noCounts(), buckets: [], turn: 0 };
    this.pairs.set(key, pair);
    return pair;
  }
}

function noCounts(): Counts {
  return { requests: 0, failures: new Map() };
}

function addOutcome(counts: Counts, outcome: CanaryOutcome): void {
  counts.requests += 1;
  if (outcome !== 'success') {
    const kind = CLASS_OF.get(outcome) ?? outcome;
    counts.failures.set(kind, (counts.failures.get(kind) ?? 0) + 1);
  }
  if (counts.requests < MAX_REQUESTS) return;
  counts.requests /= 2;
  for (const [kind, failures] of counts.failures) counts.failures.set(kind, failures / 2);
}
