import type { RolloutCounts } from '../../inspector/rollout-admin.ts';
import type { BodyCheckCount } from '../../rollout/body-check-tally.ts';
import type { RolloutView } from '../../rollout/rollout-view.ts';

/** What one worker counted of the rollout since its start. */
export interface WorkerRollout {
  readonly requests: { readonly v1: number; readonly v2: number };
  readonly shadows: RolloutView['shadows'];
  readonly ruleBook: string;
  /** Checks of bodies under that rule book. */
  readonly bodyChecks: readonly BodyCheckCount[];
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
    bodyChecks: {
      get isOn() {
        return own.bodyChecks.isOn;
      },
      tally: {
        list: (ruleBook) => {
          const under = workers().filter((worker) => worker.ruleBook === ruleBook);
          const all = [own.bodyChecks.tally.list(ruleBook), ...under.map(({ bodyChecks }) => bodyChecks)];
          return mergedChecks(all.flat());
        },
      },
    },
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

function mergedChecks(all: readonly BodyCheckCount[]): readonly BodyCheckCount[] {
  return groups(all, ({ client, operation }) => `${client ?? ''} ${operation ?? ''}`)
    .map((group) => ({
      ...group[0],
      valid: sum(group.map(({ valid }) => valid)),
      invalid: sum(group.map(({ invalid }) => invalid)),
      refusedByBoth: sum(group.map(({ refusedByBoth }) => refusedByBoth)),
      unknown: sum(group.map(({ unknown }) => unknown)),
      pointers: mostFrequent(
        groups(
          group.flatMap(({ pointers }) => pointers),
          ({ at }) => at,
        ).map((same) => ({ ...same[0], count: sum(same.map(({ count }) => count)) })),
      ),
    }))
    .sort((one, other) => other.invalid - one.invalid);
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
