import { BitSet } from './bit-set.ts';
import { CensusTally } from './census.ts';
import { EditSummaries, type Work } from './client-work.ts';
import type { Entry } from '../rewrite-log/entry.ts';

/**
 * Members of an entry that a tally reads. Lists of edits should be shared between similar entries: they are summarised once per
 * list.
 */
export interface TallyEntry {
  readonly time: string;
  readonly client?: string | undefined;
  readonly route: Entry['route'];
  readonly operation?: string | undefined;
  readonly verdict: Entry['verdict'];
  readonly status: number;
  readonly edits: Entry['edits'];
  readonly apiVersion?: Entry['apiVersion'] | undefined;
  readonly attributes?: Entry['attributes'] | undefined;
}

/** A count with the first and last time. */
export interface Span {
  count: number;
  first: string;
  last: string;
}

/** Counts of one client. */
export interface ClientTally {
  /** Index of the client in the bit sets of days, from 0. */
  readonly index: number;
  readonly v1: Span;
  v2: number;
  refused: number;
  invalidVersions: number;
  readonly operations: Map<string, Span>;
  readonly changes: Map<string, Span & { readonly rules: Set<string> }>;
  /** Last time of each kind of work. */
  readonly lastWork: Record<Work, string>;
}

/** Counts of one day. */
export interface DayTally {
  v1: number;
  v2: number;
  refused: number;
  readonly clients: BitSet;
  readonly rewritten: BitSet;
}

/** Maximum clients, operations or changes of one client, and days: memory is limited whatever the logs contain. */
const MAX_CLIENTS = 20_000;
const MAX_NAMES = 1000;
const MAX_DAYS = 4000;

/** Share of clients that is kept when there are too many: those with the most requests. Invented keys have few. */
const KEPT_SHARE = 0.75;

/** Client of requests without a key. */
export const NO_KEY = '-';

/** Totals entries for the retirement report, in any order. Memory grows with clients and days, not with entries. */
export class Tally {
  readonly clients = new Map<string, ClientTally>();
  readonly days = new Map<string, DayTally>();
  readonly census = new CensusTally();
  /** Uses of V1 operations, of changes by id, and of rules by `<change> <rule>`, for all clients together. */
  readonly operations = new Map<string, Span>();
  readonly changes = new Map<string, Span>();
  readonly rules = new Map<string, Span>();
  entries = 0;
  v1 = 0;
  v2 = 0;
  since = '';
  until = '';
  /** Requests of clients that were dropped. */
  omittedClients = 0;
  private readonly maxClients: number;
  /** Indexes of dropped clients in the bit sets of days, to be reused. */
  private readonly freeIndexes: number[] = [];
  private readonly summaries = new EditSummaries();
  private day: DayTally | undefined;
  private dayName = '';

  constructor(maxClients = MAX_CLIENTS) {
    this.maxClients = maxClients;
  }

  add(entry: TallyEntry): void {
    this.entries += 1;
    if (this.since === '' || entry.time < this.since) this.since = entry.time;
    if (entry.time > this.until) this.until = entry.time;
    if (entry.route === 'none') return;
    const day = this.dayOf(entry.time);
    if (entry.route === 'pass') {
      this.v2 += 1;
      day.v2 += 1;
      this.client(entry.client ?? NO_KEY).v2 += 1;
      return;
    }
    this.v1 += 1;
    day.v1 += 1;
    this.addV1(entry, day);
  }

  private addV1(entry: TallyEntry, day: DayTally): void {
    const operation = entry.operation ?? '(other)';
    this.census.add(operation, entry);
    if (entry.verdict === 'refused') day.refused += 1;
    const { work, changes } = this.summaries.of(entry.edits);
    countUse(this.operations, operation, entry.time);
    for (const { change, ruleNames } of changes) {
      countUse(this.changes, change, entry.time);
      for (const name of ruleNames) countUse(this.rules, name, entry.time);
    }
    const client = this.client(entry.client ?? NO_KEY);
    recordUse(client.v1, entry.time);
    if (entry.verdict === 'refused') client.refused += 1;
    if (entry.apiVersion?.why === 'invalid') client.invalidVersions += 1;
    countUse(client.operations, operation, entry.time);
    for (const { change, rules } of changes) {
      const known = client.changes.get(change);
      if (known === undefined) {
        if (client.changes.size < MAX_NAMES)
          client.changes.set(change, { ...firstUse(entry.time), rules: new Set(rules) });
        continue;
      }
      recordUse(known, entry.time);
      for (const rule of rules) known.rules.add(rule);
    }
    if (entry.time > client.lastWork[work]) client.lastWork[work] = entry.time;
    day.clients.add(client.index);
    if (work !== 'url-only') day.rewritten.add(client.index);
  }

  private client(name: string): ClientTally {
    const known = this.clients.get(name);
    if (known !== undefined) return known;
    if (this.clients.size >= this.maxClients) this.dropClients();
    const client: ClientTally = {
      index: this.freeIndexes.pop() ?? this.clients.size,
      v1: { count: 0, first: '', last: '' },
      v2: 0,
      refused: 0,
      invalidVersions: 0,
      operations: new Map(),
      changes: new Map(),
      lastWork: { 'url-only': '', 'unwrap-only': '', 'field-work': '' },
    };
    this.clients.set(name, client);
    return client;
  }

  private dropClients(): void {
    const all = [...this.clients].sort(
      ([, one], [, other]) => other.v1.count + other.v2 - one.v1.count - one.v2,
    );
    for (const [name, { index, v1, v2 }] of all.slice(Math.floor(this.maxClients * KEPT_SHARE))) {
      this.clients.delete(name);
      this.freeIndexes.push(index);
      this.omittedClients += v1.count + v2;
    }
  }

  private dayOf(time: string): DayTally {
    if (this.day !== undefined && time.startsWith(this.dayName)) return this.day;
    const name = time.slice(0, 10);
    const day = this.days.get(name) ?? {
      v1: 0,
      v2: 0,
      refused: 0,
      clients: new BitSet(),
      rewritten: new BitSet(),
    };
    if (this.days.size < MAX_DAYS) this.days.set(name, day);
    this.day = day;
    this.dayName = name;
    return day;
  }
}

function countUse(spans: Map<string, Span>, name: string, time: string): void {
  const known = spans.get(name);
  if (known !== undefined) recordUse(known, time);
  else if (spans.size < MAX_NAMES) spans.set(name, firstUse(time));
}

function firstUse(time: string): Span {
  return { count: 1, first: time, last: time };
}

function recordUse(span: Span, time: string): void {
  span.count += 1;
  // Almost always the same millisecond as the last one, or a later one.
  if (time === span.last) return;
  if (time > span.last) span.last = time;
  if (span.first === '' || time < span.first) span.first = time;
}
