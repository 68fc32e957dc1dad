import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { RecordChange, RecordPage, Replaced } from '../../rollout/store.ts';
import { isRequestRuleName } from '../../rules/rule.ts';
import { type CensusCounts, COUNTS, MAX_ROW_CLIENTS, NO_COUNTS } from '../census.ts';
import type { Span } from '../tally/span.ts';
import type { Tally, ClientTally } from '../tally/tally.ts';
import {
  addToShard,
  type ClientShard,
  DamagedRecord,
  earlier,
  FieldReader,
  later,
  mergeSpan,
  mergeSpans,
  type PackedRecord,
  packNamed,
  packSpan,
  packTime,
  readNamed,
  unlessDamaged,
} from './client-shard.ts';

/** Approximate characters of a batch, which has at least one record. */
const BATCH_CHARACTERS = 32 * 1024;

/** Approximate characters of a new record. */
const NEW_CHARACTERS = 1000;

/** Counts on their way to the store, by the key of their record. */
export interface FleetCounts {
  readonly clients: Map<string, ClientShard>;
  readonly census: Map<string, CensusShard>;
  /** Sums that no batch has yet. */
  sums: FleetSums | undefined;
}

/** Counts that are added together, and only once, since the batch has a number. */
export interface FleetBatch extends FleetCounts {
  readonly number: number;
  /** It completes the counts up to this time, in milliseconds since 1970. */
  readonly at: number;
  /** Keys of records that the store lost, and that the batch restores. */
  readonly restored: readonly string[];
}

/** The process that adds a batch. */
export interface BatchOwner extends Pick<ReplicaFigures, 'name' | 'since' | 'hasStopped'> {
  readonly id: string;
  readonly lost?: ReplicaFigures['lost'] | undefined;
}

/** Maximum names of operations, changes and rules of one record. */
const MAX_NAMES = 1000;

/** Maximum processes in a record: those heard from last. */
const MAX_REPLICAS = 200;

/** Number of records for clients, for names of the census, and for replicas with their sums. */
const CLIENT_RECORDS = 512;
const CENSUS_RECORDS = 32;
const REPLICA_RECORDS = 32;

/** Maximum characters of one record. */
const MAX_CHARACTERS = 48 * 1024;

/** The sums that are numbers, those that are spans by name, and those of a day, in the order of a record. */
const TOTALS = ['sampled', 'exchanges', 'omittedNames'] as const;
const NAMED = ['operations', 'changes', 'rules'] as const;
const OF_DAY = ['v1', 'v2', 'refused', 'omitted'] as const;

/** Counts of nothing. */
export function noCounts(): FleetCounts {
  return { clients: new Map(), census: new Map(), sums: undefined };
}

/** Names of one record: counts by operation and pointer. */
type CensusShard = Map<string, Map<string, CensusCounts>>;

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

/** Key of the record that holds the names of an operation. */
function censusKey(operation: string): string {
  return `census/${slotOf(operation, CENSUS_RECORDS)}`;
}

/** FNV-1a, with the high bits mixed in. */
function slotOf(text: string, slots: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % slots;
}

/** Takes counts out of `pending`, and lost records, for a batch; the first one has the sums. */
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

/** The changes of records that add a batch; counts from before `from` are forgotten. Throws `DamagedRecord`. */
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

/** The sums of a tally that belong to no client. */
export interface FleetSums {
  entries: number;
  /** Times of the first and the last entry, RFC 3339; empty without one. */
  since: string;
  until: string;
  /** By day, `YYYY-MM-DD`. */
  readonly days: Map<string, DaySums>;
  readonly operations: Map<string, Span>;
  readonly changes: Map<string, Span>;
  readonly rules: Map<string, Span>;
  /** Of the census: V1 exchanges whose names were recorded, all of them, and occurrences that are not listed. */
  sampled: number;
  exchanges: number;
  omittedNames: number;
  /** Requests that could not be read. */
  readonly unread: Span;
}

