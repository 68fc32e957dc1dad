import { DEFAULT_PREFIXES, isUnder } from '../http/target.ts';
import type { JsonScalar } from '../json/names.ts';
import type { Conversion } from './conversion.ts';

/** Member names from the body's root downwards; `*` is any element of an array. Empty means the body itself. */
export type Path = readonly string[];

/** Replaces the body by the object in its member `member`. */
export interface UnwrapRule {
  readonly rule: 'unwrap';
  readonly member: string;
}

/** Moves `members` of each object at `in` into its sub-object `under`, which is created in place of the first one moved. */
export interface NestRule {
  readonly rule: 'nest';
  readonly members: readonly string[];
  readonly in: Path;
  readonly under: string;
}

/** Renames the member `member` of each object at `in` to `to`; its value keeps its bytes and its position. */
export interface RenameRule {
  readonly rule: 'rename';
  readonly member: string;
  readonly in: Path;
  readonly to: string;
}

/** Removes `members` from each object at `in`. */
export interface StripRule {
  readonly rule: 'strip';
  readonly members: readonly string[];
  readonly in: Path;
}

/** Removes every member that is not in `members` from each object at `in`. */
export interface OnlyRule {
  readonly rule: 'only';
  readonly members: readonly string[];
  readonly in: Path;
}

/** Replaces the value of the member `member` of each object at `in`, if it is a string or scalar that `values` lists. */
export interface MapRule {
  readonly rule: 'map';
  readonly member: string;
  readonly in: Path;
  readonly values: readonly MappedValue[];
}

/** One value of a map, and the value that takes its place. */
export interface MappedValue {
  readonly from: JsonScalar;
  readonly to: JsonScalar;
}

/** Gives the member `member` of each object at `in` the value `json`: in any case (`set`), or only where it is absent (`default`). */
export interface SetRule {
  readonly rule: 'set' | 'default';
  readonly member: string;
  readonly in: Path;
  /** The value as JSON text: a number has the digits that the rule book has. */
  readonly json: string;
  /** The same, decoded: a number as close as a double comes to it. */
  readonly value: unknown;
}

/** Moves the member at `from` of each object at `in` to `to` in the same object; the objects on the way there are made. */
export interface MoveRule {
  readonly rule: 'move';
  /** The objects that both paths have in common, up to the last `*`. */
  readonly in: Path;
  readonly from: Path;
  readonly to: Path;
}

/** Converts the value of the member `member` of each object at `in`. */
export interface ConvertRule {
  readonly rule: Conversion['rule'];
  readonly member: string;
  readonly in: Path;
  readonly conversion: Conversion;
  /** True where every value is a text, as in a form. */
  readonly isOfTexts?: true;
}

/** Makes the value of the member `member` of each object at `in` the one element of a list, which is called `to`. */
export interface ListRule {
  readonly rule: 'list';
  readonly member: string;
  readonly in: Path;
  readonly to: string;
}

/** Joins strings, or splits one, at a separator. */
interface Separated {
  readonly with: string;
  /** Which separators split a string that has more of them than the parts need. */
  readonly at: 'first' | 'last';
}

/** Joins the strings in `members` of each object at `in` to one, which is called `to`. */
export interface JoinRule extends Separated {
  readonly rule: 'join';
  readonly members: readonly string[];
  readonly in: Path;
  readonly to: string;
}

/** Splits the string in the member `member` of each object at `in` into the members `to`. */
export interface SplitRule extends Separated {
  readonly rule: 'split';
  readonly member: string;
  readonly in: Path;
  readonly to: readonly string[];
  /** True where every value is a text, as in a form, which writes null as an empty text. */
  readonly isOfTexts?: true;
}

/** A request rule: one declaration for the body of a V1 request. A closed union. */
export type RequestRule =
  | UnwrapRule
  | NestRule
  | RenameRule
  | StripRule
  | OnlyRule
  | MapRule
  | SetRule
  | MoveRule
  | ConvertRule
  | ListRule
  | JoinRule
  | SplitRule;

/** The name of a request rule, as in the rule book and the rewrite log. */
export type RequestRuleName = RequestRule['rule'];

