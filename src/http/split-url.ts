/** Splits an absolute address before its raw target. */
export function splitUrl(url: string): { readonly origin: string; readonly target: string } {
  const path = url.indexOf('/', url.indexOf('://') + 3);
  return path === -1 ? { origin: url, target: '/' } : { origin: url.slice(0, path), target: url.slice(path) };
}
