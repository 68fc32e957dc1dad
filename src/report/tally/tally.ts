import { isOfV1 } from '../../rewrite-log/entry-outcome.ts';
import { isPreflight } from '../../rollout/retirement.ts';
import { ComparisonTally } from '../../rollout/rollout-tally.ts';
import { CensusTally } from '../census.ts';
import { callName, OTHER_CALLS } from '../text.ts';
import { ClientTally } from './client-tally.ts';
import { EditSummaries, ResponseChanges } from './outcomes.ts';
import { countUse, recordUse, type Span } from './span.ts';
import type { TallyEntry } from './tally-entry.ts';
import { BitSet, dayNumber } from './time-slots.ts';

/** Counts of one day. */
export interface DayTally {
  /** Days since 1970; undefined for text that is no time. */
  readonly number: number | undefined;
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
  /** What V1 and V2 differed in, of reads that V2 answered. */
  readonly drift = new ComparisonTally();
  /** Uses of V1 operations, of changes by id, and of rules by `<change> <rule>`, for all clients together. */
  readonly operations = new Map<string, Span>();
  readonly changes = new Map<string, Span>();
  readonly rules = new Map<string, Span>();
  /** Requests that could not be read: nobody knows which version they were for. */
  readonly unread: Span = { count: 0, first: '', last: '' };
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
  private readonly responses = new ResponseChanges();
  private day: DayTally | undefined;
  private dayName = '';

  constructor(maxClients = MAX_CLIENTS) {
    this.maxClients = maxClients;
  }

  add(entry: TallyEntry): void {
    this.entries += 1;
    if (this.since === '' || entry.time < this.since) this.since = entry.time;
    if (entry.time > this.until) this.until = entry.time;
    // V2's own deliveries are of no client.
    if (isPreflight(entry) || entry.route === 'webhook') return;
    const isV1 = isOfV1(entry);
    if (entry.route === 'none' && !isV1) {
      if (entry.verdict === 'refused' && entry.path === '') recordUse(this.unread, entry.time);
      return;
    }
    const day = this.dayOf(entry.time);
    if (entry.route === 'pass') {
      this.v2 += 1;
      day.v2 += 1;
      recordUse(this.clientOf(entry.client ?? NO_KEY).v2, entry.time);
      return;
    }
    this.v1 += 1;
    day.v1 += 1;
    this.addV1(entry, day);
  }

  /** The counts of a client; new ones when it was not seen before. */
  clientOf(name: string): ClientTally {
    const known = this.clients.get(name);
    if (known !== undefined) return known;
    if (this.clients.size >= this.maxClients) this.dropClients();
    const client = new ClientTally(this.freeIndexes.pop() ?? this.clients.size);
    this.clients.set(name, client);
    return client;
  }

  /** The counts of the day of a time in RFC 3339. */
  dayOf(time: string): DayTally {
    if (this.day !== undefined && time.startsWith(this.dayName)) return this.day;
    const name = time.slice(0, 10);
    const day = this.days.get(name) ?? {
      number: dayNumber(name),
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

  private addV1(entry: TallyEntry, day: DayTally): void {
    const operation = entry.operation ?? OTHER_CALLS;
    this.census.add(operation, entry);
    if (entry.verdict === 'refused') day.refused += 1;
    if (entry.comparison !== undefined && entry.origin !== 'v1')
      this.drift.add(entry.operation, entry.comparison, true);
    const summary = this.summaries.of(entry.edits);
    countUse(this.operations, operation, entry.time, MAX_NAMES);
    for (const { change, ruleNames } of summary.changes) {
      countUse(this.changes, change, entry.time, MAX_NAMES);
      for (const name of ruleNames) countUse(this.rules, name, entry.time, MAX_NAMES);
    }
    for (const change of this.responses.changesOf(entry))
      if (!summary.changes.some((one) => one.change === change))
        countUse(this.changes, change, entry.time, MAX_NAMES);
    const client = this.clientOf(entry.client ?? NO_KEY);
    const side = this.responses.add(entry, client.responseMembers);
    client.add(entry, callName(entry.operation, entry.method, entry.path), summary, side);
    if (day.number !== undefined) client.days.add(day.number);
    day.clients.add(client.index);
    if (summary.work === 'url-only' && side !== 'different') return;
    day.rewritten.add(client.index);
    if (day.number !== undefined) client.rewrittenDays.add(day.number);
  }

  private dropClients(): void {
    const all = [...this.clients].sort(
      ([, one], [, other]) => other.v1.count + other.v2.count - one.v1.count - one.v2.count,
    );
    for (const [name, { index, v1, v2 }] of all.slice(Math.floor(this.maxClients * KEPT_SHARE))) {
      this.clients.delete(name);
      this.freeIndexes.push(index);
      this.omittedClients += v1.count + v2.count;
    }
  }
}
