import type { BodyCheckCount } from './body-check-tally.ts';
import type { FieldDifference } from './comparison.ts';

/** A mode and its source. */
export interface ModeView {
  readonly mode: 'migrate' | 'observe' | 'canary' | 'shadow';
  /** Percent of clients; canary only. */
  readonly share?: number;
  readonly from: 'default' | 'rule-book' | 'operator' | 'roll-back';
}

/** Requests and failed requests. */
export interface CountView {
  readonly requests: number;
  readonly failures: number;
}

/** An active canary with the counts of its window. */
export interface CanaryView {
  /** Absent for the default's. */
  readonly operation?: string;
  readonly migrated: CountView;
  readonly v1: CountView;
}

/** A canary that was rolled back to `observe` automatically, in force until it is resolved. */
export interface RollbackView extends CanaryView {
  /** RFC 3339. */
  readonly at: string;
  /** Name of the replica that decided it; absent without replicas. */
  readonly by?: string;
  readonly share: number;
  readonly resolved?: string;
}

/** Results of shadowed reads for one operation. */
export interface ShadowView {
  readonly operation?: string;
  readonly same: number;
  readonly different: number;
  readonly unknown: number;
  /** Fields that differed, most frequent first. */
  readonly fields: readonly (FieldDifference & { readonly count: number })[];
}

/** A replica among those that share a store. */
export interface ReplicaView {
  readonly name: string;
  /** Number of gateways that share the store, each with all its processes, when they were last counted; absent before. */
  readonly replicas?: number;
  /** RFC 3339: time since which the store is out of reach, and what was last known holds; absent while it is in reach. */
  readonly aloneSince?: string;
  readonly aloneReason?: string;
  /** Number of choices that hold on this replica only, until the store is in reach. */
  readonly waiting: number;
}

/** Progress of a migration: the modes of V1 traffic, its failures, and the deprecation signals to V1 clients. */
export interface RolloutView {
  /** Address of V1; absent without a V1 origin, in which case every request is migrated. */
  readonly v1Origin?: string;
  /** The replica that tells this; absent without a store. */
  readonly replica?: ReplicaView;
  /** Number of changes at run time. */
  readonly revision: number;
  /** RFC 3339; absent before the first. */
  readonly changed?: string;
  /** False while client hashes are new at each start, so that clients do not stay in a share. */
  readonly isSticky: boolean;
  readonly default: ModeView;
  readonly operations: Readonly<Record<string, ModeView>>;
  /** By client hash. */
  readonly clients: Readonly<Record<string, ModeView & { readonly name?: string }>>;
  readonly rollback: { readonly window: number; readonly margin: number; readonly requests: number };
  readonly canaries: readonly CanaryView[];
  /** Newest first. */
  readonly rollbacks: readonly RollbackView[];
  readonly shadows: readonly ShadowView[];
  /**
   * Dry runs under the rule book in force; absent when no description of V2 is configured and the
   * gateway itself would refuse none.
   */
  readonly bodyChecks?: {
    /** Sentences about what is not checked, such as a description of which no operation matches; absent when there are none. */
    readonly warnings?: readonly string[];
    /** Pairs of client and operation, those with the most faults first. */
    readonly counts: readonly BodyCheckCount[];
    /** Number of pairs that are not listed. */
    readonly omitted: number;
    /** Why a canary of everything is refused without `force`, as a sentence; absent when it is not. */
    readonly fault?: string;
  };
  /** V1 requests by the service that they were sent to. */
  readonly requests: { readonly v1: number; readonly v2: number };
  /**
   * RFC 3339: time since which requests, shadows and checks of bodies are counted, of all isolates under the rule book in force.
   * Absent on Node, where they are counted since the start.
   */
  readonly countedSince?: string;
  /** RFC 3339: dates from the rule book. */
  readonly sunset?: string;
  readonly deprecation?: string;
  /** Clients whose V1 requests get 410 from the sunset on, by name where they have one; absent when none do. */
  readonly gone?: { readonly clients?: readonly string[]; readonly except?: readonly string[] };
  readonly brownouts: readonly {
    readonly id: string;
    readonly state: 'to-come' | 'on' | 'over';
    readonly from?: string;
    readonly until?: string;
    readonly share: number;
    readonly status: number;
  }[];
}

/** Body of `POST /rollout`. Without `mode` the rule book's applies again. */
export interface RolloutRequest {
  readonly mode?: ModeView['mode'];
  /** Percent of clients; canary only. */
  readonly share?: number;
  readonly operation?: string;
  /** A client hash, or its name in the rule book or the names file. */
  readonly client?: string;
  /** Carries out a canary or a migration although V2's schema refuses too many of the checked bodies. */
  readonly force?: boolean;
}
