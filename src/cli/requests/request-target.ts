/**
 * Returns the request target of an address as people write it, without scheme, host and fragment, which the client handles. A
 * text without a scheme is already a target.
 */
export function requestTarget(address: string): string {
  const full = /^https?:\/\/[^/?#]*([^#]*)/i.exec(address);
  if (full === null) return address;
  const [, target = ''] = full;
  return target.startsWith('/') ? target : `/${target}`;
}
