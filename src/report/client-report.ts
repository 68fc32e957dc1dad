import type { Work } from './client-work.ts';
import type { ClientTally } from './tally.ts';

/**
 * Dependence of a client on V1. `gone`: no V1 request for `goneAfterDays`; `url-only`: already flat, no edit except path and
 * version header; `unwrap-only`: only the wrapper has to go; `field-work`: members are moved, renamed or removed. Requests older
 * than `goneAfterDays` do not count, so a client that was fixed moves on.
 */
export type ClientClass = 'gone' | Work;

/** Number of uses by a client, with first and last time in RFC 3339. */
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
  /** Requests with an invalid `x-api-version`. */
  readonly invalidVersions: number;
  /** First and last V1 request. */
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly operations: readonly (Usage & { readonly operation: string })[];
  readonly changes: readonly (Usage & { readonly change: string; readonly rules: readonly string[] })[];
}

/** Makes the report of one client. Requests before `cut` (RFC 3339) are past. */
export function clientReport(
  hash: string,
  tally: ClientTally,
  cut: string,
  name: string | undefined,
): ClientReport {
  return {
    client: hash,
    ...(name === undefined ? {} : { name }),
    class: classOf(tally, cut),
    v1: tally.v1.count,
    v2: tally.v2,
    refused: tally.refused,
    invalidVersions: tally.invalidVersions,
    firstSeen: tally.v1.first,
    lastSeen: tally.v1.last,
    operations: [...tally.operations]
      .map(([operation, { count, first, last }]) => ({ operation, count, firstSeen: first, lastSeen: last }))
      .sort((one, other) => other.count - one.count),
    changes: [...tally.changes]
      .map(([change, { count, first, last, rules }]) => ({
        change,
        count,
        firstSeen: first,
        lastSeen: last,
        rules: [...rules],
      }))
      .sort((one, other) => other.count - one.count),
  };
}

function classOf({ v1, lastWork }: ClientTally, cut: string): ClientClass {
  if (v1.last < cut) return 'gone';
  if (lastWork['field-work'] >= cut && lastWork['field-work'] !== '') return 'field-work';
  return lastWork['unwrap-only'] >= cut && lastWork['unwrap-only'] !== '' ? 'unwrap-only' : 'url-only';
}
