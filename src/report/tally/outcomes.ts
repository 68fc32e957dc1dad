import { generalPointer } from '../../json/pointer.ts';
import { sentTo } from '../../rewrite-log/entry.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import { isOfErrors } from '../../rules/kinds/errors.ts';
import { verdictOfV2 } from '../../rollout/body-checks.ts';
import { rulesHash } from '../../rules/hash.ts';
import { changesValue, isUnwrapping, lensNamed } from '../../rules/kinds/kinds.ts';
import { counted } from '../../rules/words.ts';
import { countUse, firstUse, recordUse, type Span } from './span.ts';
import type { TallyEntry } from './tally-entry.ts';

/** One kind of response to a client's V1 requests. */
export interface OutcomeTally extends Span {
  /** Who responded; if the client disconnected first, the service to which its request was sent, or the gateway if it was not sent. */
  readonly by: 'v1' | 'v2' | 'gateway';
  /** Status that the client received; 0 when it disconnected before. */
  readonly status: number;
  /** Failure code of a response that the gateway made, or `upstream-broken` for one that broke off. */
  readonly code?: string;
  /** Places that errors pointed at, in the body as the service received it. */
  readonly pointers: Map<string, Span>;
}

/** Maximum kinds of responses to one client, and places for each kind. */
const MAX_OUTCOMES = 60;
const MAX_POINTERS = 40;

/** Maximum operations of one client. */
const MAX_OPERATIONS = 1000;

/** Maximum differing members of one client. */
const MAX_MEMBERS = 100;

/** Statuses with which a service refuses a request's content. */
const CONTENT_REFUSED: ReadonlySet<number> = new Set([400, 422]);

/** Maximum calls that get a sentence. */
const MAX_SHOWN = 5;

const NOTHING: EditSummary = { work: 'url-only', changes: [] };

/** Counts the responses to one client by origin, status and failure code, with the places of their errors. */
export class Outcomes {
  readonly all = new Map<string, OutcomeTally>();
  private last: OutcomeTally | undefined = undefined;

  add(entry: TallyEntry): void {
    const { time, status, failure, errorPointers } = entry;
    const outcome = this.of(responderOf(entry), status, failure, time);
    if (outcome === undefined || errorPointers === undefined) return;
    for (const pointer of errorPointers) countUse(outcome.pointers, pointer, time, MAX_POINTERS);
  }

  private of(
    by: OutcomeTally['by'],
    status: number,
    code: string | undefined,
    time: string,
  ): OutcomeTally | undefined {
    const { last } = this;
    if (last !== undefined && last.by === by && last.status === status && last.code === code) {
      recordUse(last, time);
      return last;
    }
    const key = `${by} ${status} ${code ?? ''}`;
    const known = this.all.get(key);
    if (known === undefined && this.all.size >= MAX_OUTCOMES) return undefined;
    const outcome = known ?? {
      ...firstUse(time),
      by,
      status,
      ...(code === undefined ? {} : { code }),
      pointers: new Map(),
    };
    if (known === undefined) this.all.set(key, outcome);
    else recordUse(outcome, time);
    this.last = outcome;
    return outcome;
  }
}

/** Verdicts of V2's schema on the bodies of one operation, and of V2 on reads that shadow compared. */
export interface BodyCheckSums {
  valid: number;
  /** Requests that V1 accepted, and that V2's schema refuses, or V2 itself in shadow. */
  invalid: number;
  /** Requests that V2's schema, or the gateway itself, refuses as V1 did. */
  refusedByBoth: number;
  /** Bodies that were not checked, or that V1 refused and V2's schema accepts. */
  unknown: number;
  /** Requests that the gateway itself would refuse, and V1 accepted. */
  refused: number;
  /** Places of the first fault of bodies that V1 accepted. */
  readonly pointers: Map<string, Span>;
}

/** Whether V2's schema refuses a body that V1 accepted. */
export function isRefusedBySchema({ would, status }: Pick<TallyEntry, 'would' | 'status'>): boolean {
  return would?.v2 === 'invalid' && status > 0 && status < 400;
}

