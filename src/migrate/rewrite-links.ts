import { useOfName } from '../http/field-use.ts';
import { type HeaderList, isNamed } from '../http/header-list.ts';
import { bareHost } from '../http/host.ts';
import { mapLinkTargets } from '../http/link-targets.ts';

/** The addresses of the origin and of the gateway. */
export interface LinkRewriting {
  /** The hosts of the origin, with their ports; without any only paths are recognised. */
  readonly upstreamHosts: readonly string[];
  /** Prefix of every target that is sent, without a trailing slash. */
  readonly upstreamPath: string;
  /** Prefix of the origin's API. */
  readonly prefix: '/api/v1' | '/api/v2';
  /**
   * The gateway as the client addressed it, such as `https://gateway.example`; undefined for a client that sent no `Host`;
   * `same-origin` if the origin is addressed by the same scheme and host.
   */
  readonly gateway: string | undefined;
  /**
   * Turns the query of a link back to V1, with its question mark; `path` is the path below the prefix, undefined for a link that
   * is only a query.
   */
  readonly restoreQuery?: ((path: string | undefined, query: string) => string) | undefined;
}

/**
 * Points `Location`, `Content-Location`, `Link` and the paths of cookies of a response to `/api/v1/` of the gateway where they point to
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
  for (let at = 0; at < headers.length; at += 2) if (useOfName(headers[at] ?? '') === 'link') return true;
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
  if (uri.startsWith('?')) return withQuery(uri, undefined, places);
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
  return `/api/v1${path}${withQuery(rest.slice(path.length), path, places)}`;
}

/** Turns a query back, up to a fragment. */
function withQuery(text: string, path: string | undefined, { restoreQuery }: LinkRewriting): string {
  if (restoreQuery === undefined || !text.startsWith('?')) return text;
  const [query = ''] = text.split('#', 1);
  return restoreQuery(path, query) + text.slice(query.length);
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
