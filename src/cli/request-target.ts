/**
 * Returns the request target of an address as people write it: scheme, host and fragment belong to the client and are left out.
 * What has no scheme is a target already.
 */
export function requestTarget(address: string): string {
  const full = /^https?:\/\/[^/?#]*([^#]*)/i.exec(address);
  if (full === null) return address;
  const [, target = ''] = full;
  return target.startsWith('/') ? target : `/${target}`;
}
