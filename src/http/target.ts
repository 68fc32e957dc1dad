/** The version of the API that a prefix belongs to. */
export type ApiPrefix = 'v1' | 'v2';

/** A path prefix of the API. */
export interface Prefix {
  /** The text before the rest of a path: empty for the root. */
  readonly text: string;
  readonly version: ApiPrefix;
}

/**
 * The path prefixes of both versions; V1 may have several. The longest matching prefix counts, so `/api` and `/api/v2` can both be
 * prefixes, and the root takes all other paths. A prefix of both versions is V1's.
 */
export class Prefixes {
  /** V1's prefix; the first if there are several. */
  readonly v1: string;
  readonly v2: string;
  /** True if V2's prefix is one of V1's, so that only the request tells the version. */
  readonly isShared: boolean;
  /** True if a version has the root, so that every path has a prefix. */
  readonly hasRoot: boolean;
  private readonly longestFirst: readonly Prefix[];

  constructor(v1: string, v2: string, alsoV1: readonly string[] = []) {
    this.v1 = v1;
    this.v2 = v2;
    const old = [v1, ...alsoV1].map((text): Prefix => ({ text, version: 'v1' }));
    this.isShared = old.some(({ text }) => text === v2);
    const all: readonly Prefix[] = this.isShared ? old : [...old, { text: v2, version: 'v2' }];
    this.longestFirst = all.toSorted((one, other) => other.text.length - one.text.length);
    this.hasRoot = all.some(({ text }) => text === '');
  }

  /** Returns the prefix of a raw path, or of a target. */
  find(path: string): Prefix | undefined {
    for (const prefix of this.longestFirst) if (isUnder(path, prefix.text)) return prefix;
    return undefined;
  }

  /** The version that a raw path belongs to; undefined when it is under neither prefix. */
  versionOf(path: string): ApiPrefix | undefined {
    return this.find(path)?.version;
  }

  /**
   * V1's prefixes below `within` except `than`, the longest first, for links that are V1's already; without the root, which would match
   * every link.
   */
  othersOfV1(than: string, within = ''): readonly string[] {
    return this.longestFirst.flatMap(({ version, text }) =>
      version === 'v1' && text !== than && text !== '' && isUnder(text, within) ? [text] : [],
    );
  }
}

/** The prefixes for a rule book without any. */
export const DEFAULT_PREFIXES = /* @__PURE__ */ new Prefixes('/api/v1', '/api/v2');

/** True for a raw path, or a target, that is `prefix` or below it. */
export function isUnder(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  const next = path.charCodeAt(prefix.length);
  return Number.isNaN(next) || next === SLASH || next === QUESTION_MARK;
}

/** A request target in origin form that all parsers read the same way (RFC 9112 §3.2.1). */
export interface Target {
  readonly fault: undefined;
  /** The whole target in origin form, as forwarded. */
  readonly raw: string;
  /** The version whose prefix the path has; undefined if it has neither. */
  readonly version: ApiPrefix | undefined;
  /** The raw path after the prefix, empty or with a leading slash; the whole path without a prefix. */
  readonly rest: string;
  /** The raw query with its question mark; empty without one. */
  readonly query: string;
  /** Why only a service that received such targets before may receive it, without quoting it; undefined for a valid target. */
  readonly oddity: string | undefined;
}

/** The prefix of a target's path; empty for the root, and if it has none. */
export function prefixOf({ raw, rest, query }: Target): string {
  return raw.slice(0, raw.length - rest.length - query.length);
}

/** A target that parsers could read differently; `fault` says why, without quoting it. */
interface FaultyTarget {
  readonly fault: string;
}

/** Reads a raw request target. Nothing is decoded or normalised: the bytes that are checked are the bytes that are sent. */
export function readTarget(raw: string, prefixes: Prefixes): Target | FaultyTarget {
  if (raw.charCodeAt(0) !== SLASH) return { fault: 'The request target is not in origin form.' };
  const queryStart = raw.indexOf('?');
  const path = queryStart === -1 ? raw : raw.slice(0, queryStart);
  const isPlain = PLAIN_PATH.test(path);
  const oddity = (!isPlain || queryStart !== -1) && INVALID_CHARACTER.test(raw) ? ODD : undefined;
  const fault = isPlain ? undefined : pathFault(path, prefixes);
  if (fault !== undefined) return { fault };
  const prefix = prefixes.find(path);
  if (oddity !== undefined && (prefix === undefined || CONTROL.test(raw))) return { fault: oddity };
  return {
    fault: undefined,
    raw,
    version: prefix?.version,
    rest: prefix === undefined ? path : path.slice(prefix.text.length),
    query: queryStart === -1 ? '' : raw.slice(queryStart),
    oddity,
  };
}

const ODD = 'The request target contains a character that is not valid in a URI, or a fragment.';

/** The data for reading a target. */
interface TargetContext {
  readonly method: string;
  readonly version: string;
  readonly host: string | undefined;
}

/**
 * The target of a request in origin form, or `*`. The absolute form is converted if its authority equals `Host`, byte for byte (RFC 9112
 * §3.2.2). Any other target is returned unchanged, for `readTarget` to refuse.
 */
