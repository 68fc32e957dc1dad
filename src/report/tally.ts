import { BitSet } from './bit-set.ts';
import { CensusTally } from './census.ts';
import { EditSummaries, type Work } from './client-work.ts';
import type { Entry } from '../rewrite-log/entry.ts';

/** What a tally reads of an entry. Lists of edits should be shared between like entries: they are summed up once a list. */
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

/** A count with first and last time. */
export interface Span {
  count: number;
  first: string;
  last: string;
}

/** What one client did. */
export interface ClientTally {
  /** Counts clients from 0 on: their place in the bit sets of days. */
  readonly index: number;
  readonly v1: Span;
  v2: number;
  refused: number;
  invalidVersions: number;
  readonly operations: Map<string, Span>;
  readonly changes: Map<string, Span & { readonly rules: Set<string> }>;
  /** When it last needed each kind of work. */
  readonly lastWork: Record<Work, string>;
}

/** What one day brought. */
export interface DayTally {
  v1: number;
  v2: number;
  refused: number;
  readonly clients: BitSet;
  readonly rewritten: BitSet;
}

/** Clients, operations or changes of one client, and days that are kept: memory stays flat whatever the logs say. */
const MOST_CLIENTS = 20_000;
const MOST_NAMES = 1000;
const MOST_DAYS = 4000;

/** The share of clients that stays when there are too many: those with the most requests. Keys that somebody made up have few. */
const KEPT_SHARE = 0.75;

/** The client of requests without a key. */
export const NO_KEY = '-';

/** Adds entries up for the retirement report, in any order. Memory grows with clients and days, not with entries. */
export class Tally {
  readonly clients = new Map<string, ClientTally>();
  readonly days = new Map<string, DayTally>();
  readonly census = new CensusTally();
  /** Use of V1 by operation, of changes by id, and of rules by `<change> <rule>`, of all clients together. */
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
  private readonly mostClients: number;
  /** Places of dropped clients in the bit sets of days: the next ones take them. */
  private readonly freeIndexes: number[] = [];
  private readonly summaries = new EditSummaries();
  private day: DayTally | undefined;
  private dayName = '';

  constructor(mostClients = MOST_CLIENTS) {
    this.mostClients = mostClients;
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
    use(this.operations, operation, entry.time);
    for (const { change, ruleNames } of changes) {
      use(this.changes, change, entry.time);
      for (const name of ruleNames) use(this.rules, name, entry.time);
    }
    const client = this.client(entry.client ?? NO_KEY);
    mark(client.v1, entry.time);
    if (entry.verdict === 'refused') client.refused += 1;
    if (entry.apiVersion?.why === 'invalid') client.invalidVersions += 1;
    use(client.operations, operation, entry.time);
    for (const { change, rules } of changes) {
      const known = client.changes.get(change);
      if (known === undefined) {
        if (client.changes.size < MOST_NAMES)
          client.changes.set(change, { ...begun(entry.time), rules: new Set(rules) });
        continue;
      }
      mark(known, entry.time);
      for (const rule of rules) known.rules.add(rule);
    }
    if (entry.time > client.lastWork[work]) client.lastWork[work] = entry.time;
    day.clients.add(client.index);
    if (work !== 'url-only') day.rewritten.add(client.index);
  }

  private client(name: string): ClientTally {
    const known = this.clients.get(name);
    if (known !== undefined) return known;
    if (this.clients.size >= this.mostClients) this.dropClients();
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
    for (const [name, { index, v1, v2 }] of all.slice(Math.floor(this.mostClients * KEPT_SHARE))) {
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
    if (this.days.size < MOST_DAYS) this.days.set(name, day);
    this.day = day;
    this.dayName = name;
    return day;
  }
}

function use(spans: Map<string, Span>, name: string, time: string): void {
  const known = spans.get(name);
  if (known !== undefined) mark(known, time);
  else if (spans.size < MOST_NAMES) spans.set(name, begun(time));
}

function begun(time: string): Span {
  return { count: 1, first: time, last: time };
}

function mark(span: Span, time: string): void {
  span.count += 1;
  // Nearly always the same millisecond as the last one, or a later one.
  if (time === span.last) return;
  if (time > span.last) span.last = time;
  if (span.first === '' || time < span.first) span.first = time;
}
