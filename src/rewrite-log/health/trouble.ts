import {
  boundedShare,
  failsMoreThanBefore as sampleFailsMoreThanBefore,
} from '../../rollout/canary-window.ts';
import type { FailedShare } from '../../rollout/rollout-state.ts';
import type { RollbackRule } from '../../rules/rollout.ts';

/** How a migrated operation of V1, or a call that no operation fits, fails, compared with its own past. */
export interface OperationTrouble {
  /** Id of the operation, or the name of the call (`callName`). */
  readonly operation: string;
  /** `always`: every request since it began; `more`: a larger share than before. */
  readonly kind: 'always' | 'more';
  /** Requests since it began, and how many of them failed. */
  readonly requests: number;
  readonly failed: number;
  /** Requests up to the last failure. */
  readonly upToLast: number;
  /** True once most of them, or clearly more than before, had failed: trouble becomes no milder while it goes on. */
  readonly isSevere: boolean;
  /** True if V2 or the gateway refused them (4xx), and none failed with a 5xx or without a response. */
  readonly isRefusal: boolean;
  /**
   * True if V2 did not respond to the failed ones, such as with an open circuit: that is a trouble apart, because a fault of the operation
   * is not its cause. Otherwise only requests to which V2 responded count.
   */
  readonly isOutage: boolean;
  /** The clients whose requests failed (`clientOf`), at most 100; empty if they are not known. */
  readonly hit: readonly string[];
  /** The status and its sender, if all failures with a response have the same. */
  readonly answer?: FailedAnswer;
  /** True if it began in a canary: other clients were on V1. */
  readonly inCanary?: true;
  /** The clients that fail while others do not (`clientOf`); absent if it fails for all clients, or at times. */
  readonly clients?: readonly string[];
  /** The same of all clients that it has hit, if some of these are well again while others fail. */
  readonly whole?: Pick<OperationTrouble, 'requests' | 'failed' | 'hit' | 'since'>;
  /** Milliseconds since 1970: the start of the first failed request, the end of the last one, and the same once it is over. */
  readonly since: number;
  readonly last: number;
  readonly until: number | undefined;
  /** True if another trouble of the operation has begun since. */
  readonly isEarlier?: true;
  /** True if V1 served these requests when it ended, so that nothing showed that V2 is well. */
  readonly isMoved?: true;
  /** Responses of V2 without a failure since it was over. */
  readonly recovered: number;
  /** Requests before, to V1 and to V2, and how many of them failed. */
  readonly before: Counts;
  /** Those of them that it is compared with: no earlier trouble is among them. */
  readonly compared: Past;
  /** The shares that failed before and since it began, evaluated like a canary; `isHarm` is true if that finds more failures. */
  readonly evidence: TroubleEvidence;
}

/** The response of a failed request. */
export interface FailedAnswer {
  readonly by: 'v2' | 'gateway';
  readonly status: number;
}

/** What shows that an operation fails more often than before: its past is the control group. */
export interface TroubleEvidence {
  readonly before: FailedShare;
  readonly now: FailedShare;
  readonly isHarm: boolean;
  /** The difference that counts as harm, in percentage points. */
  readonly margin: number;
}

/** Requests, and how many of them failed. */
export interface Counts {
  readonly requests: number;
  readonly failed: number;
}

/** Requests with which later ones are compared. */
export interface Past extends Counts {
  /** Those that V2 has got since the operation went to it; absent if no change of modes is known. */
  readonly onV2?: number;
}

/** Failures from which an operation counts as failing: successive ones while too little is known of its past. */
export const ENOUGH = 5;

/** Responses without a failure after which a problem or the outage of a service is over, and trouble of an operation soonest. */
export const RECOVERED = 20;

export const NONE: Counts = { requests: 0, failed: 0 };

/** Compares the shares that failed as a canary's test does. */
export function evidenceOf(
  { before: past, compared }: Pick<OperationTrouble, 'before' | 'compared'>,
  present: Counts,
  rule: RollbackRule,
): TroubleEvidence {
  const [before, now] = [sampleOf(past), sampleOf(present)];
  return {
    before: boundedShare(before, rule),
    now: boundedShare(now, rule),
    isHarm: failsMoreThanBefore(compared, present, rule),
    margin: rule.margin,
  };
}

/** Compares requests with those before them; a change of modes is where the present may have begun. */
export function failsMoreThanBefore(past: Past, present: Counts, rule: RollbackRule): boolean {
  return sampleFailsMoreThanBefore(sampleOf(past), sampleOf(present), rule, past.onV2);
}

/**
 * Whether an operation, or one of its clients, fails that did not before: several requests in a row while too little is known of the time
 * before, and later by the test.
 */
export function hasBegunToFail(past: Past, row: Counts, rule: RollbackRule): boolean {
  if (row.failed < ENOUGH) return false;
  return past.requests < rule.requests
    ? row.failed === row.requests && !hasFailedSo(past)
    : failsMoreThanBefore(past, row, rule);
}

function sampleOf({ requests, failed }: Counts): {
  readonly requests: number;
  readonly failures: number;
} {
  return { requests: Math.round(requests), failures: Math.round(failed) };
}

/** True if half of the requests failed. */
export function hasFailedSo({ requests, failed }: Counts): boolean {
  return requests > 0 && failed * 2 >= requests;
}
