import { type HeaderList, headerValues } from './header-list.ts';
import { isHost } from './request-head.ts';

/** What the connection itself says of the address that a client used. */
interface DirectAddress {
  readonly host: string | undefined;
  readonly secure: boolean;
}

/**
 * The address by which the client reached the first proxy, without a path. `headers` have `X-Forwarded-*` and `Forwarded` only where the
 * peer is a trusted proxy; of their lists counts what the trusted proxy nearest to the client wrote. A value that cannot be read is
 * ignored, and `X-Forwarded-*` goes before `Forwarded`. Undefined without a valid host.
 */
export function clientFacingAddress(
  headers: HeaderList,
  direct: DirectAddress,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const told = readForwarded(headers, isTrusted);
  const xHost = nearest(headers, 'x-forwarded-host', isTrusted);
  const named = [xHost, told.get('host')].find((host) => host !== undefined && isHost(host));
  const host = named ?? direct.host;
  if (host === undefined || !isHost(host)) return undefined;
  const scheme =
    readScheme(nearest(headers, 'x-forwarded-proto', isTrusted)) ??
    readScheme(told.get('proto')) ??
    (direct.secure ? 'https' : 'http');
  const portStart = host.indexOf(':', host.indexOf(']') + 1);
  const bare = portStart === -1 ? host : host.slice(0, portStart);
  const ownPort = portStart === -1 ? undefined : readPort(host.slice(portStart + 1));
  const xPort = readPort(nearest(headers, 'x-forwarded-port', isTrusted));
  // A forwarded host that has a port is the client's; the port of `Host` may be that of a hop in between.
  const port = named === undefined ? (xPort ?? ownPort) : (ownPort ?? xPort);
  const isDefault = port === undefined || port === (scheme === 'https' ? '443' : '80');
  return `${scheme}://${bare}${isDefault ? '' : `:${port}`}`;
}

/**
 * The address of the client that the trusted proxy nearest to it saw, as these headers tell; undefined where they do not. `headers` are
 * those of `clientFacingAddress`.
 */
export function forwardedClient(
  headers: HeaderList,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const addresses = listOf(headers, 'x-forwarded-for');
  const told = addresses[clientIndex(addresses, isTrusted)] ?? readForwarded(headers, isTrusted).get('for');
  return told === undefined || told === '' ? undefined : bareAddress(told);
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
 * The value of a list that is about the client's own connection: the one beside the client in `X-Forwarded-For` where both lists are as
 * long, otherwise the first.
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

/** The place of the last address that is none of a trusted proxy: what stands before it, the client may have made up. */
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

/** The parameters of the element of `Forwarded` (RFC 7239 §4) about the client's own connection; none where the field is malformed. */
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

/** A pair, or nothing, with what ends it. Unquoted values may have the colons and brackets that the RFC wants quoted, as many proxies write them. */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:([^\s",;]+)|"((?:[^"\\]|\\.)*)")[ \t]*)?([,;]|$)/gy;
