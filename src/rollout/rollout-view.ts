import type { FieldDifference } from './comparison.ts';

/** A mode, and who chose it. */
export interface ModeView {
  readonly mode: 'migrate' | 'observe' | 'canary' | 'shadow';
  /** Percent of clients, of a canary. */
  readonly share?: number;
  readonly from: 'default' | 'rule-book' | 'operator' | 'roll-back';
}

/** Requests and those of them that failed. */
export interface CountView {
  readonly requests: number;
  readonly failures: number;
}

/** A canary under watch: what its window holds. */
export interface CanaryView {
  /** Absent for the default's. */
  readonly operation?: string;
  readonly migrated: CountView;
  readonly v1: CountView;
}

/** A canary that went back to `observe` by itself; it stands until it is resolved. */
export interface RollbackView extends CanaryView {
  /** RFC 3339. */
  readonly at: string;
  readonly share: number;
  readonly resolved?: string;
}

/** What shadowed reads found for one operation. */
export interface ShadowView {
  readonly operation?: string;
  readonly same: number;
  readonly different: number;
  readonly unknown: number;
  /** Fields that differed, most often first. */
  readonly fields: readonly (FieldDifference & { readonly count: number })[];
}

/** Where a migration stands: what V1 traffic goes through, how it fares, and what V1 clients are told. */
export interface RolloutView {
  /** Where V1 is; absent when there is none, so that all there is to do is to migrate. */
  readonly v1Origin?: string;
  /** Counts the changes that were made while the gateway runs. */
  readonly revision: number;
  /** RFC 3339; absent before the first. */
  readonly changed?: string;
  /** False while client hashes are new at each start, so that nobody stays in a share. */
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
  /** V1 requests that went to each origin while modes were in force, since the start. */
  readonly requests: { readonly v1: number; readonly v2: number };
  /** What the rule book says of the end of V1. */
  readonly sunset?: string;
  readonly deprecation?: string;
  readonly brownouts: readonly {
    readonly id: string;
    readonly state: 'to-come' | 'on' | 'over';
    readonly from?: string;
    readonly until?: string;
    readonly share: number;
    readonly status: number;
  }[];
}

/** What `POST /rollout` takes. Without `mode` the rule book's holds again. */
export interface RolloutRequest {
  readonly mode?: ModeView['mode'];
  /** Percent of clients; of a canary only. */
  readonly share?: number;
  readonly operation?: string;
  /** A client hash, or the name that the rule book or the names file has for one. */
  readonly client?: string;
}
