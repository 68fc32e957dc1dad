import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { OwnText } from '../../rollout/shared-state.ts';
import type { TextSums } from '../../rollout/shared-texts.ts';
import { isRequestRuleName } from '../../rules/kinds/words.ts';
import { type CensusCounts, COUNTS, MAX_ROW_CLIENTS, NO_COUNTS } from '../census.ts';
import type { Span } from '../tally/span.ts';
import type { Tally, ClientTally } from '../tally/tally.ts';
import {
  addToShard,
  type ClientShard,
  earlier,
  FieldReader,
  later,
  mergeSpan,
  mergeSpans,
  type PackedRecord,
  packNamed,
  packSpan,
  packShard,
  packTime,
  readNamed,
  readShard,
  unlessDamaged,
} from './client-shard.ts';

/** The counts of a tally, by the key of their text. */
export interface FleetCounts {
  readonly clients: ReadonlyMap<string, ClientShard>;
  readonly census: ReadonlyMap<string, CensusShard>;
  readonly sums: FleetSums;
}

/**
 * Prefixes of the keys of texts with clients and names; keys of the texts with sums, with the identity of the process, and with ended
 * processes.
 */
export const CLIENTS = 'clients/';
export const CENSUS = 'census/';
export const SUMS = 'sums';
export const WHO = 'who';
export const RUNS = 'runs';

/** Key of the text in which a replica describes itself, and which is removed with it. */
export const SAID = 'said';

/** Maximum names of operations and changes of one record. */
const MAX_NAMES = 1000;

/** Maximum ended processes in a text: the most recent ones. */
const MAX_RUNS = 200;

/** Number of texts for clients, and for names of the census. */
const CLIENT_RECORDS = 512;
const CENSUS_RECORDS = 32;

/** Maximum characters of one record. */
const MAX_CHARACTERS = 48 * 1024;

/** The sums that are numbers, those that are spans by name, and those of a day, in the order of a record. */
const TOTALS = ['sampled', 'exchanges', 'omittedNames'] as const;
const NAMED = ['operations', 'changes', 'editedResponses'] as const;
const OF_DAY = ['v1', 'v2', 'refused', 'omitted'] as const;

/** Names of one record: counts by operation and pointer. */
type CensusShard = Map<string, Map<string, CensusCounts>>;

/** Spreads a tally over its texts. */
export function countsOf(tally: Tally): FleetCounts {
  const clients = new Map<string, ClientShard>();
  for (const [hash, client] of tally.clients) {
    const key = clientKey(hash);
    const shard = clients.get(key) ?? new Map<string, ClientTally>();
    clients.set(key, shard.set(hash, client));
  }
  const census = new Map<string, CensusShard>();
  for (const [operation, names] of tally.census.operations) {
    const key = censusKey(operation);
    const shard: CensusShard = census.get(key) ?? new Map();
    census.set(key, shard.set(operation, names));
  }
  return { clients, census, sums: sumsOf(tally) };
}

/** Prints counts, by key, without those from before `from` (RFC 3339). */
export function printCounts(counts: FleetCounts, from: string): ReadonlyMap<string, string> {
  const sums = noSums();
  mergeSums(sums, counts.sums);
  const texts = new Map<string, string>();
  for (const [key, clients] of counts.clients) {
    const { text, omitted } = packShard(clients, from);
    omit(sums, sums.until, omitted);
    texts.set(key, text);
  }
  for (const [key, names] of counts.census) {
    const { text, omitted } = packCensus(names);
    sums.omittedNames += omitted;
    texts.set(key, text);
  }
  texts.set(SUMS, JSON.stringify(packSums(sums, from)));
  return texts;
}

