import { queryParts } from '../../http/target.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import type { WouldFail } from '../../rollout/body-checks.ts';
import type { Brownout, LinkRelation, Rollout, Scope } from '../../rules/rollout.ts';
import type { BodyChecks, Outcome, ResponseMember } from '../client-report.ts';
import { endingName } from '../endings.ts';
import { sketchJson } from '../entry-request.ts';
import { MONTHS } from '../../rules/kinds/date-pattern.ts';
import { clockText, Zone } from '../plan/zone.ts';
import { DAY_MS } from '../tally/time-slots.ts';
import { capital } from '../text.ts';
import { count } from '../../rules/words.ts';

/** Id and summary of a change. */
export interface GuideChange {
  readonly id: string;
  readonly summary: string;
}

/** A fact that changed for a client. */
export interface GuideFact extends GuideChange {
  /** What of it no example shows, as sentences; empty if examples show everything. */
  readonly prose: string;
}

/** One client's migration guide. It shows each value of a request as `…`; values in its remarks are those of the rule book. */
export interface GuideDocument {
  /** The hash; the given digits if there is no such client. */
  readonly client: string;
  readonly name?: string;
  /** Its latest `User-Agent`, by which its owner knows a client without a name; absent if none was captured. */
  readonly agent?: string;
  /** V1 requests that were examined. */
  readonly requests: number;
  /** Times of the first and the last of them: RFC 3339, empty without any. */
  readonly first: string;
  readonly latest: string;
  /** IANA name of the zone of its days; absent for UTC. */
  readonly zone?: string;
  /** The path prefixes of V1 and of V2, empty at the root. */
  readonly from: string;
  /** V1's other prefixes; absent for none. */
  readonly alsoFrom?: readonly string[];
  readonly to: string;
  /** The header field with V2's release that the client should send; absent if there is none. */
  readonly version?: { readonly field: string; readonly value: string };
  /** Changes that concern this client: one for each fact, with the values that it changes. */
  readonly changes: readonly GuideFact[];
  /** When V1 ends, and how; empty if the rule book has no date. */
  readonly end: readonly EndOfV1[];
  readonly calls: readonly GuideCall[];
  /** Calls that no service takes, which are not among `calls`; absent without any. */
  readonly unserved?: readonly UnservedCall[];
  readonly mistakes: readonly GuideMistake[];
  /** What became of its V1 requests that V2 served; absent for none. */
  readonly onV2?: ServedByV2;
  /** Responses to requests that the gateway refused on purpose: in brownouts, after the end, or because the client is new; absent for none. */
  readonly onPurpose?: readonly Outcome[];
  /** The place of the client's key in both versions, such as `Authorization`, or `?key` in the query. */
  readonly key: { readonly v1: string; readonly v2: string };
  /** The verdicts of dry runs on this client's requests, including mistakes. */
  readonly dryRuns: WouldFail;
  /** Requests of further kinds, which are not shown. */
  readonly omitted: number;
}

/** A client's V1 requests that the gateway sent to V2, or did not send because V2 did not respond. */
export interface ServedByV2 {
  /** Times of the first and the last of them: RFC 3339. */
  readonly first: string;
  readonly last: string;
  /** True if V1 has served later ones. */
  readonly isOver: boolean;
  /** Requests that V1 served between the first and the last of them. */
  readonly between: number;
  readonly succeeded: number;
  /** Statuses of V2's other responses, most frequent first: the requests' fault below 500, otherwise V2's. */
  readonly others: readonly { readonly status: number; readonly count: number }[];
  /** Statuses of the gateway's own responses where V2 did not respond. */
  readonly unserved: ServedByV2['others'];
}

/** One step of V1's end that concerns a client. */
export interface EndOfV1 {
  /** A sentence. */
  readonly text: string;
  /** Address of a page that says more. */
  readonly link?: string;
  /** True for the end of V1 itself. */
  readonly isEnd?: true;
  /** True for the end of V1 once it is past. */
  readonly isOver?: true;
  /** True for the end of V1 if it does not refuse the client's requests, while it refuses those of others. */
  readonly isSpared?: true;
  /** The times to which the sentence leads, if there are several. */
  readonly times?: readonly string[];
}

/** How steps are chosen and written. */
interface EndContext {
  /** All operations that the client calls; without them, the steps for any operation concern it. */
  readonly calls?: ReadonlySet<string> | undefined;
  /** IANA name of the zone of the times; UTC without one. */
  readonly zone?: string | undefined;
  /** How a reader knows an operation or change; by default by its id. */
  readonly nameOf?: typeof endingName;
  /** When the steps are read, RFC 3339: brownouts that ended before are left out, and what is over is said to be; by default before all steps. */
  readonly now?: string | undefined;
}

