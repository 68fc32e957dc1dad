import { type HeaderList, headerValues } from './header-list.ts';
import { isHost } from './request-head.ts';

/** The address that a client used, as far as its connection tells. */
interface DirectAddress {
  readonly host: string | undefined;
  readonly secure: boolean;
}

/**
 * The address by which the client reached the first proxy, without a path. `headers` contain `X-Forwarded-*` and `Forwarded` only if the
 * peer is a trusted proxy; in their lists, the entry of the trusted proxy nearest to the client counts. Invalid values are ignored, and
 * `X-Forwarded-*` takes precedence over `Forwarded`. Undefined without a valid host.
 */
export function clientFacingAddress(
  headers: HeaderList,
  direct: DirectAddress,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const forwarded = readForwarded(headers, isTrusted);
  const xHost = nearest(headers, 'x-forwarded-host', isTrusted);
  const named = [xHost, forwarded.get('host')].find((host) => host !== undefined && isHost(host));
  const host = named ?? direct.host;
  if (host === undefined || !isHost(host)) return undefined;
  const scheme =
    readScheme(nearest(headers, 'x-forwarded-proto', isTrusted)) ??
    readScheme(forwarded.get('proto')) ??
    (direct.secure ? 'https' : 'http');
  const portStart = host.indexOf(':', host.indexOf(']') + 1);
  const bare = portStart === -1 ? host : host.slice(0, portStart);
  const ownPort = portStart === -1 ? undefined : readPort(host.slice(portStart + 1));
  const xPort = readPort(nearest(headers, 'x-forwarded-port', isTrusted));
  // The port of a forwarded host is the client's; the port of `Host` may belong to a hop in between.
  const port = named === undefined ? (xPort ?? ownPort) : (ownPort ?? xPort);
  const isDefault = port === undefined || port === (scheme === 'https' ? '443' : '80');
  return `${scheme}://${bare}${isDefault ? '' : `:${port}`}`;
}

/**
 * The client's address as seen by its nearest trusted proxy, from these headers; undefined if they do not contain it. For `headers`, see
 * `clientFacingAddress`.
 */
export function forwardedClient(
  headers: HeaderList,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const addresses = listOf(headers, 'x-forwarded-for');
  const forwarded =
    addresses[clientIndex(addresses, isTrusted)] ?? readForwarded(headers, isTrusted).get('for');
  return forwarded === undefined || forwarded === '' ? undefined : bareAddress(forwarded);
}

function readScheme(text: string | undefined): 'http' | 'https' | undefined {
  const scheme = text?.toLowerCase();
  return scheme === 'http' || scheme === 'https' ? scheme : undefined;
}

function readPort(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port > 0 && port < 65_536 ? String(port) : undefined;
}

/**
 * The entry of a list for the client's own connection: the one at the client's position in `X-Forwarded-For` if both lists have the same
 * length, otherwise the first.
 */
function nearest(
  headers: HeaderList,
  name: string,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const values = listOf(headers, name);
  if (values.length < 2) return values[0];
  const addresses = listOf(headers, 'x-forwarded-for');
  return values[addresses.length === values.length ? clientIndex(addresses, isTrusted) : 0];
}

function listOf(headers: HeaderList, name: string): readonly string[] {
  return headerValues(headers, name).flatMap((line) => line.split(',').map((value) => value.trim()));
}

/** The position of the last address that is not a trusted proxy: the client may have invented the entries before it. */
function clientIndex(
  addresses: readonly (string | undefined)[],
  isTrusted: (address: string) => boolean,
): number {
  return Math.max(
    0,
    addresses.findLastIndex((address) => address !== undefined && !isTrusted(bareAddress(address))),
  );
}

/** An address without brackets and port: `[2001:db8::1]:80`, `192.0.2.7:80`. */
function bareAddress(node: string): string {
  if (node.startsWith('[')) return node.slice(1, node.indexOf(']'));
  const colon = node.indexOf(':');
  return colon !== -1 && colon === node.lastIndexOf(':') ? node.slice(0, colon) : node;
}

/** The parameters of the element of `Forwarded` (RFC 7239 §4) about the client's own connection; none if the field is malformed. */
function readForwarded(
  headers: HeaderList,
  isTrusted: (address: string) => boolean,
): ReadonlyMap<string, string> {
  const text = headerValues(headers, 'forwarded').join(',');
  const elements: Map<string, string>[] = [new Map()];
  let at = 0;
  for (const match of text.matchAll(PAIR)) {
    const [whole, name = '', token, quoted, end] = match;
    at += whole.length;
    if (name !== '')
      elements.at(-1)?.set(name.toLowerCase(), token ?? (quoted ?? '').replaceAll(/\\(.)/g, '$1'));
    if (end === ',') elements.push(new Map());
    if (end === '') break;
  }
  if (at < text.length) return NOTHING;
  return (
    elements[
      clientIndex(
        elements.map((element) => element.get('for')),
        isTrusted,
      )
    ] ?? NOTHING
  );
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/**
 * A pair, or nothing, with the separator after it. Unquoted values may contain colons and brackets, as many proxies write them, although
 * the RFC requires quotes.
 */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:([^\s",;]+)|"((?:[^"\\]|\\.)*)")[ \t]*)?([,;]|$)/gy;
