import type { Mode, Modes, RollbackRule, Scope } from '../rules/rollout.ts';
import type { CanaryEvidence, OriginCount, Rollback, RollbackCause } from './rollout-state.ts';
import { type Comparison, ComparisonTally, type ShadowView } from './comparison-tally.ts';
import { type BodyCheckCount, BodyCheckTally, type DryRunResult, type WouldFail } from './body-checks.ts';

/** Counts of V1 traffic under one rule book. */
export interface RolloutTotals {
  readonly requests: RolloutView['requests'];
  readonly shadows: readonly ShadowView[];
  readonly bodyChecks: readonly BodyCheckCount[];
}

/** Totals V1 traffic under one rule book, of this process and of others. */
export class RolloutTally {
  private readonly ruleBook: string;
  private readonly requests = { v1: 0, v2: 0 };
  private readonly comparisons = new ComparisonTally();
  private readonly bodyChecks = new BodyCheckTally();

  constructor(ruleBook: string) {
    this.ruleBook = ruleBook;
  }

  /** Adds a finished exchange; its request is counted elsewhere. */
  add(
    entry: DryRunResult & {
      /** RFC 3339. */
      readonly time: string;
      readonly comparison?: Comparison | undefined;
      readonly origin?: 'v1' | undefined;
    },
  ): void {
    // V2 served the read, and V1 got it as well.
    const isVerified = entry.origin !== 'v1';
    if (entry.comparison !== undefined)
      this.comparisons.add(entry.operation, entry.comparison, isVerified, Date.parse(entry.time));
    this.bodyChecks.add(entry);
  }

  merge({ requests, shadows, bodyChecks }: RolloutTotals): void {
    this.requests.v1 += requests.v1;
    this.requests.v2 += requests.v2;
    this.comparisons.merge(shadows);
    this.bodyChecks.merge(this.ruleBook, bodyChecks);
  }

  get totals(): RolloutTotals {
    return {
      requests: { ...this.requests },
      shadows: this.comparisons.list,
      bodyChecks: this.bodyChecks.list(this.ruleBook),
    };
  }
}

/** A mode and its source. */
export interface ModeView {
  readonly mode: Mode['mode'];
  /** Percent of the clients of a canary, or of the reads of `verify`. */
  readonly share?: number;
  readonly from: 'default' | 'rule-book' | 'operator' | 'roll-back';
  /** The last mode that sent the operation to V2, if this one does not. */
  readonly had?: Mode;
}

/** An active canary with the counts of its window. */
interface CanaryView {
  /** Absent for the default's. */
  readonly operation?: string;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  /** The evidence of the stage; absent for a rollback. */
  readonly evidence?: CanaryEvidence;
}

/** A canary that was rolled back to `observe` automatically, in force until it is resolved. */
export interface RollbackView extends Rollback {
  /** The operation, or `everything`, or `everything but …` if something had its own mode at that time. */
  readonly target: string;
  /** The most frequent failure; `name` is the display name of its client. */
  readonly cause?: RollbackCause & { readonly name?: string };
  /** The shares that failed in both groups, with their bounds by the rule in force. */
  readonly failed?: CanaryEvidence['failed'];
}

/** A replica among those that share a store. */
export interface ReplicaView {
  readonly name: string;
  /** Number of gateways that share the store, each with all its processes, when they were last counted; absent before. */
  readonly replicas?: number;
  /** Names of the others, at most twenty; absent before. */
  readonly others?: readonly string[];
  /** RFC 3339: time since which the store has been unreachable; absent while it is reachable. */
  readonly aloneSince?: string;
  readonly aloneReason?: string;
  /** The losses of a store that comes and goes; `since` is in RFC 3339. */
  readonly unsteady?: { readonly since: string; readonly times: number; readonly reason: string };
  /** Number of choices that apply on this replica only, until the store is reachable. */
  readonly waiting: number;
}

/** One change of the modes or of the rule book, or another event, in words. */
export interface ChangeRecord {
  /** RFC 3339. */
  readonly at: string;
  readonly kind: 'command' | 'roll-back' | 'rule-book' | 'event';
  /** The change, such as `Migrate 5 % of the clients for create_client`. */
  readonly what: string;
  /** The operator's name, if given; absent for changes by the gateway itself. */
  readonly who?: string;
  /** Name of the replica; absent without replicas. */
  readonly by?: string;
  readonly why?: string;
}

