import { ObservationBudget } from '../../rewrite-log/attributes/observation-budget.ts';
import type { Comparison } from '../../rollout/comparison.ts';
import { ComparisonTally } from '../../rollout/comparison-tally.ts';
import type { ShadowView } from '../../rollout/rollout-view.ts';
import { type ComparedResponse, compareResponses } from './compare-responses.ts';

const OVER_BUDGET: Comparison = { verdict: 'unknown', differences: [], noise: 0, extra: 0, why: 'budget' };

/** Compares the responses of both origins, and totals the results since the start. */
export class Comparisons {
  private readonly tally = new ComparisonTally();
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

  add(operation: string | undefined, comparison: Comparison): void {
    this.tally.add(operation, comparison);
  }

  /** Results by operation. */
  get list(): readonly ShadowView[] {
    return this.tally.list;
  }
}
