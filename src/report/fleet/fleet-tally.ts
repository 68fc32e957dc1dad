import { mergeCensus, readCensus } from './census-record.ts';
import { isForgotten, readShard } from './client-shard.ts';
import { ClientTally } from '../tally/client-tally.ts';
import { countsOf, type FleetCounts } from './fleet-batch.ts';
import { type FleetSums, mergeSums, noSums, sumsOf } from './fleet-sums.ts';
import type { LogGap } from '../gaps/log-gaps.ts';
import { mergeClient } from './merge-clients.ts';
import { mergeSpan } from './merge-spans.ts';
import { clientKey } from './record-keys.ts';
import { readReplicas } from './replica-record.ts';
import type { ReadTotals } from '../report-totals.ts';
import { Tally } from '../tally/tally.ts';

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

/**
 * Makes the totals of a fleet; awaits `pause` between steps. Clients are read from their records only as they are asked for: thousands of
 * them at once would take tens of megabytes.
 */
export async function fleetTally(parts: TallyParts, pause: () => Promise<void>): Promise<ReadTotals> {
  const tally = new Tally();
  const gaps: LogGap[] = [];
  setSums(tally, fleetSums(parts), parts.from.slice(0, 10));
  for (const [key, text] of parts.texts) {
    if (!key.startsWith('census/')) continue;
    const names = readCensus(text);
    if (names === undefined) gaps.push(unreadableGap(key, parts));
    else mergeCensus(tally.census.operations, names);
    await pause();
  }
  for (const { census } of parts.counts)
    for (const names of census.values()) mergeCensus(tally.census.operations, names);
  mergeCensus(tally.census.operations, parts.own.census.operations);
  const { entries, v1, v2, since, until, days, census, omittedClients, unread } = tally;
  const sums = { entries, v1, v2, since, until, days, census, omittedClients, unread };
  return { tally: { ...sums, clients: clientsOf(parts, tally.days, gaps) }, gaps };
}

/** The clients, record by record; marks the days of each, and adds a gap for a record that nobody can read. */
function* clientsOf(
  parts: TallyParts,
  days: Tally['days'],
  gaps: LogGap[],
): Generator<readonly [string, ClientTally], void, undefined> {
  const byNumber = new Map([...days.values()].map((day) => [day.number, day]));
  const own = countsOf(parts.own);
  const counts = [...parts.counts, own];
  const keys = new Set([
    ...[...parts.texts.keys()].filter((key) => key.startsWith('clients/')),
    ...counts.flatMap(({ clients }) => [...clients.keys()]),
  ]);
  let index = 0;
  for (const key of keys) {
    const text = parts.texts.get(key) ?? '[]';
    const merged = readShard(text) ?? new Map<string, ClientTally>();
    if (merged.size === 0 && text !== '[]') gaps.push(unreadableGap(key, parts));
    for (const { clients } of counts)
      for (const [hash, client] of clients.get(key) ?? []) {
        const into = merged.get(hash) ?? new ClientTally(0);
        merged.set(hash, into);
        mergeClient(into, client);
      }
    for (const [hash, client] of merged) {
      if (isForgotten(client, parts.from)) continue;
      for (const day of client.days.all()) byNumber.get(day)?.clients.add(index);
      for (const day of client.rewrittenDays.all()) byNumber.get(day)?.rewritten.add(index);
      index += 1;
      yield [hash, client];
    }
  }
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
  mergeSpan(tally.unread, sums.unread);
}