export function originForm(target: string, { method, version, host }: TargetContext): string {
  if (host === undefined || !version.startsWith('1.')) return target;
  const start = ABSOLUTE.find((scheme) => target.slice(0, scheme.length).toLowerCase() === scheme)?.length;
  if (start === undefined || !target.startsWith(host, start)) return target;
  const rest = target.slice(start + host.length);
  if (rest.charCodeAt(0) === SLASH) return rest;
  // Without a path, OPTIONS asks about the server (§3.2.4); other methods use the root.
  if (rest === '') return method === 'OPTIONS' ? '*' : '/';
  return rest.startsWith('?') ? `/${rest}` : target;
}

const ABSOLUTE = ['http://', 'https://'];

const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;

/** Any character except visible ASCII, and `#`. */
const INVALID_CHARACTER = /[^!"$-~]/;

/** Characters that end a request target for some parser. */
// oxlint-disable-next-line no-control-regex -- control characters are what it finds
const CONTROL = /[\0-\x20\x7f]/;

/** A path that needs no further check: the fast case for nearly every request. */
const PLAIN_PATH = /^(?:\/[\w~!$&'()*+,=:@-][\w.~!$&'()*+,=:@-]*)+\/?$/;

function pathFault(path: string, prefixes: Prefixes): string | undefined {
  if (path === '/') return undefined;
  if (path.includes('\\')) return 'The path contains a backslash, which some servers treat as a slash.';
  if (/%(?![0-9a-f]{2})/i.test(path))
    return 'The path contains a percent sign without two hexadecimal digits.';
  if (/%5c/i.test(path)) return 'The path contains an encoded backslash.';
  if (/%(?:[01][0-9a-f]|7f)/i.test(path)) return 'The path contains an encoded control character.';
  if (OVERLONG.test(path)) return 'The path contains an overlong encoding of a dot, a slash or a backslash.';
  if (DOT_SEGMENT.test(path)) return 'The path contains a dot segment.';
  const prefix = prefixes.find(path);
  if (isOtherPrefix(path, prefix, prefixes)) return OTHER_PREFIX;
  return path.includes('%25') ? againDecodedFault(path, prefix, prefixes) : undefined;
}

/** Why a path is refused for servers that decode it more than once: an encoded percent sign is allowed, a hidden dot segment is not. */
function againDecodedFault(path: string, prefix: Prefix | undefined, prefixes: Prefixes): string | undefined {
  const read = decodedPercents(path);
  if (read === undefined) return 'The path is encoded again and again.';
  if (read === path) return undefined;
  const slashed = read.replaceAll(/%5c/gi, '/');
  if (DOT_SEGMENT.test(slashed) || OVERLONG.test(read))
    return 'The path is encoded twice, and hides a dot segment.';
  return isOtherPrefix(slashed, prefix, prefixes) ? OTHER_PREFIX : undefined;
}

/** The path with encoded percent signs before two hexadecimal digits decoded, repeatedly; undefined if that does not end. */
function decodedPercents(path: string): string | undefined {
  let read = path;
  for (let round = 0; round < MAX_ENCODINGS; round += 1) {
    const next = read.replaceAll(HEXADECIMAL_DIGIT, decodedByte).replaceAll(/%(?:25)+(?=[0-9a-f]{2})/gi, '%');
    if (next === read) return read;
    read = next;
  }
  return undefined;
}

/** Maximum rounds of decoding: clients do not encode a path more often. */
const MAX_ENCODINGS = 8;

/** An encoded hexadecimal digit. */
const HEXADECIMAL_DIGIT = /%(?:3\d|[46][1-6])/g;

const OTHER_PREFIX = 'Some servers would read the path as one under another prefix.';

/** A dot, a slash or a backslash in an overlong UTF-8 encoding, which lenient decoders accept. Other bytes may belong to any charset. */
const OVERLONG = /%(?:c0%a[ef]|c1%9c|(?:e0|f0%80|f8%80%80|fc%80%80%80)%(?:80%a[ef]|81%9c))/i;

/** A dot segment for any parser: encoded, between encoded slashes, or followed by path parameters. */
const DOT_SEGMENT = /(?:\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f|;|%3b|$)/i;

/**
 * True for a path that a URL parser resolves to another origin, or that is under another prefix for parsers that decode or merge
 * slashes, decode letters or drop path parameters.
 */
function isOtherPrefix(path: string, prefix: Prefix | undefined, prefixes: Prefixes): boolean {
  if (path.startsWith('//')) return true;
  // Under a prefix, V2 gets the path with another prefix, or with the same one from its own clients: letters matter only in that case.
  const read = prefix === undefined ? path : withLetters(path);
  return [...(prefix === undefined ? [] : [read]), ...looseReadings(read)].some((reading) => {
    const found = prefixes.find(reading);
    return found !== undefined && found !== prefix;
  });
}

/**
 * The path as other servers could read it: they disagree about where a path parameter ends (RFC 3986 §3.3), and which characters are
 * slashes.
 */
function looseReadings(path: string): readonly string[] {
  if (!/\/\/|;|%/.test(path)) return [];
  const plain = path.replaceAll(/%3b/gi, ';').replaceAll(/%2f/gi, '%2F');
  return [
    withoutParameters(plain, () => ''),
    withoutParameters(plain, (parameters) => {
      const last = parameters.lastIndexOf('%2F');
      return last === -1 ? '' : parameters.slice(last);
    }),
    withoutParameters(plain.replaceAll('%2F', '/'), () => ''),
  ].map((reading) => reading.replaceAll('%2F', '/').replaceAll(/\/+/g, '/'));
}

/** A character that means the same encoded or not (RFC 3986 §2.3): a letter, a digit, `-`, `.`, `_` or `~`. */
const UNRESERVED = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

function withLetters(path: string): string {
  return path.replaceAll(UNRESERVED, decodedByte);
}

/** The character of a byte that is percent-encoded. */
export function decodedByte(encoded: string): string {
  return String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
}

/** Decodes percent-encoded text; undefined if it is not well-formed. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Replaces the parameters of each segment by the result of `left`. */
function withoutParameters(path: string, left: (parameters: string) => string): string {
  const segments = path.split('/').map((segment) => {
    const at = segment.indexOf(';');
    return at === -1 ? segment : segment.slice(0, at) + left(segment.slice(at));
  });
  return segments.join('/');
}

/** A part of a raw query between ampersands: a parameter, or an empty text. */
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

/** Renames a parameter; its equals sign and value keep their characters. */
export function withName({ raw }: QueryPart, name: string): QueryPart {
  const length = nameLength(raw);
  return { raw: encodedLike(raw.slice(0, length), name) + raw.slice(length), name };
}

/** Sets the value of a parameter; its name keeps its characters. */
export function withValue(part: QueryPart, value: string): QueryPart {
  return withRawValue(part, encodeURIComponent(value));
}

/** Sets an encoded value of a parameter. */
export function withRawValue({ raw, name }: QueryPart, value: string): QueryPart {
  return { raw: `${raw.slice(0, nameLength(raw))}=${value}`, name };
}

/** The distinct decoded values of a parameter in a raw query. */
export function valuesInQuery(query: string, name: string): readonly string[] {
  if (query.length < 2) return [];
  const values = queryParts(query.slice(1)).flatMap((part) =>
    part.name === name ? [valueOf(part) ?? ''] : [],
  );
  return [...new Set(values)];
}

/** A raw query in which a parameter occurs once, with this value, at its old place; undefined removes it. */
export function withValueInQuery(query: string, name: string, value: string | undefined): string {
  const parts = query.length < 2 ? [] : queryParts(query.slice(1));
  const at = parts.findIndex((part) => part.name === name);
  if (at === -1 && value === undefined) return query;
  const kept = parts.flatMap((part, index) => {
    if (part.name !== name) return [part.raw];
    return index === at && value !== undefined ? [withValue(part, value).raw] : [];
  });
  if (at === -1 && value !== undefined) kept.push(printedParameter(name, value));
  return kept.length === 0 ? '' : `?${kept.join('&')}`;
}

/** A parameter of a query, with all special characters encoded. */
export function printedParameter(name: string, value: string): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

function nameLength(raw: string): number {
  const equals = raw.indexOf('=');
  return equals === -1 ? raw.length : equals;
}

/**
 * Decodes a name or a value as servers do (application/x-www-form-urlencoded): a plus sign is a space, and a percent sign without two
 * hexadecimal digits is a plain character.
 */
export function decodeQueryText(text: string): string {
  if (!/[%+]/.test(text)) return text;
  return text.replaceAll('+', ' ').replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    const bytes = encoded.slice(1).split('%');
    return decoder.decode(Uint8Array.from(bytes, (digits) => Number.parseInt(digits, 16)));
  });
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Brackets that the sender did not encode stay, although RFC 3986 §3.4 does not allow them in a query. */
function encodedLike(raw: string, name: string): string {
  const encoded = encodeURIComponent(name);
  return raw.includes('[') ? encoded.replaceAll('%5B', '[').replaceAll('%5D', ']') : encoded;
}

/** Splits an absolute address into origin and raw target. */
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
      // An unclosed quote is an ordinary character, and no other quote follows it: searching again from each one would take quadratic
      // time.
      return inside === undefined || end === '"' ? piece : `"${mapUnquoted(inside, change)}`;
    },
  );
}

/** A quoted string (RFC 9110 §5.6.4), closed or not, or a target. */
const PIECE = /"((?:[^"\\]|\\.)*)("?)|<([^<>]*)>/g;

function mapUnquoted(text: string, change: (target: string) => string): string {
  return text.replaceAll(/<([^<>]*)>/g, (_, target: string) => `<${change(target)}>`);
}

/** The words in a name or a value, with any separators, with and without a leading minus sign. */
export function wordsIn(value: string): readonly string[] {
  return value
    .split(/[^\p{L}\p{N}_-]+/u)
    .flatMap((word) => (word.startsWith('-') ? [word, word.slice(1)] : word === '' ? [] : [word]));
}
