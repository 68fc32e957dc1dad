/** One field in which the responses of V1 and V2 to one request differ. Never holds a value. */
export interface FieldDifference {
  /** RFC 6901 pointer, with `*` for elements. */
  readonly path: string;
  /** `missing`: V2 has no such field. `type`, `value`: it has another one. */
  readonly kind: 'missing' | 'type' | 'value';
}

/** What came of asking both origins the same. */
export interface Comparison {
  /** `same`: every field of V1 is there with its value, but for noise. `unknown`: the responses could not be compared. */
  readonly verdict: 'same' | 'different' | 'unknown';
  /** The statuses, where they differ. */
  readonly status?: { readonly v1: number; readonly v2: number };
  /** At most 32. */
  readonly differences: readonly FieldDifference[];
  /** Fields in which V1 differs from itself, so that they say nothing. */
  readonly noise: number;
  /** Fields that only V2 has: a V1 client does not read them. */
  readonly extra: number;
  /** Why it is unknown: `timeout`, `unreachable`, `too-large`, `not-json`, `budget`, … */
  readonly why?: string;
}
