import type { Comparison, FieldDifference } from '../../rollout/comparison.ts';

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
