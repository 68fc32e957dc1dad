import type { HeaderList } from '../http/header-list.ts';
import type { DeprecatedAttribute } from '../rewrite/records.ts';
import type { Brownout, Rollout, Signals } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { isInScope, type RolloutSubject } from './modes.ts';

/** Refusal of a V1 request because V1 is being retired. */
export interface RetirementRefusal {
  readonly code: 'brownout' | 'sunset';
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

/** What the refusal of a V1 request depends on; `time` is in milliseconds since 1970. */
export interface RetiringRequest extends RolloutSubject {
  /** Undefined where an old log has none. */
  readonly method: string | undefined;
  readonly time: number;
}

/**
 * True for a request that nobody made: a browser asks with it whether it may send another one (Fetch §3.3.7). The log has no fields, so
 * that every OPTIONS counts as one.
 */
export function isPreflight({ method }: { readonly method?: string | undefined }): boolean {
  return method === 'OPTIONS';
}

/**
 * Returns the refusal if the sunset or a brownout applies to a request; `random` is a number from 0 up to 1. A preflight is let
 * through: without its response a browser hides the refusal from the page that must read it.
 */
export function retirementRefusal(
  rollout: Rollout,
  { to }: Pick<RuleBook, 'to'>,
  subject: RetiringRequest,
  random: number,
): RetirementRefusal | undefined {
  if (isPreflight(subject)) return undefined;
  const { time } = subject;
  const { gone, signals, brownouts } = rollout;
  if (
    gone !== undefined &&
    signals?.sunset !== undefined &&
    time >= signals.sunset &&
    isInScope(gone, subject)
  ) {
    const detail = `V1 ended on ${dayOf(signals.sunset)}; use V2 under ${to}.${hint(rollout)}`;
    return { code: 'sunset', status: 410, title: 'Gone', detail, headers: [], note: 'sunset' };
  }
  for (const brownout of brownouts) {
    if (!isOn(brownout, time) || !isInScope(brownout, subject) || random * 100 >= brownout.share) continue;
    return brownoutRefusal(brownout, rollout, time, to);
  }
  return undefined;
}

function isOn({ from, until }: Brownout, time: number): boolean {
  return (from === undefined || time >= from) && (until === undefined || time < until);
}

function brownoutRefusal(brownout: Brownout, rollout: Rollout, time: number, to: string): RetirementRefusal {
  const { id, status, message, until, share } = brownout;
  const end = rollout.signals?.sunset;
  const when = end === undefined ? 'V1 is being retired' : `V1 ends on ${dayOf(end)}`;
  const detail =
    message ?? `${when}, and is switched off for a while as a reminder; use V2 under ${to}.${hint(rollout)}`;
  // Of a share, the next request may pass.
  const retryAt = share < 100 ? time : until;
  const isTimed = status === 503 && retryAt !== undefined;
  const headers = isTimed ? ['Retry-After', String(Math.max(1, Math.ceil((retryAt - time) / 1000)))] : [];
  const title = status === 410 ? 'Gone' : 'Service unavailable';
  return { code: 'brownout', status, title, detail, headers, note: id };
}

function hint({ signals }: Rollout): string {
  const page = signals?.links.find(([relation]) => relation !== 'successor-version')?.[1];
  return page === undefined ? '' : ` See ${page}`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Header fields that announce the end of V1 to its clients, built once per rule book. */
export class SignalHeaders {
  private readonly fields: HeaderList;
  private readonly singleFields: ReadonlySet<string>;
  private readonly listsAttributes: boolean;

  /** `reportPath` is the path of the client's own report, if responses point to it. */
  constructor(signals: Signals | undefined, reportPath?: string) {
    const report = reportPath === undefined ? [] : ['Link', `<${reportPath}>; rel="help"`];
    this.fields = [...(signals === undefined ? [] : fieldsOf(signals)), ...report];
    const single = this.fields.filter((field, at) => at % 2 === 0 && field !== 'Link');
    this.singleFields = new Set(single.map((name) => name.toLowerCase()));
    this.listsAttributes = signals?.attributes === true;
  }

  /** Adds the fields to a response's, in place. Fields of V2 about its own end are not about V1 and are removed. */
  addTo(headers: string[], used: readonly DeprecatedAttribute[]): void {
    for (let at = headers.length - 2; at >= 0; at -= 2) {
      if (this.singleFields.has(headers[at]?.toLowerCase() ?? '')) headers.splice(at, 2);
    }
    headers.push(...this.fields);
    if (this.listsAttributes && used.length > 0) headers.push(ATTRIBUTES_FIELD, listOf(used));
  }
}

/** `Deprecation` is a structured-field date (RFC 9745 §2.1), `Sunset` an HTTP date (RFC 8594 §3). */
function fieldsOf({ since, sunset, links }: Signals): HeaderList {
  const fields: string[] = [];
  if (since !== undefined) fields.push('Deprecation', `@${Math.floor(since / 1000)}`);
  if (sunset !== undefined) fields.push('Sunset', new Date(sunset).toUTCString());
  for (const [relation, target] of links) fields.push('Link', `<${target}>; rel="${relation}"`);
  return fields;
}

/** Names are the client's own text: other than plain characters are percent-encoded, so that none can end the field. */
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
