import { ObservationBudget } from '../../rewrite-log/observation-budget.ts';
import type { Comparison, FieldDifference } from '../../rollout/comparison.ts';
import { type ComparedResponse, compareResponses } from './compare-responses.ts';

/** Shadowing results of one operation. */
export interface OperationComparisons {
  /** Absent for requests that the rule book does not name. */
  readonly operation?: string;
  readonly same: number;
  readonly different: number;
  readonly unknown: number;
  /** Fields that differed, most frequent first. */
  readonly fields: readonly (FieldDifference & { readonly count: number })[];
}

const OVER_BUDGET: Comparison = { verdict: 'unknown', differences: [], noise: 0, extra: 0, why: 'budget' };

/** Maximum number of distinct fields per operation. */
const MAX_FIELDS = 200;

interface Total {
  same: number;
  different: number;
  unknown: number;
  readonly fields: Map<string, { readonly difference: FieldDifference; count: number }>;
}

/** Totals the comparisons of both origins since the start. */
export class Comparisons {
  private readonly totals = new Map<string | undefined, Total>();
  private readonly budget: ObservationBudget;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.budget = new ObservationBudget(now);
  }

  /**
   * Compares like `compareResponses`, within the budget per second: beyond it the verdict is `unknown`, with the reason `budget`.
   */
  compare(v1: ComparedResponse, repeat: ComparedResponse, v2: ComparedResponse): Comparison {
    const bytes = v1.body.length + repeat.body.length + v2.body.length;
    return (
      this.budget.run(bytes, v1.status !== v2.status, () => compareResponses(v1, repeat, v2)) ?? OVER_BUDGET
    );
  }

  add(operation: string | undefined, { verdict, differences }: Comparison): void {
    const total = this.totals.get(operation) ?? { same: 0, different: 0, unknown: 0, fields: new Map() };
    this.totals.set(operation, total);
    total[verdict] += 1;
    for (const difference of differences) {
      const key = `${difference.kind} ${difference.path}`;
      const known = total.fields.get(key);
      if (known !== undefined) known.count += 1;
      else if (total.fields.size < MAX_FIELDS) total.fields.set(key, { difference, count: 1 });
    }
  }

  /** Results by operation. */
  get list(): readonly OperationComparisons[] {
    return [...this.totals].map(([operation, { same, different, unknown, fields }]) => ({
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