/** Whether a service had nothing at the address of a request, or nothing for its method. */
export function isMissing({ status }: Pick<TallyEntry, 'status'>): boolean {
  return status === 404 || status === 405;
}

/** Who responded to a request; if the client disconnected first, the service to which it was sent. */
function responderOf(entry: TallyEntry): OutcomeTally['by'] {
  const { status, failure, origin } = entry;
  const isUnsent = status === 0 && sentTo(entry) === undefined;
  const isOfService = !isUnsent && (failure === undefined || failure === 'upstream-broken');
  return isOfService ? (origin ?? 'v2') : 'gateway';
}

type Responder = Pick<OutcomeTally, 'by' | 'status'> & { readonly code?: string | undefined };

/** The responses that services gave themselves, without their own failures. */
export function ofServices<One extends Responder>(outcomes: readonly One[]): readonly One[] {
  return outcomes.filter(
    ({ by, code, status }) => by !== 'gateway' && code === undefined && status > 0 && status < 500,
  );
}

/** Whether each service that responded had nothing at an address; false if none responded. */
export function haveNothing(outcomes: readonly Responder[]): boolean {
  const given = ofServices(outcomes);
  return given.length > 0 && given.every(isMissing);
}

/** What a request shows of its address: a service has it or has nothing there; undefined if no service responded. */
export function addressOf(entry: TallyEntry): 'served' | 'missing' | undefined {
  const { status, failure: code } = entry;
  const [given] = ofServices([{ by: responderOf(entry), status, code }]);
  return given === undefined ? undefined : isMissing(given) ? 'missing' : 'served';
}

/** Dry runs under one rule book, by operation, and the time of the last one. */
export interface CheckedBook {
  last: string;
  readonly all: Map<string, BodyCheckSums>;
}

/** Maximum rule books of one client, those with the latest dry runs: replicas take a new one at different times. */
export const MAX_CHECKED_BOOKS = 4;

/** Counts the checks of one client's bodies by the hash of the rules, because other rules make other bodies, and by operation. */
export class BodyCheckCounts {
  /** By {@link rulesHash}. */
  readonly books = new Map<string, CheckedBook>();

  /** The counts under one rule book; without a hash, under that of the latest dry run. */
  under(ruleBook = this.latest?.ruleBook): ReadonlyMap<string, BodyCheckSums> {
    return (ruleBook === undefined ? undefined : this.books.get(rulesHash(ruleBook))?.all) ?? new Map();
  }

  /** The rule book of the latest dry run, and its time. */
  get latest(): { readonly ruleBook: string; readonly last: string } | undefined {
    const [first] = this.byTime();
    return first && { ruleBook: first[0], last: first[1].last };
  }

  /** The counts of one rule book, new if there are none yet; if there are too many, the oldest is dropped. */
  bookOf(ruleBook: string, time: string): CheckedBook {
    const rules = rulesHash(ruleBook);
    const book = this.books.get(rules) ?? { last: '', all: new Map<string, BodyCheckSums>() };
    if (time > book.last) book.last = time;
    this.books.set(rules, book);
    for (const [oldest] of this.books.size > MAX_CHECKED_BOOKS ? this.byTime().slice(MAX_CHECKED_BOOKS) : [])
      this.books.delete(oldest);
    return book;
  }

  /** The rule books, that of the latest dry run first. */
  byTime(): readonly (readonly [ruleBook: string, CheckedBook])[] {
    return [...this.books].sort(([oneHash, one], [otherHash, other]) =>
      one.last === other.last ? (oneHash < otherHash ? 1 : -1) : one.last < other.last ? 1 : -1,
    );
  }

