import type { HeaderList } from '../http/header-list.ts';
import type { DeprecatedAttribute, EditRecord } from '../rewrite/records.ts';
import { LEARNING_MS, type Standing } from './known-clients.ts';
import {
  type Brownout,
  type End,
  type Ends,
  type Newcomers,
  ownEnd,
  type Rollout,
  type Signals,
} from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { isInScope, type RolloutSubject } from './modes-in-force.ts';

/** Refusal of a V1 request because V1 is being retired. */
export interface RetirementRefusal {
  readonly code: 'brownout' | 'newcomer' | 'sunset';
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Header fields of the response, such as `Retry-After`. */
  readonly headers: HeaderList;
  /** For the log: the id of the brownout, or `sunset`. */
  readonly note: string;
}

/** Lists the deprecated attributes that a request used. */
const ATTRIBUTES_FIELD = 'x-deprecated-attributes';

/** Maximum characters of the list of attributes; the rest is omitted. */
const MAX_LIST_CHARACTERS = 1024;

/** The facts that decide whether to refuse a V1 request; `time` is in milliseconds since 1970. */
export interface RetiringRequest extends RolloutSubject {
  /** Undefined in old logs. */
  readonly method: string | undefined;
  readonly time: number;
}

/**
 * True for a preflight, with which a browser asks whether it may send another request (Fetch §3.3.7). The log contains no header fields,
 * so every OPTIONS counts as a preflight.
 */
export function isPreflight({ method }: { readonly method?: string | undefined }): boolean {
  return method === 'OPTIONS';
}

/**
 * Returns the refusal if V1, or the operation of a request, has ended for its client. A preflight passes: without its response a browser
 * would hide the refusal from the page that must read it.
 */
export function endedRefusal(
  { rollout, to }: Pick<RuleBook, 'rollout' | 'to'>,
  subject: RetiringRequest,
): RetirementRefusal | undefined {
  if (rollout === undefined || isPreflight(subject)) return undefined;
  const { gone, signals } = rollout;
  const ended = endedOperation(rollout, subject);
  if (ended !== undefined) {
    const detail = `Operation ${subject.operation} of V1 ended on ${dayOf(ended.sunset)}; use V2 under ${to}.${hint(ended.links, signals?.links)}`;
    return { code: 'sunset', status: 410, title: 'Gone', detail, headers: [], note: 'sunset' };
  }
  if (gone === undefined || signals?.sunset === undefined) return undefined;
  if (subject.time < signals.sunset || !isInScope(gone, subject)) return undefined;
  const detail = `V1 ended on ${dayOf(signals.sunset)}; use V2 under ${to}.${hint(signals.links)}`;
  return { code: 'sunset', status: 410, title: 'Gone', detail, headers: [], note: 'sunset' };
}

/** Returns the refusal if a brownout applies to a request; `random` is a number from 0 up to 1. A preflight passes as well. */
export function brownoutRefusal(
  { rollout, to }: Pick<RuleBook, 'rollout' | 'to'>,
  subject: RetiringRequest,
  random: number,
): RetirementRefusal | undefined {
  if (rollout === undefined || isPreflight(subject)) return undefined;
  const { time } = subject;
  const brownout = rollout.brownouts.find(
    (each) => isOn(each, time) && isInScope(each, subject) && random * 100 < each.share,
  );
  return brownout && refusalIn(brownout, rollout, time, to);
}

/** The log's note about a client that may be new to V1. */
export type NewcomerNote = 'refused' | 'warned' | 'would' | 'not-known';

/** A client that is not known to have used V1. */
export interface Newcomer {
  readonly note: NewcomerNote;
  /** Set before the day: the client is learned if a service accepts its key. */
  readonly learns?: true;
  /** Address of its guide; absent if there is none. */
  readonly guide?: string;
}

/** Whether it matters that the client is new: not for a client with a name in the rule book, and not for a preflight. */
export function mayBeNew({ newcomers, clients }: Rollout, client: string, method: string): boolean {
  if (newcomers === undefined || isPreflight({ method })) return false;
  return !Object.hasOwn(clients, client) && !newcomers.except.includes(client);
}

/**
 * Decides about a client by its standing at the time of a request. `since` is when the list of known clients began, in milliseconds since
 * 1970: if the list is too recent on that day, no client is refused. `ownGuide` is the path of the client's own guide.
 */
export function newcomerOf(
  { newcomers, signals }: Rollout,
  standing: Standing,
  { time, since }: { readonly time: number; readonly since: number | undefined },
  ownGuide: string | undefined,
): Newcomer | undefined {
  if (newcomers === undefined || standing === 'known') return undefined;
  const page = newcomers.guide ?? ownGuide ?? signals?.links[0]?.[1];
  const guide = page === undefined ? {} : { guide: page };
  const isBefore = time < newcomers.from;
  if (standing === 'not-known') return { note: 'not-known', ...(isBefore && { learns: true }) };
  if (isBefore) return { note: 'would', learns: true };
  if (!isLearned(newcomers, since)) return { note: 'not-known' };
  return { note: newcomers.answer === 'refuse' ? 'refused' : 'warned', ...guide };
}

