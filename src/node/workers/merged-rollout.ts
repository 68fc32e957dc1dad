import type { RolloutCounts } from '../../inspector/rollout-admin.ts';
import { ComparisonTally } from '../../rollout/comparison-tally.ts';
import type { RolloutView } from '../../rollout/rollout-view.ts';

/** What one worker counted of the rollout since its start. */
export interface WorkerRollout {
  readonly requests: { readonly v1: number; readonly v2: number };
  readonly shadows: RolloutView['shadows'];
}

/** Merges what the processes of one gateway counted; `workers` are read each time. */
export function mergedRollout(own: RolloutCounts, workers: () => readonly WorkerRollout[]): RolloutCounts {
  const all = (): WorkerRollout =>
    mergedRollouts([{ requests: own.requests, shadows: own.comparisons.list }, ...workers()]);
  return {
    get requests() {
      return all().requests;
    },
    comparisons: {
      get list() {
        return all().shadows;
      },
    },
    // The first process counts these from the entries of all.
    bodyChecks: own.bodyChecks,
  };
}

/** The sums of what several workers counted. */
export function mergedRollouts(all: readonly WorkerRollout[]): WorkerRollout {
  const shadows = new ComparisonTally();
  for (const worker of all) shadows.merge(worker.shadows);
  return {
    requests: {
      v1: sum(all.map(({ requests }) => requests.v1)),
      v2: sum(all.map(({ requests }) => requests.v2)),
    },
    shadows: shadows.list,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
