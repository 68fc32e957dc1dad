/** The two prefixes that are served. */
export type Prefix = '/api/v1' | '/api/v2';

/** A request target in origin form that every reader reads alike (RFC 9112 §3.2.1). */
export interface Target {
  readonly fault: undefined;
  /** The prefix; undefined when the path is under neither. */
  readonly prefix: Prefix | undefined;
  /** The raw path behind the prefix, empty or with a leading slash; the whole path without a prefix. */
  readonly rest: string;
  /** The raw query with its question mark; empty without one. */
  readonly query: string;
}

/** A target that two readers could read differently; `fault` says how, without repeating it. */
export interface FaultyTarget {
  readonly fault: string;
}

/**
 * Reads a raw request target. Nothing is decoded or normalised: the bytes that are judged are the bytes that are sent.
 */
export function readTarget(raw: string): Target | FaultyTarget {
  if (raw === '*') return { fault: undefined, prefix: undefined, rest: raw, query: '' };
  if (raw.charCodeAt(0) !== SLASH) return { fault: 'The request target is not in origin form.' };
  if (NOT_A_TARGET_CHARACTER.test(raw))
    return { fault: 'The request target holds a character that no URI has, or a fragment.' };
  const mark = raw.indexOf('?');
  const path = mark === -1 ? raw : raw.slice(0, mark);
  const fault = pathFault(path);
  if (fault !== undefined) return { fault };
  const prefix = prefixOf(path);
  return {
    fault: undefined,
    prefix,
    rest: prefix === undefined ? path : path.slice(prefix.length),
    query: mark === -1 ? '' : raw.slice(mark),
  };
}

const SLASH = 0x2f;

/** Controls, space, `#` and everything beyond ASCII. */
const NOT_A_TARGET_CHARACTER = /[^!"$-~]/;

/** What a path may hold without a closer look: a fast yes for nearly every request. */
const PLAIN_PATH = /^(?:\/[\w~!$&'()*+,=:@-][\w.~!$&'()*+,=:@-]*)+\/?$/;

function pathFault(path: string): string | undefined {
  if (PLAIN_PATH.test(path)) return undefined;
  if (path === '/') return undefined;
  if (path.includes('\\')) return 'The path holds a backslash, which some readers take for a slash.';
  if (path.includes(';')) return 'The path holds a semicolon, behind which some readers drop the segment.';
  if (path.includes('//')) return 'The path holds an empty segment, which some readers drop.';
  if (/%(?![0-9a-f]{2})/i.test(path)) return 'The path holds a percent sign without two hexadecimal digits.';
  if (/%(?:2f|5c)/i.test(path)) return 'The path holds an encoded slash or backslash.';
  if (/%(?:[01][0-9a-f]|7f)/i.test(path)) return 'The path holds an encoded control character.';
  if (/%3b/i.test(path)) return 'The path holds an encoded semicolon.';
  if (/%(?:c[01]|e0%[89]|f0%8|f[5-9a-f])/i.test(path)) return 'The path holds an overlong encoding.';
  if (/%25[0-9a-f]{2}/i.test(path)) return 'The path is encoded twice.';
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) return 'The path holds a dot segment.';
  return undefined;
}

function prefixOf(path: string): Prefix | undefined {
  if (path.length > 7 && path.charCodeAt(7) !== SLASH) return undefined;
  if (path.startsWith('/api/v1')) return '/api/v1';
  if (path.startsWith('/api/v2')) return '/api/v2';
  return undefined;
}
