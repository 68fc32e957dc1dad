import { type Answer, AnswerJudge, isRefusedByGateway } from '../../rewrite-log/answers.ts';
import {
  isNowhere,
  isOfV1,
  isUnreadNote,
  callName,
  isUnfit,
  NO_KEY,
  OTHER_CALLS,
} from '../../rewrite-log/entry.ts';
import { isPreflight } from '../../rollout/retirement.ts';
import { ComparisonTally } from '../../rollout/comparison-tally.ts';
import { CensusTally } from '../census.ts';
import {
  EditSummaries,
  ResponseChanges,
  BodyCheckCounts,
  type DifferingMembers,
  type EditSummary,
  isMissing,
  isRefusedBySchema,
  noteGone,
  noteNowhere,
  noteVerdict,
  noVerdicts,
  Outcomes,
  type ResponseSide,
  type V2Verdicts,
  type Work,
} from './outcomes.ts';
import { countUse, recordUse, type Span, firstUse } from './span.ts';
import { type TallyEntry, isUnread, mistakeOf, refusalOf } from './tally-entry.ts';
import { BitSet, dayNumber, ActiveDays } from './time-slots.ts';

/** Counts of one day. */
export interface DayTally {
  /** Days since 1970; undefined if the text is not a time. */
  readonly number: number | undefined;
  v1: number;
  v2: number;
  refused: number;
  readonly clients: BitSet;
  readonly rewritten: BitSet;
}

/** Maximum clients, names of each kind, such as operations or changes, and days: limits memory for any log. */
const MAX_CLIENTS = 20_000;
const MAX_NAMES = 1000;
const MAX_DAYS = 4000;

/** Share of clients to keep if there are too many: those with the most requests, because invented keys have few. */
const KEPT_SHARE = 0.75;

/** False for webhooks, which come from V2, and for requests under neither prefix, which come from health checks, browsers and crawlers. */
function isOfClient(entry: TallyEntry): boolean {
  return !isPreflight(entry) && entry.route !== 'webhook' && entry.route !== 'other';
}

/** Whether a tally counts the entry as a V1 request of its client. */
export function isV1Request(entry: TallyEntry): boolean {
  return isOfClient(entry) && isOfV1(entry);
}

/** Totals entries for the retirement report, in any order. Memory grows with clients and days, not with entries. */
export class Tally {
  readonly clients = new Map<string, ClientTally>();
  readonly days = new Map<string, DayTally>();
  readonly census = new CensusTally();
  /** The differences between V1 and V2, in reads to which V2 responded. */
  readonly drift = new ComparisonTally();
  /** Requests of V1 operations; requests that a change edited, by its id; V2's responses that it edited. For all clients together. */
  readonly operations = new Map<string, Span>();
  readonly changes = new Map<string, Span>();
  readonly editedResponses = new Map<string, Span>();
  /** Requests that the gateway could not read, whose version is unknown. */
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
  private readonly judge = new AnswerJudge();
  private readonly summaries = new EditSummaries();
  private readonly responses = new ResponseChanges();
  private day: DayTally | undefined;
  private dayName = '';

  constructor(maxClients = MAX_CLIENTS) {
    this.maxClients = maxClients;
  }

