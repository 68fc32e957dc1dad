/** True for a `Host` value that is a name or an address with an optional port (RFC 3986 §3.2.2), and nothing else. */
export function isHost(value: string): boolean {
  if (!/^(?:[\w.~!$&'()*+,=%-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i.test(value)) return false;
  const port = /:(\d+)$/.exec(value.slice(value.indexOf(']') + 1));
  return port === null || Number(port[1]) < 65_536;
}
