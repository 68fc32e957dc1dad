/** One attribute name that clients of an operation send. */
export interface CensusRow {
  readonly operation: string;
  /** Pointer below the wrapper, array elements as `*`, such as `/items/*`. */
  readonly pointer: string;
  /** Number of exchanges with it. */
  readonly count: number;
  /** Number of those with a 2xx response. */
  readonly accepted: number;
  /** Number of those with a 422 response from V2. */
  readonly unprocessable: number;
  /** The first ten clients that sent it. */
  readonly clients: readonly string[];
  /** The change that removed or moved it. */
  readonly change?: string;
}