/** The syntax of a path in a rule book: names joined by dots; `\.` and `\\` are a dot and a backslash in a name. */
export const PATH_PATTERN = /^(?:[^.\\]|\\[.\\])+(?:\.(?:[^.\\]|\\[.\\])+)*$/;

/** The syntax of one member name: a path of one name that is not `*`. */
export const NAME_PATTERN = /^(?!\*$)(?:[^.\\]|\\[.\\])+$/;

const PARAMETER = /^\{[A-Za-z_][\w-]*\}$/;

const LITERAL = /^(?:[\w.~!$&'()*+,=:@-]|%[0-9a-fA-F]{2})+$/;

/** Renames every query parameter `parameter` of a V1 request to `to`. */
export interface QueryRenameRule {
  readonly rule: 'rename';
  readonly parameter: string;
  readonly to: string;
}

/** Removes every query parameter with a name in `parameters`. */
interface QueryStripRule {
  readonly rule: 'strip';
  readonly parameters: readonly string[];
}

/** Replaces each value of the query parameter `parameter` that `values` lists; the values are compared as text. */
export interface QueryMapRule {
  readonly rule: 'map';
  readonly parameter: string;
  readonly values: readonly MappedValue[];
  /** The texts between the values, where a parameter has a list of them; absent where it has one. */
  readonly with?: readonly string[];
  /** The texts that may stand before or after a value of a list, and stay: a minus sign, for example. */
  readonly sign?: readonly string[];
}

/** Gives the query parameter `parameter` the value `text`: in any case (`set`), or only where it is absent (`default`). */
export interface QuerySetRule {
  readonly rule: 'set' | 'default';
  readonly parameter: string;
  readonly text: string;
}

/** Converts each value of the query parameter `parameter`. */
export interface QueryConvertRule {
  readonly rule: Conversion['rule'];
  readonly parameter: string;
  readonly conversion: Conversion;
}

/** A query rule: one declaration for the query of a V1 request. A closed union. */
export type QueryRule = QueryRenameRule | QueryStripRule | QueryMapRule | QuerySetRule | QueryConvertRule;

/** True for the name of a parameter whose value may list members of a resource, or say by which of them a list is sorted. */
export function mayListMembers(parameter: string): boolean {
  return /^(?:sort|order|fields?|select|include|expand|only|except|columns?|group|attributes|properties)/i.test(
    parameter,
  );
}

/** Statuses that a response rule applies to: exact ones or classes. */
export type StatusPattern = number | '2xx' | '4xx' | '5xx';

/** Adds the V1 name `as` beside the member at `path` of a response, with the same value bytes. */
export interface AliasRule {
  readonly rule: 'alias';
  readonly path: Path;
  readonly as: string;
  readonly status: readonly StatusPattern[];
}

/** Adds the members of the sub-object at `path` to the object around it, if absent there. */
export interface FlattenRule {
  readonly rule: 'flatten';
  readonly path: Path;
  readonly members: readonly string[] | undefined;
  readonly status: readonly StatusPattern[];
}

/** Adds a list, at `path`, of the deprecated attributes that the request used, each with a sentence. */
export interface DeprecationsRule {
  readonly rule: 'deprecations';
  readonly path: Path;
  readonly status: readonly StatusPattern[];
}

/** Gives the member at `path` of a response its V1 name `to`; its value keeps its bytes and its place. */
export interface RenameBackRule {
  readonly rule: 'rename';
  readonly path: Path;
  readonly to: string;
  readonly status: readonly StatusPattern[];
}

/** Moves the members of the sub-object at `path` to its place in the object around it; the sub-object goes once it is empty. */
export interface UnnestRule {
  readonly rule: 'unnest';
  readonly path: Path;
  /** The members to move; all if undefined. */
  readonly members: readonly string[] | undefined;
  readonly status: readonly StatusPattern[];
}

/** Converts V2's pointers and names in error bodies back to V1's. */
export interface ErrorsRule {
  readonly rule: 'errors';
  /** Sentences of V2 and those of V1 in their place, for words that no renaming can derive. */
  readonly details: Readonly<Record<string, string>>;
  readonly status: readonly StatusPattern[];
}

/** Replaces the value of the member at `path` of a response, if it is a string or scalar that `values` lists: V2's by V1's. */
export interface ResponseMapRule {
  readonly rule: 'map';
  readonly path: Path;
  readonly values: readonly MappedValue[];
  readonly status: readonly StatusPattern[];
}

/** Gives the member at `path` of a response the value `json`: in any case (`set`), or only where it is absent (`default`). */
export interface ResponseSetRule {
  readonly rule: 'set' | 'default';
  readonly path: Path;
  readonly json: string;
  /** The same, decoded: a number as close as a double comes to it. */
  readonly value: unknown;
  readonly status: readonly StatusPattern[];
}

/** Removes the member at `path` of a response. */
export interface ResponseStripRule {
  readonly rule: 'strip';
  readonly path: Path;
  /** The only value that is removed; any, when absent. */
  readonly only?: JsonScalar;
  readonly status: readonly StatusPattern[];
}

/** Moves the member at `from` of each object at `path` of a response to `to`; an object that the move empties goes. */
export interface ResponseMoveRule {
  readonly rule: 'move';
  /** The objects that both paths have in common, up to the last `*`. */
  readonly path: Path;
  readonly from: Path;
  readonly to: Path;
  readonly status: readonly StatusPattern[];
}

/** Converts the value of the member at `path` of a response. */
export interface ResponseConvertRule {
  readonly rule: Conversion['rule'];
  readonly path: Path;
  readonly conversion: Conversion;
  readonly status: readonly StatusPattern[];
}

/** Makes the value of the member at `path` the one element of a list (`list`), or takes the first one of a list (`first`). */
export interface ResponseListRule {
  readonly rule: 'list' | 'first';
  readonly path: Path;
  readonly to: string;
  readonly status: readonly StatusPattern[];
}

/** Joins the strings in `members` of each object at `path` of a response to one, which is called `to`. */
export interface ResponseJoinRule extends Separated {
  readonly rule: 'join';
  readonly members: readonly string[];
  readonly path: Path;
  readonly to: string;
  readonly status: readonly StatusPattern[];
}

/** Splits the string in the member at `path` of a response into the members `to`. */
export interface ResponseSplitRule extends Separated {
  readonly rule: 'split';
  readonly path: Path;
  readonly to: readonly string[];
  readonly status: readonly StatusPattern[];
}

/** Undoes the request rules of its change wherever a response has the resource that they wrote. */
export interface InverseRule {
  readonly rule: 'inverse';
  /** V1's value where V2's object of a `nest` lacks a member: null, or nothing when absent. */
  readonly members?: 'null';
  readonly status: readonly StatusPattern[];
}

/** A response rule that states its effect and its place, unlike `inverse`. */
export type ExplicitResponseRule =
  | RenameBackRule
  | UnnestRule
  | AliasRule
  | FlattenRule
  | DeprecationsRule
  | ErrorsRule
  | ResponseMapRule
  | ResponseSetRule
  | ResponseStripRule
  | ResponseMoveRule
  | ResponseConvertRule
  | ResponseListRule
  | ResponseJoinRule
  | ResponseSplitRule;

/** A response rule: one declaration for the body of the response to a V1 client. A closed union. */
export type ResponseRule = ExplicitResponseRule | InverseRule;

/** The name of a response rule, as in records of edits. */
export type ResponseRuleName = ExplicitResponseRule['rule'];

/** The members that a rule names, as paths from its objects, in the order of the rule book; for an `unwrap` from the body. */
export function namedMembers(rule: RequestRule): readonly Path[] {
  if (rule.rule === 'move') return [rule.from];
  return 'members' in rule ? rule.members.map((member) => [member]) : [[rule.member]];
}

/** The members that a rule gives a name or a place, as paths from its objects; none for a rule that leaves both. */
export function placedMembers(rule: RequestRule): readonly Path[] {
  if (rule.rule === 'nest') return rule.members.map((member) => [rule.under, member]);
  if (rule.rule === 'move') return [rule.to];
  if (!('to' in rule)) return [];
  return typeof rule.to === 'string' ? [[rule.to]] : rule.to.map((name) => [name]);
}

/** Parses a path that {@link PATH_PATTERN} accepts. */
export function readPath(text: string): Path {
  const names = [''];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '.') {
      names.push('');
      continue;
    }
    if (character === '\\') at += 1;
    names[names.length - 1] += text[at] ?? '';
  }
  return names;
}

