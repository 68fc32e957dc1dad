import type { RequestRuleName } from '../../rules/rule.ts';

/** Maximum clients that are listed for a name: of that many, there may be more. */
export const MAX_ROW_CLIENTS = 10;

/** One attribute name that clients of an operation send, with the evidence of every source. */
export interface CensusRow {
  readonly operation: string;
  /** Pointer below the wrapper, array elements as `*`, such as `/items/*`. */
  readonly pointer: string;
  /** Number of exchanges with it. */
  readonly count: number;
  /** Number of those to which V2 itself responded with 2xx. */
  readonly accepted: number;
  /** Number of those 2xx that echoed it, and that did not; the others were not compared. */
  readonly echoed: number;
  readonly unechoed: number;
  /** Number of exchanges to which V2 itself responded with 422. */
  readonly unprocessable: number;
  /** Number of those whose errors point at it. */
  readonly named: number;
  /** Number of exchanges to which V1 responded with 2xx, and of those whose response calls it deprecated. */
  readonly acceptedByV1: number;
  readonly deprecated: number;
  /** Number of exchanges that V1 refused with errors that point at it. */
  readonly namedByV1: number;
  /** Whether V2's OpenAPI has it; absent without one, or where it is open to any member. */
  readonly inSchema?: boolean;
  /** The first ten clients that sent it. */
  readonly clients: readonly string[];
  /** The change and the rule that removed or moved it. */
  readonly change?: string;
  readonly rule?: RequestRuleName;
}
