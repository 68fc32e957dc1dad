import { ObservationBudget } from '../../rewrite-log/observation-budget.ts';
import type { Comparison, FieldDifference } from '../../rollout/comparison.ts';
import { type ComparedResponse, compareResponses } from './compare-responses.ts';

/** What shadowing found of one operation. */
export interface OperationComparisons {
  /** Absent for requests that the rule book does not name. */
  readonly operation?: string;
  readonly same: number;
  readonly different: number;
  readonly unknown: number;
  /** The fields that differed, most often first. */
  readonly fields: readonly (FieldDifference & { readonly count: number })[];
}

const BEYOND: Comparison = { verdict: 'unknown', differences: [], noise: 0, extra: 0, why: 'budget' };

/** Fields that are told apart for one operation. */
const MOST_FIELDS = 200;

interface Sum {
  same: number;
  different: number;
  unknown: number;
  readonly fields: Map<string, { readonly difference: FieldDifference; count: number }>;
}

/** Adds up what comparing both origins found, since the start. */
export class Comparisons {
  private readonly sums = new Map<string | undefined, Sum>();
  private readonly budget: ObservationBudget;

  /** `now` is milliseconds of a clock that never goes back. */
  constructor(now: () => number) {
    this.budget = new ObservationBudget(now);
  }

  /** Compares as `compareResponses` does, within the second's budget: beyond it the verdict is `unknown`, by `budget`. */
  compare(v1: ComparedResponse, again: ComparedResponse, v2: ComparedResponse): Comparison {
    const bytes = v1.body.length + again.body.length + v2.body.length;
    return this.budget.run(bytes, v1.status !== v2.status, () => compareResponses(v1, again, v2)) ?? BEYOND;
  }

  add(operation: string | undefined, { verdict, differences }: Comparison): void {
    const sum = this.sums.get(operation) ?? { same: 0, different: 0, unknown: 0, fields: new Map() };
    this.sums.set(operation, sum);
    sum[verdict] += 1;
    for (const difference of differences) {
      const key = `${difference.kind} ${difference.path}`;
      const known = sum.fields.get(key);
      if (known !== undefined) known.count += 1;
      else if (sum.fields.size < MOST_FIELDS) sum.fields.set(key, { difference, count: 1 });
    }
  }

  /** What was found, by operation. */
  get list(): readonly OperationComparisons[] {
    return [...this.sums].map(([operation, { same, different, unknown, fields }]) => ({
      ...(operation === undefined ? {} : { operation }),
      same,
      different,
      unknown,
      fields: [...fields.values()]
        .map(({ difference, count }) => ({ ...difference, count }))
        .sort((one, other) => other.count - one.count),
    }));
  }
}