/** The steps of V1's end in the rule book that concern a client (a hash). */
export function endOfV1(
  rollout: Rollout | undefined,
  client: string,
  { calls, zone: name = 'UTC', nameOf = endingName, now = '' }: EndContext = {},
): readonly EndOfV1[] {
  const { signals, gone, ends, brownouts = [] } = rollout ?? {};
  const { since, sunset, links = [] } = signals ?? {};
  const zone = new Zone(name);
  const linkOf = (relation: LinkRelation, own = links): Pick<EndOfV1, 'link'> => {
    const link = own.find(([known]) => known === relation)?.[1];
    return link === undefined ? {} : { link };
  };
  const isCalled = (operation: string): boolean => calls === undefined || calls.has(operation);
  const concerns = ({ clients, except, operations }: Scope): boolean =>
    (clients === undefined || clients.includes(client)) &&
    except?.includes(client) !== true &&
    (operations === undefined || operations.some(isCalled));
  const at = now === '' ? -Infinity : Date.parse(now);
  const isOver = (time: number): boolean => time <= at;
  const ahead = brownouts.filter((brownout) => concerns(brownout) && !isOver(brownout.until ?? Infinity));
  /** Says when something ends, or ended, and what its requests get then. */
  const endText = (what: string, whose: string, time: number, refused: Scope | undefined): string => {
    const isRefused = refused !== undefined && concerns(refused);
    const day = dateText(time, zone);
    if (refused !== undefined && !isRefused)
      return `${what} ${isOver(time) ? 'ended' : 'ends'} on ${day}, but not for your client: ${whose} requests are served after that, too.`;
    if (!isOver(time))
      return `${what} ends on ${day}.${isRefused ? ` From then on ${whose} requests get 410.` : ''}`;
    return `${what} ended on ${day}: ${whose} requests ${isRefused ? 'have got 410 since' : 'are still served'}.`;
  };
  return [
    ...(since === undefined
      ? []
      : [{ text: `V1 is deprecated as of ${dateText(since, zone)}.`, ...linkOf('deprecation') }]),
    ...(['operation', 'change'] as const).flatMap((kind) =>
      Object.entries(ends?.[`${kind}s`] ?? {}).flatMap(([id, end]) => {
        if (kind === 'operation' && !isCalled(id)) return [];
        const what = nameOf(kind, id);
        return [
          ...(end.since === undefined
            ? []
            : [
                {
                  text: `${what} is deprecated as of ${dateText(end.since, zone)}.`,
                  ...linkOf('deprecation', end.links),
                },
              ]),
          ...(end.sunset === undefined
            ? []
            : [
                {
                  text: endText(what, 'its', end.sunset, end.gone),
                  ...linkOf('sunset', end.links),
                },
              ]),
        ];
      }),
    ),
    // Those that differ only in their times are one step.
    ...[...Map.groupBy(ahead, (brownout) => brownoutText(brownout, nameOf))].map(([effect, alike]) =>
      brownoutStep(effect, alike, zone, at),
    ),
    ...(sunset === undefined
      ? []
      : [
          {
            text: endText('V1', 'these', sunset, gone),
            ...linkOf('sunset'),
            isEnd: true as const,
            ...(isOver(sunset) ? { isOver: true as const } : {}),
            ...(gone !== undefined && !concerns(gone) ? { isSpared: true as const } : {}),
          },
        ]),
    ...(links.some(([relation]) => relation === 'successor-version')
      ? [{ text: 'V2 is described here:', ...linkOf('successor-version') }]
      : []),
  ];
}

/** The effect of a brownout, whenever it is. */
function brownoutText({ share, status, operations, message }: Brownout, nameOf: typeof endingName): string {
  const which =
    operations === undefined
      ? 'V1 requests'
      : `V1 requests of ${operations.map((id) => nameOf('operation', id)).join(', ')}`;
  const some = share === 100 ? `all ${which}` : `${share} % of the ${which}`;
  const said = message === undefined ? '' : ` (${message.replace(/[.]$/, '')})`;
  return `${some} get ${status} on purpose${said}, as notice of the end of V1`;
}

