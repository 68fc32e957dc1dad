import type { Rollout } from './rollout.ts';
import type { Path, QueryRule, RequestRule, ResponseRule } from './rule.ts';

/** A V1 operation: a method and a path template below `/api/v1`, such as `PATCH /properties/{id}`. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  /** True when neither the specification nor the documentation shows it. */
  readonly assumed: boolean;
  /** Other resources that responses of this operation's resource contain; absent for none. */
  readonly embeds?: readonly Embedding[];
}

/** A place where the responses of one resource contain another. */
export interface Embedding {
  /** The path from the resource to the embedded one, or to each of a list of them. */
  readonly path: Path;
  /** The id of an operation that writes the embedded resource. */
  readonly operation: string;
}

/** How to handle cases where the specification leaves a choice. */
export interface Policies {
  /** A body that is an object without the wrapper. */
  readonly flat: 'migrate' | 'refuse' | 'forward';
  /** Members beside the wrapper. */
  readonly siblings: 'drop' | 'refuse' | 'forward';
  /** Both the V1 and the V2 spelling are present: the V1 value wins, or the request is refused or forwarded unchanged. */
  readonly conflict: 'v1' | 'refuse' | 'forward';
  /** A member that a rule names occurs twice in one object. */
  readonly duplicate: 'refuse' | 'last' | 'forward';
  /** The wrapper is not an object. */
  readonly wrapper: 'refuse' | 'forward';
  /** Not JSON, not UTF-8, or nested deeper than the limit. */
  readonly malformed: 'refuse' | 'forward';
  /** A charset or content coding that the gateway cannot read. */
  readonly unsupported: 'refuse' | 'forward';
  /** `x-api-version` is a day that is still to come: V2 gets it, or the release of the rule book. */
  readonly future: 'forward' | 'replace';
}

/** Limits for rewriting bodies. */
export interface RuleBookLimits {
  /** Maximum levels of nesting. */
  readonly depth: number;
  /** Maximum bytes of a request body to rewrite, after decoding. */
  readonly body: number;
  /** Maximum bytes of a response body to rewrite, after decoding. */
  readonly response: number;
}

/** A named change from V1 to V2: the unit of the log, the inspector, the metrics and the docs. */
export interface Change {
  readonly id: string;
  /** One sentence for people. */
  readonly summary: string;
  /** `every` is any POST or PATCH with a JSON body, whether or not its operation is listed; otherwise operation ids. */
  readonly on: 'every' | readonly string[];
  readonly request: readonly RequestRule[];
  /** Absent without query rules. */
  readonly query?: readonly QueryRule[];
  readonly response: readonly ResponseRule[];
  /** Policies for the rules of this change only, which override those of the rule book. */
  readonly policies: Partial<Policies>;
  readonly assumed: boolean;
}

/** A complete, checked rule book: every declaration in it can take effect. */
export interface RuleBook {
  /** The dated V2 release that the rules target, `YYYY-MM-DD`. */
  readonly version: string;
  readonly operations: readonly Operation[];
  readonly changes: readonly Change[];
  readonly policies: Policies;
  readonly limits: RuleBookLimits;
  /** How V1 clients are moved to V2 until V1 ends; absent when the book does not configure it. */
  readonly rollout?: Rollout;
  /** The first 16 hex digits of the SHA-256 of the book's meaning, regardless of comments, order of keys and spelling. */
  readonly hash: string;
}
