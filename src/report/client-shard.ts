import { parsedJson } from '../rewrite-log/parsed-json.ts';
import { packClient, readClient } from './client-record.ts';
import type { ClientTally } from './client-tally.ts';
import { later } from './merge-spans.ts';
import { DamagedRecord, FieldReader } from './record-fields.ts';

/** Clients of one record, by hash. */
export type ClientShard = Map<string, ClientTally>;

/** The text of a record, and the requests that it does not count. */
export interface PackedRecord {
  readonly text: string;
  readonly omitted: number;
}

/** Maximum clients and characters of one record. Of 512 records this is 20,480 clients, and 32 MiB. */
const MAX_CLIENTS = 40;
const MAX_CHARACTERS = 64 * 1024;

/**
 * Prints clients for a record. Those last seen before `from` (RFC 3339) are forgotten; of too many, those with the fewest requests
 * are left out, and their requests are told.
 */
export function packShard(clients: ClientShard, from: string): PackedRecord {
  const kept: string[] = [];
  let characters = 0;
  let omitted = 0;
  for (const [hash, tally] of byRequests(clients)) {
    if (isForgotten(tally, from)) continue;
    const text = JSON.stringify([hash, ...packClient(tally)]);
    if (kept.length < MAX_CLIENTS && characters + text.length <= MAX_CHARACTERS) {
      kept.push(text);
      characters += text.length;
    } else omitted += requestsOf(tally);
  }
  return { text: `[${kept.join(',')}]`, omitted };
}

/** Reads the clients of a record; undefined when nobody can read it. */
export function readShard(text: string): ClientShard | undefined {
  try {
    const clients: ClientShard = new Map();
    const value = parsedJson(text);
    if (!Array.isArray(value)) return undefined;
    for (const one of value) {
      const fields = new FieldReader(one);
      clients.set(fields.text(), readClient(fields));
    }
    return clients;
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined;
    throw error;
  }
}

/** Whether a client was last seen before a time in RFC 3339. */
export function isForgotten({ v1, v2 }: ClientTally, from: string): boolean {
  return later(v1.last, v2.last) < from;
}

function byRequests(clients: ClientShard): readonly (readonly [string, ClientTally])[] {
  return [...clients].sort(
    ([oneHash, one], [otherHash, other]) =>
      requestsOf(other) - requestsOf(one) || (oneHash < otherHash ? -1 : 1),
  );
}

function requestsOf({ v1, v2 }: ClientTally): number {
  return v1.count + v2.count;
}