/** Brownouts that differ only in their times. */
function brownoutStep(effect: string, alike: readonly Brownout[], zone: Zone, now: number): EndOfV1 {
  const times = alike.map(({ from, until }) =>
    windowWords(from !== undefined && from <= now ? undefined : from, until, zone),
  );
  const [only = '', ...others] = times;
  if (others.length === 0) return { text: `${capital(only)}: ${effect}.` };
  return { text: `At these times ${effect}:`, times };
}

/** When a brownout is: `1 March 2027, 09:00 to 10:00 (Australia/Sydney)`; one that is under way has no `from`. */
function windowWords(from: number | undefined, until: number | undefined, zone: Zone): string {
  if (from === undefined)
    return until === undefined ? 'at present' : `at present, until ${dateText(until, zone)}`;
  if (until === undefined) return `from ${dateText(from, zone)} on`;
  const [start, end] = [timeText(from, zone), timeText(until, zone)];
  const last = dayText(from, zone) === dayText(until, zone) ? end.clock : `${end.day}, ${end.clock}`;
  return `${start.day}, ${start.clock} to ${last} (${zone.name})`;
}

/** A day if it begins in the zone at that time, otherwise with the time and the zone. */
export function dateText(time: number, zone: Zone): string {
  const { day, clock } = timeText(time, zone);
  return clock === '00:00' && zone.local(time) % DAY_MS === 0 ? day : `${day}, ${clock} (${zone.name})`;
}

function timeText(time: number, zone: Zone): { readonly day: string; readonly clock: string } {
  return { day: dayText(time, zone), clock: clockText(zone.local(time)) };
}