/** Prints a path in the syntax of a rule book; the body itself is `the body`. */
export function printPath(path: Path): string {
  if (path.length === 0) return 'the body';
  return `"${path.map((name) => name.replace(/[.\\]/g, (special) => `\\${special}`)).join('.')}"`;
}

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

/** A key that is equal for templates that match the same paths, whatever the names of their parameters. */
export function templateShape(template: string): string {
  return `/${readTemplate(template)
    .map((segment) => segment ?? '{}')
    .join('/')}`;
}

/** A prefix as it stands before paths: nothing at the root. */
export function readPrefix(text: string): string {
  return text === '/' ? '' : text;
}

/** A prefix as a rule book and people write it: the root is a slash. */
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
    return 'must have only letters, digits and -._~ in its segments: everything else has several spellings';
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
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase();
  });
}

/** The path as read by a service that decodes slashes, merges them and drops path parameters; the same text for a path without any of these. */
export function looseSpelling(path: string): string {
  if (!/\/\/|;|%2f|%3b/i.test(path)) return path;
  return path.replaceAll(/(?:;|%3b)(?:(?!%2f)[^/])*/gi, '').replaceAll(/(?:\/|%2f)+/gi, '/');
}

/** The places in V2's error bodies that an `errors` rule turns back: it changes nothing else. */
export interface ErrorForm {
  /** The path to the list of errors. */
  readonly list: Path;
  /** The path from an error to the pointer or name of the faulty member. */
  readonly pointer: Path;
  /** Members of an error whose text may have names. */
  readonly text: readonly string[];
  /** Members of the body itself whose text may have names. */
  readonly about: readonly string[];
  /** True where names are keys at `list`, or begin the sentences of a list there. */
  readonly isKeyed?: true;
}

