import { isNotice } from '../rewrite-log/answers.ts';
import { isUnfit } from '../rewrite-log/entry.ts';
import { type BodyCheckCount, wouldFail, wouldFailWords } from '../rollout/body-checks.ts';
import {
  type BodyCheckSums,
  type DifferingMember,
  type DifferingMembers,
  haveNothing,
  isGone,
  isMissing,
  noVerdicts,
  type Outcomes,
  type OutcomeTally,
  type PendingRefusal,
  pendingRefusals,
  refusalSentences,
} from './tally/outcomes.ts';
import type { Span } from './tally/span.ts';
import { DAY_MS } from './tally/time-slots.ts';
import { knownClient } from './text.ts';
import { count, counted } from '../rules/words.ts';
import type { ClientTally } from './tally/tally.ts';

/** The classes of clients, most work first. */
export const CLASSES = [
  'blocked',
  'field-work',
  'unwrap-only',
  'url-only',
  'unknown',
  'unserved',
  'gone',
] as const;

/**
 * How a client depends on V1. `gone`: silent for so long that it is not expected back; `url-only`: neither requests nor
 * responses were edited; `unwrap-only`: only the requests' wrapper has to go; `field-work`: rules move, rename or remove members of
 * requests or responses, or V2 or its schema refuses them; `blocked`: V2 or the gateway refused, or would refuse, each of its calls, and no rule says what they need, or V2 does not have one of them by the rule book; `unserved`: no service has an address that it calls, so there is nothing to
 * move; `unknown`: the log does not say, for the reasons in `unknown` and `refusals`. Only requests of the last `goneAfterDays` days count (for a silent client: the days before its last request), so a
 * client that was fixed moves on.
 */
export type ClientClass = (typeof CLASSES)[number];

/** Display names of the classes; JSON and CSV contain the classes themselves. */
export const CLASS_WORDS: Readonly<Record<ClientClass, string>> = {
  blocked: 'blocked',
  'field-work': 'fields to change',
  'unwrap-only': 'unwrap only',
  'url-only': 'URL only',
  unknown: 'not known',
  unserved: 'not served',
  gone: 'gone',
};

/** What each class has to do before V2 can be used, for readers of a table. */
export const CLASS_MEANINGS: Readonly<Record<ClientClass, string>> = {
  blocked: 'V2 refuses all that they call, or does not have a part of it',
  'field-work': 'members of requests or responses have to change',
  'unwrap-only': "only the wrapper around the requests' parameters has to go",
  'url-only': 'only the address has to change',
  unknown: 'the log does not show it yet',
  unserved: 'no service has the addresses that they call: nothing has to move',
  gone: 'no call to V1 lately',
};

/** Maximum members of responses in a cell of a table; other formats list all. */
export const CELL_MEMBERS = 3;

/** Number of uses by a client, with first and last time in RFC 3339. */
export interface Usage {
  readonly count: number;
  readonly firstSeen: string;
  readonly lastSeen: string;
}

/** One kind of response that a client received. */
export interface Outcome extends Usage {
  /** Who responded; if the client disconnected first, the service to which its request was sent, or the gateway if it was not sent. */
  readonly by: 'v1' | 'v2' | 'gateway';
  /** Status that the client received; 0 when it disconnected before. */
  readonly status: number;
  /** Failure code, if the gateway made the response. */
  readonly code?: string;
  /** Places that errors pointed at, in the body as the service received it. */
  readonly pointers: readonly (Usage & { readonly pointer: string })[];
}

/** A member of V1's responses, and its place in V2's. */
export type ResponseMember = Usage & DifferingMember;

/** Verdicts of V2's schema on the bodies of one operation that were not sent to V2. */
export interface BodyChecks extends Pick<
  BodyCheckCount,
  'valid' | 'invalid' | 'refusedByBoth' | 'unknown' | 'refused'
> {
  readonly operation: string;
  /** Places of the first fault of bodies that V1 accepted, most frequent first. */
  readonly pointers: readonly (Usage & { readonly pointer: string })[];
}

/** An operation that is refused each time, with the last status of V2, and the place at which its errors point. */
export interface AlwaysRefused {
  readonly operation: string;
  readonly by: 'v1' | 'v2';
  /** When this service refused it last; later requests may have gone to the other one, or to none. */
  readonly lastSeen: string;
  readonly status?: number;
  readonly pointer?: string;
}

