import { OTHER_CALLS } from '../../rewrite-log/entry.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import {
  type BodyCheckCounts,
  memberKey,
  mergeVerdicts,
  noChecks,
  noVerdicts,
  type Outcomes,
  type V2Verdicts,
} from '../tally/outcomes.ts';
import type { Span } from '../tally/span.ts';
import { type CallTally, ClientTally } from '../tally/tally.ts';

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

/** Positions in a row: after the hash come number, first and last time of V1 requests, and the same for V2. */
const V1_COUNT = 1;
const V1_LAST = 3;
const V2_COUNT = 4;
const V2_LAST = 6;

/** Maximum rows of calls in a record, and of each other list, the most frequent first: one client cannot fill a store. */
export const MAX_CALLS = 60;
const MAX_CHANGES = 60;
const MAX_OUTCOMES = 20;
const MAX_POINTERS = 5;
const MAX_MEMBERS = 40;
const MAX_MISTAKES = 30;
const MAX_OPERATIONS = 30;

const CHECKS = ['valid', 'invalid', 'refusedByBoth', 'unknown', 'refused'] as const;

/**
 * Adds clients to the text of a record. Other rows stay text, because parsing and printing them takes most of the time. Drops clients
 * last seen before `from` (RFC 3339); if there are too many, drops those with the fewest requests, and counts these. Undefined if the
 * record is invalid.
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

/** Prints clients like `addToShard`. */
export function packShard(clients: ClientShard, from: string): PackedRecord {
  const rows = new Map([...clients].map(([hash, tally]) => [hash, [hash, ...packClient(tally)]]));
  return packRows(rows, packTime(from));
}

