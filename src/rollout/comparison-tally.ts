/** Maximum number of distinct fields per operation. */
const MAX_FIELDS = 200;

interface Total {
  readonly operation: string | undefined;
  readonly isVerified: boolean;
  same: number;
  different: number;
  unknown: number;
  last: number;
  lastDifferent: number;
  readonly fields: Map<string, { readonly difference: Finding; count: number }>;
}

/** Totals comparisons of V1 and V2 by operation, separately for shadowed and for verified reads. */
export class ComparisonTally {
  private readonly totals = new Map<string, Total>();

  /** `time` is that of the request, in milliseconds since 1970. */
  add(
    operation: string | undefined,
    { verdict, differences, status }: Comparison,
    isVerified: boolean,
    time: number,
  ): void {
    const total = this.totalOf(operation, isVerified);
    total[verdict] += 1;
    total.last = Math.max(total.last, time);
    if (verdict === 'different') total.lastDifferent = Math.max(total.lastDifferent, time);
    if (verdict === 'different' && status !== undefined)
      addField(total, { path: `${status.v2} instead of ${status.v1}`, kind: 'status' }, 1);
    for (const difference of differences) addField(total, difference, 1);
  }

  /** Adds the totals of another tally. */
  merge(lists: readonly ShadowView[]): void {
    for (const { operation, verified, same, different, unknown, last, lastDifferent, fields } of lists) {
      const total = this.totalOf(operation, verified === true);
      total.same += same;
      total.different += different;
      total.unknown += unknown;
      if (last !== undefined) total.last = Math.max(total.last, Date.parse(last));
      if (lastDifferent !== undefined)
        total.lastDifferent = Math.max(total.lastDifferent, Date.parse(lastDifferent));
      for (const { path, kind, count } of fields) addField(total, { path, kind }, count);
    }
  }

  /** Results by operation. */
  get list(): readonly ShadowView[] {
    return [...this.totals.values()].map(
      ({ operation, isVerified, last, lastDifferent, fields, ...counts }) => ({
        ...(operation === undefined ? {} : { operation }),
        ...(isVerified ? { verified: true as const } : {}),
        ...counts,
        ...(last === 0 ? {} : { last: new Date(last).toISOString() }),
        ...(lastDifferent === 0 ? {} : { lastDifferent: new Date(lastDifferent).toISOString() }),
        fields: [...fields.values()]
          .map(({ difference, count }) => ({ ...difference, count }))
          .sort((one, other) => other.count - one.count),
      }),
    );
  }

  private totalOf(operation: string | undefined, isVerified: boolean): Total {
    const key = `${isVerified ? 'verify' : 'shadow'} ${operation ?? ''}`;
    const none = { same: 0, different: 0, unknown: 0, last: 0, lastDifferent: 0, fields: new Map() };
    const total = this.totals.get(key) ?? { operation, isVerified, ...none };
    this.totals.set(key, total);
    return total;
  }
}

function addField({ fields }: Total, difference: Finding, count: number): void {
  const key = `${difference.kind} ${difference.path}`;
  const known = fields.get(key);
  if (known !== undefined) known.count += count;
  else if (fields.size < MAX_FIELDS) fields.set(key, { difference, count });
}

/** One field in which the responses of V1 and V2 to one request differ. Never holds a value. */
export interface FieldDifference {
  /** RFC 6901 pointer, with `*` for elements. */
  readonly path: string;
  /**
   * `missing`: V2 has no such field. `type`, `value`: its type or value differs. `length`: a list has more elements or fewer.
   * `order`: its elements are in another order.
   */
  readonly kind: 'missing' | 'type' | 'value' | 'length' | 'order';
}

/** A difference in a field, or in the statuses, with a `path` such as `422 instead of 200`. */
interface Finding extends Pick<FieldDifference, 'path'> {
  readonly kind: FieldDifference['kind'] | 'status';
}

/** Result of sending the same request to both origins. */
export interface Comparison {
  /** `same`: V2 has every field of V1 with the same value, and no list that is longer, except noise. `unknown`: the responses could not be compared. */
  readonly verdict: 'same' | 'different' | 'unknown';
  /** The statuses, if they differ. */
  readonly status?: { readonly v1: number; readonly v2: number };
  /** At most 32. */
  readonly differences: readonly FieldDifference[];
  /** Number of fields that differ between two responses of V1, and are ignored. */
  readonly noise: number;
  /** Number of members of objects that only V2 has, and that a V1 client does not read. */
  readonly extra: number;
  /** Reason for `unknown`: `timeout`, `unreachable`, `too-large`, `not-json`, `budget`, … */
  readonly why?: string;
}

/** Results of shadowed, or of verified, reads for one operation. */
export interface ShadowView {
  readonly operation?: string;
  /** Present for reads that V2 served and the gateway also sent to V1: their differences are drift. */
  readonly verified?: true;
  readonly same: number;
  readonly different: number;
  readonly unknown: number;
  /** RFC 3339: the last read, and the last that differed; absent without one. */
  readonly last?: string;
  readonly lastDifferent?: string;
  /** Fields that differed, most frequent first. */
  readonly fields: readonly (Finding & {
    readonly count: number;
    /** The change whose rules remove members with this name, so that V2 has none by design; absent if none does. */
    readonly change?: string;
  })[];
}