/** One client's dependence on V1. */
export interface ClientReport {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  /** From the names file. */
  readonly name?: string;
  /** The latest `User-Agent` of a client without a name, as this gateway captured it; absent in a report from a log. */
  readonly agent?: string;
  readonly class: ClientClass;
  /** Why the class is `unknown`, in sentences. */
  readonly unknown: readonly string[];
  /** Calls whose last request V2 refused, in sentences. */
  readonly refusals: readonly string[];
  /** Operations of which V2, or V1 if V2 got none, refused each request of the days that count. */
  readonly alwaysRefused: readonly AlwaysRefused[];
  readonly v1: number;
  readonly v2: number;
  /** Share of all V1 requests, from 0 to 1. */
  readonly share: number;
  /** V1 requests that failed, as `AnswerJudge` decides for every number. */
  readonly failed: number;
  /** Requests that the gateway refused, on purpose or as V1 did; those that failed do not count, as `AnswerJudge` decides. */
  readonly refused: number;
  /** Requests with an invalid `x-api-version`. */
  readonly invalidVersions: number;
  /** Requests whose `x-api-version` was a day in the future. */
  readonly futureVersions: number;
  /** First and last V1 request. */
  readonly firstSeen: string;
  readonly lastSeen: string;
  /** Last V2 request; absent without any. */
  readonly lastV2?: string;
  /** Whole days since the last V1 request. */
  readonly silentDays: number;
  /**
   * Days of silence after which it counts as gone: more than `goneAfterDays` if it has paused for a long time before, or is hardly known.
   */
  readonly goneAfterDays: number;
  readonly operations: readonly (Usage & { readonly operation: string })[];
  readonly changes: readonly (Usage & { readonly change: string; readonly rules: readonly string[] })[];
  /** Members of responses that V2 names or places differently. */
  readonly responses: readonly ResponseMember[];
  readonly outcomes: readonly Outcome[];
  /** Bodies that were checked against V2's description instead of being sent to it; empty without a description. */
  readonly bodyChecks: readonly BodyChecks[];
  /** Refusals that the requests themselves caused, or would have caused in V2, by failure code. */
  readonly mistakes: readonly (Usage & { readonly code: string })[];
  /** Requests that a brownout refused, by its id. */
  readonly brownouts: readonly (Usage & { readonly brownout: string })[];
  /** Requests of a client that is new to V1, by what the gateway did with them; absent for a client that used V1 before. */
  readonly newcomer?: readonly (Usage & { readonly note: string })[];
}

/** Requests of one client to an address that no operation of the rule book fits. */
export interface UnfitCall extends Usage, Pick<ClientReport, 'client' | 'name' | 'agent'> {
  /** Method and path, with `*` for segments that have digits; `(other)` for those that are not counted separately. */
  readonly call: string;
}

/** The requests that no operation of the rule book fits, of clients that are not gone, the latest first. */
export function unfitCalls(clients: readonly ClientReport[]): readonly UnfitCall[] {
  return clients
    .filter((one) => one.class !== 'gone')
    .flatMap((client) =>
      client.operations
        .filter(({ operation }) => isUnfit(operation))
        .map(({ operation: call, ...used }) => ({ ...knownClient(client), call, ...used })),
    )
    .sort((one, other) => (one.lastSeen < other.lastSeen ? 1 : -1));
}

/** The time of a report and the silence after which a client counts as gone. */
interface ReportClock {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly goneAfterDays: number;
  /** V1 requests of all clients. */
  readonly allV1: number;
  /** Hash of the rule book whose dry runs count; if absent, that of the client's latest dry run. */
  readonly ruleBook?: string | undefined;
  /** The operation that fits a call now, by the name of the call; calls that fitted none before are counted with it. */
  readonly operationOf?: ((call: string) => string | undefined) | undefined;
}

/** A client is expected to pause again, for up to one and a half times as long. */
const PAUSE_FACTOR = 1.5;

/** A client that was seen for less time than the silence that makes it gone gets more time: its rhythm is unknown. */
const UNKNOWN_RHYTHM_FACTOR = 3;

const MAX_SHOWN = 5;

const BY = { v1: 'V1', v2: 'V2', gateway: 'the gateway' } as const;

/** When or for whom the gateway refuses requests on purpose, by failure code. */
const ON_PURPOSE_WORDS: ReadonlyMap<string, string> = new Map([
  ['brownout', 'in a brownout'],
  ['sunset', 'after the end'],
  ['newcomer', 'for a client new to V1'],
  ['operation-gone', 'for an operation that V2 does not have'],
]);

