import type { Entry, Verdict, Would } from './entry.ts';

/** What became of an exchange; `would-…` is the dry run of a request that went to V1; `to-v1` is without one. */
export type Outcome = Verdict | `would-${Would['verdict']}` | 'to-v1';

/** The mode that applied to a request; undefined for one that is not V1 traffic. */
export type EntryMode = 'migrate' | NonNullable<Entry['mode']>;

const V1_PATH = /^\/api\/v1(?:[/?]|$)/;
const OF_OWN_REPORT: ReadonlySet<string> = new Set([
  'only-get',
  'no-api-key',
  'too-many-requests',
  'not-seen',
  'not-found',
  'overloaded',
]);

/** Returns the outcome of an entry. */
export function outcomeOf({ verdict, origin, would }: Entry): Outcome {
  if (origin !== 'v1' || verdict === 'refused') return verdict;
  return would === undefined ? 'to-v1' : `would-${would.verdict}`;
}

/** Returns the mode of V1 traffic; undefined for V2 traffic. */
export function modeOf({ mode, route }: Entry): EntryMode | undefined {
  return route === 'migrate' ? (mode ?? 'migrate') : undefined;
}

/** Whether a V1 client sent the request: also one that was refused before it was routed, but not a read of a client's own report. */
export function isOfV1({
  route,
  verdict,
  path = '',
  failure = '',
}: Pick<Entry, 'route' | 'verdict' | 'failure'> & { readonly path?: string | undefined }): boolean {
  if (route !== 'none') return route === 'migrate';
  return verdict === 'refused' && V1_PATH.test(path) && !OF_OWN_REPORT.has(failure);
}

/**
 * The service that got the request, or may have got a part of it; undefined when nothing of it was sent. A copy of a shadowed read
 * does not count.
 */
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

/** The side that chose the status of the client's response; undefined when the client left before, and for a subscriber of webhooks. */
export function statusFrom(entry: Entry): 'v1' | 'v2' | 'gateway' | undefined {
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

/** Failures by which the gateway says that a service failed, or that it is not asked because it keeps failing. */
const ORIGIN_FAILURES: ReadonlySet<string> = new Set([
  'upstream-unreachable',
  'upstream-closed',
  'upstream-invalid',
  'upstream-broken',
  'upstream-timeout',
  'circuit-open',
]);

/** True for a failure code that says nothing about the request: a service was down, or the gateway had no room. */
export function isOutage(code: string): boolean {
  return ORIGIN_FAILURES.has(code) || code === 'overloaded' || code === 'buffer-full';
}

/** The service that failed this exchange: by a 5xx, no valid response, or none at all; undefined where neither did. */
export function failedOrigin(entry: Entry): 'v1' | 'v2' | undefined {
  const { failure, status, origin = 'v2', route } = entry;
  if (route === 'webhook') return undefined;
  if (failure !== undefined && ORIGIN_FAILURES.has(failure)) return origin;
  const from = statusFrom(entry);
  return status >= 500 && from !== 'gateway' ? from : undefined;
}

/** Number of edits, listed or not. The record of a body that was already flat is none: nothing was edited. */
export function editCount({ edits, editsOmitted = 0 }: Pick<Entry, 'edits' | 'editsOmitted'>): number {
  return editsOmitted + edits.reduce((sum, { note }) => (note === 'already-flat' ? sum : sum + 1), 0);
}

/** Number of edits of the response, listed or not. */
export function responseEditCount({
  responseEdits = [],
  responseEditsOmitted = 0,
}: Pick<Entry, 'responseEdits' | 'responseEditsOmitted'>): number {
  return responseEdits.length + responseEditsOmitted;
}

/** True for an exchange that an operator must not miss: refused, 4xx, 5xx, broken, left by the client, different on V2, or refused by its schema. */
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

/** Who found an error: the gateway, a service, a dry run, or V2's schema, without asking V2. */
export type ErrorSource = 'gateway' | 'v1' | 'v2' | 'would' | 'schema';

/** One error of an exchange. */
export interface EntryError {
  readonly by: ErrorSource;
  /** Failure code of the gateway, status of a service, or `invalid` of the schema. */
  readonly code: string;
  /** Pointer into the body that its finder read; absent when no place is known. */
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

/** The name of an error, as the filter field `error` takes it: `v2-422 /property/suburb`. */
export function errorName({ by, code, pointer }: EntryError): string {
  return `${by}-${code}${pointer === undefined ? '' : ` ${pointer === '' ? '/' : pointer}`}`;
}

function errorAt(by: ErrorSource, code: string, pointer: string | undefined): EntryError {
  return pointer === undefined ? { by, code } : { by, code, pointer };
}

/** True for the note of a request whose body was forwarded unread, although rules are about such requests. */
export function isUnreadNote(note: string | undefined): boolean {
  return note === 'media-type' || note === 'unnamed-put' || note === 'unsupported: forward';
}
