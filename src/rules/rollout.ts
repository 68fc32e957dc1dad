/** Which V1 requests something is about: all, less those that one of the lists leaves out. */
export interface Scope {
  /** Client hashes; absent for every client. */
  readonly clients?: readonly string[];
  /** Client hashes that are left out. */
  readonly except?: readonly string[];
  /** Operation ids; absent for every request, named as an operation or not. */
  readonly operations?: readonly string[];
}

/** What V1 responses say of the end of V1. Times are milliseconds since 1970. */
export interface Signals {
  /** `Deprecation` (RFC 9745). */
  readonly since?: number;
  /** Whether the deprecated attributes that a request used are named in a header. */
  readonly attributes: boolean;
  /** `Sunset` (RFC 8594). */
  readonly sunset?: number;
  /** Targets of `Link`, by relation. */
  readonly links: readonly (readonly [relation: LinkRelation, target: string])[];
}

/** The relations of links about the end of V1. */
export type LinkRelation = 'deprecation' | 'sunset' | 'successor-version';

/** A time in which V1 requests are refused on purpose, so that who still depends on V1 notices before its end. */
export interface Brownout extends Scope {
  readonly id: string;
  /** Milliseconds since 1970; absent, it has begun. */
  readonly from?: number;
  /** Milliseconds since 1970; absent, it goes on. */
  readonly until?: number;
  /** Percent of the requests. */
  readonly share: number;
  readonly status: 410 | 503;
  readonly message?: string;
}

/** What V1 traffic goes through; `share` is the percent of clients that a canary migrates. */
export interface Mode {
  readonly mode: 'migrate' | 'observe' | 'canary' | 'shadow';
  readonly share?: number;
}

/** When a canary is rolled back by itself. */
export interface RollbackRule {
  /** Milliseconds that are looked back. */
  readonly window: number;
  /** By how many percentage points the share of failures may be above that of V1. */
  readonly margin: number;
  /** Migrated requests in the window below which nothing is concluded. */
  readonly requests: number;
}

/** The modes of a rule book. A client's goes before an operation's, and that before the default. */
export interface Modes {
  readonly default: Mode;
  readonly operations: Readonly<Record<string, Mode>>;
  /** By client hash. */
  readonly clients: Readonly<Record<string, Mode>>;
  readonly rollback: RollbackRule;
}

/** A dated release that some requests get instead of the rule book's. */
export interface Pin extends Scope {
  readonly version: string;
}

/** How requests beyond the service's rate limit are held back. Times are milliseconds. */
export interface Shield {
  /** Requests of one client in `per`. */
  readonly requests: number;
  readonly per: number;
  /** How long a request is held at the most; one that would have to wait longer is sent at once. */
  readonly wait: number;
  /** Requests of one client that are held at once, at the most. */
  readonly queue: number;
}

/** How V1 clients are led to V2, and V1 to its end. */
export interface Rollout {
  /** Names for people, by client hash. */
  readonly clients: Readonly<Record<string, string>>;
  readonly signals?: Signals;
  /** After the sunset: whom V1 is gone for. */
  readonly gone?: Scope;
  readonly brownouts: readonly Brownout[];
  readonly modes?: Modes;
  readonly pins: readonly Pin[];
  readonly shield?: Shield;
}
