import type { RolloutCounts } from '../../inspector/rollout-admin.ts';
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
        return mergedShadows([own.comparisons.list, ...workers().map(({ shadows }) => shadows)].flat());
      },
    },
    // The first process counts these from the entries of all.
    bodyChecks: own.bodyChecks,
  };
}

function mergedShadows(all: RolloutView['shadows']): RolloutView['shadows'] {
  return groups(all, ({ operation }) => operation ?? '').map((group) => ({
    ...(group[0].operation === undefined ? {} : { operation: group[0].operation }),
    same: sum(group.map(({ same }) => same)),
    different: sum(group.map(({ different }) => different)),
    unknown: sum(group.map(({ unknown }) => unknown)),
    fields: mostFrequent(
      groups(
        group.flatMap(({ fields }) => fields),
        ({ kind, path }) => `${kind} ${path}`,
      ).map((same) => ({ ...same[0], count: sum(same.map(({ count }) => count)) })),
    ),
  }));
}

/** Groups of items with the same key, in the order of their first items. */
function groups<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly (readonly [Item, ...Item[]])[] {
  const byKey = new Map<string, [Item, ...Item[]]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = byKey.get(key);
    if (group === undefined) byKey.set(key, [item]);
    else group.push(item);
  }
  return [...byKey.values()];
}

function mostFrequent<Item extends { readonly count: number }>(items: readonly Item[]): readonly Item[] {
  return items.toSorted((one, other) => other.count - one.count);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
