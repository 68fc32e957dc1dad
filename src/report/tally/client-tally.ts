import { OTHER_CALLS } from '../text.ts';
import {
  BodyCheckCounts,
  type DifferingMembers,
  type EditSummary,
  isRefusedBySchema,
  noteVerdict,
  noVerdicts,
  Outcomes,
  type ResponseSide,
  type V2Verdicts,
  type Work,
} from './outcomes.ts';
import { countUse, firstUse, recordUse, type Span } from './span.ts';
import { isMistake, isUnread, refusalOf, type TallyEntry } from './tally-entry.ts';
import { ActiveDays } from './time-slots.ts';

/** Maximum operations, changes or other names of one client. */
const MAX_NAMES = 1000;

/** What can be done about a newcomer. */
const MAX_NEWCOMER_NOTES = 4;

/** Maximum kinds of calls without an operation that are told apart for one client. */
const MAX_UNNAMED_CALLS = 100;

/** One kind of call of a client. */
export interface CallTally extends Span {
  /** Last time of a response that was compared with V2's, and of one that was not. */
  lastJudged: string;
  lastUnknown: string;
  /** Whether a response of V1 itself was compared. */
  isV1Judged: boolean;
  readonly v2: V2Verdicts;
}

/** Counts of one client. */
export class ClientTally {
  /** Index of the client in the bit sets of days, from 0. */
  readonly index: number;
  readonly v1: Span = { count: 0, first: '', last: '' };
  readonly v2: Span = { count: 0, first: '', last: '' };
  /** Requests that the gateway refused. */
  refused = 0;
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
  /** Refusals that are due to the request, by failure code, also those that migration would have caused. */
  readonly mistakes = new Map<string, Span>();
  /** Requests that a brownout refused, by its id. */
  readonly brownouts = new Map<string, Span>();
  /** Requests as one that is new to V1, by what was done about it. */
  readonly newcomer = new Map<string, Span>();
  /** Members of responses that V2 names or places otherwise. */
  readonly responseMembers: DifferingMembers = new Map();
  /** Last time of each kind of work on requests: what a request needs that was not accepted is known only if it is field work. */
  readonly lastWork: Record<Work, string> = { 'url-only': '', 'unwrap-only': '', 'field-work': '' };
  /** Last time of a response that V2 gives otherwise. */
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
    if (entry.verdict === 'refused') this.refused += 1;
    this.bodyChecks.add(call, entry);
    const known = this.callOf(call, time);
    const refusal = refusalOf(entry);
    if (refusal !== undefined) {
      if (refusal === 'brownout' && entry.note !== undefined)
        countUse(this.brownouts, entry.note, time, MAX_NAMES);
      if (isMistake(refusal)) countUse(this.mistakes, refusal, time, MAX_NAMES);
      if (entry.verdict === 'refused') return;
    }
    judge(known, entry, side);
    noteVerdict(known.v2, entry);
    if (side === 'different' && time > this.lastResponseWork) this.lastResponseWork = time;
    if (refusal !== undefined || isUnread(entry)) return;
    this.countChanges(summary, time);
    const work = isRefusedBySchema(entry) ? 'field-work' : summary.work;
    const showsWork = work === 'field-work' || (entry.status > 0 && entry.status < 400);
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
    const call = { ...firstUse(time), lastJudged: '', lastUnknown: '', isV1Judged: false, v2: noVerdicts() };
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
  if (side === 'silent') return;
  if (side === 'unknown') {
    if (time > call.lastUnknown) call.lastUnknown = time;
    return;
  }
  if (origin === 'v1') call.isV1Judged = true;
  if (time > call.lastJudged) call.lastJudged = time;
}