  /** Counts an entry's check, if it has one. V1's 5xx, and clients that disconnected, show nothing about the body. */
  add(call: string, entry: TallyEntry): void {
    const { would, status, time } = entry;
    const verdict = verdictOfV2(entry);
    if (would === undefined || status === 0 || status >= 500) return;
    if (would.verdict === 'refused') {
      const sums = this.sumsOf(call, entry);
      if (sums !== undefined) sums[status < 400 ? 'refused' : 'refusedByBoth'] += 1;
      return;
    }
    if (verdict === undefined) return;
    const sums = this.sumsOf(call, entry);
    if (sums === undefined) return;
    if (verdict.v2 !== 'invalid') {
      sums[verdict.v2 === 'valid' && status < 400 ? 'valid' : 'unknown'] += 1;
      return;
    }
    if (status >= 400) {
      sums.refusedByBoth += 1;
      return;
    }
    sums.invalid += 1;
    countUse(sums.pointers, verdict.at ?? '', time, MAX_POINTERS);
  }

  private sumsOf(call: string, { ruleBook = '', time }: TallyEntry): BodyCheckSums | undefined {
    const { all } = this.bookOf(ruleBook, time);
    const known = all.get(call);
    if (known !== undefined) return known;
    if (all.size >= MAX_OPERATIONS) return undefined;
    const sums = noChecks();
    all.set(call, sums);
    return sums;
  }
}

/** The counts before any dry run. */
export function noChecks(): BodyCheckSums {
  return { valid: 0, invalid: 0, refusedByBoth: 0, unknown: 0, refused: 0, pointers: new Map() };
}

/** Comparison of a response with V2's; `silent` for one without members that rules could name. */
export type ResponseSide = 'same' | 'different' | 'unknown' | 'silent';

/** A member that a client reads from V1's responses, with its place in V2's. */
export interface DifferingMember {
  readonly change: string;
  /** Pointer in V1's response, `*` for every index. */
  readonly v1: string;
  /** Pointer in V2's response; absent when it is not there. */
  readonly v2?: string;
  /** True if V2 has other values for the member, which a `map` converts to V1's. */
  readonly hasOtherValues?: true;
}

/** Identifies a member; one that is renamed and also has other values counts as two, each with its own change. */
export function memberKey({ change, v1, v2, hasOtherValues }: DifferingMember): string {
  return `${change} ${v1} ${v2 ?? ''}${hasOtherValues === true ? ' values' : ''}`;
}

interface ListedMember extends DifferingMember {
  readonly key: string;
}

/** The members of one list, and the changes of all its edits, each once. */
interface ListedMembers {
  readonly members: readonly ListedMember[];
  readonly changes: readonly string[];
}

interface ListedEdit {
  readonly change: string;
  readonly rule?: string;
  readonly from?: string;
  readonly path?: string;
}

/** Members of a client's responses by key. */
export type DifferingMembers = Map<string, Span & DifferingMember>;

/** Compares responses by the members that V2 has elsewhere; reads each list once, because the gateway shares them. */
export class ResponseChanges {
  private readonly known = new WeakMap<object, ListedMembers>();

  /** Judges the response of one exchange, and counts the members that differ in `members`. */
  add(entry: TallyEntry, members: DifferingMembers): ResponseSide {
    const list = listOf(entry);
    const listed = list === undefined ? [] : this.listed(list).members;
    if (listed.length > 0) {
      for (const { key, ...member } of listed) countMember(members, key, member, entry.time);
      return 'different';
    }
    if (entry.failure !== undefined || !mayDiffer(entry)) return 'silent';
    if (entry.origin === 'v1') return list === undefined ? 'unknown' : 'same';
    return entry.responseNote === undefined ? 'same' : 'unknown';
  }

  /** The changes that concern a response, each once. */
  changesOf(entry: TallyEntry): readonly string[] {
    const list = listOf(entry);
    return list === undefined ? [] : this.listed(list).changes;
  }

