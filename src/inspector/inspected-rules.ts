import type { Rewrite } from '../rewrite/rewrite.ts';
import type { Operation, RuleBook } from '../rules/rule-book.ts';

/** A rule book in force with its compiled plans: the very ones that live requests go through. */
export interface InspectedRules {
  readonly ruleBook: RuleBook;
  readonly plans: { of(operation: Operation | undefined): { rewrite(body: Uint8Array): Rewrite } };
  /** The operation of a method and a path below `/api/v1`, if the rule book names one. */
  match(method: string, path: string): Operation | undefined;
}