/** A day as people write it: `30 June 2027`. */
export function dayText(time: number, zone: Zone): string {
  const date = new Date(zone.local(time));
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ''} ${date.getUTCFullYear()}`;
}

/** A call to an address that no operation fits and where V2, or the only service that got it, has nothing: it cannot be moved to V2. */
export interface UnservedCall {
  /** Method and path. */
  readonly name: string;
  readonly count: number;
  /** Time of the first one: RFC 3339. */
  readonly since: string;
  /** Who had nothing there, with the numbers of requests by status. */
  readonly outcomes: readonly Outcome[];
  /** If V1 has the address: V2's responses to the requests, and to the same reads in shadow, by status. */
  readonly onlyV1?: readonly { readonly status: number; readonly count: number }[];
  /** Operations of the rule book with the most similar addresses: method and path in V2. */
  readonly instead: readonly string[];
}

/** One kind of call. */
export interface GuideCall {
  /** Operation id, or method and path. */
  readonly name: string;
  readonly count: number;
  /** RFC 3339. */
  readonly last: string;
  /** Method and path in both versions, with parameters, if V2 has the operation elsewhere. */
  readonly moved?: { readonly v1: string; readonly v2: string };
  /** True if no rule says where V2 has it, and V2 has accepted none: its address in V1 shows nothing about V2's. */
  readonly isPlaceUnknown?: true;
  readonly bodies: readonly GuideBody[];
  /** Ids of the facts of the guide that concern it. */
  readonly changes: readonly string[];
  /** Its requests put together, most used first: one, unless they differ in more than members and parameters. */
  readonly examples: readonly GuideExample[];
  /** The members of its responses that differ, as sketches of both; absent if none is known to. All members of one response if it is sampled. */
  readonly read?: { readonly before: string; readonly after: string; readonly isSampled?: true };
  /** Paths in both versions, each with its prefix and its parameters; absent if the rule book does not name the call. */
  readonly paths?: { readonly v1: string; readonly v2: string };
  /** Members of responses that V2 has elsewhere. */
  readonly responses: readonly GuideResponse[];
  /** True when no response to this call was compared with V2's. */
  readonly responsesUnknown: boolean;
  /** What the rules say of its responses, as sentences; absent once one was compared, or if the rules are not known. */
  readonly responseRules?: readonly string[];
  readonly outcomes: readonly Outcome[];
  /** Why V2 refused kept requests, or would, as sentences without a full stop. */
  readonly objections?: readonly string[];
  /** Verdicts of V2's schema on bodies of this call that were not sent to V2; absent without a check. */
  readonly bodyChecks?: BodyChecks;
  /** Requests that the gateway did not read in full: the client disconnected while sending, or V1 received them unchanged. */
  readonly unread: number;
  /** Requests with bodies of further shapes. */
  readonly omitted: number;
}

/** A member of V1's responses, as the client will read it; `v1` is empty for the whole body. */
export interface GuideResponse extends ResponseMember {
  /** How today's value follows from V2's, by the rule; absent if unknown. */
  readonly remark?: string;
  /** True if the operator's own program makes it, so its place in V2 is unknown. */
  readonly isMade?: true;
  /** True if the sketches of both responses show how its value changes. */
  readonly isShown?: true;
}

/** A member, parameter or header field that moves, is renamed or removed. */
interface GuideMove {
  readonly from: string;
  /** Absent for a removed one. */
  readonly to?: string;
  readonly remark: string;
  /** True if the values of an example show what the remark says. */
  readonly isShown?: true;
}

/** A request as it is sent today, and as V2 expects it. */
export interface GuideBody {
  readonly count: number;
  readonly last: string;
  readonly before: string;
  readonly after: string;
  readonly moves: readonly GuideMove[];
  /** True if V2 or its schema refused a member of `after`, which is then not an example to follow. */
  readonly isKnownToFail?: true;
  /** True when V2 accepted a body with the members of `after`, or V2's schema accepts all that were checked. */
  readonly isVerified: boolean;
  /** True if V2's schema alone has accepted it, and V2 itself was not asked. */
  readonly isBySchema?: true;
  /** The evidence that `after` is right, or why there is none: a sentence. */
  readonly evidence: string;
}

/**
 * An example with all members and parameters of the requests that it stands for, in the paths of the rule book. Its values are made up where
 * rules change them, and `…` elsewhere.
 */
export interface GuideExample extends GuideBody {
  /** Members and parameters that were last sent under an earlier rule book, and that are shown as its rules placed them. */
  readonly earlier: readonly string[];
}

/** A mistake in requests that should be corrected for either version. */
export interface GuideMistake {
  readonly call: string;
  /** Method and path in V1; absent if the rule book does not name the call. */
  readonly place?: string;
  /** Failure code of the gateway, or status of the service. */
  readonly code: string;
  /** Pointers into the V1 body, from refusals that have one. */
  readonly pointers: readonly string[];
  readonly count: number;
  /** How many of them the gateway refused; it would have refused the others after the migration. */
  readonly refused: number;
  readonly last: string;
  readonly remedy: string;
}

/** Maximum places at which V2's schema refused one shape. */
const MAX_PLACES = 8;

/** Note of a request whose body was forwarded unread. */
type UnreadNote = keyof typeof UNREAD;

/** Why a body was forwarded unread, in a sentence. */
const UNREAD = {
  'media-type': 'The body is not JSON, and is forwarded unchanged.',
  'unnamed-put': 'The rule book names no operation for this PUT: its body is forwarded unchanged.',
  'unnamed-body': 'The rule book names no operation for this method: its body is forwarded unchanged.',
  'unsupported: forward': 'The gateway does not read the coding of the body, and forwards it unchanged.',
} as const;

/** Requests of one call with the same members, edited in the same way. */
export interface GuideShape {
  edits: readonly EditRecord[];
  /** Undefined when the members were not recorded. */
  readonly attributes: readonly string[] | undefined;
  readonly path: string;
  /** Method and path at V2; undefined if V2 did not get the request. */
  readonly atV2: string | undefined;
  readonly hasBody: boolean;
  /** Why the body was forwarded unread. */
  readonly note: UnreadNote | undefined;
  count: number;
  last: string;
  /** Hash of the rule book of the last one. */
  ruleBook: string;
  byV2: number;
  /** Bodies that V2's schema accepted, and the places at which it refused those that V1 accepted. */
  bySchema: number;
  readonly refusedAt: Map<string, number>;
}

/** The evidence that a body is right for V2, or why there is none. */
type Evidence = Pick<GuideBody, 'isVerified' | 'evidence'>;

/** Used in place of a V1 pointer for a member that only V2 has. */
export const ADDED = 'not sent';

/** Begins the remark on a member that V2 does not know, after its name. */
export const NOT_KNOWN = 'is not known to V2: leave it out';

/** Used for the members of a body that were not recorded. */
export const OTHER_SHAPE = '…';

function isUnread(note: string): note is UnreadNote {
  return Object.hasOwn(UNREAD, note);
}

/** The note on a request whose body was forwarded unread; undefined for any other note. */
export function unreadNote(note: string | undefined): UnreadNote | undefined {
  return note !== undefined && isUnread(note) ? note : undefined;
}

/** The evidence for a body that is left without members; `members` are those that V2 refused. */
export function emptyEvidence(members: readonly string[]): Evidence {
  const why = members.length === 0 ? 'this body has no members' : 'V2 refused each member of this body';
  return { isVerified: false, evidence: `Not verified: ${why}.` };
}

/** The evidence for a body that was not read, or without recorded members; undefined for others. */
export function wholeEvidence(
  { note, attributes, byV2 }: GuideShape,
  ofBody: readonly EditRecord[],
): Evidence | undefined {
  if (note !== undefined) {
    const accepted = byV2 > 0 ? `V2 responded to it ${byV2}×.` : 'V2 has not accepted it yet.';
    return { isVerified: byV2 > 0, evidence: `${UNREAD[note]} ${accepted}` };
  }
  if (ofBody.length > 0 || (attributes?.length ?? 0) > 0) return undefined;
  const evidence =
    attributes === undefined
      ? 'Not verified: the members of this body were not recorded.'
      : 'Not verified: this body is an array or a single value, or has no members.';
  return { isVerified: false, evidence };
}

/** Learns from the check of a body that was not sent to V2. V1's 4xx and 5xx, and clients that disconnected, show nothing about a shape. */
export function learnCheck(shape: GuideShape, { would, status }: Entry): void {
  if (would?.v2 === undefined || status === 0 || status >= 400) return;
  if (would.v2 === 'valid') shape.bySchema += 1;
  if (would.v2 !== 'invalid') return;
  const at = would.at ?? '';
  if (shape.refusedAt.size < MAX_PLACES || shape.refusedAt.has(at))
    shape.refusedAt.set(at, (shape.refusedAt.get(at) ?? 0) + 1);
}

/** The evidence of V2's schema for a shape; undefined without a check, or if `left` members were left out. */
export function evidenceOfSchema({ bySchema, refusedAt }: GuideShape, left: number): Evidence | undefined {
  if (refusedAt.size > 0) {
    const places = [...refusedAt].map(([at, times]) => `${at === '' ? 'the body' : at} ${count(times)}×`);
    return { isVerified: false, evidence: `Not verified: V2's schema refuses ${places.join(', ')}.` };
  }
  if (bySchema === 0 || left > 0) return undefined;
  const evidence = `Verified: V2's schema accepts such a body (${count(bySchema)} checked). V2 itself was not asked.`;
  return { isVerified: true, evidence };
}

