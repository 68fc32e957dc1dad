import type { FieldNames } from '../http/header-list.ts';
import { bareHost } from '../http/request-head.ts';
import { type ApiPrefix, type Prefixes, valuesInQuery, withValueInQuery } from '../http/target.ts';
import type { Operation } from '../rules/rule-book.ts';
import type { Moves } from './moves.ts';
import type { QueryPlan } from './query-plan.ts';

/** The parts of a V1 request that its response depends on. */
export interface RequestFacts {
  readonly method: string;
  /** The raw path below V1's prefix. */
  readonly rest: string;
  readonly operation: Operation | undefined;
  /**
   * The release that it names in its query or a media type; empty if it asks for JSON without a release; absent if it names no media
   * type.
   */
  readonly release?: string;
}

/** The parts of a rule book that links depend on. */
interface LinkRules {
  readonly moves: Moves | undefined;
  readonly releaseParameter: string | undefined;
  match(method: string, path: string): Operation | undefined;
  queryPlan(operation: Operation | undefined, method: string): QueryPlan | undefined;
}

/**
 * Returns V1's form of a link to V2: its path if the operation moved, and its query by the rules of the operation that the link leads to,
 * or of this one.
 */
export function restoredLink(
  { method, rest, operation, release }: RequestFacts,
  rules: LinkRules,
  { path, query }: ApiLink,
): ApiLink {
  const moved = rules.moves?.back({ path, query });
  const linked = moved?.path ?? path;
  const own = linked === rest ? rules.queryPlan(operation, method) : undefined;
  const plan = own ?? rules.queryPlan(moved?.operation ?? rules.match('GET', linked), 'GET');
  const left = moved?.query ?? query;
  const turned = plan?.restore(left) ?? left;
  const parameter = rules.releaseParameter;
  const names = parameter !== undefined && valuesInQuery(turned, parameter).length > 0;
  return {
    path: linked,
    query: names ? withValueInQuery(turned, parameter, release) : turned,
  };
}

interface ApiLink {
  /** Below the prefix. */
  readonly path: string;
  /** With its question mark; empty without a query. */
  readonly query: string;
}

/** The addresses of the origin and of the gateway. */
export interface LinkRewriting {
  /** The hosts of the origin, with their ports; if empty, only paths are recognised. */
  readonly upstreamHosts: readonly string[];
  /** Prefix of every target that is sent, without a trailing slash. */
  readonly upstreamPath: string;
  /** Prefix of the origin's API. */
  readonly prefix: string;
  /** The prefix of V1 by which the client's request came. */
  readonly clientPrefix: string;
  /** Prefixes of V1: a path under one of them is V1's already, even if it is also under `prefix`. */
  readonly ownPrefixes?: readonly string[] | undefined;
  /**
   * The gateway as the client addressed it, such as `https://gateway.example`; undefined for a client that sent no `Host`;
   * `same-origin` if the origin is addressed by the same scheme and host.
   */
  readonly gateway: string | undefined;
  /** The service's own fields with an address. */
  readonly fields?: FieldNames | undefined;
  /** Converts a link of V2 to V1's. */
  readonly restore?: (link: ApiLink) => ApiLink;
  /**
   * The base of relative links: the target at the origin, with V2's path, and V1's target. Absent if V1 responds, because its links
   * then need no change.
   */
  readonly base?: { readonly v1: string; readonly v2: string } | undefined;
}

/** The prefixes for converting links of a version in response to a request under a prefix of V1. */
export function linkPrefixes(
  prefixes: Prefixes,
  clientPrefix: string,
  version: ApiPrefix,
): Pick<LinkRewriting, 'prefix' | 'clientPrefix' | 'ownPrefixes'> {
  if (version === 'v1')
    return { prefix: clientPrefix, clientPrefix, ownPrefixes: prefixes.othersOfV1(clientPrefix) };
  // Below V2's prefix, V1's own addresses would count as V2's.
  return { prefix: prefixes.v2, clientPrefix, ownPrefixes: prefixes.othersOfV1(prefixes.v2, prefixes.v2) };
}