/** Whether the list of known clients is old enough on the day from which it decides. */
export function isLearned({ from }: Newcomers, since: number | undefined): boolean {
  return since !== undefined && since + LEARNING_MS <= from;
}

/**
 * True for the status of a response to a client whose key a service accepts. Attack: a client invents keys, so that they are known later
 * or fill the list.
 */
export function takesKey(status: number): boolean {
  return status >= 200 && status !== 401 && status !== 403 && status < 500;
}

/** The refusal of a client that is new to V1; undefined for one that is served. */
export function newcomerRefusal(
  { rollout, to }: Pick<RuleBook, 'rollout' | 'to'>,
  newcomer: Newcomer | undefined,
): RetirementRefusal | undefined {
  if (newcomer?.note !== 'refused') return undefined;
  const { guide } = newcomer;
  const day = rollout?.newcomers === undefined ? '' : ` since ${dayOf(rollout.newcomers.from)}`;
  const detail = `V1 takes no new clients${day}, and this key has never used it; use V2 under ${to}.${guide === undefined ? '' : ` See ${guide}`}`;
  return {
    code: 'newcomer',
    status: 403,
    title: 'Forbidden',
    detail,
    headers: guideLink(guide),
    note: 'newcomer',
  };
}

function guideLink(guide: string | undefined): HeaderList {
  return guide === undefined ? [] : ['Link', `<${guide}>; rel="help"`];
}

/** The end of the request's operation, if the rule book sets one and it has passed for this client. */
function endedOperation(
  { ends }: Rollout,
  subject: RetiringRequest,
): { readonly sunset: number; readonly links: Signals['links'] } | undefined {
  if (ends === undefined || subject.operation === undefined) return undefined;
  const { gone, sunset, links } = ownEnd(ends.operations, subject.operation) ?? {};
  if (gone === undefined || sunset === undefined || links === undefined) return undefined;
  return subject.time >= sunset && isInScope(gone, subject) ? { sunset, links } : undefined;
}

function isOn({ from, until }: Brownout, time: number): boolean {
  return (from === undefined || time >= from) && (until === undefined || time < until);
}

function refusalIn(brownout: Brownout, rollout: Rollout, time: number, to: string): RetirementRefusal {
  const { id, status, message, until, share } = brownout;
  const end = rollout.signals?.sunset;
  const when = end === undefined ? 'V1 is being retired' : `V1 ends on ${dayOf(end)}`;
  const detail =
    message ??
    `${when}; it is switched off for a while as a reminder. Use V2 under ${to}.${hint(rollout.signals?.links)}`;
  // With a share below 100, the next request may pass.
  const retryAt = share < 100 ? time : until;
  const isTimed = status === 503 && retryAt !== undefined;
  const headers = isTimed ? ['Retry-After', String(Math.max(1, Math.ceil((retryAt - time) / 1000)))] : [];
  const title = status === 410 ? 'Gone' : 'Service unavailable';
  return { code: 'brownout', status, title, detail, headers, note: id };
}