/** Identifies requests with the same members and parameters, edited in the same way; or without a body, or with one that was not read. */
export function shapeKey({
  edits,
  attributes,
  bytesIn,
  note,
  path,
}: Pick<Entry, 'edits' | 'attributes' | 'bytesIn' | 'note' | 'path'>): string {
  const mark = path.indexOf('?');
  const parameters = mark === -1 ? [] : queryParts(path.slice(mark + 1)).map(({ name }) => name);
  return JSON.stringify([edits, attributes ?? null, bytesIn > 0, unreadNote(note) ?? null, parameters]);
}

/** Prints a request's head and a sketch of its body; `further` is the pointer of a member that stands for others, and `values` has JSON texts to
 * show. */
export function printedRequest(
  head: string,
  members: readonly string[],
  further: string | undefined,
  wrapper = '',
  values?: ReadonlyMap<string, string>,
): string {
  const shown = members.filter((member) => member !== '');
  return `${head}\n\n${sketchJson(further === undefined ? shown : [...shown, further], wrapper, values)}`;
}

/** A step with its times and its link, in one line of plain text. */
export function stepText(step: EndOfV1): string {
  const [before, after] = aroundLink(step);
  return `${before}${step.link ?? ''}${after}`;
}

/** The text of a step before its link, and after it; all of it before without a link. */
export function aroundLink({ text, link, times = [] }: EndOfV1): readonly [before: string, after: string] {
  const whole = `${text}${times.length === 0 ? '' : ` ${times.join('; ')}.`}`;
  if (link === undefined) return [whole, ''];
  return whole.endsWith('.') ? [`${whole.slice(0, -1)} (`, ').'] : [`${whole} `, ''];
}

/** The member that a client reads today, for a guide; `code` formats a pointer. */
export function presentWords({ v1 }: Pick<GuideResponse, 'v1'>, code: (pointer: string) => string): string {
  return v1 === '' ? 'the whole body' : code(v1);
}

/** The member that it will read instead. */
export function futureWords(
  { v1, v2, hasOtherValues, remark, isMade }: GuideResponse,
  code: (pointer: string) => string,
  escaped: (text: string) => string,
): string {
  if (isMade === true)
    return escaped("today the operator's own program makes it from V2's response: ask for its logic");
  if (hasOtherValues !== true) return v2 === undefined ? 'gone' : code(v2);
  return `${code(v2 ?? v1)}, with other values${remark === undefined ? '' : escaped(`; for today's: ${remark}`)}`;
}
