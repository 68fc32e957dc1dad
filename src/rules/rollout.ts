/** Selects V1 requests: all, except those that one of the lists excludes. */
export interface Scope {
  /** Client hashes; absent for every client. */
  readonly clients?: readonly string[];
  /** Client hashes that are excluded. */
  readonly except?: readonly string[];
  /** Operation ids; absent for every request, whether or not the rule book lists its operation. */
  readonly operations?: readonly string[];
}

/** Whether the sunset refuses the requests of every V1 client. */
export function isGoneForAll(gone: Pick<Scope, 'clients' | 'except'> | undefined): boolean {
  return gone !== undefined && gone.clients === undefined && gone.except === undefined;
}

/** The fields in V1 responses that announce the end of V1. Times are milliseconds since 1970. */
export interface Signals {
  /** `Deprecation` (RFC 9745). */
  readonly since?: number;
  /** Whether a header lists the deprecated attributes that a request used. */
  readonly attributes: boolean;
  /** `Sunset` (RFC 8594). */
  readonly sunset?: number;
  /** Targets of `Link`, by relation. */
  readonly links: readonly (readonly [relation: LinkRelation, target: string])[];
}

/** Link relations for the end of V1. */
export type LinkRelation = 'deprecation' | 'sunset' | 'successor-version';

/** The end of one operation or change; absent parts are those of V1 as a whole. */
export interface End extends Pick<Signals, 'since' | 'sunset' | 'links'> {
  /** The requests that get 410 after the sunset; operations only. */
  readonly gone?: Omit<Scope, 'operations'>;
}

/** Operations and changes that end before V1 as a whole, by id. */
export interface Ends {
  readonly operations: Readonly<Record<string, End>>;
  readonly changes: Readonly<Record<string, End>>;
}

/** A time window in which the gateway deliberately refuses V1 requests, so that clients that still depend on V1 notice before its end. */
export interface Brownout extends Scope {
  readonly id: string;
  /** Start in milliseconds since 1970; absent if it has already started. */
  readonly from?: number;
  /** End in milliseconds since 1970; absent if it is open-ended. */
  readonly until?: number;
  /** Percentage of requests to refuse. */
  readonly share: number;
  readonly status: 410 | 503;
  readonly message?: string;
}

/**
 * How the gateway handles V1 traffic; `share` is the percentage of clients that a canary migrates, or of reads that `verify` also
 * sends to V1.
 */
export interface Mode {
  readonly mode: 'migrate' | 'observe' | 'canary' | 'shadow' | 'verify';
  readonly share?: number;
}

/** Days without a V1 request after which a client counts as gone, unless a report is asked for another number. */
export const GONE_AFTER_DAYS = 14;

/** Criteria for the automatic rollback of a canary, and of a migrated operation. */
export interface RollbackRule {
  /** Length of the observed window in milliseconds. */
  readonly window: number;
  /** Percentage points by which V2 must fail more often than V1 to count as harmful; at least half of them must have been observed. */
  readonly margin: number;
  /** The multiple of V1's median and 99 % latency that V2's may reach; false if latencies cause no rollback. */
  readonly slower: number | false;
  /** Minimum number of requests to a service for a decision. */
  readonly requests: number;
  /** Percentage of harmless canaries that are never rolled back, however long they run. */
  readonly certainty: number;
  /** Present if a migrated operation goes back to `observe` automatically once it fails more often than before. */
  readonly migrated?: 'observe';
}

/** The modes of a rule book. The mode of a client takes precedence over that of an operation, and that over the default. */
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

/** Delays requests that exceed the service's rate limit. Times are milliseconds. */
export interface Shield {
  /** Maximum requests of one client in `per`. */
  readonly requests: number;
  readonly per: number;
  /** Maximum delay; a request that would have to wait longer is sent at once. */
  readonly wait: number;
  /** Maximum queued requests of one client. */
  readonly queue: number;
}

/** How V1 clients are moved to V2 until V1 ends. */
export interface Rollout {
  /** Client names for people, by client hash. */
  readonly clients: Readonly<Record<string, string>>;
  readonly signals?: Signals;
  /** The requests that get 410 after the sunset. */
  readonly gone?: Scope;
  /** Operations and changes with their own end; absent for none. */
  readonly ends?: Ends;
  /** Minimum days between the announcement of the sunset and the sunset, while clients still use V1. */
  readonly leadDays?: number;
  readonly newcomers?: Newcomers;
  readonly brownouts: readonly Brownout[];
  readonly modes?: Modes;
  readonly pins: readonly Pin[];
  readonly shield?: Shield;
}

/** Treatment of clients that first use V1 after a day. */
export interface Newcomers {
  /** Milliseconds since 1970; before that, newcomers are only counted. */
  readonly from: number;
  readonly answer: 'refuse' | 'warn';
  /** Client hashes that are not newcomers, besides those with a name. */
  readonly except: readonly string[];
  /** Address of a page with instructions for a refused client; absent for the client's own guide, or the pages about the end of V1. */
  readonly guide?: string;
}

/** Returns the end of an operation or change by its id, which may come from a request: `constructor` must not match an inherited member. */
export function ownEnd(ends: Ends[keyof Ends], id: string): End | undefined {
  return Object.hasOwn(ends, id) ? ends[id] : undefined;
}

/** Reads a day or a time (RFC 3339) as milliseconds since 1970; a day is read as midnight UTC. Undefined for anything else. */
export function readInstant(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(
    text,
  );
  if (match === null || !isDay(match[1] ?? '')) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Reads `500ms`, `30s`, `5m`, `1h` as milliseconds; undefined for anything else, and for an empty text. */
export function readDuration(text: string): number | undefined {
  const match = /^(\d{1,7})(ms|s|m|h)$/.exec(text);
  const scale = match === null ? undefined : { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match[2] ?? ''];
  const value = scale === undefined ? 0 : Number(match?.[1]) * scale;
  return value === 0 ? undefined : value;
}

/** A calendar day that exists, of any year. */
function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