  /** Counts an entry. `answer` is what it was to its client; if it is not given, the entries counted before decide. */
  add(entry: TallyEntry, answer: Answer = this.judge.judge(entry)): void {
    this.entries += 1;
    if (this.since === '' || entry.time < this.since) this.since = entry.time;
    if (entry.time > this.until) this.until = entry.time;
    if (!isOfClient(entry)) return;
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
    this.addV1(entry, day, answer);
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

  private addV1(entry: TallyEntry, day: DayTally, answer: Answer): void {
    const isRefused = isRefusedByGateway(entry, answer);
    const operation = entry.operation ?? OTHER_CALLS;
    this.census.add(operation, entry);
    if (isRefused) day.refused += 1;
    if (entry.comparison !== undefined && entry.origin !== 'v1')
      this.drift.add(entry.operation, entry.comparison, true, Date.parse(entry.time));
    const summary = this.summaries.of(entry.edits);
    countUse(this.operations, operation, entry.time, MAX_NAMES);
    for (const { change } of summary.changes) countUse(this.changes, change, entry.time, MAX_NAMES);
    // A dry run edits no response of V2's.
    for (const change of entry.origin === 'v1' ? [] : this.responses.changesOf(entry))
      countUse(this.editedResponses, change, entry.time, MAX_NAMES);
    const client = this.clientOf(entry.client ?? NO_KEY);
    const side = this.responses.add(entry, client.responseMembers);
    client.add(entry, callName(entry.operation, entry.method, entry.path), summary, side);
    if (isRefused) client.refused += 1;
    if (answer === 'failed') client.failed += 1;
    if (day.number !== undefined) client.days.add(day.number);
    // The number of clients without a key is unknown, so the day does not count them.
    if (entry.client !== undefined) day.clients.add(client.index);
    if (summary.work === 'url-only' && side !== 'different') return;
    if (entry.client !== undefined) day.rewritten.add(client.index);
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

/** Maximum notes about a newcomer: the gateway writes these four. */
const MAX_NEWCOMER_NOTES = 4;

/** Maximum kinds of calls without an operation that are counted separately for one client. */
const MAX_UNNAMED_CALLS = 100;

/** One kind of call of a client. */
export interface CallTally extends Span {
  /** Last time of a response that was compared with V2's, and of one that was not. */
  lastJudged: string;
  lastUnknown: string;
  /** Whether a response of V1 itself was compared. */
  isV1Judged: boolean;
  /** Last time of a request that the gateway did not refuse. */
  lastServed: string;
  readonly v2: V2Verdicts;
}

/** Counts of one client. */
export class ClientTally {
  /** Index of the client in the bit sets of days, from 0. */
  readonly index: number;
  readonly v1: Span = { count: 0, first: '', last: '' };
  readonly v2: Span = { count: 0, first: '', last: '' };
  /** V1 requests that the gateway refused, and those that failed. */
  refused = 0;
  failed = 0;
  invalidVersions = 0;
  futureVersions = 0;
  readonly days = new ActiveDays();
  /** Days on which a request or a response was edited. */
  readonly rewrittenDays = new ActiveDays();
  /** By operation id, or by method and path. */
  readonly calls = new Map<string, CallTally>();
  readonly changes = new Map<string, Span & { readonly rules: Set<string> }>();
  readonly outcomes = new Outcomes();
  readonly bodyChecks = new BodyCheckCounts();
  /** Refusals that the requests themselves caused, or would have caused in V2, by failure code. */
  readonly mistakes = new Map<string, Span>();
  /** Requests that a brownout refused, by its id. */
  readonly brownouts = new Map<string, Span>();
  /** Requests of a client that is new to V1, by what the gateway did with them. */
  readonly newcomer = new Map<string, Span>();
  /** Members of responses that V2 names or places differently. */
  readonly responseMembers: DifferingMembers = new Map();
  /** Last time of each kind of work on requests; a request that was not accepted can only show fields to change. */
  readonly lastWork: Record<Work, string> = { 'url-only': '', 'unwrap-only': '', 'field-work': '' };
  /** Last time of a response that is different in V2. */
  lastResponseWork = '';

  constructor(index: number) {
    this.index = index;
  }

  /** Counts a V1 request. `side` is what is known about its response. */
  add(entry: TallyEntry, call: string, summary: EditSummary, side: ResponseSide): void {
    const { time } = entry;
    recordUse(this.v1, time);
    if (entry.newcomer !== undefined) countUse(this.newcomer, entry.newcomer, time, MAX_NEWCOMER_NOTES);
    this.outcomes.add(entry);
    if (entry.apiVersion?.why === 'invalid') this.invalidVersions += 1;
    if (entry.apiVersion?.why === 'future') this.futureVersions += 1;
    this.bodyChecks.add(call, entry);
    const known = this.callOf(call, time);
    const mistake = mistakeOf(entry);
    if (mistake !== undefined) countUse(this.mistakes, mistake, time, MAX_NAMES);
    if (isNowhere(entry)) noteNowhere(known.v2, entry);
    const refusal = refusalOf(entry);
    if (refusal !== undefined) {
      if (refusal === 'brownout' && entry.note !== undefined)
        countUse(this.brownouts, entry.note, time, MAX_NAMES);
      if (refusal === 'operation-gone') noteGone(known.v2, entry);
      if (entry.verdict === 'refused') return;
    }
    judge(known, entry, side);
    noteVerdict(known.v2, entry);
    if (side === 'different' && time > this.lastResponseWork) this.lastResponseWork = time;
    if (refusal !== undefined || isUnread(entry)) return;
    this.countChanges(summary, time);
    // No change of its members gives a call an address.
    if (isUnfit(call) && isMissing(entry)) return;
    const work = isRefusedBySchema(entry) ? 'field-work' : summary.work;
    // A body that no rule read may still be in V1's form.
    const isRead = work !== 'url-only' || !isUnreadNote(entry.note);
    const showsWork = work === 'field-work' || (isRead && entry.status > 0 && entry.status < 400);
    if (showsWork && time > this.lastWork[work]) this.lastWork[work] = time;
  }

  private callOf(name: string, time: string): CallTally {
    const known = this.calls.get(name);
    if (known !== undefined) {
      recordUse(known, time);
      return known;
    }
    const isFull = this.calls.size >= (name.includes(' ') ? MAX_UNNAMED_CALLS : MAX_NAMES);
    if (isFull && name !== OTHER_CALLS) return this.callOf(OTHER_CALLS, time);
    const never = { lastJudged: '', lastUnknown: '', isV1Judged: false, lastServed: '' };
    const call = { ...firstUse(time), ...never, v2: noVerdicts() };
    this.calls.set(name, call);
    return call;
  }

  private countChanges({ changes }: EditSummary, time: string): void {
    for (const { change, rules } of changes) {
      const known = this.changes.get(change);
      if (known === undefined) {
        if (this.changes.size < MAX_NAMES)
          this.changes.set(change, { ...firstUse(time), rules: new Set(rules) });
        continue;
      }
      recordUse(known, time);
      for (const rule of rules) known.rules.add(rule);
    }
  }
}

function judge(call: CallTally, { time, origin }: TallyEntry, side: ResponseSide): void {
  if (time > call.lastServed) call.lastServed = time;
  if (side === 'silent') return;
  if (side === 'unknown') {
    if (time > call.lastUnknown) call.lastUnknown = time;
    return;
  }
  if (origin === 'v1') call.isV1Judged = true;
  if (time > call.lastJudged) call.lastJudged = time;
}
