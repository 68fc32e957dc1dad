import type * as z from 'zod';
import type { EditRecord } from '../rewrite/records.ts';
import type { entrySchema } from './entry-schema.ts';

type Members = z.infer<typeof entrySchema>;

/** One entry of the rewrite log: one exchange, one JSON line. It never contains a value of a body, a query value or an API key. */
export type Entry = {
  readonly [Name in keyof Members]: Members[Name] | (undefined extends Members[Name] ? undefined : never);
};

/** Route of a request. */
export type Route = Entry['route'];

/** Effect of the gateway on an exchange. */
export type Verdict = Entry['verdict'];

/** The outcome that the migration of a request to V1 would have had. */
export type Would = NonNullable<Entry['would']>;

/** One member that a client reads from V1's response, and its place in V2's. */
export type ResponseDifference = NonNullable<Entry['responseWould']>[number];

/** Outcome of an exchange; `would-…` is the dry run of a request to V1, `to-v1` a request to V1 without one. */
export type Outcome = Verdict | `would-${Would['verdict']}` | 'to-v1';

/** The mode that applied to a request; undefined for one that is not V1 traffic. */
export type EntryMode = 'migrate' | NonNullable<Entry['mode']>;

/** V1's usual addresses, for the refusals of versions that did not log a side. */
const V1_PATH = /^\/api\/v1(?:[/?]|$)/;
const OF_OWN_REPORT: ReadonlySet<string> = new Set([
  'only-get',
  'no-api-key',
  'too-many-requests',
  'not-seen',
  'not-found',
  'overloaded',
]);

export function outcomeOf({ verdict, origin, would }: Entry): Outcome {
  if (origin !== 'v1' || verdict === 'refused') return verdict;
  return would === undefined ? 'to-v1' : `would-${would.verdict}`;
}

/** Returns the mode of V1 traffic; undefined for V2 traffic. */
export function modeOf({ mode, route }: Entry): EntryMode | undefined {
  return route === 'migrate' ? (mode ?? 'migrate') : undefined;
}

/** Represents all clients that send no key. */
export const NO_KEY = '-';

/** The client of a request, for all counts by client: its hash, or {@link NO_KEY}. */
export function clientOf({ client = NO_KEY }: Pick<Entry, 'client'>): string {
  return client;
}

/** When an exchange began that ended at `time`, both in milliseconds since 1970: failures last from the beginning of the first. */
export function beganAt({ totalMs = 0 }: { readonly totalMs?: number | undefined }, time: number): number {
  return time - Math.round(totalMs);
}

/** Maximum length of a path in a name. */
const MAX_PATH = 120;

/** Name for calls beyond the limit. */
export const OTHER_CALLS = '(other)';

/** The usual prefix of V1, which names of calls leave out. */
const USUAL_PREFIX = /^\/api\/v1(?=\/|$)/;

/** A segment that has digits and is no id. */
const VERSION = /^v\d{1,2}$/i;

/** Names the kind of a call: its operation, or its method and path, below V1's usual prefix, with `*` for segments that have digits. */
export function callName(
  operation: string | undefined,
  method: string | undefined,
  path: string | undefined,
): string {
  if (operation !== undefined) return operation;
  if (method === undefined || path === undefined || path.length > MAX_PATH) return OTHER_CALLS;
  const end = path.indexOf('?');
  const named = (end === -1 ? path : path.slice(0, end))
    .replace(USUAL_PREFIX, '')
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => (/\d/.test(segment) && !VERSION.test(segment) ? '*' : segment));
  return `${method} /${named.join('/')}`;
}

/** True for the name of a call that no operation fits. */
export function isUnfit(call: string): boolean {
  return call === OTHER_CALLS || call.includes(' ');
}

/** The members of an entry that say which clients may have sent it. */
type SentEntry = Pick<Entry, 'route' | 'verdict' | 'failure' | 'client' | 'side'> & {
  readonly path?: string | undefined;
};

/**
 * Whether a V1 client sent the request, even if it was refused before it was routed; not for a read of a client's own report. Outside the
 * addresses of the rule book, only a key tells a client from a browser or a crawler.
 */
export function isOfV1(entry: SentEntry): boolean {
  const { route, verdict, failure = '', client } = entry;
  if (route !== 'none') return route === 'migrate';
  if (isNowhere(entry)) return client !== undefined;
  return verdict === 'refused' && hasV1Address(entry) && !OF_OWN_REPORT.has(failure);
}

