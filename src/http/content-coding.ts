/** A content coding (RFC 9110 §8.4.1) that a body can be decoded from. */
export type Coding = 'gzip' | 'deflate' | 'br';

/** The codings that can be decoded if the runtime supports all of them. */
export const ALL_CODINGS: readonly Coding[] = ['gzip', 'deflate', 'br'];

/**
 * Reads `Content-Encoding`: undefined for none, `unsupported` for an unknown coding or for a chain of codings, which makes small
 * bodies grow without limit (CVE-2026-22036).
 */
export function readCoding(value: string | undefined): Coding | 'unsupported' | undefined {
  if (value === undefined) return undefined;
  const named = value
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '' && part !== 'identity');
  const [first] = named;
  if (first === undefined) return undefined;
  if (named.length > 1) return 'unsupported';
  if (first === 'x-gzip') return 'gzip';
  return first === 'gzip' || first === 'deflate' || first === 'br' ? first : 'unsupported';
}

/** True for a body in zlib's format, which always starts with method 8: some clients send raw deflate under its name. */
export function isZlib(body: Uint8Array): boolean {
  return ((body[0] ?? 0) & 0x0f) === 8;
}

/**
 * Returns the members of an `Accept-Encoding` (RFC 9110 §12.5.3) whose coding is among `codings`, with `identity`, and those of them that
 * the first `*` stands for in its place; `identity` where none is left that the client allows, and the same text where all are.
 */
export function acceptedCodings(value: string, codings: readonly Coding[]): string {
  if (plainListOf(codings).test(value)) return value;
  const members = value.split(',');
  const named = members.map((member) => readCoding(member.split(';', 1)[0]));
  const names = new Set(named);
  let hasAny = false;
  const kept = members.flatMap((member, at) => {
    const coding = named[at];
    if (coding !== 'unsupported') return coding === undefined || codings.includes(coding) ? member : [];
    // A further `*` says nothing: written out each time, a few bytes of a client would become many for the origin.
    if (hasAny || !isAny(member)) return [];
    hasAny = true;
    if (isRefused(member)) return member;
    return codings.filter((other) => !names.has(other)).map((other) => member.replace('*', other));
  });
  const text = kept.join(',');
  if (text === value) return value;
  return kept.every(isRefused) ? 'identity' : text.trim();
}

/** True for a `*`, of whatever weight; a member that is longer than one with white space and a weight is none. */
function isAny(member: string): boolean {
  return member.length <= MAX_ANY_LENGTH && /^[ \t]*\*[ \t]*(?:;|$)/.test(member);
}

const MAX_ANY_LENGTH = 40;

/** True for a member of weight 0 (RFC 9110 §12.4.2), and for an empty one. */
function isRefused(member: string): boolean {
  return member.trim() === '' || /;[ \t]*q=0(?:\.0*)?[ \t]*$/i.test(member);
}

/** Matches a list of nothing but these codings, as nearly all clients write it: to take it apart costs twenty times as much. */
function plainListOf(codings: readonly Coding[]): RegExp {
  const known = plainLists.get(codings);
  if (known !== undefined) return known;
  const member = `(?:${[...codings, 'identity'].join('|')})(?:;q=[0-9.]+)?`;
  // Not proven linear: the codings are words of `Coding`, and the test of this check reads the whole of it.
  const pattern = new RegExp(`^${member}(?:, ?${member})*$`);
  plainLists.set(codings, pattern);
  return pattern;
}

const plainLists = new WeakMap<readonly Coding[], RegExp>();
