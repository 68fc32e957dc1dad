import { isNamed } from './header-list.ts';

/** How the client's address is forwarded to the origin: not at all, in `X-Forwarded-*`, or in `Forwarded` (RFC 7239). */
export type ForwardedMode = 'off' | 'x-forwarded' | 'rfc7239';

/** The hop before the gateway. */
export interface Hop {
  /** The peer's address as reported by the socket. */
  readonly address: string;
  readonly secure: boolean;
  /** The `Host` of the client's request. */
  readonly host: string | undefined;
}

/** True for a field name, in lower case, that claims where a request came from; any client can send one. */
export function isForwarding(lower: string): boolean {
  return lower === 'forwarded' || lower === 'x-real-ip' || lower.startsWith('x-forwarded-');
}

/**
 * Adds the fields that `mode` requires for `hop` to `headers`, in place. Existing values come from a trusted proxy and are
 * extended; the caller has removed those of an untrusted client.
 */
export function addForwarded(headers: string[], mode: ForwardedMode, hop: Hop): void {
  if (mode === 'off') return;
  const address =
    hop.address.startsWith('::ffff:') && hop.address.includes('.') ? hop.address.slice(7) : hop.address;
  const scheme = hop.secure ? 'https' : 'http';
  if (mode === 'rfc7239') {
    const node = address.includes(':') ? `"[${address}]"` : address;
    const host = hop.host === undefined ? '' : `;host="${hop.host}"`;
    append(headers, 'forwarded', `for=${node}${host};proto=${scheme}`);
    return;
  }
  append(headers, 'x-forwarded-for', address);
  if (hop.host !== undefined) setDefault(headers, 'x-forwarded-host', hop.host);
  setDefault(headers, 'x-forwarded-proto', scheme);
}

function append(headers: string[], name: string, value: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (!isNamed(headers[at], name)) continue;
    headers[at + 1] = `${headers[at + 1] ?? ''}, ${value}`;
    return;
  }
  headers.push(name, value);
}

function setDefault(headers: string[], name: string, value: string): void {
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) return;
  }
  headers.push(name, value);
}