/** Sums of one day; `omitted` are requests of clients that are not listed. */
interface DaySums {
  v1: number;
  v2: number;
  refused: number;
  omitted: number;
}

/** Counts requests of clients that are not listed, on the day of `time` (RFC 3339). */
function omit(sums: FleetSums, time: string, requests: number): void {
  if (requests === 0) return;
  const day = time.slice(0, 10);
  dayOf(sums, day).omitted += requests;
}

function dayOf({ days }: FleetSums, day: string): DaySums {
  const known = days.get(day) ?? { v1: 0, v2: 0, refused: 0, omitted: 0 };
  days.set(day, known);
  return known;
}

/** Prints names for a record; of too many, leaves out the least frequent, and counts their occurrences. */
function packCensus(shard: CensusShard): PackedRecord {
  const rows = [...shard].flatMap(([operation, names]) =>
    [...names].map(([pointer, row]) => ({ operation, pointer, row })),
  );
  rows.sort((one, other) => other.row.count - one.row.count || (keyOf(one) < keyOf(other) ? -1 : 1));
  const kept: string[] = [];
  let characters = 0;
  let omitted = 0;
  for (const { operation, pointer, row } of rows) {
    const { clients, change = null, rule = null } = row;
    const counts = COUNTS.map((name) => row[name]);
    const text = JSON.stringify([operation, pointer, ...counts, [...clients], change, rule]);
    if (characters + text.length > MAX_CHARACTERS) {
      omitted += row.count;
      continue;
    }
    kept.push(text);
    characters += text.length;
  }
  return { text: `[${kept.join(',')}]`, omitted };
}

function keyOf({ operation, pointer }: { readonly operation: string; readonly pointer: string }): string {
  return `${operation} ${pointer}`;
}

/** A record of some processes, with the sums of all that they added. */
export interface ReplicaRecord {
  /** Time since which they count, in milliseconds since 1970; it stays when a process is forgotten. */
  first: number;
  readonly replicas: Map<string, ReplicaFigures>;
  readonly sums: FleetSums;
}

/** One process of a gateway that adds its counts; after a restart it is another one. */
export interface ReplicaFigures {
  /** For people. */
  readonly name: string;
  /** The time for which all its counts are added, in milliseconds since 1970 on its clock. */
  readonly since: number;
  readonly at: number;
  /** Number of the last batch that it added. */
  readonly batch: number;
  /** True when it stopped after adding everything. */
  readonly hasStopped: boolean;
  /** A time for which the store lost its counts. */
  readonly lost?: { readonly from: number; readonly until: number };
}

/** A record of no process. */
function noReplicas(): ReplicaRecord {
  return { first: Number.POSITIVE_INFINITY, replicas: new Map(), sums: noSums() };
}

/** Prints a record without anything older than `from`, in milliseconds since 1970. */
function packReplicas({ first, replicas, sums }: ReplicaRecord, from: number): string {
  const kept = [...replicas]
    .filter(([, { at }]) => at >= from)
    .sort(([, one], [, other]) => other.at - one.at)
    .slice(0, MAX_REPLICAS);
  return JSON.stringify([
    Math.max(first, from),
    kept.map(([id, { name, since, at, batch, hasStopped, lost }]) => [
      id,
      name,
      since,
      at,
      batch,
      hasStopped ? 1 : 0,
      lost?.from ?? 0,
      lost?.until ?? 0,
    ]),
    packSums(sums, new Date(from).toISOString()),
  ]);
}

/** The sums as a list for a record, without days before `from` (RFC 3339). */
function packSums(sums: FleetSums, from: string): readonly unknown[] {
  const first = from.slice(0, 10);
  return [
    sums.entries,
    packTime(sums.since),
    packTime(sums.until),
    [...sums.days]
      .filter(([day]) => day >= first)
      .map(([day, counts]) => [day, ...OF_DAY.map((name) => counts[name])]),
    ...NAMED.map((name) => packNamed(sums[name], MAX_NAMES)),
    ...TOTALS.map((name) => sums[name]),
    packSpan(sums.unread),
  ];
}

