import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import { packClient, readClient } from './client-record.ts';
import { ClientTally } from '../tally/client-tally.ts';
import { later } from './merge-spans.ts';
import { mergeClient } from './merge-clients.ts';
import { FieldReader, packTime, unlessDamaged } from './record-fields.ts';

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

/** Places in a row: the hash, then number, first and last time of V1 requests, and the same of V2. */
const V1_COUNT = 1;
const V1_LAST = 3;
const V2_COUNT = 4;
const V2_LAST = 6;

/**
 * Adds clients to the text of a record; the rows of others stay as they are, since reading and printing each costs more than all the
 * rest. Clients last seen before `from` (RFC 3339) are forgotten; of too many, those with the fewest requests are left out, and their
 * requests are counted. Undefined when nobody can read the record.
 */
export function addToShard(text: string, clients: ClientShard, from: string): PackedRecord | undefined {
  const rows = rowsOf(text);
  if (rows === undefined) return undefined;
  return unlessDamaged(() => {
    for (const [hash, client] of clients) {
      const row = rows.get(hash);
      const tally = row === undefined ? new ClientTally(0) : readRow(row);
      mergeClient(tally, client);
      rows.set(hash, [hash, ...packClient(tally)]);
    }
    return packRows(rows, packTime(from));
  });
}

/** Reads the clients of a record; undefined when nobody can read it. */
export function readShard(text: string): ClientShard | undefined {
  const rows = rowsOf(text);
  if (rows === undefined) return undefined;
  return unlessDamaged(() => {
    return new Map([...rows].map(([hash, row]) => [hash, readRow(row)]));
  });
}

/** Whether a client was last seen before a time in RFC 3339. */
export function isForgotten({ v1, v2 }: ClientTally, from: string): boolean {
  return later(v1.last, v2.last) < from;
}

type Row = readonly unknown[];

function rowsOf(text: string): Map<string, Row> | undefined {
  const value = parsedJson(text);
  if (!Array.isArray(value)) return undefined;
  const rows = new Map<string, Row>();
  for (const row of value) {
    if (!Array.isArray(row) || typeof row[0] !== 'string') return undefined;
    rows.set(row[0], row);
  }
  return rows;
}

function readRow(row: Row): ClientTally {
  const fields = new FieldReader(row);
  fields.text();
  return readClient(fields);
}

function packRows(rows: ReadonlyMap<string, Row>, from: number | string): PackedRecord {
  const sorted = [...rows].sort(
    ([oneHash, one], [otherHash, other]) =>
      requestsOf(other) - requestsOf(one) || (oneHash < otherHash ? -1 : 1),
  );
  const kept: string[] = [];
  let characters = 0;
  let omitted = 0;
  for (const [, row] of sorted) {
    if (isOlder(row[V1_LAST], from) && isOlder(row[V2_LAST], from)) continue;
    const text = JSON.stringify(row);
    if (kept.length < MAX_CLIENTS && characters + text.length <= MAX_CHARACTERS) {
      kept.push(text);
      characters += text.length;
    } else omitted += requestsOf(row);
  }
  return { text: `[${kept.join(',')}]`, omitted };
}

function requestsOf(row: Row): number {
  return Number(row[V1_COUNT]) + Number(row[V2_COUNT]);
}

/** A time as text is none of this gateway's: such a client is never forgotten. */
function isOlder(time: unknown, from: number | string): boolean {
  return typeof time === 'number' && typeof from === 'number' && time < from;
}