/** Progress of a migration: the modes of V1 traffic, its failures, and the deprecation signals to V1 clients. */
export interface RolloutView {
  /** Address of V1; absent without a V1 origin: every request is then migrated. */
  readonly v1Origin?: string;
  /** The replica whose view this is; absent without a store. */
  readonly replica?: ReplicaView;
  /** What an operator must know of the command that this view answers; absent otherwise. */
  readonly warnings?: readonly string[];
  /** Why the command of a check needs `force`: sentences on one line, and the clients on the following lines. */
  readonly refusal?: string;
  /** Number of changes at run time. */
  readonly revision: number;
  /** RFC 3339; absent before the first. */
  readonly changed?: string;
  /** False if client hashes are new at each start, so clients do not stay in a share. */
  readonly isSticky: boolean;
  readonly default: ModeView;
  readonly operations: Readonly<Record<string, ModeView>>;
  /** By client hash. */
  readonly clients: Readonly<Record<string, ModeView & { readonly name?: string }>>;
  /** The modes of the rule book alone, to which a command without a mode returns. */
  readonly ruleBook: Pick<Modes, 'default' | 'operations' | 'clients'>;
  readonly rollback: RollbackRule;
  readonly canaries: readonly CanaryView[];
  /** Newest first. */
  readonly rollbacks: readonly RollbackView[];
  /** The last changes of modes and rule book, newest first. */
  readonly changes?: readonly ChangeRecord[];
  readonly shadows: readonly ShadowView[];
  /** Display names of clients by hash; only with all dry runs. */
  readonly names?: Readonly<Record<string, string>>;
  /**
   * Dry runs under the rule book in force; absent without a description of V2, if the gateway itself would refuse none.
   */
  readonly bodyChecks?: {
    /** Sentences about missing checks, such as a description without a matching operation; absent without any. */
    readonly warnings?: readonly string[];
    /** Pairs of client and operation that V1 still responds to, most failures first; `name` is the display name of the client. */
    readonly counts: readonly (BodyCheckCount & { readonly name?: string })[];
    /** The clients that have several pairs, each with their sum. */
    readonly clients?: readonly (WouldFail & { readonly client?: string; readonly name?: string })[];
    /** Number of further such pairs, which are not listed. */
    readonly omitted: number;
    /** Number of pairs that V1 does not respond to any more. */
    readonly past: number;
    /** Why a canary of all traffic needs `force`, in a sentence; absent if it does not. */
    readonly fault?: string;
  };
  /** V1 requests by the service that they were sent to. */
  readonly requests: { readonly v1: number; readonly v2: number };
  /**
   * The rate limit of each client, the processes of all gateways that divide it, and the requests that each of them sends in `per`
   * milliseconds; absent without a `shield`, and if one process has the whole limit.
   */
  readonly rateLimit?: {
    readonly requests: number;
    readonly per: number;
    readonly processes: number;
    readonly each: number;
  };
  /**
   * RFC 3339: time since which all isolates count requests, shadows and checks of bodies under the rule book in force. Absent on Node,
   * which counts them since its start.
   */
  readonly countedSince?: string;
  /** RFC 3339: dates from the rule book. */
  readonly sunset?: string;
  readonly deprecation?: string;
  /** Clients whose V1 requests get 410 from the sunset on, by name if they have one; absent without any. `hashes` has the same by hash. */
  readonly gone?: Pick<Scope, 'clients' | 'except'> & { readonly hashes?: Pick<Scope, 'clients' | 'except'> };
  /** Operations and changes that end before the rest of V1; absent without any. */
  readonly ends?: readonly (Pick<RolloutView, 'sunset' | 'deprecation' | 'gone'> & {
    readonly kind: 'operation' | 'change';
    readonly id: string;
  })[];
  readonly brownouts: readonly {
    readonly id: string;
    readonly state: 'to-come' | 'on' | 'over';
    readonly from?: string;
    readonly until?: string;
    readonly share: number;
    readonly status: number;
  }[];
}

/** Body of `POST /rollout`. Without `mode`, the rule book's applies again. */
export interface RolloutRequest {
  readonly mode?: ModeView['mode'];
  /** Percent of the clients of a canary, or of the reads of `verify`. */
  readonly share?: number;
  readonly operation?: string;
  /** A client hash, or its name in the rule book or the names file. */
  readonly client?: string;
  /** Starts a canary or a migration although V2 would refuse too many checked requests. */
  readonly force?: boolean;
  /** Only checks whether the gateway would refuse it; changes nothing. */
  readonly check?: boolean;
  /** The operator's name and reason for the list of changes: at most 80 and 200 characters. */
  readonly who?: string;
  readonly why?: string;
}
