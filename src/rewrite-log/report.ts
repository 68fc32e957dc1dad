import type { Census } from './census.ts';

/**
 * What a client still needs from V1. `gone`: no V1 request for `goneAfterDays`; `url-only`: already flat, no edit but
 * path and version header; `unwrap-only`: only the wrapper is in the way; `field-work`: members move, change name or go.
 */
export type ClientClass = 'gone' | 'url-only' | 'unwrap-only' | 'field-work';

/** How often a client used something, and when. Times are RFC 3339. */
export interface Usage {
  readonly count: number;
  readonly firstSeen: string;
  readonly lastSeen: string;
}

/** One client's dependence on V1. */
export interface ClientReport {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  /** From the names file. */
  readonly name?: string;
  readonly class: ClientClass;
  readonly v1: number;
  readonly v2: number;
  readonly refused: number;
  /** Requests whose `x-api-version` was there and not valid. */
  readonly invalidVersions: number;
  /** First and last V1 request. */
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly operations: readonly (Usage & { readonly operation: string })[];
  readonly changes: readonly (Usage & { readonly change: string; readonly rules: readonly string[] })[];
}

/** One day of traffic, UTC: the burn-down. */
export interface ReportDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly v1: number;
  readonly v2: number;
  /** Clients that used V1 that day. */
  readonly clients: number;
  /** Those of them that needed an edit of the body. */
  readonly rewritten: number;
  readonly refused: number;
}

/** Who still needs V1, and what stands between today and switching it off. */
export interface Report {
  /** First and last time seen; absent without entries. */
  readonly since?: string;
  readonly until?: string;
  readonly entries: number;
  readonly v1: number;
  readonly v2: number;
  readonly goneAfterDays: number;
  /** Clients that are not `gone` first, by weight of work, then by V1 requests. */
  readonly clients: readonly ClientReport[];
  readonly classes: Readonly<Record<ClientClass, number>>;
  readonly days: readonly ReportDay[];
  /** Sentences for people; the one list to work off before V1 can be switched off. */
  readonly remaining: readonly string[];
  /** True when every client that ever used V1 is `gone`. */
  readonly canSwitchOff: boolean;
  readonly census: Census;
  /** Lines that are not entries, and clients beyond the bound. */
  readonly unreadable: number;
  readonly omittedClients: number;
}
