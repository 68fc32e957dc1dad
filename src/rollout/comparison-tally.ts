import type { Comparison, FieldDifference } from './comparison.ts';
import type { ShadowView } from './rollout-view.ts';

/** Maximum number of distinct fields per operation. */
const MAX_FIELDS = 200;

interface Total {
  same: number;
  different: number;
  unknown: number;
  readonly fields: Map<string, { readonly difference: FieldDifference; count: number }>;
}

/** Totals comparisons of V1 and V2 by operation. */
export class ComparisonTally {
  private readonly totals = new Map<string | undefined, Total>();

  add(operation: string | undefined, { verdict, differences }: Comparison): void {
    const total = this.totalOf(operation);
    total[verdict] += 1;
    for (const difference of differences) addField(total, difference, 1);
  }

  /** Adds the totals of another tally. */
  merge(lists: readonly ShadowView[]): void {
    for (const { operation, same, different, unknown, fields } of lists) {
      const total = this.totalOf(operation);
      total.same += same;
      total.different += different;
      total.unknown += unknown;
      for (const { path, kind, count } of fields) addField(total, { path, kind }, count);
    }
  }

  /** Results by operation. */
  get list(): readonly ShadowView[] {
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

  private totalOf(operation: string | undefined): Total {
    const total = this.totals.get(operation) ?? { same: 0, different: 0, unknown: 0, fields: new Map() };
    this.totals.set(operation, total);
    return total;
  }
}

function addField({ fields }: Total, difference: FieldDifference, count: number): void {
  const key = `${difference.kind} ${difference.path}`;
  const known = fields.get(key);
  if (known !== undefined) known.count += count;
  else if (fields.size < MAX_FIELDS) fields.set(key, { difference, count });
}