/** Makes the report of one client. */
export function clientReport(
  hash: string,
  tally: ClientTally,
  clock: ReportClock,
  name: string | undefined,
): ClientReport {
  const silentDays = daysSince(tally.v1.last, clock.now);
  const goneAfterDays = silentDaysUntilGone(tally, clock.goneAfterDays);
  const from = dayBefore(
    silentDays < clock.goneAfterDays ? new Date(clock.now).toISOString() : tally.v1.last,
    clock.goneAfterDays,
  );
  const calls = callsNow(tally.calls, clock.operationOf);
  const isUnserved = callsNothing({ calls, outcomes: tally.outcomes }, from);
  const checks = tally.bodyChecks.under(clock.ruleBook);
  const unknown = isUnserved ? [] : unknownParts({ calls, lastWork: tally.lastWork }, from);
  const refusals = pendingRefusals(calls, from);
  return {
    client: hash,
    ...(name === undefined ? {} : { name }),
    class:
      silentDays >= goneAfterDays
        ? 'gone'
        : isUnserved
          ? 'unserved'
          : activeClass(tally, { from, refusals, unknown, isBlocked: isBlocked(calls, checks, from) }),
    unknown,
    refusals: refusalSentences(refusals),
    alwaysRefused: alwaysRefused(calls, checks, from),
    v1: tally.v1.count,
    v2: tally.v2.count,
    share: clock.allV1 === 0 ? 0 : tally.v1.count / clock.allV1,
    failed: tally.failed,
    refused: tally.refused,
    invalidVersions: tally.invalidVersions,
    futureVersions: tally.futureVersions,
    firstSeen: tally.v1.first,
    lastSeen: tally.v1.last,
    ...(tally.v2.count === 0 ? {} : { lastV2: tally.v2.last }),
    silentDays,
    goneAfterDays,
    operations: [...calls].map(([operation, call]) => ({ operation, ...usage(call) })).sort(byCount),
    changes: [...tally.changes]
      .map(([change, span]) => ({ change, ...usage(span), rules: [...span.rules] }))
      .sort(byCount),
    responses: responsesOf(tally.responseMembers),
    outcomes: outcomesOf(tally.outcomes),
    bodyChecks: bodyChecksOf(checks),
    brownouts: [...tally.brownouts].map(([brownout, span]) => ({ brownout, ...usage(span) })).sort(byCount),
    mistakes: [...tally.mistakes].map(([code, span]) => ({ code, ...usage(span) })).sort(byCount),
    ...(tally.newcomer.size === 0
      ? {}
      : { newcomer: [...tally.newcomer].map(([note, span]) => ({ note, ...usage(span) })) }),
  };
}

/** The calls of a client, where those that fitted no operation, and fit one now, count as requests for it: V2's old verdicts are past. */
function callsNow(
  calls: ClientTally['calls'],
  operationOf: ReportClock['operationOf'] = () => undefined,
): ClientTally['calls'] {
  const now = new Map(calls);
  for (const [name, call] of calls) {
    const id = isUnfit(name) ? operationOf(name) : undefined;
    if (id === undefined) continue;
    now.delete(name);
    const own = now.get(id) ?? { ...call, count: 0, v2: noVerdicts() };
    const first = call.first < own.first ? call.first : own.first;
    const last = call.last > own.last ? call.last : own.last;
    now.set(id, { ...own, count: own.count + call.count, first, last });
  }
  return now;
}

/** Whole days from `time` to `now`; 0 if the text is not a time, as in another program's log. */
function daysSince(time: string, now: number): number {
  const days = Math.floor((now - Date.parse(time)) / DAY_MS);
  return Number.isNaN(days) ? 0 : Math.max(0, days);
}

function silentDaysUntilGone({ days }: ClientTally, goneAfterDays: number): number {
  const { span, longestPause } = days.rhythm;
  const rhythm = Math.ceil(longestPause * PAUSE_FACTOR);
  return Math.max(goneAfterDays, rhythm, span < goneAfterDays ? goneAfterDays * UNKNOWN_RHYTHM_FACTOR : 0);
}

