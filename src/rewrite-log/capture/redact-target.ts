import { maskSecrets } from './mask-secrets.ts';

/** Maximum characters of a target in the log. */
const MAX_CHARACTERS = 2048;

/** True for a path, which has no user information. */
function isOriginForm(target: string): boolean {
  return target.startsWith('/') && !target.startsWith('//');
}

/**
 * Redacts a raw target for the log: names of query parameters stay; their values, parts without a name, a fragment, user
 * information and credentials within the path (`;jsessionid=`) become `…`.
 */
export function redactTarget(target: string): string {
  const mark = target.indexOf('?');
  const isShort = target.length <= MAX_CHARACTERS;
  if (mark === -1 && isShort && isOriginForm(target) && !target.includes('=') && !target.includes('#'))
    return target;
  const whole = (mark === -1 ? target : target.slice(0, mark)).replace(
    /^([a-z][\w+.-]*:)?\/\/[^/]*@/i,
    '$1//…@',
  );
  // Redirects hand tokens over in fragments (RFC 6749 §4.2.2).
  const hash = whole.indexOf('#');
  const path = maskSecrets(hash === -1 ? whole : `${whole.slice(0, hash)}#…`);
  const query = mark === -1 ? '' : target.slice(mark + 1);
  return cut(mark === -1 ? path : `${path}?${redactQuery(query)}`);
}

function redactQuery(query: string): string {
  return query
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      return equals === -1 ? (pair === '' ? '' : '…') : `${pair.slice(0, equals)}=…`;
    })
    .join('&');
}

function cut(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`;
}
