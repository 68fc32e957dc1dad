import { DEFAULT_PREFIXES, decodedByte, isUnder } from '../http/target.ts';
import type { StatusPattern } from './kinds/kind.ts';
import type { ExplicitResponseRule, HeaderRule } from './kinds/kinds.ts';

export type { MappedValue } from '../edits/mapped-values.ts';
export type { Asked, Path } from '../edits/run.ts';
export { printAddress } from './kinds/kind.ts';
export type { StatusPattern } from './kinds/kind.ts';
export type { ExplicitResponseRule, HeaderRule, QueryRule, RequestRule } from './kinds/kinds.ts';
export { mayListMembers, printPath, readPath } from './kinds/paths.ts';
export type { RequestRuleName, ResponseRuleName } from './kinds/words.ts';

const PARAMETER = /^\{[A-Za-z_][\w-]*\}$/;

const LITERAL = /^(?:[\w.~!$&'()*+,=:@-]|%[0-9a-fA-F]{2})+$/;

/** Undoes the request rules of its change wherever a response contains the resource that they wrote. */
export interface InverseRule {
  readonly rule: 'inverse';
  /** V1's value if V2's object of a `nest` lacks a member: null; if absent, the member is omitted. */
  readonly members?: 'null';
  readonly status: readonly StatusPattern[];
}

/** A response rule: one declaration for the body of the response to a V1 client. A closed union. */
export type ResponseRule = ExplicitResponseRule | InverseRule;

/** One segment of a path template: a literal text, or `undefined` for a `{name}`, which matches any text. */
type Segment = string | undefined;

/** Parses a template that {@link templateFault} finds valid; `/` has no segments. */
export function readTemplate(template: string): readonly Segment[] {
  if (template === '/') return [];
  return template
    .slice(1)
    .split('/')
    .map((segment) => (PARAMETER.test(segment) ? undefined : plainSpelling(segment)));
}

/** A key that is equal for templates that match the same paths, ignoring the names of their parameters. */
export function templateShape(template: string): string {
  return `/${readTemplate(template)
    .map((segment) => segment ?? '{}')
    .join('/')}`;
}

/** The text of a prefix before paths: empty for the root. */
export function readPrefix(text: string): string {
  return text === '/' ? '' : text;
}

/** A prefix as a rule book writes it: the root is a slash. */
export function printPrefix(prefix: string): string {
  return prefix === '' ? '/' : prefix;
}

/** Returns what is wrong with the path prefix of a version and how to fix it, or `undefined`. */
export function prefixFault(prefix: string): string | undefined {
  if (!prefix.startsWith('/')) return 'must begin with a slash, such as /api/v1';
  if (prefix === '/') return undefined;
  if (prefix.endsWith('/')) return 'must not end with a slash';
  const segments = prefix.slice(1).split('/');
  if (segments.includes('')) return 'must not have an empty segment: services merge slashes';
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'must not have a dot segment';
  if (!/^[\w.~/-]+$/.test(prefix))
    return 'must have only letters, digits and -._~ in its segments: all other characters have several spellings';
  return undefined;
}

/** Returns what is wrong with a path template below V1's prefixes and how to fix it, or `undefined`. */
export function templateFault(template: string, prefixes = DEFAULT_PREFIXES): string | undefined {
  if (!template.startsWith('/')) return 'does not begin with a slash; write /clients, for example';
  const own = [prefixes.v1, ...prefixes.othersOfV1(prefixes.v1)];
  const contained = own.find((prefix) => prefix !== '' && isUnder(template, prefix));
  const isPrefixed = /^\/api\/v\d+(?:\/|$)/.test(template) && !own.includes('');
  if (contained !== undefined || isPrefixed)
    return `contains the prefix; write only the part after ${contained ?? prefixes.v1}`;
  const other = own.map((prefix) => prefixes.find(prefix + template));
  if (other.every((prefix) => prefix?.version === 'v2'))
    return `is under ${other[0]?.text ?? ''}, V2's prefix, whose requests are V2's own`;
  if (/[?#]/.test(template)) return 'contains a query or a fragment; only the path is matched, so remove it';
  if (template === '/') return undefined;
  if (template.endsWith('/')) return 'ends with a slash; remove it: both spellings match';
  if (template.endsWith('.json')) return 'ends with .json; remove it: both spellings match';
  for (const segment of template.slice(1).split('/')) {
    if (PARAMETER.test(segment)) continue;
    if (segment === '') return 'contains an empty segment; services merge slashes, so remove it';
    if (segment === '.' || segment === '..') return 'contains a dot segment; such requests are refused';
    if (/[{}]/.test(segment)) {
      return `contains "${segment}"; a parameter is a whole segment, such as {id}`;
    }
    const fault = literalFault(segment);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Returns what is wrong with the text of a path segment and how to fix it, or `undefined`. */
export function literalFault(text: string): string | undefined {
  if (text === '' || LITERAL.test(text)) return undefined;
  return `contains "${text}", which is not valid in a path; percent-encode everything except letters, digits and -._~!$&'()*+,=:@`;
}

/**
 * The normalised spelling for comparing paths: percent-encoded unreserved characters are decoded (RFC 3986 §2.3), other
 * percent-encodings are in upper case (§6.2.2.1).
 */
export function plainSpelling(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = decodedByte(encoded);
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
  });
}

/** The path as read by a service that decodes slashes, merges them and drops path parameters; the same text for a path without any of these. */
export function looseSpelling(path: string): string {
  if (!/\/\/|;|%2f|%3b/i.test(path)) return path;
  return path.replaceAll(/(?:;|%3b)(?:(?!%2f)[^/])*/gi, '').replaceAll(/(?:\/|%2f)+/gi, '/');
}

/** A header rule for responses, with the statuses that it applies to; undefined for all. */
export interface ResponseHeaderRule {
  readonly rule: Exclude<HeaderRule, { rule: 'query' }>;
  readonly status: readonly StatusPattern[] | undefined;
}
