/** The two prefixes that are served. */
type Prefix = '/api/v1' | '/api/v2';

/** A request target in origin form that all parsers read alike (RFC 9112 §3.2.1). */
export interface Target {
  readonly fault: undefined;
  /** The whole target in origin form, as it is sent on. */
  readonly raw: string;
  /** The prefix; undefined when the path is under neither. */
  readonly prefix: Prefix | undefined;
  /** The raw path after the prefix, empty or with a leading slash; the whole path without a prefix. */
  readonly rest: string;
  /** The raw query with its question mark; empty without one. */
  readonly query: string;
}

/** A target that two parsers could read differently; `fault` says why, without quoting it. */
interface FaultyTarget {
  readonly fault: string;
}

/** Reads a raw request target. Nothing is decoded or normalised: the bytes that are checked are the bytes that are sent. */
export function readTarget(raw: string): Target | FaultyTarget {
  if (raw.charCodeAt(0) !== SLASH) return { fault: 'The request target is not in origin form.' };
  const queryStart = raw.indexOf('?');
  const path = queryStart === -1 ? raw : raw.slice(0, queryStart);
  const isPlain = PLAIN_PATH.test(path);
  if ((!isPlain || queryStart !== -1) && INVALID_CHARACTER.test(raw))
    return { fault: 'The request target contains a character that is not valid in a URI, or a fragment.' };
  const fault = isPlain ? undefined : pathFault(path);
  if (fault !== undefined) return { fault };
  const prefix = prefixOf(path);
  return {
    fault: undefined,
    raw,
    prefix,
    rest: prefix === undefined ? path : path.slice(prefix.length),
    query: queryStart === -1 ? '' : raw.slice(queryStart),
  };
}

/** What a target is read with. */
interface TargetContext {
  readonly method: string;
  readonly version: string;
  readonly host: string | undefined;
}

/**
 * The target of a request in origin form, or `*`: the absolute form becomes it where it names this server as `Host` does, byte for byte
 * (RFC 9112 §3.2.2). Any other target is returned as it is, for `readTarget` to refuse.
 */
export function originForm(target: string, { method, version, host }: TargetContext): string {
  if (host === undefined || !version.startsWith('1.')) return target;
  const start = ABSOLUTE.find((scheme) => target.slice(0, scheme.length).toLowerCase() === scheme)?.length;
  if (start === undefined || !target.startsWith(host, start)) return target;
  const rest = target.slice(start + host.length);
  if (rest.charCodeAt(0) === SLASH) return rest;
  // Without a path, OPTIONS asks about the server (§3.2.4); for others the path is that of the root.
  if (rest === '') return method === 'OPTIONS' ? '*' : '/';
  return rest.startsWith('?') ? `/${rest}` : target;
}

const ABSOLUTE = ['http://', 'https://'];

const SLASH = 0x2f;

