import { isNamed } from './header-list.ts';

/** How the origin is told of the client: not at all, by `X-Forwarded-*`, or by `Forwarded` (RFC 7239). */
export type ForwardedMode = 'off' | 'x-forwarded' | 'rfc7239';

/** The hop before the gateway. */
export interface Hop {
  /** The peer's address as the socket has it. */
  readonly address: string;
  readonly secure: boolean;
  /** The `Host` that the client asked for. */
  readonly host: string | undefined;
}

/** True for a field name, in lower case, that says where a request came from: anybody can write one. */
export function isForwarding(lower: string): boolean {
  return lower === 'forwarded' || lower === 'x-real-ip' || lower.startsWith('x-forwarded-');
}

/**
 * Adds what `mode` says of `hop` to `headers`, in place. What stands there already comes from a trusted proxy and is
 * continued; the caller has taken away what an untrusted client sent.
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
