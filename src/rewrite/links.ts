import type { FieldNames } from '../http/header-list.ts';
import { bareHost } from '../http/request-head.ts';
import { type ApiPrefix, type Prefixes, valuesInQuery, withValueInQuery } from '../http/target.ts';
import type { Operation } from '../rules/rule-book.ts';
import type { Moves } from './moves.ts';
import type { QueryPlan } from './query-plan.ts';

/** A V1 request, as far as its response depends on it. */
export interface RequestFacts {
  readonly method: string;
  /** The raw path below V1's prefix. */
  readonly rest: string;
  readonly operation: Operation | undefined;
  /** The release that it names in its query or a media type; empty for JSON of none, by name. Absent where it names none. */
  readonly release?: string;
}

/** A rule book, as far as links depend on it. */
interface LinkRules {
  readonly moves: Moves | undefined;
  readonly releaseParameter: string | undefined;
  match(method: string, path: string): Operation | undefined;
  queryPlan(operation: Operation | undefined, method: string): QueryPlan | undefined;
}

/**
 * Returns V1's form of a link to V2: the path of a moved operation, and the query by the rules of this operation, or of the one
 * that the link leads to.
 */
export function restoredLink(
  { method, rest, operation, release }: RequestFacts,
  rules: LinkRules,
  { path, query }: ApiLink,
): ApiLink {
  const moved = path === undefined ? undefined : rules.moves?.back({ path, query });
  const linked = moved?.path ?? path ?? rest;
  const own = linked === rest ? rules.queryPlan(operation, method) : undefined;
  const plan = own ?? rules.queryPlan(moved?.operation ?? rules.match('GET', linked), 'GET');
  const left = moved?.query ?? query;
  const turned = plan?.restore(left) ?? left;
  const parameter = rules.releaseParameter;
  const names = parameter !== undefined && valuesInQuery(turned, parameter).length > 0;
  return {
    path: moved?.path ?? path,
    query: names ? withValueInQuery(turned, parameter, release) : turned,
  };
}

/** A link into the API. */
interface ApiLink {
  /** Below the prefix; undefined for a link that is only a query. */
  readonly path: string | undefined;
  /** With its question mark; empty without a query. */
  readonly query: string;
}

/** The addresses of the origin and of the gateway. */
export interface LinkRewriting {
  /** The hosts of the origin, with their ports; without any only paths are recognised. */
  readonly upstreamHosts: readonly string[];
  /** Prefix of every target that is sent, without a trailing slash. */
  readonly upstreamPath: string;
  /** Prefix of the origin's API. */
  readonly prefix: string;
  /** Prefix of the API that the client uses: that of V1 by which its request came. */
  readonly clientPrefix: string;
  /** Prefixes of V1 under which a path is the client's already, though it is under `prefix` or beside it; absent for none. */
  readonly ownPrefixes?: readonly string[] | undefined;
  /**
   * The gateway as the client addressed it, such as `https://gateway.example`; undefined for a client that sent no `Host`;
   * `same-origin` if the origin is addressed by the same scheme and host.
   */
  readonly gateway: string | undefined;
  /** The service's own fields with an address. */
  readonly fields?: FieldNames | undefined;
  /** Turns a link back to V1. */
  readonly restore?: (link: ApiLink) => ApiLink;
  /**
   * What relative links are relative to: the target at the origin, with its own path, and the one that the client knows. Absent where
   * both have the same path below their prefixes, so that such links lead to the right place as they are.
   */
  readonly base?: { readonly v1: string; readonly v2: string } | undefined;
}

/** Where links of a version lead for a request under a prefix of V1: back under that prefix. */
export function linkPrefixes(
  prefixes: Prefixes,
  clientPrefix: string,
  version: ApiPrefix,
): Pick<LinkRewriting, 'prefix' | 'clientPrefix' | 'ownPrefixes'> {
  if (version === 'v1')
    return { prefix: clientPrefix, clientPrefix, ownPrefixes: prefixes.othersOfV1(clientPrefix) };
  // At the root, V1's own addresses would be V2's.
  const ownPrefixes = prefixes.v2 === '' ? prefixes.othersOfV1('') : undefined;
  return { prefix: prefixes.v2, clientPrefix, ownPrefixes };
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

/** Returns the path for the client of a path into the origin's API; undefined for any other. */
export function rewrittenPath(target: string, places: LinkRewriting): string | undefined {
  // A service behind a proxy that takes the path away does not know it.
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

/** What follows a prefix of a target: a path, a query, a fragment or nothing; undefined where anything else does. */
function restBelow(target: string, prefix: string): string | undefined {
  if (!target.startsWith(prefix)) return undefined;
  const rest = target.slice(prefix.length);
  return rest === '' || /^[/?#]/.test(rest) ? rest : undefined;
}

/** Turns a path and a query back, up to a fragment. */
function restored(
  prefix: string,
  path: string | undefined,
  text: string,
  { restore }: LinkRewriting,
): string {
  if (restore === undefined) return `${placed(prefix, path)}${text}`;
  const query = text.startsWith('?') ? (text.split('#', 1)[0] ?? '') : '';
  const link = restore({ path, query });
  return `${placed(prefix, link.path)}${link.query}${text.slice(query.length)}`;
}

/** A path with its prefix: a slash at the root, because nothing at all would be the place where the link is. */
function placed(prefix: string, path: string | undefined): string {
  return path === undefined ? prefix : prefix + path || '/';
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
 * True for a host of the origin, and for the one by which the client addressed the gateway, from which an origin that knows it builds its
 * links. Some services write `http` in their addresses behind a TLS terminator: the scheme is not compared.
 */
function isOwnHost(host: string, { upstreamHosts, gateway }: LinkRewriting): boolean {
  const bare = bareHost(host);
  const addressed =
    gateway === undefined || gateway === SAME_ORIGIN ? [] : [gateway.replace(/^https?:\/\//, '')];
  return [...upstreamHosts, ...addressed].some((own) => bareHost(own) === bare);
}

/** What turns the links in the body of a response back: plain data, which another thread can have. */
export interface BodyLinks {
  readonly request: RequestFacts;
  readonly places: LinkRewriting;
}

/**
 * Returns what turns back each string of a body that is, as a whole, an address in the origin's API: absolute with one of its hosts, or
 * a path that begins with its prefix. Relative references stay, because any other member of a body may look like one.
 */
export function linkTurner({ request, places }: BodyLinks, rules: LinkRules): (text: string) => string {
  const within: LinkRewriting = {
    ...places,
    base: undefined,
    restore: (link) => restoredLink(request, rules, link),
  };
  return (text) => (isAddress(text) && mayLead(text, places, rules) ? rewrittenLink(text, within) : text);
}

/** Where V2 has the root, any text that begins with a slash would be a link: only one to a path of the rule book is. */
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