/** Returns the address for the client; unchanged unless it leads to the origin's API. */
export function rewrittenLink(uri: string, places: LinkRewriting): string {
  if (places.base !== undefined && isRelative(uri)) return rewrittenRelative(uri, places.base, places);
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

/** Returns the path for the client of a path into the origin's API; undefined for any other. */
export function rewrittenPath(target: string, places: LinkRewriting): string | undefined {
  // A service behind a proxy that strips the path does not know it.
  const starts = places.upstreamPath === '' ? [''] : [places.upstreamPath, ''];
  for (const start of starts) {
    const own = places.ownPrefixes?.find((prefix) => restBelow(target, start + prefix) !== undefined);
    if (own !== undefined) return target.slice(start.length);
    const rest = restBelow(target, start + places.prefix);
    if (rest === undefined) continue;
    const path = /^[^?#]*/.exec(rest)?.[0] ?? '';
    return restored(places.clientPrefix, path, rest.slice(path.length), places);
  }
  return undefined;
}

/** Returns what follows a prefix of a target: a path, a query, a fragment or nothing; undefined if the target is not under the prefix. */
function restBelow(target: string, prefix: string): string | undefined {
  if (!target.startsWith(prefix)) return undefined;
  const rest = target.slice(prefix.length);
  return rest === '' || /^[/?#]/.test(rest) ? rest : undefined;
}

/** Converts a path and a query to V1's, up to a fragment. */
function restored(prefix: string, path: string, text: string, { restore }: LinkRewriting): string {
  if (restore === undefined) return `${placed(prefix, path)}${text}`;
  const query = text.startsWith('?') ? (text.split('#', 1)[0] ?? '') : '';
  const link = restore({ path, query });
  return `${placed(prefix, link.path)}${link.query}${text.slice(query.length)}`;
}

/** A path with its prefix: a slash for the root, because an empty reference means the current address. */
function placed(prefix: string, path: string): string {
  return prefix + path || '/';
}

/** True for a reference that is relative to another: neither absolute nor a path from the root (RFC 3986 §4.2). */
function isRelative(uri: string): boolean {
  return uri !== '' && !/^(?:\/|#|[a-z][a-z\d+.-]*:)/i.test(uri);
}

/** Leaves a relative reference that leads the client to the right place, and makes any other a path from the root. */
function rewrittenRelative(
  uri: string,
  { v1, v2 }: { readonly v1: string; readonly v2: string },
  places: LinkRewriting,
): string {
  const meant = resolved(uri, v2);
  const sent = rewrittenPath(meant, places) ?? meant;
  if (resolved(uri, v1) === sent) return uri;
  const [path = ''] = v1.split('?', 1);
  return uri.startsWith('?') && sent.startsWith(`${path}?`) ? sent.slice(path.length) : sent;
}

/** Resolves a relative reference against a target in origin form, without normalising any character (RFC 3986 §5.2). */
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
 * True for a host of the origin, and for the host by which the client addressed the gateway, which the origin may use in its links. The
 * scheme is not compared: behind a TLS terminator, some services write `http`.
 */
function isOwnHost(host: string, { upstreamHosts, gateway }: LinkRewriting): boolean {
  const bare = bareHost(host);
  const addressed =
    gateway === undefined || gateway === SAME_ORIGIN ? [] : [gateway.replace(/^https?:\/\//, '')];
  return [...upstreamHosts, ...addressed].some((own) => bareHost(own) === bare);
}

/** The data for rewriting the links in a response body: plain data that can be sent to another thread. */
export interface BodyLinks {
  readonly request: RequestFacts;
  readonly places: LinkRewriting;
}

/**
 * Returns a function that converts each string of a body that is, as a whole, an address in the origin's API: absolute with one of its
 * hosts, or a path that begins with its prefix. Relative references stay, because any text could look like one.
 */
export function linkTurner({ request, places }: BodyLinks, rules: LinkRules): (text: string) => string {
  const within: LinkRewriting = {
    ...places,
    base: undefined,
    restore: (link) => restoredLink(request, rules, link),
  };
  return (text) => (isAddress(text) && mayLead(text, places, rules) ? rewrittenLink(text, within) : text);
}

/** If V2's prefix is the root, any text that begins with a slash could be a link, so only paths of the rule book count. */
function mayLead(text: string, { prefix }: LinkRewriting, rules: LinkRules): boolean {
  if (prefix !== '' || !/^\/(?!\/)/.test(text)) return true;
  const [path = ''] = text.split(/[?#]/, 1);
  const query = /\?[^#]*/.exec(text)?.[0] ?? '';
  return rules.match('GET', path) !== undefined || rules.moves?.back({ path, query }) !== undefined;
}

/** True for a text that is an absolute address or a path from the root, and nothing more. */
function isAddress(text: string): boolean {
  return /^(?:https?:)?\/[!-~]*$/i.test(text);
}