function activeClass(
  { lastWork, lastResponseWork }: ClientTally,
  {
    from,
    refusals,
    unknown,
    isBlocked: isStuck,
  }: {
    readonly from: string;
    readonly refusals: readonly PendingRefusal[];
    readonly unknown: readonly string[];
    readonly isBlocked: boolean;
  },
): ClientClass {
  const isRecent = (time: string): boolean => time !== '' && time >= from;
  if (refusals.some(isGone)) return 'blocked';
  if (isRecent(lastWork['field-work']) || isRecent(lastResponseWork)) return 'field-work';
  if (refusals.some(({ isOfMembers }) => isOfMembers)) return 'field-work';
  if (isStuck) return 'blocked';
  // No change of a client gives a call an address.
  if (unknown.length > 0 || refusals.some((one) => !isUnfit(one.call) || !isMissing(one))) return 'unknown';
  return isRecent(lastWork['unwrap-only']) ? 'unwrap-only' : 'url-only';
}

function alwaysRefused(
  calls: ClientTally['calls'],
  checks: ReadonlyMap<string, BodyCheckSums>,
  from: string,
): readonly AlwaysRefused[] {
  return [...calls].flatMap(([operation, { last, v2 }]): readonly AlwaysRefused[] => {
    if (isUnfit(operation) || last < from || v2.lastAccepted >= from) return [];
    const { status, at: pointer } = v2;
    if (v2.lastRefused >= from && status !== 0)
      return isOfRequest(status) && !isGone(v2)
        ? [
            {
              operation,
              by: 'v2',
              lastSeen: v2.lastRefused,
              status,
              ...(pointer === '' ? {} : { pointer }),
            },
          ]
        : [];
    const {
      valid = 0,
      invalid = 0,
      refused = 0,
      unknown = 0,
      refusedByBoth = 0,
    } = checks.get(operation) ?? {};
    return refusedByBoth > 0 && valid + invalid + refused + unknown === 0
      ? [{ operation, by: 'v1', lastSeen: last }]
      : [];
  });
}

function isOfRequest(status: number): boolean {
  return status >= 400 && status < 500;
}

/** Whether V2 accepted no call since `from`, and each was refused by it, or would be by the checks of its requests. */
function isBlocked(
  calls: ClientTally['calls'],
  checks: ReadonlyMap<string, BodyCheckSums>,
  from: string,
): boolean {
  const recent = [...calls].filter(([, { last }]) => last >= from);
  return (
    recent.length > 0 &&
    recent.every(([name, { v2 }]) => {
      const { valid = 0, invalid = 0, refused = 0 } = checks.get(name) ?? {};
      const isRefused = v2.lastRefused >= from && v2.lastRefused !== '' && v2.status < 500;
      return (
        (v2.lastAccepted === '' || v2.lastAccepted < from) &&
        (isRefused || (valid === 0 && invalid + refused > 0))
      );
    })
  );
}

/** Whether no operation fits a call since `from`, and each service that responded had nothing there. */
function callsNothing({ calls, outcomes }: Pick<ClientTally, 'calls' | 'outcomes'>, from: string): boolean {
  if ([...calls].some(([call, { last }]) => last >= from && !isUnfit(call))) return false;
  return haveNothing([...outcomes.all.values()].filter(({ last }) => last >= from));
}

/** Says why the requests of the last days do not show a client's remaining work. */
function unknownParts(tally: Pick<ClientTally, 'lastWork' | 'calls'>, from: string): string[] {
  const sentences: string[] = [];
  const { lastWork, calls } = tally;
  const lastRead = Object.values(lastWork).reduce((last, time) => (time > last ? time : last), '');
  if (lastRead === '' || lastRead < from)
    sentences.push('No request was accepted and read, so none shows the work.');
  const unread = [...calls].filter(
    ([, { last, lastUnknown, lastJudged, isV1Judged }]) =>
      last >= from && lastUnknown !== '' && !isV1Judged && lastUnknown > lastJudged,
  );
  if (unread.length > 0) {
    const names = unread.map(([name]) => name).sort();
    const shown = names.length > MAX_SHOWN ? [...names.slice(0, MAX_SHOWN), '…'] : names;
    sentences.push(
      `The log does not say whether V2's own names differ in the last response for ${shown.join(', ')}.`,
    );
  }
  return sentences;
}

/** Returns the time `days` days earlier; empty if the text is not a time, as in another program's log. */
export function dayBefore(time: string, days: number): string {
  const date = new Date(Date.parse(time) - days * DAY_MS);
  return Number.isNaN(date.valueOf()) ? '' : date.toISOString();
}