/** How the counts of a fleet are added up; `time` is the clock of this process. Counts older than `keepMs` are dropped. */
export function fleetTexts(time: () => number, keepMs: number): TextSums {
  const from = (): string => new Date(time() - keepMs).toISOString();
  return {
    add: (own, added) => {
      const texts = new Map<string, string>();
      const sums = noSums();
      for (const [key, text] of added) {
        const known = own(key);
        if (key === SUMS) mergeSums(sums, readSumsText(text) ?? noSums());
        else texts.set(key, known === undefined ? text : addText(key, known, text, { from: from(), sums }));
      }
      if (sums.entries > 0 || sums.omittedNames > 0 || sums.days.size > 0 || added.has(SUMS)) {
        const all = readSumsText(own(SUMS) ?? '') ?? noSums();
        mergeSums(all, sums);
        texts.set(SUMS, JSON.stringify(packSums(all, from())));
      }
      return texts;
    },
    adopt: (key, text, ageMs, owner) => adopted(key, text, { ageMs, owner, now: time() }),
  };
}

/** Adds a text to another with the same key; counts that do not fit go to `sums`. */
function addText(
  key: string,
  own: string,
  added: string,
  { from, sums }: { readonly from: string; readonly sums: FleetSums },
): string {
  if (key.startsWith(CLIENTS)) {
    const clients = readShard(added);
    const packed = clients && addToShard(own, clients, from);
    if (packed === undefined) return own;
    omit(sums, latestOf(clients), packed.omitted);
    return packed.text;
  }
  if (key.startsWith(CENSUS)) {
    const [shard, names] = [readCensus(own), readCensus(added)];
    if (shard === undefined || names === undefined) return own;
    mergeCensus(shard, names);
    const { text, omitted } = packCensus(shard);
    sums.omittedNames += omitted;
    return text;
  }
  const [one, other] = [readRuns(own), readRuns(added)];
  if (one === undefined || other === undefined) return own;
  return printRuns({ ...other, first: Math.min(one.first, other.first), runs: [...one.runs, ...other.runs] });
}

/** The last time at which one of these clients was seen, RFC 3339. */
function latestOf(clients: ClientShard | undefined): string {
  let last = '';
  for (const { v1, v2 } of clients?.values() ?? []) last = later(last, later(v1.last, v2.last));
  return last;
}

/** Converts a text of an ended process to one of this process, whose clock says `now`. */
function adopted(
  key: string,
  text: string,
  { ageMs, owner, now }: { readonly ageMs: number; readonly owner: string; readonly now: number },
): OwnText | 'unreadable' | undefined {
  if (key === WHO) {
    const run = readWho(text, owner, now - ageMs);
    return run && { key: RUNS, text: printRuns({ clock: now, first: run.since, runs: [run] }) };
  }
  if (key === SAID) return undefined;
  if (key === RUNS) {
    const known = readRuns(text);
    return known === undefined ? 'unreadable' : { key, text: printRuns(atClock(known, now - ageMs, now)) };
  }
  const isReadable =
    key === SUMS
      ? readSumsText(text) !== undefined
      : key.startsWith(CLIENTS)
        ? readShard(text) !== undefined
        : key.startsWith(CENSUS) && readCensus(text) !== undefined;
  return isReadable ? { key, text } : 'unreadable';
}

/** Key of the record that holds the names of an operation. */
function censusKey(operation: string): string {
  return `${CENSUS}${slotOf(operation, CENSUS_RECORDS)}`;
}