interface KnownRecord {
  readonly text: string;
  /** 0 when the store has lost it. */
  readonly revision: number;
}

/** A replica's copy of the records in the store. */
export class FleetCopy {
  private readonly records = new Map<string, KnownRecord>();
  private knownLife = '';
  private readUpTo = 0;

  /** The life of the records; empty before the first one. */
  get life(): string {
    return this.knownLife;
  }

  /** Revision up to which records are known. */
  get revision(): number {
    return this.readUpTo;
  }

  /** The texts by key, as they are now. */
  get texts(): ReadonlyMap<string, string> {
    return new Map([...this.records].map(([key, { text }]) => [key, text]));
  }

  /** Keys of records that the store has lost. */
  get lost(): readonly string[] {
    return [...this.records].flatMap(([key, { revision }]) => (revision === 0 ? [key] : []));
  }

  textOf(key: string): string | undefined {
    return this.records.get(key)?.text;
  }

  /** Takes a page of changes. Returns false when the store has begun another life: read it from its beginning. */
  take({ life, records }: RecordPage): boolean {
    if (life !== this.knownLife && this.knownLife !== '') {
      for (const [key, { text }] of this.records) this.records.set(key, { text, revision: 0 });
      this.knownLife = life;
      this.readUpTo = 0;
      return false;
    }
    this.knownLife = life;
    for (const { key, text, revision } of records) {
      this.records.set(key, { text, revision });
      this.readUpTo = Math.max(this.readUpTo, revision);
    }
    return true;
  }

  /** A change of a record to a text. */
  changeTo(key: string, text: string): RecordChange {
    return { key, text, revision: this.records.get(key)?.revision ?? 0 };
  }

  /** Takes this replica's own changes. */
  note(changes: readonly RecordChange[], { life, revision }: Replaced): void {
    const first = revision - changes.length + 1;
    for (const [index, { key, text }] of changes.entries())
      this.records.set(key, { text, revision: first + index });
    // Changes of others in between are still to be read.
    if (first === this.readUpTo + 1) this.readUpTo = revision;
    this.knownLife = life;
  }
}

/** Sums of nothing. */
export function noSums(): FleetSums {
  return {
    entries: 0,
    since: '',
    until: '',
    days: new Map(),
    operations: new Map(),
    changes: new Map(),
    rules: new Map(),
    sampled: 0,
    exchanges: 0,
    omittedNames: 0,
    unread: { count: 0, first: '', last: '' },
  };
}

/** The sums of a tally. */
export function sumsOf(tally: Tally): FleetSums {
  const { entries, since, until, census } = tally;
  const sums = { ...noSums(), entries, since, until };
  for (const [day, { v1, v2, refused }] of tally.days) sums.days.set(day, { v1, v2, refused, omitted: 0 });
  for (const name of NAMED) mergeSpans(sums[name], tally[name]);
  sums.sampled = census.sampled;
  sums.exchanges = census.exchanges;
  sums.omittedNames = census.omitted;
  mergeSpan(sums.unread, tally.unread);
  omit(sums, until, tally.omittedClients);
  return sums;
}

/** Adds sums to others; `from` stays as it is. */
export function mergeSums(into: FleetSums, from: FleetSums): void {
  into.entries += from.entries;
  into.since = earlier(into.since, from.since);
  into.until = later(into.until, from.until);
  for (const [day, counts] of from.days) {
    const known = dayOf(into, day);
    for (const name of OF_DAY) known[name] += counts[name];
  }
  for (const name of NAMED) mergeSpans(into[name], from[name]);
  for (const name of TOTALS) into[name] += from[name];
  mergeSpan(into.unread, from.unread);
}