/** Reads the clients of a record; undefined if it is invalid. */
export function readShard(text: string): ClientShard | undefined {
  const rows = rowsOf(text);
  if (rows === undefined) return undefined;
  return unlessDamaged(() => new Map([...rows].map(([hash, row]) => [hash, readRow(row)])));
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

/** This gateway writes times as numbers; a client with a time as text is never dropped. */
function isOlder(time: unknown, from: number | string): boolean {
  return typeof time === 'number' && typeof from === 'number' && time < from;
}

/** A client's counts as a list for a record. `readClient` reads it. */
export function packClient(tally: ClientTally): readonly unknown[] {
  const { lastWork } = tally;
  return [
    ...packSpan(tally.v1),
    ...packSpan(tally.v2),
    tally.refused,
    tally.invalidVersions,
    tally.futureVersions,
    packNumbers(tally.days.all()),
    packNumbers(tally.rewrittenDays.all()),
    packCalls(tally.calls),
    most([...tally.changes], MAX_CHANGES).map(([change, { rules, ...span }]) => [
      change,
      ...packSpan(span),
      [...rules].sort(),
    ]),
    most([...tally.outcomes.all], MAX_OUTCOMES).map(([, { by, status, code = null, pointers, ...span }]) => [
      by,
      status,
      code,
      ...packSpan(span),
      packNamed(pointers, MAX_POINTERS),
    ]),
    tally.bodyChecks
      .byTime()
      .flatMap(([ruleBook, { last, all }]) =>
        [...all].map(([operation, { valid, invalid, refusedByBoth, unknown, refused, pointers }]) => [
          operation,
          valid,
          invalid,
          refusedByBoth,
          unknown,
          packNamed(pointers, MAX_POINTERS),
          refused,
          ruleBook,
          packTime(last),
        ]),
      )
      .slice(0, MAX_OPERATIONS),
    packNamed(tally.mistakes, MAX_MISTAKES),
    most([...tally.responseMembers], MAX_MEMBERS).map(
      ([, { change, v1, v2 = null, hasOtherValues, ...span }]) => [
        change,
        v1,
        v2,
        ...packSpan(span),
        ...(hasOtherValues === true ? [1] : []),
      ],
    ),
    packTime(lastWork['url-only']),
    packTime(lastWork['unwrap-only']),
    packTime(lastWork['field-work']),
    packTime(tally.lastResponseWork),
    packNamed(tally.brownouts, MAX_MISTAKES),
    ...(tally.newcomer.size + tally.failed === 0 ? [] : [packNamed(tally.newcomer, MAX_MISTAKES)]),
    ...(tally.failed === 0 ? [] : [tally.failed]),
  ];
}

/** Reads what `packClient` returned; throws `DamagedRecord` for anything else. */
export function readClient(fields: FieldReader): ClientTally {
  const tally = new ClientTally(0);
  Object.assign(tally.v1, fields.span());
  Object.assign(tally.v2, fields.span());
  tally.refused = fields.number();
  tally.invalidVersions = fields.number();
  tally.futureVersions = fields.number();
  for (const day of fields.numbers()) tally.days.add(day);
  for (const day of fields.numbers()) tally.rewrittenDays.add(day);
  for (const call of fields.lists()) {
    const [name, span] = [call.text(), call.span()];
    tally.calls.set(name, {
      ...span,
      lastJudged: call.time(),
      lastUnknown: call.time(),
      isV1Judged: call.number() === 1,
      v2: call.isOver ? noVerdicts() : readVerdicts(call),
      // Records of earlier versions do not tell it from a refused one.
      lastServed: call.isOver ? span.last : call.time(),
    });
  }
  for (const change of fields.lists())
    tally.changes.set(change.text(), { ...change.span(), rules: new Set(change.texts()) });
  for (const outcome of fields.lists()) {
    const [by, status, code] = [originOf(outcome.text()), outcome.number(), outcome.textOrNone()];
    tally.outcomes.all.set(`${by} ${status} ${code ?? ''}`, {
      by,
      status,
      ...(code === undefined ? {} : { code }),
      ...outcome.span(),
      pointers: readNamed(outcome),
    });
  }
  for (const checks of fields.lists()) {
    const operation = checks.text();
    const sums = {
      valid: checks.number(),
      invalid: checks.number(),
      refusedByBoth: checks.number(),
      unknown: checks.number(),
      pointers: readNamed(checks),
      refused: checks.isOver ? 0 : checks.number(),
    };
    // Records of earlier versions do not say under which rule book.
    const [ruleBook, last] = checks.isOver ? ['', ''] : [checks.text(), checks.time()];
    tally.bodyChecks.bookOf(ruleBook, last).all.set(operation, sums);
  }
  mergeSpans(tally.mistakes, readNamed(fields));
  for (const member of fields.lists()) {
    const [change, v1, v2] = [member.text(), member.text(), member.textOrNone()];
    const place = v2 === undefined ? {} : { v2 };
    const span = member.span();
    const values = member.isOver ? {} : { hasOtherValues: true as const };
    const known = { change, v1, ...place, ...values };
    tally.responseMembers.set(memberKey(known), { ...known, ...span });
  }
  for (const work of ['url-only', 'unwrap-only', 'field-work'] as const) tally.lastWork[work] = fields.time();
  tally.lastResponseWork = fields.time();
  // Records of earlier versions have none.
  if (!fields.isOver) mergeSpans(tally.brownouts, readNamed(fields));
  // Only newcomers have them, and records of earlier versions do not.
  if (!fields.isOver) mergeSpans(tally.newcomer, readNamed(fields));
  if (!fields.isOver) tally.failed = fields.number();
  return tally;
}

/** Spans by name as a list, the most frequent first. */
export function packNamed(spans: ReadonlyMap<string, Span>, limit: number): readonly unknown[] {
  return most([...spans], limit).map(([name, span]) => [name, ...packSpan(span)]);
}

/** Reads what `packNamed` returned. */
export function readNamed(fields: FieldReader): Map<string, Span> {
  return new Map(fields.lists().map((one) => [one.text(), one.span()]));
}

/** Records of earlier versions have none. */
function readVerdicts(call: FieldReader): V2Verdicts {
  return { lastAccepted: call.time(), lastRefused: call.time(), status: call.number(), at: call.text() };
}

/** Calls beyond the limit are no longer counted separately. */
function packCalls(calls: ReadonlyMap<string, CallTally>): readonly unknown[] {
  const kept = new Map(most([...calls], MAX_CALLS));
  for (const [name, call] of calls) {
    if (kept.has(name)) continue;
    const { v2, ...known } = kept.get(OTHER_CALLS) ?? { ...call, count: 0 };
    const other = { ...known, v2: { ...v2 } };
    mergeCall(other, call);
    kept.set(OTHER_CALLS, other);
  }
  return [...kept].map(([name, { lastJudged, lastUnknown, isV1Judged, lastServed, v2, ...span }]) => [
    name,
    ...packSpan(span),
    packTime(lastJudged),
    packTime(lastUnknown),
    isV1Judged ? 1 : 0,
    packTime(v2.lastAccepted),
    packTime(v2.lastRefused),
    v2.status,
    v2.at,
    packTime(lastServed),
  ]);
}

function most<Value extends { readonly count: number }>(
  all: readonly (readonly [string, Value])[],
  limit: number,
): readonly (readonly [string, Value])[] {
  if (all.length <= limit) return all;
  return all
    .toSorted(
      ([oneName, one], [otherName, other]) => other.count - one.count || (oneName < otherName ? -1 : 1),
    )
    .slice(0, limit);
}

function originOf(text: string): 'v1' | 'v2' | 'gateway' {
  if (text === 'v1' || text === 'v2' || text === 'gateway') return text;
  throw new DamagedRecord('no origin');
}

/** Adds the counts of a client to other counts of the same client; `from` stays as it is. */
export function mergeClient(into: ClientTally, from: ClientTally): void {
  mergeSpan(into.v1, from.v1);
  mergeSpan(into.v2, from.v2);
  into.refused += from.refused;
  into.failed += from.failed;
  into.invalidVersions += from.invalidVersions;
  into.futureVersions += from.futureVersions;
  for (const day of from.days.all()) into.days.add(day);
  for (const day of from.rewrittenDays.all()) into.rewrittenDays.add(day);
  mergeEach(into.calls, from.calls, (call) => ({ ...call, v2: { ...call.v2 } }), mergeCall);
  mergeEach(
    into.changes,
    from.changes,
    (change) => ({ ...change, rules: new Set(change.rules) }),
    (known, change) => {
      mergeSpan(known, change);
      for (const rule of change.rules) known.rules.add(rule);
    },
  );
  mergeOutcomes(into.outcomes, from.outcomes);
  mergeBodyChecks(into.bodyChecks, from.bodyChecks);
  mergeSpans(into.mistakes, from.mistakes);
  mergeSpans(into.brownouts, from.brownouts);
  mergeSpans(into.newcomer, from.newcomer);
  mergeEach(into.responseMembers, from.responseMembers, (member) => ({ ...member }), mergeSpan);
  for (const work of ['url-only', 'unwrap-only', 'field-work'] as const)
    into.lastWork[work] = later(into.lastWork[work], from.lastWork[work]);
  into.lastResponseWork = later(into.lastResponseWork, from.lastResponseWork);
}

/** Adds values to others by name, or a `copied` value under a new name. */
function mergeEach<Value>(
  into: Map<string, Value>,
  from: ReadonlyMap<string, Value>,
  copied: (value: Value) => Value,
  merge: (into: Value, from: Value) => void,
): void {
  for (const [name, value] of from) {
    const known = into.get(name);
    if (known === undefined) into.set(name, copied(value));
    else merge(known, value);
  }
}

function mergeCall(into: CallTally, from: CallTally): void {
  mergeSpan(into, from);
  into.lastJudged = later(into.lastJudged, from.lastJudged);
  into.lastUnknown = later(into.lastUnknown, from.lastUnknown);
  into.isV1Judged ||= from.isV1Judged;
  into.lastServed = later(into.lastServed, from.lastServed);
  mergeVerdicts(into.v2, from.v2);
}

function mergeOutcomes({ all: into }: Outcomes, { all: from }: Outcomes): void {
  for (const [key, { pointers, ...outcome }] of from) {
    const known = into.get(key) ?? { ...outcome, count: 0, pointers: new Map() };
    into.set(key, known);
    mergeSpan(known, outcome);
    mergeSpans(known.pointers, pointers);
  }
}

function mergeBodyChecks(into: BodyCheckCounts, from: BodyCheckCounts): void {
  for (const [ruleBook, { last, all }] of from.books) {
    const book = into.bookOf(ruleBook, last).all;
    for (const [operation, { pointers, ...sums }] of all) {
      const known = book.get(operation) ?? noChecks();
      book.set(operation, known);
      for (const name of CHECKS) known[name] += sums[name];
      mergeSpans(known.pointers, pointers);
    }
  }
}

/** Adds a span to another. */
export function mergeSpan(into: Span, from: Span): void {
  if (from.count === 0) return;
  into.count += from.count;
  if (into.first === '' || (from.first !== '' && from.first < into.first)) into.first = from.first;
  if (from.last > into.last) into.last = from.last;
}

/** Adds spans to others by name. */
export function mergeSpans(into: Map<string, Span>, from: ReadonlyMap<string, Span>): void {
  mergeEach(into, from, ({ count, first, last }) => ({ count, first, last }), mergeSpan);
}

/** The later of two times in RFC 3339; an empty text means none. */
export function later(one: string, other: string): string {
  return other > one ? other : one;
}

/** The earlier of two times in RFC 3339; an empty text means none. */
export function earlier(one: string, other: string): string {
  if (one === '') return other;
  return other !== '' && other < one ? other : one;
}

/** An invalid record: damaged, or of another version. */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';
}