function usage({ count, first, last }: Span): Usage {
  return { count, firstSeen: first, lastSeen: last };
}

function byCount(one: Usage, other: Usage): number {
  return other.count - one.count;
}

/** The checks of bodies, most faults first. */
export function bodyChecksOf(all: ReadonlyMap<string, BodyCheckSums>): readonly BodyChecks[] {
  return [...all]
    .map(([operation, { pointers, ...sums }]) => ({
      operation,
      ...sums,
      pointers: [...pointers].map(([pointer, span]) => ({ pointer, ...usage(span) })).sort(byCount),
    }))
    .sort((one, other) => other.invalid + other.refused - one.invalid - one.refused);
}

/** The differing members of responses, the most frequent first. */
export function responsesOf(members: DifferingMembers): readonly ResponseMember[] {
  return [...members.values()]
    .map(({ change, v1, v2, hasOtherValues, ...span }) => ({
      change,
      v1,
      ...(v2 === undefined ? {} : { v2 }),
      ...(hasOtherValues === true ? { hasOtherValues } : {}),
      ...usage(span),
    }))
    .sort(byCount);
}

/** The kinds of responses, the most frequent first. */
export function outcomesOf(outcomes: Outcomes): readonly Outcome[] {
  return [...outcomes.all.values()].map(outcomeOf).sort(byCount);
}

function outcomeOf({ by, status, code, pointers, ...span }: OutcomeTally): Outcome {
  return {
    by,
    status,
    ...(code === undefined ? {} : { code }),
    ...usage(span),
    pointers: [...pointers].map(([pointer, named]) => ({ pointer, ...usage(named) })).sort(byCount),
  };
}

/** Whether a client is migrated: V2 served its latest V1 request that a service responded to, or the gateway refused it because V2 has no such operation. */
export function isOnV2({ outcomes }: Pick<ClientReport, 'outcomes'>): boolean {
  const lastOf = (isWanted: (one: Outcome) => boolean): string =>
    outcomes.reduce((last, one) => (isWanted(one) && one.lastSeen > last ? one.lastSeen : last), '');
  return lastOf(({ by, code }) => by === 'v2' || code === 'operation-gone') > lastOf(({ by }) => by === 'v1');
}

/** Number of notices of V1's end that a client has met: the brownouts that refused it, and the end, for all or for new clients. */
export function noticesMet({ brownouts, outcomes }: Pick<ClientReport, 'brownouts' | 'outcomes'>): number {
  const codes = new Set(
    outcomes.flatMap(({ code }) => (isNotice(code) && code !== 'brownout' ? [code] : [])),
  );
  return brownouts.length + codes.size;
}

/** Describes the responses to a client, such as `201 by V2 412×, 422 by V2 3× (/legacy_code 3×), 503 in a brownout 5×`. */
export function outcomeWords(outcomes: readonly Outcome[]): string {
  return outcomes
    .map(({ by, status, code, count: seen, pointers }) => {
      const places = pointers.map(({ pointer, count: times }) => `${pointer} ${count(times)}×`).join(', ');
      const isUnsent = by === 'gateway' && code === undefined;
      const what =
        status === 0
          ? `client disconnected ${isUnsent ? 'before its request was sent' : `(sent to ${BY[by]})`}`
          : `${status} ${ON_PURPOSE_WORDS.get(code ?? '') ?? `${code === undefined ? '' : `${code} `}by ${BY[by]}`}`;
      return `${what} ${count(seen)}×${places === '' ? '' : ` (${places})`}`;
    })
    .join(', ');
}

/** Describes by failure code the requests of a client that are refused, or would be after the migration, such as `malformed-json 3×`. */
export function mistakeWords({ mistakes }: ClientReport): string {
  return mistakes.map(({ code, count: times }) => `${code} ${count(times)}×`).join(', ');
}

/**
 * Describes dry runs: how many requests would fail after the migration, then the verdicts by operation, such as
 * `create_client: 3 of 10 refused that V1 accepted (/name 3×), 2 not known`. Empty without a dry run.
 */
export function bodyCheckWords({ bodyChecks }: Pick<ClientReport, 'bodyChecks'>): string {
  return [clientWouldFail({ bodyChecks }), ...bodyCheckLines(bodyChecks)]
    .filter((text) => text !== '')
    .join('; ');
}