  private listed(list: readonly ListedEdit[]): ListedMembers {
    const known = this.known.get(list);
    if (known !== undefined) return known;
    const members = new Map<string, ListedMember>();
    const changes = new Set<string>();
    for (const { change, rule, from, path } of list) {
      // Errors follow from the names in the request.
      if (isOfErrors({ rule })) continue;
      changes.add(change);
      // A header field; or a second spelling or an empty container was dropped.
      if (path === undefined) continue;
      const v1 = generalPointer(path);
      const isAdded = from === undefined && rule !== undefined && lensNamed(rule)?.writes === true;
      const member: DifferingMember =
        rule !== undefined && changesValue(rule) && !isAdded
          ? { change, v1, v2: generalPointer(from ?? placeInV2(path, list)), hasOtherValues: true }
          : { change, v1, ...(from === undefined ? {} : { v2: generalPointer(from) }) };
      const key = memberKey(member);
      members.set(key, { key, ...member });
    }
    const listed = { members: [...members.values()], changes: [...changes] };
    this.known.set(list, listed);
    return listed;
  }
}

function listOf(entry: TallyEntry): readonly ListedEdit[] | undefined {
  return entry.origin === 'v1' ? entry.responseWould : entry.responseEdits;
}

function countMember(members: DifferingMembers, key: string, member: DifferingMember, time: string): void {
  const known = members.get(key);
  if (known !== undefined) recordUse(known, time);
  else if (members.size < MAX_MEMBERS) members.set(key, { ...firstUse(time), ...member });
}

/** A success with a body can differ; errors name no members of resources. */
function mayDiffer({ status }: TallyEntry): boolean {
  return status >= 200 && status < 300 && status !== 204;
}

/** V2's place of the member at `path` in V1's response, by the other edits: logs of earlier releases lack it for a mapped value. */
function placeInV2(path: string, list: readonly ListedEdit[]): string {
  let [moved, to] = ['', ''];
  for (const edit of list) {
    if (edit.from === undefined || edit.path === undefined || edit.path.length < to.length) continue;
    if (path !== edit.path && !path.startsWith(`${edit.path}/`)) continue;
    [moved, to] = [edit.from, edit.path];
  }
  return moved + path.slice(to.length);
}

/** V2's verdicts on the requests of one call. Times are RFC 3339, empty for never. */
export interface V2Verdicts {
  lastAccepted: string;
  lastRefused: string;
  /** Status of the last refusal, and the first place that its errors point at; empty without one. */
  status: number;
  at: string;
}

/** A call whose last request V2 did not accept. */
export interface PendingRefusal extends Readonly<Pick<V2Verdicts, 'status' | 'at'>> {
  readonly call: string;
  /** True when V2 refused members, and accepted no request of the call in the same time. */
  readonly isOfMembers: boolean;
}

/** The verdicts before any request. */
export function noVerdicts(): V2Verdicts {
  return { lastAccepted: '', lastRefused: '', status: 0, at: '' };
}

/** Notes V2's own response to a request; responses of V1 and of the gateway say nothing about V2. */
export function noteVerdict(verdicts: V2Verdicts, entry: TallyEntry): void {
  const { time, status, origin, failure, errorPointers } = entry;
  if (origin !== undefined || failure !== undefined || status === 0) return;
  if (status < 400) mergeVerdicts(verdicts, { ...noVerdicts(), lastAccepted: time });
  else mergeVerdicts(verdicts, { lastAccepted: '', lastRefused: time, status, at: errorPointers?.[0] ?? '' });
}

/** Status for an operation that V2 does not have any more. */
const GONE = 410;

/** Notes that the rule book says of an operation that V2 does not have it, whether the request was refused for it or V1 served it. */
export function noteGone(verdicts: V2Verdicts, { time }: TallyEntry): void {
  mergeVerdicts(verdicts, { ...noVerdicts(), lastRefused: time, status: GONE });
}

/** In place of a status, for an address outside those of the rule book, at which the gateway serves nothing. */
const NOWHERE = 0;

/** Notes that the gateway refused a request because of its address. */
export function noteNowhere(verdicts: V2Verdicts, { time }: TallyEntry): void {
  mergeVerdicts(verdicts, { ...noVerdicts(), lastRefused: time, status: NOWHERE });
}

/** Whether V2 does not have an operation any more. */
export function isGone({ status }: Pick<PendingRefusal, 'status'>): boolean {
  return status === GONE;
}

