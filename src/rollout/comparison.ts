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

/** Result of sending the same request to both origins. */
export interface Comparison {
  /** `same`: V2 has every field of V1 with the same value, and no list that is longer, except noise. `unknown`: the responses could not be compared. */
  readonly verdict: 'same' | 'different' | 'unknown';
  /** The statuses, if they differ. */
  readonly status?: { readonly v1: number; readonly v2: number };
  /** At most 32. */
  readonly differences: readonly FieldDifference[];
  /** Number of fields in which V1 differs from itself, which are ignored. */
  readonly noise: number;
  /** Number of members of objects that only V2 has: a V1 client does not read them. */
  readonly extra: number;
  /** Reason of `unknown`: `timeout`, `unreachable`, `too-large`, `not-json`, `budget`, … */
  readonly why?: string;
}
