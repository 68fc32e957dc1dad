import type { Rewrite } from './rewrite.ts';
import type { Operation, RuleBook } from '../rules/rule-book.ts';

/** What a compiled plan does to the bodies of one operation. */
export interface BodyPlan {
  rewrite(body: Uint8Array): Rewrite;
}

/** A rule book that is in force, compiled. An exchange keeps the one it began with to its end. */
export interface CompiledRuleBook {
  readonly ruleBook: RuleBook;
  readonly plans: { of(operation: Operation | undefined): BodyPlan };
  /** The operation of a method and a path below `/api/v1`, if the rule book names one. */
  match(method: string, path: string): Operation | undefined;
}