/** Adds verdicts to others, the same in any order. */
export function mergeVerdicts(into: V2Verdicts, from: Readonly<V2Verdicts>): void {
  if (from.lastAccepted > into.lastAccepted) into.lastAccepted = from.lastAccepted;
  const order = compare(from.lastRefused, into.lastRefused) || from.status - into.status;
  if ((order || compare(from.at, into.at)) <= 0) return;
  into.lastRefused = from.lastRefused;
  into.status = from.status;
  into.at = from.at;
}

/**
 * The calls whose last request since `from` V2 did not accept. If it accepted others since then, only a refusal of the content counts: a
 * missing resource or an overload needs no change of the client.
 */
export function pendingRefusals(
  calls: ReadonlyMap<string, { readonly lastServed: string; readonly v2: Readonly<V2Verdicts> }>,
  from: string,
): readonly PendingRefusal[] {
  return [...calls]
    .flatMap(([call, { lastServed, v2 }]) => {
      const { lastAccepted, lastRefused, status, at } = v2;
      if (lastRefused < from || lastRefused <= lastAccepted) return [];
      // A later request under another rule book was served; one that a brownout or the end of V1 refused says nothing about V2.
      if (status === GONE && lastRefused < lastServed) return [];
      const isOfContent = CONTENT_REFUSED.has(status);
      const isAlways = lastAccepted < from;
      if (!isOfContent && !isAlways) return [];
      return [{ call, status, at, isOfMembers: isOfContent && isAlways && at !== '' }];
    })
    .sort((one, other) => compare(one.call, other.call));
}

/** Says which calls V2 did not accept last, in sentences. */
export function refusalSentences(refusals: readonly PendingRefusal[]): string[] {
  const sentences = refusals
    .slice(0, MAX_SHOWN)
    .map(({ call, status, at }) =>
      status === GONE
        ? `V2 does not have ${call} any more.`
        : status === NOWHERE
          ? `The gateway serves nothing at ${call}: no prefix of the rule book has it.`
          : `V2 did not accept the last ${call}: ${status}${at === '' ? '' : ` at ${at}`}.`,
    );
  const more = refusals.length - MAX_SHOWN;
  return more <= 0 ? sentences : [...sentences, `The same applies to ${counted(more, 'more call')}.`];
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** The work for a client that the edits of one of its requests show. */
export type Work = 'url-only' | 'unwrap-only' | 'field-work';

/** A change with its rules. */
interface ChangeSummary {
  readonly change: string;
  readonly rules: readonly string[];
}

/** Summary of a list of edits, without pointers. */
export interface EditSummary {
  readonly work: Work;
  /** Each change with its rules, once. */
  readonly changes: readonly ChangeSummary[];
}

/** Summarises edits. The gateway shares lists between similar requests, so a summary is made once per list, not per request. */
export class EditSummaries {
  private readonly known = new WeakMap<readonly EditRecord[], EditSummary>();

  of(edits: readonly EditRecord[]): EditSummary {
    if (edits.length === 0) return NOTHING;
    const known = this.known.get(edits);
    if (known !== undefined) return known;
    const summary = summarise(edits);
    this.known.set(edits, summary);
    return summary;
  }
}

function summarise(edits: readonly EditRecord[]): EditSummary {
  const rules = new Map<string, Set<string>>();
  let work: Work = 'url-only';
  for (const edit of edits) {
    if (edit.note === 'already-flat') continue;
    const known = rules.get(edit.change) ?? new Set();
    rules.set(edit.change, known.add(edit.rule));
    if (!isFreeOfFields(edit)) work = 'field-work';
    if (work === 'url-only') work = 'unwrap-only';
  }
  const changes = [...rules].map(([change, names]) => ({ change, rules: [...names] }));
  return { work, changes };
}

/** Members that V1 ignored (siblings of the wrapper, a byte order mark) need no change of fields. */
function isFreeOfFields(edit: EditRecord): boolean {
  return isUnwrapping(edit.rule) || edit.note === 'sibling' || edit.note === 'byte-order-mark';
}
