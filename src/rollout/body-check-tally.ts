import type { BodyCheck } from './body-check.ts';
import type { Sender } from './scope.ts';

/** Checks of the bodies that one client sent to one operation. */
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
  /** Places of the first fault of bodies that V1 accepted, most frequent first. */
  readonly pointers: readonly { readonly at: string; readonly count: number }[];
}

/** Maximum number of pairs of client and operation, and of pointers of one pair. */
const MAX_PAIRS = 1000;
const MAX_POINTERS = 20;

type Count = { -readonly [Name in 'valid' | 'invalid' | 'refusedByBoth' | 'unknown']: number } & {
  readonly sender: Partial<Sender>;
  readonly pointers: Map<string, number>;
};

/** Totals the checks of bodies under the rule book in force: another one makes other bodies, so it starts anew. */
export class BodyCheckTally {
  private readonly counts = new Map<string, Count>();
  private ruleBook = '';

  /** Adds a check. `status` is V1's; one that says nothing about the body (0, 5xx) leaves the check out. */
  add(ruleBook: string, sender: Sender, status: number, check: BodyCheck): void {
    if (ruleBook !== this.ruleBook) {
      this.counts.clear();
      this.ruleBook = ruleBook;
    }
    if (status === 0 || status >= 500) return;
    const count = this.countOf(sender);
    if (check.v2 !== 'invalid') {
      count[check.v2] += 1;
      return;
    }
    if (status >= 400) {
      count.refusedByBoth += 1;
      return;
    }
    count.invalid += 1;
    const { at = '' } = check;
    const { pointers } = count;
    if (pointers.has(at) || pointers.size < MAX_POINTERS) pointers.set(at, (pointers.get(at) ?? 0) + 1);
  }

  /** Counts under the rule book with this hash, those with the most faults first. */
  list(ruleBook: string): readonly BodyCheckCount[] {
    if (ruleBook !== this.ruleBook) return [];
    return [...this.counts.values()]
      .map(({ sender: { operation, client }, pointers, ...count }) => ({
        ...(operation === undefined ? {} : { operation }),
        ...(client === undefined ? {} : { client }),
        ...count,
        pointers: [...pointers]
          .map(([at, times]) => ({ at, count: times }))
          .sort((one, other) => other.count - one.count),
      }))
      .sort((one, other) => other.invalid - one.invalid);
  }

  private countOf({ operation, client }: Sender): Count {
    const key = `${client ?? ''} ${operation ?? ''}`;
    const known = this.counts.get(key);
    if (known !== undefined) return known;
    if (client !== undefined && this.counts.size >= MAX_PAIRS)
      return this.countOf({ operation, client: undefined });
    const count = {
      sender: { operation, client },
      valid: 0,
      invalid: 0,
      refusedByBoth: 0,
      unknown: 0,
      pointers: new Map<string, number>(),
    };
    this.counts.set(key, count);
    return count;
  }
}