/** FNV-1a, with the high bits mixed in. */
function slotOf(text: string, slots: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % slots;
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
  readonly editedResponses: Map<string, Span>;
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
    const { refusedBySchema, validBySchema } = row;
    const fields = [
      operation,
      pointer,
      ...counts,
      [...clients],
      change,
      rule,
      refusedBySchema,
      validBySchema,
    ];
    const text = JSON.stringify(fields);
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

/** One counting process of a gateway; its times are on the reader's clock. */
export interface FleetRun {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** The time for which all its counts are in the store, in milliseconds since 1970. */
  readonly since: number;
  readonly at: number;
  /** True if it stopped after adding all its counts. */
  readonly hasStopped: boolean;
  /** Earlier ids of the same process. */
  readonly formerIds: readonly string[];
}

/** Prints the identity of this process, `upMs` after its start; its counts until now are in the store with this text. */
export function printWho({
  name,
  upMs,
  hasStopped,
  formerIds,
}: Pick<FleetRun, 'name' | 'hasStopped' | 'formerIds'> & { readonly upMs: number }): string {
  return JSON.stringify([name, upMs, hasStopped ? 1 : 0, formerIds]);
}

/**
 * Reads the identity of a process; `at` is the time at which the text was set, on the clock of the reader. Undefined for a text in
 * another form.
 */
export function readWho(text: string, id: string, at: number): FleetRun | undefined {
  return unlessDamaged(() => {
    const fields = new FieldReader(parsedJson(text));
    const [name, upMs, stopped] = [fields.text(), fields.number(), fields.number()];
    return { id, name, since: at - upMs, at, hasStopped: stopped === 1, formerIds: fields.texts() };
  });
}

/** Processes that ended; their times are on the writer's clock. */
export interface FleetRuns {
  /** That clock, when they were written. */
  readonly clock: number;
  /** Time since which the first of them counted; it stays when that process is dropped. */
  readonly first: number;
  readonly runs: readonly FleetRun[];
}

/** Prints ended processes, up to a maximum of the most recent ones. */
export function printRuns({ clock, first, runs }: FleetRuns): string {
  const kept = [...runs].sort((one, other) => other.at - one.at).slice(0, MAX_RUNS);
  return JSON.stringify([
    clock,
    first,
    kept.map(({ id, name, since, at, hasStopped, formerIds }) => [
      id,
      name,
      since,
      at,
      hasStopped ? 1 : 0,
      formerIds,
    ]),
  ]);
}

/** Reads ended processes; undefined for a text in another form. */
export function readRuns(text: string): FleetRuns | undefined {
  return unlessDamaged(() => {
    const fields = new FieldReader(parsedJson(text));
    const [clock, first] = [fields.number(), fields.number()];
    const runs = fields.lists().map((run) => ({
      id: run.text(),
      name: run.text(),
      since: run.number(),
      at: run.number(),
      hasStopped: run.number() === 1,
      formerIds: run.texts(),
    }));
    return { clock, first, runs };
  });
}

/**
 * Milliseconds that a text may take from one replica to another: clocks that are not farther apart count as one, or replicas would tell one
 * event by different times.
 */
const DELAY_MS = 5_000;

/** Milliseconds by which the reader's clock, which said `at` when a text was written, is ahead of its writer's, which said `written`. */
export function clockAhead(at: number, written: number): number {
  const ahead = at - written;
  return Math.abs(ahead) < DELAY_MS ? 0 : ahead;
}

/** The same processes on another clock, which said `at` when they were written, and says `now`. */
export function atClock({ clock, first, runs }: FleetRuns, at: number, now: number): FleetRuns {
  const ahead = clockAhead(at, clock);
  return {
    clock: now,
    first: first + ahead,
    runs: runs.map((run) => ({ ...run, since: run.since + ahead, at: run.at + ahead })),
  };
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

/** Empty sums. */
export function noSums(): FleetSums {
  return {
    entries: 0,
    since: '',
    until: '',
    days: new Map(),
    operations: new Map(),
    changes: new Map(),
    editedResponses: new Map(),
    sampled: 0,
    exchanges: 0,
    omittedNames: 0,
    unread: { count: 0, first: '', last: '' },
  };
}

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

/** Reads sums; undefined for a text in another form. */
export function readSumsText(text: string): FleetSums | undefined {
  return unlessDamaged(() => readSums(new FieldReader(parsedJson(text))));
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
  return `${CLIENTS}${slotOf(hash, CLIENT_RECORDS)}`;
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
  merged.refusedBySchema += other.refusedBySchema;
  merged.validBySchema += other.validBySchema;
  return merged;
}

/** Of two rules that removed a name, always selects the same one, independent of the order of records. */
function ruleOf(one: CensusCounts, other: CensusCounts): Pick<CensusCounts, 'change' | 'rule'> {
  const { change, rule } =
    `${one.change ?? ''} ${one.rule ?? ''}` > `${other.change ?? ''} ${other.rule ?? ''}` ? one : other;
  return change === undefined || rule === undefined ? {} : { change, rule };
}

/** Reads the names of a record; undefined for a text in another form. */
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
  // A record of an earlier version lacks these.
  if (!row.isOver) [counts.refusedBySchema, counts.validBySchema] = [row.number(), row.number()];
  if (change === undefined || rule === undefined || !isRequestRuleName(rule)) return counts;
  return { ...counts, change, rule };
}
