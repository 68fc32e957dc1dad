import type { BodyCheck } from './body-check.ts';
import type { RolloutSubject } from './scope.ts';

/** What a finished exchange says about its dry run. */
export interface DryRunResult {
  readonly ruleBook: string;
  readonly client?: string | undefined;
  readonly operation?: string | undefined;
  /** The status that the client received. */
  readonly status: number;
  readonly bytesIn: number;
  readonly would?: (Partial<BodyCheck> & WouldRefuse) | undefined;
}

/** The gateway's own verdict on a migration; `failure` and `pointer` say why it would refuse the request. */
interface WouldRefuse {
  readonly verdict: 'rewritten' | 'unchanged' | 'refused';
  readonly failure?: string;
  readonly pointer?: string;
}

/** Dry runs of the bodies that one client sent to one operation. */
export interface BodyCheckCount {
  /** Absent for requests that the rule book does not name. */
  readonly operation?: string;
  /** Client hash; absent for requests without a key, and for clients beyond the limit. */
  readonly client?: string;
  readonly valid: number;
  /** Bodies that V1 accepted and V2's schema refuses. */
  readonly invalid: number;
  /** Bodies that V2's schema refuses as V1 did. */
  readonly refusedByBoth: number;
  /** Bodies that were not checked. */
  readonly unknown: number;
  /** All bodies, those without a check among them. */
  readonly bodies: number;
  /** Requests that the gateway itself would refuse, and V1 accepted. */
  readonly refused: number;
  /** Places of the first fault of bodies that V1 accepted, most frequent first. */
  readonly pointers: readonly { readonly at: string; readonly count: number }[];
  /** Codes of the gateway's refusals, with their places, most frequent first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
}

/** Maximum number of pairs of client and operation, and of pointers of one pair. */
const MAX_PAIRS = 1000;
const MAX_POINTERS = 20;

/** Characters of a place that are kept. */
const MAX_PLACE = 300;

const COUNTERS = ['valid', 'invalid', 'refusedByBoth', 'unknown', 'bodies', 'refused'] as const;

type Counter = (typeof COUNTERS)[number];

type Count = { -readonly [Name in Counter]: number } & {
  readonly subject: Partial<RolloutSubject>;
  readonly pointers: Map<string, number>;
  readonly refusals: Map<string, number>;
};

/** Totals what migrations of bodies would have come to, under the rule book in force: another one makes other bodies, so it starts anew. */
export class BodyCheckTally {
  private readonly counts = new Map<string, Count>();
  private ruleBook = '';

  /** Adds an exchange. A status of V1 that says nothing about the body (0, 5xx) leaves it out. */
  add({ ruleBook, client, operation, status, bytesIn, would }: DryRunResult): void {
    if (would === undefined || (bytesIn === 0 && would.verdict !== 'refused')) return;
    this.begin(ruleBook);
    if (status === 0 || status >= 500) return;
    const count = this.countOf({ client, operation });
    count.bodies += 1;
    if (would.verdict === 'refused') {
      if (status >= 400) return;
      count.refused += 1;
      const { failure = 'refused', pointer } = would;
      increment(count.refusals, pointer === undefined ? failure : `${failure} at ${pointer}`, 1);
      return;
    }
    const { v2, at = '' } = would;
    if (v2 === undefined) return;
    if (v2 !== 'invalid') {
      count[v2] += 1;
      return;
    }
    if (status >= 400) {
      count.refusedByBoth += 1;
      return;
    }
    count.invalid += 1;
    increment(count.pointers, at, 1);
  }

  /** Adds the counts of another tally under the same rule book. */
  merge(ruleBook: string, counts: readonly BodyCheckCount[]): void {
    this.begin(ruleBook);
    for (const { operation, client, pointers, refusals, ...numbers } of counts) {
      const count = this.countOf({ operation, client });
      for (const name of COUNTERS) count[name] += numbers[name];
      for (const { at, count: times } of pointers) increment(count.pointers, at, times);
      for (const { reason, count: times } of refusals) increment(count.refusals, reason, times);
    }
  }

  /** Counts under the rule book with this hash, those with the most faults first. */
  list(ruleBook: string): readonly BodyCheckCount[] {
    if (ruleBook !== this.ruleBook) return [];
    return [...this.counts.values()]
      .map(({ subject: { operation, client }, pointers, refusals, ...count }) => ({
        ...(operation === undefined ? {} : { operation }),
        ...(client === undefined ? {} : { client }),
        ...count,
        pointers: byCount(pointers).map(([at, times]) => ({ at, count: times })),
        refusals: byCount(refusals).map(([reason, times]) => ({ reason, count: times })),
      }))
      .sort((one, other) => other.invalid + other.refused - one.invalid - one.refused);
  }

  private begin(ruleBook: string): void {
    if (ruleBook === this.ruleBook) return;
    this.counts.clear();
    this.ruleBook = ruleBook;
  }

  private countOf({ operation, client }: RolloutSubject): Count {
    const key = `${client ?? ''} ${operation ?? ''}`;
    const known = this.counts.get(key);
    if (known !== undefined) return known;
    if (client !== undefined && this.counts.size >= MAX_PAIRS)
      return this.countOf({ operation, client: undefined });
    const count = {
      subject: { operation, client },
      valid: 0,
      invalid: 0,
      refusedByBoth: 0,
      unknown: 0,
      bodies: 0,
      refused: 0,
      pointers: new Map<string, number>(),
      refusals: new Map<string, number>(),
    };
    this.counts.set(key, count);
    return count;
  }
}

/** Counts a place, up to a number of different ones, and of characters: clients choose them. */
function increment(places: Map<string, number>, place: string, times: number): void {
  const name = place.slice(0, MAX_PLACE);
  if (places.has(name) || places.size < MAX_POINTERS) places.set(name, (places.get(name) ?? 0) + times);
}

function byCount(places: ReadonlyMap<string, number>): (readonly [place: string, count: number])[] {
  return [...places].sort(([, one], [, other]) => other - one);
}