/** How many requests of a client would fail after the migration; empty if no dry run had a verdict. */
export function clientWouldFail({ bodyChecks }: Pick<ClientReport, 'bodyChecks'>): string {
  return wouldFailWords(wouldFail(bodyChecks));
}

/** The verdicts of V2's schema, a line for each operation; operations whose bodies it accepts throughout share one. */
export function bodyCheckLines(all: readonly BodyChecks[]): readonly string[] {
  const lineOf = (names: string, checks: BodyChecks): string => `${names}: ${bodyCheckCounts(checks)}`;
  const [first, ...more] = all.filter(isAccepted);
  const others = all
    .filter((checks) => !isAccepted(checks))
    .map((checks) => lineOf(checks.operation, checks));
  if (first === undefined) return others;
  const valid = more.reduce((sum, checks) => sum + checks.valid, first.valid);
  const names = [first, ...more].map(({ operation }) => operation).join(', ');
  return [...others, lineOf(names, { ...first, valid })];
}

function isAccepted({ valid, invalid, refusedByBoth, unknown, refused }: BodyChecks): boolean {
  return valid > 0 && invalid + refusedByBoth + unknown + refused === 0;
}

/** The verdicts on the bodies and compared reads of one operation, such as `3 of 10 refused that V1 accepted (/name 3×)`. */
export function bodyCheckCounts({
  valid,
  invalid,
  refusedByBoth,
  unknown,
  refused,
  pointers,
}: BodyChecks): string {
  const checked = valid + invalid;
  const places = pointers.map(({ pointer, count: times }) => `${pointer || 'the body'} ${count(times)}×`);
  const parts = [
    checked === 0
      ? ''
      : invalid === 0
        ? `none of ${count(checked)} refused`
        : `${count(invalid)} of ${count(checked)} refused that V1 accepted${places.length === 0 ? '' : ` (${places.join(', ')})`}`,
    refusedByBoth === 0 ? '' : `${count(refusedByBoth)} refused by V1 as well`,
    refused === 0 ? '' : `${count(refused)} refused by the gateway that V1 accepted`,
    unknown === 0 ? '' : `${count(unknown)} not known`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** Says that a client counts as gone only after more days than others, and why; empty for the others. */
export function waitWords(
  { class: work, goneAfterDays }: Pick<ClientReport, 'class' | 'goneAfterDays'>,
  usualDays: number,
): string {
  if (work === 'gone' || goneAfterDays <= usualDays) return '';
  return `gone after ${counted(goneAfterDays, 'day')} only, because it is hardly known or has paused for long`;
}

/** Why a client's work is not done, or unknown, in sentences; none for a client that is gone. */
export function reasonsOf({
  class: kind,
  refusals,
  unknown,
}: Pick<ClientReport, 'class' | 'refusals' | 'unknown'>): readonly string[] {
  if (kind === 'gone') return [];
  return kind === 'unknown' ? [...refusals, ...unknown] : refusals;
}

/**
 * Describes the members of responses that differ in V2, such as `/data/transition_type is /data/highlight_type 3×`: each once, even with
 * several changes, up to a maximum.
 */
export function responseWords(
  { responses }: Pick<ClientReport, 'responses'>,
  most = Number.POSITIVE_INFINITY,
): string {
  const words = new Map<string, number>();
  const placesOf = Map.groupBy(responses, ({ v1, v2 }) => JSON.stringify([v1, v2]));
  for (const changes of placesOf.values()) {
    const { v1 = '', v2 } = changes[0] ?? {};
    const hasOtherValues = changes.some((one) => one.hasOtherValues === true);
    // A program changes the whole body: its place has no name.
    const member = v1 === '' ? 'the whole body' : v1;
    const place = v2 === undefined ? 'gone' : v2 || 'the whole body';
    const what =
      v1 === ''
        ? 'is made by a program'
        : hasOtherValues && (v2 === v1 || v2 === undefined)
          ? 'has other values'
          : `is ${place}${hasOtherValues ? ' with other values' : ''}`;
    // The changes of one member occur in the same responses, except those that a rule left unchanged.
    words.set(`${member} ${what}`, Math.max(...changes.map(({ count: times }) => times)));
  }
  const shown = [...words].slice(0, most).map(([text, times]) => `${text} ${count(times)}×`);
  const left = words.size - shown.length;
  return [...shown, ...(left === 0 ? [] : [`and ${count(left)} more`])].join(', ');
}
