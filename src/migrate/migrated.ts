import { type Coding, mayHideJson, readCoding, readResponseType } from '../http/content.ts';
import { fieldsOfAnotherBody, kindOfName } from '../http/fields.ts';
import {
  FieldNames,
  type HeaderList,
  headerValue,
  headerValues,
  isNamed,
  withoutFields,
} from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { bareHost } from '../http/request-head.ts';
import { mapLinkTargets } from '../http/target.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { HeaderPlan } from '../rewrite/header-plan.ts';
import type { ResponsePlan } from '../rewrite/response-plan.ts';
import { isTransformed, type Operation } from '../rules/rule-book.ts';

/** A V1 request, as far as its response depends on it. */
export interface RequestFacts {
  readonly method: string;
  /** The raw path below V1's prefix. */
  readonly rest: string;
  readonly operation: Operation | undefined;
}

/** Returns the plan for the response to a request; for a HEAD that to the GET that it stands for (RFC 9110 §9.3.2). */
export function representationPlan(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): ResponsePlan {
  if (method !== 'HEAD') return rules.responsePlan(operation, method);
  return rules.responsePlan(rules.match('GET', rest), 'GET');
}

/** True where a module transforms the response to a request, or to the GET that a HEAD stands for. */
export function transformsRepresentation(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): boolean {
  if (rules.ruleBook.modules === undefined) return false;
  return isTransformed(rules.ruleBook, method === 'HEAD' ? rules.match('GET', rest) : operation, 'response');
}

/**
 * Returns the fields of a response without content as those of the GET that it stands for, where that would be rewritten: a response to
 * HEAD (RFC 9110 §9.3.2), or a 304 (§15.4.5). They tell no length: nobody knows it before a body is rewritten.
 */
export function contentlessFields(
  request: RequestFacts,
  rules: CompiledRuleBook,
  status: number,
  headers: HeaderList,
): HeaderList {
  const { method } = request;
  const isNotModified = status === 304;
  if (method !== 'HEAD' && !(isNotModified && method === 'GET')) return headers;
  const plan = representationPlan(request, rules);
  const isMade = transformsRepresentation(request, rules);
  const isRewritten = isNotModified
    ? isMade || plan.appliesTo(200, false)
    : (isMade || plan.appliesTo(status, false)) && isJson(headers);
  return isRewritten ? fieldsOfAnotherBody(headers) : headers;
}

/**
 * Returns a link to V2 as V1 has it: the path of a moved operation, and the query by the rules of this operation, or of the one that
 * the link leads to.
 */
export function restoredLink(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
  { path, query }: ApiLink,
): ApiLink {
  const moved = path === undefined ? undefined : rules.moves?.back({ path, query });
  const linked = moved?.path ?? path ?? rest;
  const own = linked === rest ? rules.queryPlan(operation, method) : undefined;
  const plan = own ?? rules.queryPlan(moved?.operation ?? rules.match('GET', linked), 'GET');
  const left = moved?.query ?? query;
  return { path: moved?.path ?? path, query: plan?.restore(left) ?? left };
}

/** A link into the API. */
interface ApiLink {
  /** Below the prefix; undefined for a link that is only a query. */
  readonly path: string | undefined;
  /** With its question mark; empty without a query. */
  readonly query: string;
}

/** The status that a V1 client gets for one of V2. */
export function mappedStatus(status: number, operation: Operation | undefined): number {
  return operation?.status?.find(({ from }) => from === status)?.to ?? status;
}

/** The head of V2's response with the status that a V1 client gets: the same where that is V2's. */
export function mappedHead(head: ResponseHead, operation: Operation | undefined): ResponseHead {
  const status = mappedStatus(head.status, operation);
  if (status === head.status) return head;
  const { is10 } = head;
  return { status, reason: undefined, headers: framedFor(status, head), lines: undefined, is10 };
}

/** A status without content has no length, and content that V2 did not send has the length 0 (RFC 9110 §8.6). */
function framedFor(status: number, { status: received, headers }: ResponseHead): HeaderList {
  if (!hasContent(status)) return withoutFields(headers, FIELDS_OF_CONTENT);
  return hasContent(received)
    ? headers
    : [...withoutFields(headers, FIELDS_OF_CONTENT), 'Content-Length', '0'];
}

/** False for a status whose responses have no content (RFC 9110 §15.3.5, §15.3.6 and §15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

const FIELDS_OF_CONTENT = new FieldNames([
  'content-encoding',
  'content-length',
  'content-type',
  'transfer-encoding',
  'trailer',
]);

/** Returns the plan for the header fields of a request and its response; that of the GET for a HEAD without an operation of its own. */
export function headerPlanOf(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): HeaderPlan | undefined {
  const asked = method === 'HEAD' && operation === undefined ? rules.match('GET', rest) : operation;
  return rules.headerPlan(asked);
}

