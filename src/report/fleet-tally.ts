import { mergeCensus, readCensus } from './census-record.ts';
import { isForgotten, readShard } from './client-shard.ts';
import { ClientTally } from './client-tally.ts';
import type { FleetCounts } from './fleet-batch.ts';
import { type FleetSums, mergeSums, noSums, sumsOf } from './fleet-sums.ts';
import type { LogGap } from './log-gaps.ts';
import { mergeClient } from './merge-clients.ts';
import { clientKey } from './record-keys.ts';
import { readReplicas } from './replica-record.ts';
import type { ReadTotals } from './report-totals.ts';
import { Tally } from './tally.ts';

/** Parts that totals are made of: none of them changes any more, but `own`, which only grows. */
export interface TallyParts {
  /** Texts of records by key. */
  readonly texts: ReadonlyMap<string, string>;
  /** Counts of this replica that are in no record yet. */
  readonly counts: readonly FleetCounts[];
  readonly own: Tally;
  /** Clients last seen before this time, and days before it, are forgotten: RFC 3339. */
  readonly from: string;
  /** The time now, RFC 3339. */
  readonly now: string;
}

/** Number of clients per step. */
const CLIENTS_PER_STEP = 50;

/** Makes the totals of a fleet; awaits `pause` between steps. */
export async function fleetTally(parts: TallyParts, pause: () => Promise<void>): Promise<ReadTotals> {
  const gaps: LogGap[] = [];
  const tally = new Tally(Number.POSITIVE_INFINITY);
  const sums = fleetSums(parts);
  setSums(tally, sums, parts.from.slice(0, 10));
  const days = new Map([...tally.days.values()].map((day) => [day.number, day]));
  const add = (hash: string, client: ClientTally): void => {
    if (isForgotten(client, parts.from)) return;
    const into = tally.clientOf(hash);
    mergeClient(into, client);
    for (const day of client.days.all()) days.get(day)?.clients.add(into.index);
    for (const day of client.rewrittenDays.all()) days.get(day)?.rewritten.add(into.index);
  };
  for (const [key, text] of parts.texts) {
    if (key.startsWith('clients/')) {
      const shard = readShard(text);
      if (shard === undefined) gaps.push(unreadableGap(key, parts));
      else for (const [hash, client] of shard) add(hash, client);
      await pause();
    } else if (key.startsWith('census/')) {
      const names = readCensus(text);
      if (names === undefined) gaps.push(unreadableGap(key, parts));
      else mergeCensus(tally.census.operations, names);
      await pause();
    }
  }
  for (const { clients, census } of parts.counts) {
    for (const shard of clients.values()) for (const [hash, client] of shard) add(hash, client);
    for (const names of census.values()) mergeCensus(tally.census.operations, names);
    await pause();
  }
  let seen = 0;
  for (const [hash, client] of parts.own.clients) {
    add(hash, client);
    seen += 1;
    if (seen % CLIENTS_PER_STEP === 0) await pause();
  }
  mergeCensus(tally.census.operations, parts.own.census.operations);
  return { tally, gaps };
}

/** The counts of one client in a fleet; undefined when it was not seen. */
export function fleetClient(hash: string, { texts, counts, own, from }: TallyParts): ClientTally | undefined {
  const key = clientKey(hash);
  const text = texts.get(key);
  const known = [
    text === undefined ? undefined : readShard(text)?.get(hash),
    ...counts.map(({ clients }) => clients.get(key)?.get(hash)),
    own.clients.get(hash),
  ].filter((client) => client !== undefined && !isForgotten(client, from));
  if (known.length === 0) return undefined;
  const client = new ClientTally(0);
  for (const one of known) if (one !== undefined) mergeClient(client, one);
  return client;
}

/** The sums of a fleet. */
export function fleetSums({ texts, counts, own }: TallyParts): FleetSums {
  const sums = noSums();
  for (const [key, text] of texts) {
    const record = key.startsWith('replicas/') ? readReplicas(text) : undefined;
    if (record !== undefined) mergeSums(sums, record.sums);
  }
  for (const part of counts) if (part.sums !== undefined) mergeSums(sums, part.sums);
  mergeSums(sums, sumsOf(own));
  return sums;
}

function unreadableGap(key: string, { from, now }: TallyParts): LogGap {
  const sentence = `The record ${key} of the store cannot be read.`;
  return { log: 'store', kind: 'silent', from, until: now, sentence };
}

function setSums(tally: Tally, sums: FleetSums, first: string): void {
  tally.entries = sums.entries;
  tally.since = sums.since;
  tally.until = sums.until;
  for (const [name, { v1, v2, refused, omitted }] of sums.days) {
    if (name < first) continue;
    const day = tally.dayOf(name);
    day.v1 = v1;
    day.v2 = v2;
    day.refused = refused;
    tally.v1 += v1;
    tally.v2 += v2;
    tally.omittedClients += omitted;
  }
  for (const [name, span] of sums.operations) tally.operations.set(name, span);
  for (const [name, span] of sums.changes) tally.changes.set(name, span);
  for (const [name, span] of sums.rules) tally.rules.set(name, span);
  tally.census.sampled = sums.sampled;
  tally.census.exchanges = sums.exchanges;
  tally.census.omitted = sums.omittedNames;
}
