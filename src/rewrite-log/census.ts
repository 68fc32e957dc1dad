/** One attribute name as the clients of an operation send it. */
export interface CensusRow {
  readonly operation: string;
  /** Pointer below the wrapper, array elements as `*`, such as `/items/*`. */
  readonly pointer: string;
  /** Exchanges that carried it. */
  readonly count: number;
  /** Those that V2 answered 2xx. */
  readonly accepted: number;
  /** Those that V2 answered 422. */
  readonly unprocessable: number;
  /** Clients that sent it, as far as counted: at most `CENSUS_CLIENTS` names are kept. */
  readonly clients: readonly string[];
  /** The change that takes or moves it, when the rule book names it already. */
  readonly change?: string;
}

/** Every attribute name that V1 clients sent, by operation. */
export interface Census {
  /** V1 exchanges whose names were looked at, out of `exchanges`. */
  readonly sampled: number;
  readonly exchanges: number;
  readonly rows: readonly CensusRow[];
  /** `strip` rules for names that V2 never accepted, as YAML to paste into the rule book; empty when none. */
  readonly proposal: string;
  /** Names beyond the bound, counted but not listed. */
  readonly omitted: number;
}
