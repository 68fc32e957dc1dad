import type { JsonScalar } from '../json/json-scalar.ts';

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

/** A request rule: one declaration for the body of a V1 request. A closed union. */
export type RequestRule = UnwrapRule | NestRule | RenameRule | StripRule | OnlyRule | MapRule;

/** The name of a request rule, as in the rule book and the rewrite log. */
export type RequestRuleName = RequestRule['rule'];

/** Every request rule, so that a new one that is missing here does not compile. */
const REQUEST_RULES: Readonly<Record<RequestRuleName, true>> = {
  unwrap: true,
  nest: true,
  rename: true,
  strip: true,
  only: true,
  map: true,
};

/** The names of all request rules. */
export const REQUEST_RULE_NAMES: readonly string[] = Object.keys(REQUEST_RULES);

/** True for the name of a request rule. */
export function isRequestRuleName(text: string): text is RequestRuleName {
  return Object.hasOwn(REQUEST_RULES, text);
}

/** Renames every query parameter `parameter` of a V1 request to `to`. */
export interface QueryRenameRule {
  readonly rule: 'rename';
  readonly parameter: string;
  readonly to: string;
}

/** Removes every query parameter with a name in `parameters`. */
export interface QueryStripRule {
  readonly rule: 'strip';
  readonly parameters: readonly string[];
}

/** Replaces each value of the query parameter `parameter` that `values` lists; the values are compared as text. */
export interface QueryMapRule {
  readonly rule: 'map';
  readonly parameter: string;
  readonly values: readonly MappedValue[];
}

/** A query rule: one declaration for the query of a V1 request. A closed union. */
export type QueryRule = QueryRenameRule | QueryStripRule | QueryMapRule;

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

/** Undoes the request rules of its change wherever a response has the resource that they wrote. */
export interface InverseRule {
  readonly rule: 'inverse';
  readonly status: readonly StatusPattern[];
}

/** A response rule that says itself what it does, and where. */
export type ExplicitResponseRule =
  | RenameBackRule
  | UnnestRule
  | AliasRule
  | FlattenRule
  | DeprecationsRule
  | ErrorsRule
  | ResponseMapRule;

/** A response rule: one declaration for the body of the response to a V1 client. A closed union. */
export type ResponseRule = ExplicitResponseRule | InverseRule;

/** The name of a response rule, as in records of edits. */
export type ResponseRuleName = ExplicitResponseRule['rule'];