/** Reason why a response that a rule applies to is not rewritten, as logged. */
export type ResponseNote =
  | 'response-too-large'
  | 'response-undecodable'
  /** Plain text or no media type at all, where JSON was expected. */
  | 'response-media-type'
  | 'response-buffer-full'
  | 'response-malformed'
  /** An `inverse` applies, and the response has no `data` for it. */
  | 'response-no-resource'
  | 'response-partial';

/** How the body of a response is handled, to whose status a response rule applies. */
type ResponseDecision =
  /** It is collected, decoded and rewritten. */
  | { readonly action: 'rewrite'; readonly coding: Coding | undefined }
  /** It is forwarded unchanged; `note` says why, if it could have been rewritten otherwise. */
  | { readonly action: 'forward'; readonly note: ResponseNote | undefined };

/** Decides from its head how to handle the body of a response; at most `limit` bytes are rewritten. */
export function decideResponse(status: number, headers: HeaderList, limit: number): ResponseDecision {
  const mediaType = headerValue(headers, 'content-type');
  const type = readResponseType(mediaType);
  if (type === 'other' && !(status < 300 && hasContent(status) && mayHideJson(mediaType)))
    return forward(undefined);
  // Without a length it may be a stream of text, which nobody may hold back.
  const length = headerValue(headers, 'content-length');
  if (type === 'other' && (length === undefined || length === '0'))
    return forward(length === '0' ? undefined : 'response-media-type');
  // JSON in another charset, or of a type that readers take for JSON or not.
  if (type === 'charset' || type === 'ambiguous') return forward('response-undecodable');
  const encoding = headerValues(headers, 'content-encoding');
  const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
  if (coding === 'unsupported') return forward('response-undecodable');
  const range = headerValue(headers, 'content-range');
  if (range === undefined ? status === 206 : /^bytes[ \t=]/i.test(range)) return forward('response-partial');
  if (Number(length) > limit) return forward('response-too-large');
  return { action: 'rewrite', coding };
}

/** True for a response that is read as JSON. */
function isJson(headers: HeaderList): boolean {
  const type = headerValue(headers, 'content-type');
  return (
    readResponseType(type) === 'json' ||
    (mayHideJson(type) && Number(headerValue(headers, 'content-length')) > 0)
  );
}

/** The note for a response that could not be decoded. */
export const NOTE_OF_UNDECODED = {
  'too-large': 'response-too-large',
  undecodable: 'response-undecodable',
  'buffer-full': 'response-buffer-full',
} as const;

function forward(note: ResponseNote | undefined): ResponseDecision {
  return { action: 'forward', note };
}

/** The addresses of the origin and of the gateway. */
export interface LinkRewriting {
  /** The hosts of the origin, with their ports; without any only paths are recognised. */
  readonly upstreamHosts: readonly string[];
  /** Prefix of every target that is sent, without a trailing slash. */
  readonly upstreamPath: string;
  /** Prefix of the origin's API. */
  readonly prefix: string;
  /** Prefix of the API that the client uses: V1's. */
  readonly clientPrefix: string;
  /**
   * The gateway as the client addressed it, such as `https://gateway.example`; undefined for a client that sent no `Host`;
   * `same-origin` if the origin is addressed by the same scheme and host.
   */
  readonly gateway: string | undefined;
  /** Turns a link back to V1. */
  readonly restore?: (link: ApiLink) => ApiLink;
  /**
   * What relative links are relative to: the target at the origin, with its own path, and the one that the client knows. Absent where
   * both have the same path below their prefixes, so that such links lead to the right place as they are.
   */
  readonly base?: { readonly v1: string; readonly v2: string } | undefined;
}

/**
 * Points `Location`, `Content-Location`, `Link` and the paths of cookies of a response to V1's prefix at the gateway where they point to
 * the API of the origin, in place. Query rules are undone, and every other character stays.
 */
export function rewriteLinks(headers: string[], places: LinkRewriting): void {
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at];
    const value = headers[at + 1] ?? '';
    if (isAddress(name)) headers[at + 1] = rewrittenLink(value, places);
    if (isNamed(name, 'link'))
      headers[at + 1] = mapLinkTargets(value, (target) => rewrittenLink(target, places));
    if (isNamed(name, 'set-cookie')) headers[at + 1] = rewrittenCookie(value, places);
  }
}

/** True when a response has any of these fields. */
export function hasLinks(headers: HeaderList): boolean {
  for (let at = 0; at < headers.length; at += 2) if (kindOfName(headers[at] ?? '') === 'link') return true;
  return false;
}