/** Whether a client of V1 or V2 sent the request: only these requests can count as failed. */
export function isOfClients(entry: SentEntry): boolean {
  return isOfV1(entry) || entry.route === 'pass' || entry.side === 'v2';
}

/** Whether the gateway refused a request because its address is outside those of the rule book. */
export function isNowhere(entry: Pick<SentEntry, 'failure' | 'side' | 'path'>): boolean {
  return entry.failure === 'not-found' && !hasV1Address(entry);
}

function hasV1Address({ side, path = '' }: Pick<SentEntry, 'side' | 'path'>): boolean {
  return side === undefined ? V1_PATH.test(path) : side === 'v1';
}

/** The service that got at least a part of the request; undefined if nothing was sent. The copy of a shadowed read does not count. */
export function sentTo({
  upstreamPath,
  origin,
  sent,
  verdict,
  route,
}: Pick<Entry, 'upstreamPath' | 'origin' | 'sent' | 'verdict' | 'route'>): 'v1' | 'v2' | undefined {
  if (route === 'webhook') return undefined;
  if (upstreamPath === undefined || sent === false || verdict === 'refused') return undefined;
  return origin ?? 'v2';
}

/** The side that chose the status of the client's response; undefined if the client disconnected before, and for a subscriber of webhooks. */
export function statusFrom(
  entry: Pick<Entry, 'status' | 'failure' | 'cause' | 'origin' | 'verdict' | 'route'>,
): 'v1' | 'v2' | 'gateway' | undefined {
  const { status, failure, cause, origin, verdict, route } = entry;
  if (status === 0) return undefined;
  if (verdict === 'served') return 'gateway';
  const isPassedOn =
    failure === undefined ||
    failure === 'upstream-broken' ||
    (failure === 'internal' && cause === 'no progress');
  if (!isPassedOn) return 'gateway';
  return route === 'webhook' ? undefined : (origin ?? 'v2');
}

/** The resource that was scarce when an exchange that only waited for its client had to end. */
export type Shortage = 'connections' | 'memory' | 'places';

/** The causes of such an end in the log, and the scarce resource of each. */
export const SLOW_CLIENT_CAUSES: ReadonlyMap<string, Shortage> = new Map([
  ['slow client while connections were short', 'connections'],
  ['slow client while memory was short', 'memory'],
  ['slow client while places were short', 'places'],
]);

/** The cause for the log. */
export function slowClientCause(shortage: Shortage): string {
  return `slow client while ${shortage} ${shortage === 'memory' ? 'was' : 'were'} short`;
}

/** Failure codes for a service that failed, or that keeps failing and gets no requests. */
const ORIGIN_FAILURES: ReadonlySet<string> = new Set([
  'upstream-unreachable',
  'upstream-closed',
  'upstream-invalid',
  'upstream-broken',
  'upstream-timeout',
  'circuit-open',
]);

/** True for a failure that is not caused by the request: a service was down, or the gateway had no room. */
export function isOutage(code: string): boolean {
  return ORIGIN_FAILURES.has(code) || code === 'overloaded' || code === 'buffer-full';
}

/** The service that responded to a request, or failed to; undefined if the gateway did not ask one, or its own failure hid the response. */
export function askedService(entry: Parameters<typeof statusFrom>[0]): 'v1' | 'v2' | undefined {
  const { failure, origin = 'v2', route } = entry;
  if (route === 'webhook') return undefined;
  if (failure !== undefined && ORIGIN_FAILURES.has(failure)) return origin;
  const from = statusFrom(entry);
  return from === 'gateway' ? undefined : from;
}

/** Number of edits, listed or not. The record of a body that was already flat does not count. */
export function editCount({ edits, editsOmitted = 0 }: Pick<Entry, 'edits' | 'editsOmitted'>): number {
  return editsOmitted + edits.reduce((sum, { note }) => (note === 'already-flat' ? sum : sum + 1), 0);
}

/** The edits of a response, one for the same two places: several rules may have moved a member there. */
export function editsByPlace({ responseEdits = [] }: Pick<Entry, 'responseEdits'>): EditRecord<string>[] {
  const placeOf = (edit: EditRecord<string>): string => JSON.stringify({ ...edit, rule: undefined });
  return [...Map.groupBy<string, EditRecord<string>>(responseEdits, placeOf).values()].flatMap((edits) =>
    edits.slice(0, 1).map((edit) => ({ ...edit, rule: edits.map(({ rule }) => rule).join(', ') })),
  );
}

