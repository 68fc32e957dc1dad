/** One attribute name as the clients of an operation send it. */
export interface CensusRow {
  readonly operation: string;
  /** Pointer below the wrapper, array elements as `*`, such as `/items/*`. */
  readonly pointer: string;
  /** Exchanges that carried it. */
  readonly count: number;
  /** Those that V2 answered 2xx. */
  readonly accepted: number;
  /** Those that V2 responded with 422. */
  readonly unprocessable: number;
  /** Clients that sent it, the first ten. */
  readonly clients: readonly string[];
  /** The change that took or moved it. */
  readonly change?: string;
}