/** Returns what `read` returns; undefined when it throws `DamagedRecord`. */
export function unlessDamaged<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined;
    throw error;
  }
}

/** A time for a record: RFC 3339 as this gateway writes it in milliseconds since 1970, which is half as long; other text as it is. */
export function packTime(time: string): number | string {
  if (time === '') return 0;
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds) || milliseconds <= 0) return time;
  return new Date(milliseconds).toISOString() === time ? milliseconds : time;
}

/** The three fields of a span. */
export function packSpan({ count, first, last }: Span): readonly (number | string)[] {
  return [count, packTime(first), packTime(last)];
}

/** Numbers in ascending order for a record: the first one, then a bit for each number from there on, as hexadecimal digits. */
function packNumbers(numbers: Iterable<number>): string {
  let first: number | undefined;
  const nibbles: number[] = [];
  for (const number of numbers) {
    first ??= number;
    const at = (number - first) >> 2;
    while (nibbles.length <= at) nibbles.push(0);
    nibbles[at] = (nibbles[at] ?? 0) | (1 << ((number - first) & 3));
  }
  return first === undefined ? '' : `${first}:${nibbles.map((nibble) => nibble.toString(16)).join('')}`;
}

/** Reads the fields of a list in order; throws `DamagedRecord` if one has another type. */
export class FieldReader {
  private readonly fields: readonly unknown[];
  private at = 0;