/** Any character except visible ASCII, and `#`. */
const INVALID_CHARACTER = /[^!"$-~]/;

/** A path that needs no further check: the fast case for nearly every request. */
const PLAIN_PATH = /^(?:\/[\w~!$&'()*+,=:@-][\w.~!$&'()*+,=:@-]*)+\/?$/;

function pathFault(path: string): string | undefined {
  if (path === '/') return undefined;
  if (path.includes('\\')) return 'The path contains a backslash, which some servers treat as a slash.';
  if (/%(?![0-9a-f]{2})/i.test(path))
    return 'The path contains a percent sign without two hexadecimal digits.';
  if (/%5c/i.test(path)) return 'The path contains an encoded backslash.';
  if (/%(?:[01][0-9a-f]|7f)/i.test(path)) return 'The path contains an encoded control character.';
  if (/%(?:c[01]|e0%[89]|f0%8|f[5-9a-f])/i.test(path)) return 'The path contains an overlong encoding.';
  if (/%25[0-9a-f]{2}/i.test(path)) return 'The path is encoded twice.';
  if (DOT_SEGMENT.test(path)) return 'The path contains a dot segment.';
  if (isOtherPrefix(path)) return 'Some servers treat the path as one under another prefix.';
  return undefined;
}

/** A dot segment for any parser: encoded, between encoded slashes, or followed by path parameters. */
const DOT_SEGMENT = /(?:\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f|;|%3b|$)/i;

/**
 * True for a path that a URL parser resolves to another origin, or that is under a prefix only for parsers that decode or merge
 * slashes or drop path parameters.
 */
function isOtherPrefix(path: string): boolean {
  return prefixOf(path) === undefined && (path.startsWith('//') || LOOSE_PREFIX.test(path));
}

/** Of a run of encoded slashes behind parameters only the last one is a slash to this: two readings of a run take quadratic time. */
const LOOSE_PREFIX =
  /^(?:\/|%2f)+api(?:(?:\/|%2f)+|(?:;|%3b)[^/]*(?:\/(?:\/|%2f)*|%2f))v[12](?=\/|%2f|;|%3b|$)/i;

function prefixOf(path: string): Prefix | undefined {
  if (path.length > 7 && path.charCodeAt(7) !== SLASH) return undefined;
  if (path.startsWith('/api/v1')) return '/api/v1';
  if (path.startsWith('/api/v2')) return '/api/v2';
  return undefined;
}

/** One part of a raw query between ampersands: a parameter, or nothing. */
export interface QueryPart {
  /** As spelled by the sender. */
  readonly raw: string;
  /** The decoded name; empty for an empty part. */
  readonly name: string;
}

/** Splits a raw query, without its question mark, at each ampersand; joining the raw parts gives the query again. */
export function queryParts(query: string): QueryPart[] {
  return query.split('&').map((raw) => ({ raw, name: decodeQueryText(raw.slice(0, nameLength(raw))) }));
}

/** Returns the decoded value of a part; undefined without an equals sign. */
export function valueOf({ raw }: QueryPart): string | undefined {
  const length = nameLength(raw);
  return length === raw.length ? undefined : decodeQueryText(raw.slice(length + 1));
}

/** Gives a part another name; its equals sign and value keep their characters. */
export function withName({ raw }: QueryPart, name: string): QueryPart {
  const length = nameLength(raw);
  return { raw: encodedLike(raw.slice(0, length), name) + raw.slice(length), name };
}

/** Gives a part another value; its name keeps its characters. */
export function withValue({ raw, name }: QueryPart, value: string): QueryPart {
  return { raw: `${raw.slice(0, nameLength(raw))}=${encodeURIComponent(value)}`, name };
}

function nameLength(raw: string): number {
  const equals = raw.indexOf('=');
  return equals === -1 ? raw.length : equals;
}

/**
 * Decodes a name or a value as servers do (application/x-www-form-urlencoded): a plus sign is a space, and a percent sign without
 * two hexadecimal digits stands for itself.
 */
export function decodeQueryText(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return text.replaceAll('+', ' ').replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    const bytes = encoded.slice(1).split('%');
    return decoder.decode(Uint8Array.from(bytes, (digits) => Number.parseInt(digits, 16)));
  });
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Brackets stay brackets where the sender did not encode them, although RFC 3986 §3.4 does not allow them in a query. */
function encodedLike(raw: string, name: string): string {
  const encoded = encodeURIComponent(name);
  return raw.includes('[') ? encoded.replaceAll('%5B', '[').replaceAll('%5D', ']') : encoded;
}

/** Splits an absolute address before its raw target. */
export function splitUrl(url: string): { readonly origin: string; readonly target: string } {
  const path = url.indexOf('/', url.indexOf('://') + 3);
  return path === -1 ? { origin: url, target: '/' } : { origin: url.slice(0, path), target: url.slice(path) };
}

/** Changes each target of a `Link` value (RFC 8288 §3): the text in angle brackets outside of quotes. Everything else is kept. */
export function mapLinkTargets(value: string, change: (target: string) => string): string {
  return value.replaceAll(
    PIECE,
    (piece, inside: string | undefined, end: string | undefined, target: string | undefined) => {
      if (target !== undefined) return `<${change(target)}>`;
      // A quote that nothing closes is none, and then there is no other behind it: to look again from each one would be quadratic.
      return inside === undefined || end === '"' ? piece : `"${mapUnquoted(inside, change)}`;
    },
  );
}

/** A quoted string (RFC 9110 §5.6.4), closed or not, or a target. */
const PIECE = /"((?:[^"\\]|\\.)*)("?)|<([^<>]*)>/g;

function mapUnquoted(text: string, change: (target: string) => string): string {
  return text.replaceAll(/<([^<>]*)>/g, (_, target: string) => `<${change(target)}>`);
}
