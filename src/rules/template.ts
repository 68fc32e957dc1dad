/** One segment of a path template: a literal text, or `undefined` for a `{name}`, which matches any text. */
export type Segment = string | undefined;

/** Parses a template that {@link templateFault} finds valid; `/` has no segments. */
export function readTemplate(template: string): readonly Segment[] {
  if (template === '/') return [];
  return template
    .slice(1)
    .split('/')
    .map((segment) => (PARAMETER.test(segment) ? undefined : plainSpelling(segment)));
}

/** A key that is equal for templates that match the same paths, whatever the names of their parameters. */
export function templateShape(template: string): string {
  return `/${readTemplate(template)
    .map((segment) => segment ?? '{}')
    .join('/')}`;
}

/** Returns what is wrong with a path template and how to fix it, or `undefined`. */
export function templateFault(template: string): string | undefined {
  if (!template.startsWith('/')) return 'does not begin with a slash; write /clients, for example';
  if (/^\/api\/v\d+(?:\/|$)/.test(template)) return 'contains the prefix; write only the part after /api/v1';
  if (/[?#]/.test(template))
    return 'contains a query or a fragment; only the path is matched, so leave it out';
  if (template === '/') return undefined;
  if (template.endsWith('/')) return 'ends with a slash; leave it out: both spellings match';
  if (template.endsWith('.json')) return 'ends with .json; leave it out: both spellings match';
  for (const segment of template.slice(1).split('/')) {
    if (PARAMETER.test(segment)) continue;
    if (segment === '') return 'contains an empty segment; services merge slashes, so leave it out';
    if (segment === '.' || segment === '..') return 'contains a dot segment; such requests are refused';
    if (/[{}]/.test(segment)) {
      return `contains "${segment}"; a parameter is a whole segment, such as {id}`;
    }
    if (!LITERAL.test(segment)) {
      return `contains "${segment}", which is not valid in a path; percent-encode everything except letters, digits and -._~!$&'()*+,=:@`;
    }
  }
  return undefined;
}

/**
 * The normalised spelling for comparing paths: percent-encoded unreserved characters are decoded (RFC 3986 §2.3), other
 * percent-encodings are in upper case (§6.2.2.1).
 */
export function plainSpelling(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
  });
}

/**
 * The path as read by a service that decodes slashes, merges them and drops path parameters; the same text for a path without any
 * of these.
 */
export function looseSpelling(path: string): string {
  if (!/\/\/|;|%2f|%3b/i.test(path)) return path;
  return path.replaceAll(/(?:;|%3b)(?:(?!%2f)[^/])*/gi, '').replaceAll(/(?:\/|%2f)+/gi, '/');
}

const PARAMETER = /^\{[A-Za-z_][\w-]*\}$/;

const LITERAL = /^(?:[\w.~!$&'()*+,=:@-]|%[0-9a-fA-F]{2})+$/;
