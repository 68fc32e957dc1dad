/** Maximum length of a path in a name. */
const MAX_PATH = 120;

/** Name of calls that are not told apart. */
export const OTHER_CALLS = '(other)';

/** Names the kind of a call: its operation, or its method and path below the version, with `*` for segments that have digits. */
export function callName(
  operation: string | undefined,
  method: string | undefined,
  path: string | undefined,
): string {
  if (operation !== undefined) return operation;
  if (method === undefined || path === undefined || path.length > MAX_PATH) return OTHER_CALLS;
  const end = path.indexOf('?');
  const segments = (end === -1 ? path : path.slice(0, end)).split('/').slice(3);
  const named = segments
    .filter((segment) => segment !== '')
    .map((segment) => (/\d/.test(segment) ? '*' : segment));
  return `${method} /${named.join('/')}`;
}
