import { type BodyCheckCount, BodyCheckTally, type DryRunResult } from './body-check-tally.ts';
import type { Comparison } from './comparison.ts';
import { ComparisonTally } from './comparison-tally.ts';
import type { RolloutView, ShadowView } from './rollout-view.ts';

/** Counts of V1 traffic under one rule book. */
export interface RolloutTotals {
  readonly requests: RolloutView['requests'];
  readonly shadows: readonly ShadowView[];
  readonly bodyChecks: readonly BodyCheckCount[];
}

/** Totals V1 traffic under one rule book, here or by adding what others counted. */
export class RolloutTally {
  private readonly ruleBook: string;
  private readonly requests = { v1: 0, v2: 0 };
  private readonly comparisons = new ComparisonTally();
  private readonly bodyChecks = new BodyCheckTally();

  /** `ruleBook` is the hash of the rule book. */
  constructor(ruleBook: string) {
    this.ruleBook = ruleBook;
  }

  /** Adds a finished exchange, whose request is counted apart. */
  add(entry: DryRunResult & { readonly comparison?: Comparison | undefined }): void {
    if (entry.comparison !== undefined) this.comparisons.add(entry.operation, entry.comparison);
    this.bodyChecks.add(entry);
  }

  merge({ requests, shadows, bodyChecks }: RolloutTotals): void {
    this.requests.v1 += requests.v1;
    this.requests.v2 += requests.v2;
    this.comparisons.merge(shadows);
    this.bodyChecks.merge(this.ruleBook, bodyChecks);
  }

  get totals(): RolloutTotals {
    return {
      requests: { ...this.requests },
      shadows: this.comparisons.list,
      bodyChecks: this.bodyChecks.list(this.ruleBook),
    };
  }
}
