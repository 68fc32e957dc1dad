import type { FieldDifference } from '../rollout/comparison.ts';

/** One thing in which the gateway's response is not V1's. */
export interface Difference {
  /** `status`, `response`, the name of a field with a colon, or an RFC 6901 pointer into the body. */
  readonly where: string;
  /**
   * `missing`, `extra`: only V1, or only the gateway, has it. `order`: members or elements in another order. `length`: elements of an array.
   * `spelling`: the same value, or the same body, in other bytes.
   */
  readonly kind: FieldDifference['kind'] | 'extra' | 'spelling';
  readonly v1?: string;
  readonly gateway?: string;
}