  constructor(value: unknown) {
    this.fields = listOf(value);
  }

  /** True after the last field: a record of an earlier version has fewer. */
  get isOver(): boolean {
    return this.at >= this.fields.length;
  }

  number(): number {
    const value = this.next();
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new DamagedRecord('no number');
    return value;
  }

  text(): string {
    const value = this.next();
    if (typeof value !== 'string') throw new DamagedRecord('no text');
    return value;
  }

  textOrNone(): string | undefined {
    const value = this.next();
    if (value === null) return undefined;
    if (typeof value !== 'string') throw new DamagedRecord('no text');
    return value;
  }

  /** A time of `packTime`. */
  time(): string {
    const value = this.next();
    if (typeof value === 'string') return value;
    if (typeof value !== 'number' || !(value >= 0 && value < 8.64e15)) throw new DamagedRecord('no time');
    return value === 0 ? '' : new Date(value).toISOString();
  }

  span(): Span {
    return { count: this.number(), first: this.time(), last: this.time() };
  }

  /** Numbers of `packNumbers`. */
  numbers(): readonly number[] {
    const text = this.text();
    const [first = '', digits = ''] = text.split(':');
    const base = Number(first);
    if (text === '' || !Number.isSafeInteger(base)) return [];
    const numbers: number[] = [];
    for (let at = 0; at < digits.length; at += 1) {
      const nibble = Number.parseInt(digits.charAt(at), 16);
      for (let bit = 0; bit < 4; bit += 1) if ((nibble & (1 << bit)) !== 0) numbers.push(base + at * 4 + bit);
    }
    return numbers;
  }

  /** A list, with its own reader. */
  list(): FieldReader {
    return new FieldReader(this.next());
  }

  /** A list of lists, each with its own reader. */
  lists(): readonly FieldReader[] {
    return listOf(this.next()).map((value) => new FieldReader(value));
  }

  texts(): readonly string[] {
    return listOf(this.next()).map((value) => {
      if (typeof value !== 'string') throw new DamagedRecord('no text');
      return value;
    });
  }

  private next(): unknown {
    this.at += 1;
    return this.fields[this.at - 1];
  }
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new DamagedRecord('no list');
  return value;
}