/** The named forms of errors; `json-api` is the default. */
export const ERROR_FORMS = {
  'json-api': { list: ['errors'], pointer: ['source', 'pointer'], text: ['title', 'detail'], about: [] },
  // RFC 9457 §3: the members of the problem, and the extension that its examples have for several.
  problem: { list: ['errors'], pointer: ['pointer'], text: ['detail'], about: ['title', 'detail'] },
  // {"errors":{"name":["is blank"]}} or {"errors":["Name is blank"]}; what concerns no attribute is in `error`.
  rails: { list: ['errors'], pointer: [], text: [], about: ['error', 'message'], isKeyed: true },
} as const satisfies Record<string, ErrorForm>;

/** Renames each field `field` of a request to `to`; with `as`, its value is put in place of the braces of that text. */
export interface HeaderRenameRule {
  readonly rule: 'rename';
  readonly field: string;
  readonly to: string;
  readonly as?: string;
}

/** Sets the field `field` to `value`: always, or for a `default` where it is absent. */
interface HeaderSetRule {
  readonly rule: 'set' | 'default';
  readonly field: string;
  readonly value: string;
}

/** Removes every field with a name in `fields`. */
interface HeaderStripRule {
  readonly rule: 'strip';
  readonly fields: readonly string[];
}

/** Replaces each value of the field `field` that `values` lists; the values are compared as text. */
export interface HeaderMapRule {
  readonly rule: 'map';
  readonly field: string;
  readonly values: readonly MappedValue[];
}

/** Moves the value of the query parameter `parameter` to the field `to`, in place of the braces of `as`. */
export interface HeaderQueryRule {
  readonly rule: 'query';
  readonly parameter: string;
  readonly to: string;
  readonly as: string;
}

/** A header rule: one declaration for the header fields of a V1 request, or of the response to one. A closed union. */
export type HeaderRule = HeaderRenameRule | HeaderSetRule | HeaderStripRule | HeaderMapRule | HeaderQueryRule;

/** A header rule for responses, with the statuses that it applies to; undefined for all. */
export interface ResponseHeaderRule {
  readonly rule: Exclude<HeaderRule, HeaderQueryRule>;
  readonly status: readonly StatusPattern[] | undefined;
}
