import { type CensusShard, mergeCensus, packCensus, readCensus } from './census-record.ts';
import { addToShard, type ClientShard } from './client-shard.ts';
import type { ClientTally } from '../tally/client-tally.ts';
import type { RecordChange } from '../../rollout/record-store.ts';
import type { FleetCopy } from './fleet-copy.ts';
import { type FleetSums, mergeSums, noSums, omit, sumsOf } from './fleet-sums.ts';
import { censusKey, clientKey, replicaKey } from './record-keys.ts';
import { DamagedRecord } from './record-fields.ts';
import { noReplicas, packReplicas, readReplicas, type ReplicaFigures } from './replica-record.ts';
import type { Tally } from '../tally/tally.ts';

/** Characters of one batch: about, for it is at least one record. */
const BATCH_CHARACTERS = 32 * 1024;
/** Characters of a record that is new: about. */
const NEW_CHARACTERS = 1000;

/** Counts that are on their way to the store, by the key of their record. */
export interface FleetCounts {
  readonly clients: Map<string, ClientShard>;
  readonly census: Map<string, CensusShard>;
  /** Sums that are not yet part of a batch. */
  sums: FleetSums | undefined;
}

/** Counts that are added at once. Its number makes sure that this happens once. */
export interface FleetBatch extends FleetCounts {
  readonly number: number;
  /** Everything up to this time is added with it, in milliseconds since 1970. */
  readonly at: number;
  /** Keys of records that the store has lost, to be set again. */
  readonly restored: readonly string[];
}

/** The process that adds a batch. */
export interface BatchOwner extends Pick<ReplicaFigures, 'name' | 'since' | 'hasStopped'> {
  readonly id: string;
  readonly lost?: ReplicaFigures['lost'] | undefined;
}

/** Counts of nothing. */
export function noCounts(): FleetCounts {
  return { clients: new Map(), census: new Map(), sums: undefined };
}

/** Spreads a tally over its records. */
export function countsOf(tally: Tally): FleetCounts {
  const counts = noCounts();
  for (const [hash, client] of tally.clients) {
    const key = clientKey(hash);
    const shard = counts.clients.get(key) ?? new Map<string, ClientTally>();
    counts.clients.set(key, shard.set(hash, client));
  }
  for (const [operation, names] of tally.census.operations) {
    const key = censusKey(operation);
    const shard: CensusShard = counts.census.get(key) ?? new Map();
    counts.census.set(key, shard.set(operation, names));
  }
  counts.sums = sumsOf(tally);
  return counts;
}

/** Takes counts and lost records for a batch, out of `pending`; the sums are part of the first. */
export function takeBatch(pending: FleetCounts, copy: FleetCopy): Omit<FleetBatch, 'number' | 'at'> {
  const batch = { ...noCounts(), sums: pending.sums };
  let characters = 0;
  const take = <Value>(from: Map<string, Value>, to: Map<string, Value>): void => {
    for (const [key, value] of from) {
      if (characters >= BATCH_CHARACTERS) return;
      characters += copy.textOf(key)?.length ?? NEW_CHARACTERS;
      to.set(key, value);
      from.delete(key);
    }
  };
  take(pending.clients, batch.clients);
  take(pending.census, batch.census);
  pending.sums = undefined;
  const restored: string[] = [];
  for (const key of copy.lost) {
    if (characters >= BATCH_CHARACTERS) break;
    characters += copy.textOf(key)?.length ?? 0;
    restored.push(key);
  }
  return { ...batch, restored };
}

/** The changes of records that add a batch; `from` is the time before which counts are forgotten. Throws `DamagedRecord`. */
export function changesOf(
  batch: FleetBatch,
  owner: BatchOwner,
  copy: FleetCopy,
  { from, now }: { readonly from: number; readonly now: number },
): readonly RecordChange[] {
  const own = replicaKey(owner.id);
  const changes = batch.restored
    .filter((key) => key !== own && !batch.clients.has(key) && !batch.census.has(key))
    .map((key) => copy.changeTo(key, copy.textOf(key) ?? ''));
  const sums = noSums();
  if (batch.sums !== undefined) mergeSums(sums, batch.sums);
  for (const [key, clients] of batch.clients) {
    const added = addToShard(copy.textOf(key) ?? '[]', clients, new Date(from).toISOString());
    const { text, omitted } = sound(key, added);
    omit(sums, new Date(now).toISOString(), omitted);
    changes.push(copy.changeTo(key, text));
  }
  for (const [key, names] of batch.census) {
    const shard = sound(key, readCensus(copy.textOf(key) ?? '[]'));
    mergeCensus(shard, names);
    const { text, omitted } = packCensus(shard);
    sums.omittedNames += omitted;
    changes.push(copy.changeTo(key, text));
  }
  const known = copy.textOf(own);
  const record = known === undefined ? noReplicas() : sound(own, readReplicas(known));
  const { id, name, since, hasStopped, lost } = owner;
  record.first = Math.min(record.first, since);
  mergeSums(record.sums, sums);
  const figures = { name, since, at: batch.at, batch: batch.number, hasStopped };
  record.replicas.set(id, lost === undefined ? figures : { ...figures, lost });
  changes.push(copy.changeTo(own, packReplicas(record, from)));
  return changes;
}

function sound<Value>(key: string, value: Value | undefined): Value {
  if (value === undefined) throw new DamagedRecord(`the record ${key} of the store cannot be read`);
  return value;
}