/** Number of edits of the response, listed or not. */
export function responseEditCount({
  responseEdits,
  responseEditsOmitted = 0,
}: Pick<Entry, 'responseEdits' | 'responseEditsOmitted'>): number {
  return editsByPlace({ responseEdits }).length + responseEditsOmitted;
}

/** True for an exchange that an operator must not miss: refused, 4xx, 5xx, broken, abandoned by the client, different on V2, or refused by its schema. */
export function isNotable({ status, incomplete, verdict, failure, would, comparison }: Entry): boolean {
  return (
    status >= 400 ||
    status === 0 ||
    incomplete === true ||
    verdict === 'refused' ||
    failure !== undefined ||
    would?.verdict === 'refused' ||
    would?.v2 === 'invalid' ||
    comparison?.verdict === 'different'
  );
}

/** True for an exchange that ended in a failure of either side, or without a response. */
export function hasFailed({
  failure,
  incomplete,
  status,
}: Pick<Entry, 'failure' | 'incomplete' | 'status'>): boolean {
  return failure !== undefined || incomplete === true || status === 0 || status >= 400;
}

/** The side that found an error: the gateway, a service, a dry run, or V2's schema, without a request to V2. */
export type ErrorSource = 'gateway' | 'v1' | 'v2' | 'would' | 'schema';

/** One error of an exchange. */
export interface EntryError {
  readonly by: ErrorSource;
  /** Failure code of the gateway, status of a service, or `invalid` of the schema. */
  readonly code: string;
  /** Pointer into the body as read by that side; absent without a known place. */
  readonly pointer?: string;
}

/** The errors of an entry: one for each place that a 4xx of a service names. */
export function errorsOf(entry: Entry): readonly EntryError[] {
  const { failure, pointer, status, errorPointers = [], would } = entry;
  const from = statusFrom(entry);
  const errors: EntryError[] = [];
  if (failure !== undefined) errors.push(errorAt('gateway', failure, pointer));
  if (from !== undefined && from !== 'gateway' && status >= 400) {
    const places = errorPointers.length === 0 ? [undefined] : [...new Set(errorPointers)];
    errors.push(...places.map((place) => errorAt(from, String(status), place)));
  }
  if (would?.verdict === 'refused') errors.push(errorAt('would', would.failure ?? 'refused', would.pointer));
  if (would?.v2 === 'invalid') errors.push(errorAt('schema', 'invalid', would.at));
  return errors;
}

/** The name of an error: `v2-422 /property/suburb`. */
export function errorName({ by, code, pointer }: EntryError): string {
  return `${by}-${code}${pointer === undefined ? '' : ` ${pointer === '' ? '/' : pointer}`}`;
}

/** The value of the filter `error` that accepts only this kind of error, with a hyphen for one without a place. */
export function errorValue(error: EntryError): string {
  return error.pointer === undefined ? `${errorName(error)} -` : errorName(error);
}

function errorAt(by: ErrorSource, code: string, pointer: string | undefined): EntryError {
  return pointer === undefined ? { by, code } : { by, code, pointer };
}

/** Notes on responses that V1 clients got unchanged from V2, at least in part, although a response rule applies. */
export const AS_V2_SENT_IT: readonly string[] = [
  'response-too-large',
  'response-undecodable',
  'response-media-type',
  'response-buffer-full',
  'response-malformed',
  'response-partial',
];

/** True for the note of a request whose body was forwarded unread, although rules may apply to it. */
export function isUnreadNote(note: string | undefined): boolean {
  return (
    note === 'media-type' ||
    note === 'unnamed-put' ||
    note === 'unnamed-body' ||
    note === 'unsupported: forward'
  );
}

/** Minimum length from which V8 makes a substring a view of the whole string instead of a copy. */
const MIN_VIEW_LENGTH = 13;

/**
 * Copies a text so that it shares no memory with others. A substring of a request's head keeps the whole head in memory: 10,000
 * entries with heads of 12 KiB held 120 MiB.
 */
export function ownText(text: string): string {
  // Concatenated and sliced, the text is a view of its own copy with one more character.
  return text.length < MIN_VIEW_LENGTH ? text : ` ${text}`.slice(1);
}
