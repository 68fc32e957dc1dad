/** The latest valid value: nearly all requests have the same. */
let lastValid: string | undefined;

/** True for a `Host` value that is a name or an address with an optional port (RFC 3986 §3.2.2), and nothing else. */
export function isHost(value: string): boolean {
  if (value === lastValid) return true;
  if (!/^(?:[\w.~!$&'()*+,=%-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i.test(value)) return false;
  const port = /:(\d+)$/.exec(value.slice(value.indexOf(']') + 1));
  if (port !== null && Number(port[1]) >= 65_536) return false;
  lastValid = value;
  return true;
}

/** A host as two that are the same are compared: in lower case, and without the default port of HTTP or HTTPS. */
export function bareHost(host: string): string {
  return host.toLowerCase().replace(/:(?:80|443)?$/, '');
}
