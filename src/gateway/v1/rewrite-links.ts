import { type HeaderList, isNamed } from '../../http/header-list.ts';
import { mapLinkTargets } from '../../http/link-targets.ts';

/** Where V2 is and how the client addressed the gateway. */
export interface LinkRewriting {
  /** Host of V2, with a port that is not the scheme's own; undefined when it is not known. */
  readonly upstreamHost: string | undefined;
  /** What stands before every target that is sent, without a trailing slash. */
  readonly upstreamPath: string;
  /** The prefix that the origin responds under. */
  readonly prefix: '/api/v1' | '/api/v2';
  /** Such as `https://gateway.example`; undefined for a client that sent no `Host`. */
  readonly gateway: string | undefined;
}

/**
 * Has `Location`, `Content-Location` and `Link` of a response lead a V1 client back to V1, in place: `/api/v2/` of the
 * upstream becomes `/api/v1/` of the gateway, and every other character stays (rewriting contract §4).
 */
export function rewriteLinks(headers: string[], places: LinkRewriting): void {
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at];
    const value = headers[at + 1] ?? '';
    if (isAddress(name)) headers[at + 1] = rewrittenLink(value, places);
    if (isNamed(name, 'link'))
      headers[at + 1] = mapLinkTargets(value, (target) => rewrittenLink(target, places));
  }
}

/** True when a response leads anywhere at all. */
export function hasLinks(headers: HeaderList): boolean {
  for (let at = 0; at < headers.length; at += 2) {
    if (isAddress(headers[at]) || isNamed(headers[at], 'link')) return true;
  }
  return false;
}

function isAddress(name: string | undefined): boolean {
  return isNamed(name, 'location') || isNamed(name, 'content-location');
}

/** The address for the client; the very text when it leads anywhere else than below `/api/v2` of the upstream. */
export function rewrittenLink(uri: string, places: LinkRewriting): string {
  const absolute = /^(?:(https?):)?\/\/([^/?#]*)(.*)$/is.exec(uri);
  if (absolute === null) return rewrittenPath(uri, places) ?? uri;
  const [, scheme, host = '', path = ''] = absolute;
  if (places.upstreamHost === undefined || !isHost(host, scheme, places.upstreamHost)) return uri;
  const turned = rewrittenPath(path, places);
  if (turned === undefined) return uri;
  if (places.gateway === undefined) return turned;
  // `//host/path` leaves the scheme to the reader, and goes on doing so.
  return (scheme === undefined ? places.gateway.replace(/^https?:/, '') : places.gateway) + turned;
}

function rewrittenPath(path: string, places: LinkRewriting): string | undefined {
  const prefix = places.upstreamPath + places.prefix;
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  return rest === '' || /^[/?#]/.test(rest) ? `/api/v1${rest}` : undefined;
}

/** Some services write `http` in their addresses behind a TLS terminator: the scheme is not compared. */
function isHost(host: string, scheme: string | undefined, upstream: string): boolean {
  const lower = host.toLowerCase();
  if (lower === upstream) return true;
  return lower === `${upstream}:${scheme?.toLowerCase() === 'http' ? 80 : 443}`;
}