/** Refers to the first page about the end, from the first list that has one. */
function hint(...lists: readonly (Signals['links'] | undefined)[]): string {
  const page = lists
    .flatMap((links) => links ?? [])
    .find(([relation]) => relation !== 'successor-version')?.[1];
  return page === undefined ? '' : ` See ${page}`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Header fields of one response, and the names of those that may occur only once. */
interface Announcement {
  readonly fields: HeaderList;
  readonly single: ReadonlySet<string>;
}

/** The request of a response. */
export interface AnnouncedRequest {
  /** Operation id; undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
  /** The deprecated attributes that it used. */
  readonly used: readonly DeprecatedAttribute[];
  /** The edits of the request and of its response. */
  readonly edits: readonly (readonly Pick<EditRecord, 'change'>[] | undefined)[];
  /** Its client, if it may be new to V1. */
  readonly newcomer?: Newcomer | undefined;
}

/**
 * Header fields that announce the end of V1, or of one of its operations or changes, to V1's clients. Those for V1 and its operations
 * are built once per rule book; those for changes depend on the request.
 */
export class SignalHeaders {
  private readonly signals: Signals | undefined;
  private readonly ends: Ends | undefined;
  private readonly report: HeaderList;
  private readonly whole: Announcement;
  private readonly operations: ReadonlyMap<string, Announcement>;
  private readonly hasChanges: boolean;

  /** Returns undefined if there is nothing to announce. `reportPath` is the path of the client's own report, if responses point to it. */
  static of(rollout: Rollout | undefined, reportPath?: string): SignalHeaders | undefined {
    const { signals, ends, newcomers } = rollout ?? {};
    const warns = newcomers?.answer === 'warn';
    if (signals === undefined && ends === undefined && reportPath === undefined && !warns) return undefined;
    return new SignalHeaders(signals, ends, reportPath);
  }

  private constructor(signals: Signals | undefined, ends: Ends | undefined, reportPath: string | undefined) {
    this.signals = signals;
    this.ends = ends;
    this.report = reportPath === undefined ? [] : ['Link', `<${reportPath}>; rel="help"`];
    this.whole = this.announcement([]);
    this.operations = new Map(
      Object.entries(ends?.operations ?? {}).map(([id, end]) => [id, this.announcement([end])]),
    );
    this.hasChanges = Object.keys(ends?.changes ?? {}).length > 0;
  }

  /** Whether a response for the operation, to a client that may be new to V1, can have one of the fields. */
  mayConcern(operation: string | undefined, newcomer?: NewcomerNote): boolean {
    return (
      newcomer === 'warned' ||
      this.hasChanges ||
      this.whole.fields.length > 0 ||
      (operation !== undefined && this.operations.has(operation))
    );
  }

  /** Adds the fields to a response's, in place, and removes V2's fields about its own end. */
  addTo(headers: string[], request: AnnouncedRequest): void {
    const { fields, single } = this.of(request);
    for (let at = headers.length - 2; at >= 0; at -= 2) {
      if (single.has(headers[at]?.toLowerCase() ?? '')) headers.splice(at, 2);
    }
    const { used, newcomer } = request;
    if (newcomer?.note === 'warned') headers.push(...guideLink(newcomer.guide));
    headers.push(...fields);
    if (this.signals?.attributes === true && used.length > 0) headers.push(ATTRIBUTES_FIELD, listOf(used));
  }

  private of({ operation, edits }: AnnouncedRequest): Announcement {
    const known = operation === undefined ? undefined : this.operations.get(operation);
    const { ends } = this;
    if (!this.hasChanges || ends === undefined) return known ?? this.whole;
    const changes = new Set(edits.flatMap((list) => (list ?? []).map(({ change }) => change)));
    const met = [...changes].flatMap((id) => ownEnd(ends.changes, id) ?? []);
    if (met.length === 0) return known ?? this.whole;
    const own = operation === undefined ? undefined : ownEnd(ends.operations, operation);
    return this.announcement(own === undefined ? met : [own, ...met]);
  }

  /** The earliest dates of V1 and of the ends before it; of two pages for one relation, that of the first to end. */
  private announcement(own: readonly End[]): Announcement {
    const { signals } = this;
    const all = [
      ...own.toSorted((one, other) => (one.sunset ?? Infinity) - (other.sunset ?? Infinity)),
      ...(signals === undefined ? [] : [signals]),
    ];
    const fields = [
      ...fieldsOf({
        since: earliest(all.map(({ since }) => since)),
        sunset: earliest(all.map(({ sunset }) => sunset)),
        links: new Map(all.toReversed().flatMap(({ links }) => links)),
      }),
      ...this.report,
    ];
    const single = fields.filter((field, at) => at % 2 === 0 && field !== 'Link');
    return { fields, single: new Set(single.map((name) => name.toLowerCase())) };
  }
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** `Deprecation` is a structured-field date (RFC 9745 §2.1), `Sunset` an HTTP date (RFC 8594 §3). */
function fieldsOf({
  since,
  sunset,
  links,
}: {
  readonly since: number | undefined;
  readonly sunset: number | undefined;
  readonly links: Iterable<Signals['links'][number]>;
}): HeaderList {
  const fields: string[] = [];
  if (since !== undefined) fields.push('Deprecation', `@${Math.floor(since / 1000)}`);
  if (sunset !== undefined) fields.push('Sunset', new Date(sunset).toUTCString());
  for (const [relation, target] of links) fields.push('Link', `<${target}>; rel="${relation}"`);
  return fields;
}

/** Lists names, which clients choose: all but plain characters are percent-encoded, so that a name cannot end the field. */
function listOf(used: readonly DeprecatedAttribute[]): string {
  let list = '';
  for (const { attribute } of used) {
    const name = attribute.replaceAll(/[^\w.$*:@/-]/gu, (character) => percentEncoded(character));
    if (list.length + name.length > MAX_LIST_CHARACTERS) return `${list}, ...`;
    list += list === '' ? name : `, ${name}`;
  }
  return list;
}

/** A lone surrogate, which cannot be percent-encoded, becomes the replacement character. */
function percentEncoded(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
