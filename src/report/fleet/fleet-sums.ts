import { type FieldReader, packSpan, packTime } from './record-fields.ts';
import { packNamed, readNamed } from './client-record.ts';
import { earlier, later, mergeSpan, mergeSpans } from './merge-spans.ts';
import type { Span } from '../tally/span.ts';
import type { Tally } from '../tally/tally.ts';

/** Sums of one day; `omitted` are requests of clients that are not listed. */
export interface DaySums {
  v1: number;
  v2: number;
  refused: number;
  omitted: number;
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

/** Maximum names of operations, changes and rules of one record. */
const MAX_NAMES = 1000;

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
  mergeSpans(sums.operations, tally.operations);
  mergeSpans(sums.changes, tally.changes);
  mergeSpans(sums.rules, tally.rules);
  sums.sampled = census.sampled;
  sums.exchanges = census.exchanges;
  sums.omittedNames = census.omitted;
  mergeSpan(sums.unread, tally.unread);
  omit(sums, until, tally.omittedClients);
  return sums;
}

/** Counts requests of clients that are not listed, on the day of `time` (RFC 3339). */
export function omit(sums: FleetSums, time: string, requests: number): void {
  if (requests === 0) return;
  const day = time.slice(0, 10);
  const known = sums.days.get(day) ?? { v1: 0, v2: 0, refused: 0, omitted: 0 };
  sums.days.set(day, known);
  known.omitted += requests;
}

/** Adds sums to others; `from` stays as it is. */
export function mergeSums(into: FleetSums, from: FleetSums): void {
  into.entries += from.entries;
  into.since = earlier(into.since, from.since);
  into.until = later(into.until, from.until);
  for (const [day, { v1, v2, refused, omitted }] of from.days) {
    const known = into.days.get(day) ?? { v1: 0, v2: 0, refused: 0, omitted: 0 };
    into.days.set(day, known);
    known.v1 += v1;
    known.v2 += v2;
    known.refused += refused;
    known.omitted += omitted;
  }
  mergeSpans(into.operations, from.operations);
  mergeSpans(into.changes, from.changes);
  mergeSpans(into.rules, from.rules);
  into.sampled += from.sampled;
  into.exchanges += from.exchanges;
  into.omittedNames += from.omittedNames;
  mergeSpan(into.unread, from.unread);
}

/** The sums as a list for a record, without days before `from` (RFC 3339). */
export function packSums(sums: FleetSums, from: string): readonly unknown[] {
  const first = from.slice(0, 10);
  return [
    sums.entries,
    packTime(sums.since),
    packTime(sums.until),
    [...sums.days]
      .filter(([day]) => day >= first)
      .map(([day, { v1, v2, refused, omitted }]) => [day, v1, v2, refused, omitted]),
    packNamed(sums.operations, MAX_NAMES),
    packNamed(sums.changes, MAX_NAMES),
    packNamed(sums.rules, MAX_NAMES),
    sums.sampled,
    sums.exchanges,
    sums.omittedNames,
    packSpan(sums.unread),
  ];
}

/** Reads what `packSums` returned; throws `DamagedRecord` for anything else. */
export function readSums(fields: FieldReader): FleetSums {
  const sums = noSums();
  sums.entries = fields.number();
  sums.since = fields.time();
  sums.until = fields.time();
  for (const day of fields.lists())
    sums.days.set(day.text(), {
      v1: day.number(),
      v2: day.number(),
      refused: day.number(),
      omitted: day.number(),
    });
  mergeSpans(sums.operations, readNamed(fields));
  mergeSpans(sums.changes, readNamed(fields));
  mergeSpans(sums.rules, readNamed(fields));
  sums.sampled = fields.number();
  sums.exchanges = fields.number();
  sums.omittedNames = fields.number();
  if (!fields.isOver) mergeSpan(sums.unread, fields.list().span());
  return sums;
}