function isAddress(name: string | undefined): boolean {
  return isNamed(name, 'location') || isNamed(name, 'content-location');
}

/** A V1 client would never send a cookie back whose path is V2's (RFC 6265 §5.1.4). */
function rewrittenCookie(cookie: string, places: LinkRewriting): string {
  return cookie.replaceAll(
    /(;\s*path\s*=\s*)([^;\s]*)/gi,
    (_, start: string, path: string) => start + (rewrittenPath(path, places) ?? path),
  );
}

/** Returns the address for the client; unchanged when it points anywhere else than to the origin's API. */
export function rewrittenLink(uri: string, places: LinkRewriting): string {
  if (places.base !== undefined && isRelative(uri)) return rewrittenRelative(uri, places.base, places);
  if (uri.startsWith('?')) return restored('', undefined, uri, places);
  const absolute = /^(?:(https?):)?\/\/([^/?#]*)/i.exec(uri);
  if (absolute === null) return rewrittenPath(uri, places) ?? uri;
  const [start, scheme, host = ''] = absolute;
  const path = uri.slice(start.length);
  if (!isOwnHost(host, places)) return uri;
  const rewritten = rewrittenPath(path, places);
  if (rewritten === undefined) return uri;
  if (places.gateway === undefined) return rewritten;
  if (places.gateway === SAME_ORIGIN) return start + rewritten;
  // `//host/path` has no scheme, and the rewritten address has none either.
  return (scheme === undefined ? places.gateway.replace(/^https?:/, '') : places.gateway) + rewritten;
}

const SAME_ORIGIN = 'same-origin';

function rewrittenPath(target: string, places: LinkRewriting): string | undefined {
  // A service behind a proxy that takes the path away does not know it.
  const prefixes = [places.upstreamPath + places.prefix, places.prefix];
  const prefix = prefixes.find((start) => target.startsWith(start));
  if (prefix === undefined) return undefined;
  const rest = target.slice(prefix.length);
  if (!(rest === '' || /^[/?#]/.test(rest))) return undefined;
  const path = /^[^?#]*/.exec(rest)?.[0] ?? '';
  return restored(places.clientPrefix, path, rest.slice(path.length), places);
}

/** Turns a path and a query back, up to a fragment. */
function restored(
  prefix: string,
  path: string | undefined,
  text: string,
  { restore }: LinkRewriting,
): string {
  if (restore === undefined) return `${prefix}${path ?? ''}${text}`;
  const query = text.startsWith('?') ? (text.split('#', 1)[0] ?? '') : '';
  const link = restore({ path, query });
  return `${prefix}${link.path ?? ''}${link.query}${text.slice(query.length)}`;
}

/** True for a reference that has a meaning only relative to another: neither absolute nor a path from the root (RFC 3986 §4.2). */
function isRelative(uri: string): boolean {
  return uri !== '' && !/^(?:\/|#|[a-z][a-z\d+.-]*:)/i.test(uri);
}

/** A relative reference stays where the client finds the right place with it, and becomes a path from the root where not. */
function rewrittenRelative(
  uri: string,
  { v1, v2 }: { readonly v1: string; readonly v2: string },
  places: LinkRewriting,
): string {
  const meant = resolved(uri, v2);
  const sent = rewrittenPath(meant, places) ?? meant;
  return resolved(uri, v1) === sent ? uri : sent;
}

/** Resolves a relative reference against a target in origin form, every character as it came (RFC 3986 §5.2). */
function resolved(uri: string, base: string): string {
  const [from = ''] = base.split('?', 1);
  if (uri.startsWith('?')) return from + uri;
  const end = uri.search(/[?#]/);
  const path = end === -1 ? uri : uri.slice(0, end);
  const segments = from.slice(0, from.lastIndexOf('/')).split('/');
  const added = path.split('/');
  for (const [at, segment] of added.entries()) {
    const isLast = at === added.length - 1;
    if (segment === '..' && segments.length > 1) segments.pop();
    if (segment !== '.' && segment !== '..') segments.push(segment);
    else if (isLast) segments.push('');
  }
  return segments.join('/') + uri.slice(path.length);
}

/**
 * True for a host of the origin, and for the one by which the client addressed the gateway: an origin that is told that builds its
 * addresses from it. Some services write `http` in their addresses behind a TLS terminator: the scheme is not compared.
 */
function isOwnHost(host: string, { upstreamHosts, gateway }: LinkRewriting): boolean {
  const bare = bareHost(host);
  const addressed =
    gateway === undefined || gateway === SAME_ORIGIN ? [] : [gateway.replace(/^https?:\/\//, '')];
  return [...upstreamHosts, ...addressed].some((own) => bareHost(own) === bare);
}