/** Reads a record; undefined when nobody can read it. */
export function readReplicas(text: string): ReplicaRecord | undefined {
  return unlessDamaged(() => {
    const fields = new FieldReader(parsedJson(text));
    const first = fields.number();
    const replicas = new Map(fields.lists().map((one) => [one.text(), readFigures(one)]));
    return { first, replicas, sums: readSums(fields.list()) };
  });
}

function readFigures(fields: FieldReader): ReplicaFigures {
  const figures = {
    name: fields.text(),
    since: fields.number(),
    at: fields.number(),
    batch: fields.number(),
    hasStopped: fields.number() === 1,
  };
  const [from, until] = [fields.number(), fields.number()];
  return until === 0 ? figures : { ...figures, lost: { from, until } };
}

/** Reads what `packSums` returned; throws `DamagedRecord` for anything else. */
function readSums(fields: FieldReader): FleetSums {
  const sums = noSums();
  sums.entries = fields.number();
  sums.since = fields.time();
  sums.until = fields.time();
  for (const day of fields.lists()) {
    const counts = dayOf(sums, day.text());
    for (const name of OF_DAY) counts[name] = day.number();
  }
  for (const name of NAMED) mergeSpans(sums[name], readNamed(fields));
  for (const name of TOTALS) sums[name] = fields.number();
  if (!fields.isOver) mergeSpan(sums.unread, fields.list().span());
  return sums;
}

/** Key of the record that holds a client. */
export function clientKey(hash: string): string {
  return `clients/${slotOf(hash, CLIENT_RECORDS)}`;
}

/** Key of the record that holds a process of a gateway, by its id. */
export function replicaKey(id: string): string {
  return `replicas/${slotOf(id, REPLICA_RECORDS)}`;
}

/** Adds the counts of names to others; `from` stays as it is. */
export function mergeCensus(
  into: CensusShard,
  from: ReadonlyMap<string, ReadonlyMap<string, CensusCounts>>,
): void {
  for (const [operation, names] of from) {
    const known = into.get(operation) ?? new Map<string, CensusCounts>();
    into.set(operation, known);
    for (const [pointer, row] of names) {
      const before = known.get(pointer);
      known.set(pointer, before === undefined ? { ...row, clients: new Set(row.clients) } : sum(before, row));
    }
  }
}

function sum(one: CensusCounts, other: CensusCounts): CensusCounts {
  const merged: CensusCounts = {
    ...one,
    ...ruleOf(one, other),
    clients: new Set([...one.clients, ...other.clients].toSorted().slice(0, MAX_ROW_CLIENTS)),
  };
  for (const name of COUNTS) merged[name] += other[name];
  return merged;
}

/** Of two rules that took a name away, always the same one, whichever record comes first. */
function ruleOf(one: CensusCounts, other: CensusCounts): Pick<CensusCounts, 'change' | 'rule'> {
  const { change, rule } =
    `${one.change ?? ''} ${one.rule ?? ''}` > `${other.change ?? ''} ${other.rule ?? ''}` ? one : other;
  return change === undefined || rule === undefined ? {} : { change, rule };
}

/** Reads the names of a record; undefined when nobody can read it. */
export function readCensus(text: string): CensusShard | undefined {
  return unlessDamaged(() => {
    const shard: CensusShard = new Map();
    for (const row of new FieldReader([parsedJson(text)]).lists()) {
      const operation = row.text();
      const names = shard.get(operation) ?? new Map<string, CensusCounts>();
      shard.set(operation, names);
      names.set(row.text(), readRow(row));
    }
    return shard;
  });
}

function readRow(row: FieldReader): CensusCounts {
  const counts: CensusCounts = { ...NO_COUNTS, clients: new Set() };
  for (const name of COUNTS) counts[name] = row.number();
  for (const client of row.texts()) counts.clients.add(client);
  const [change, rule] = [row.textOrNone(), row.textOrNone()];
  if (change === undefined || rule === undefined || !isRequestRuleName(rule)) return counts;
  return { ...counts, change, rule };
}
