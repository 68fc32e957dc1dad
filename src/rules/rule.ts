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

/** A request rule: one declaration for the body of a V1 request. A closed union. */
export type RequestRule = UnwrapRule | NestRule | RenameRule | StripRule | OnlyRule;

/** The name of a request rule, as in the rule book and the rewrite log. */
export type RequestRuleName = RequestRule['rule'];

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
  | ErrorsRule;

/** A response rule: one declaration for the body of the response to a V1 client. A closed union. */
export type ResponseRule = ExplicitResponseRule | InverseRule;

/** The name of a response rule, as in records of edits. */
export type ResponseRuleName = ExplicitResponseRule['rule'];
