import type { RolloutCounts } from '../../inspector/rollout-admin.ts';
import { ComparisonTally } from '../../rollout/comparison-tally.ts';
import type { RolloutView } from '../../rollout/rollout-view.ts';

/** What one worker counted of the rollout since its start. */
export interface WorkerRollout {
  readonly requests: { readonly v1: number; readonly v2: number };
  readonly shadows: RolloutView['shadows'];
}

/** Merges what the processes of one gateway counted; `workers` are read anew each time. */
export function mergedRollout(own: RolloutCounts, workers: () => readonly WorkerRollout[]): RolloutCounts {
  return {
    get requests() {
      const all = [own.requests, ...workers().map(({ requests }) => requests)];
      return {
        v1: sum(all.map(({ v1 }) => v1)),
        v2: sum(all.map(({ v2 }) => v2)),
      };
    },
    comparisons: {
      get list() {
        const all = new ComparisonTally();
        for (const list of [own.comparisons.list, ...workers().map(({ shadows }) => shadows)])
          all.merge(list);
        return all.list;
      },
    },
    // The first process counts these from the entries of all.
    bodyChecks: own.bodyChecks,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
