import { OperationTable } from '../rules/operation-table.ts';
import type { Operation, RuleBook } from '../rules/rule-book.ts';
import { DeprecatedAttributes } from './deprecated-attributes.ts';
import { compilePlans, type Plan, type Plans } from './plan.ts';
import { compileResponsePlans, type ResponsePlan, type ResponsePlans } from './response-plan.ts';

/**
 * A rule book with everything that is compiled of it: the match of operations and the plans of both directions, each plan when it
 * is first asked for. An exchange keeps the one it began with to its end.
 */
export class CompiledRuleBook {
  readonly ruleBook: RuleBook;
  /** Lists the deprecated attributes that a request used, by its edits. */
  readonly deprecatedAttributes = new DeprecatedAttributes();
  private readonly operations: OperationTable;
  private readonly requestPlans: Plans;
  private readonly responsePlans: ResponsePlans;

  constructor(ruleBook: RuleBook) {
    this.ruleBook = ruleBook;
    this.operations = new OperationTable(ruleBook.operations);
    this.requestPlans = compilePlans(ruleBook);
    this.responsePlans = compileResponsePlans(ruleBook);
  }

  /** Returns the operation of a method and a raw path below `/api/v1`; undefined where the rule book names none. */
  match(method: string, path: string): Operation | undefined {
    return this.operations.match(method, path);
  }

  /** Returns the plan for request bodies; `undefined` is a request that the rule book does not name. */
  requestPlan(operation: Operation | undefined): Plan {
    return this.requestPlans.of(operation);
  }

  /** Returns the plan for response bodies; `undefined` is a request that the rule book does not name. */
  responsePlan(operation: Operation | undefined, method: string): ResponsePlan {
    return this.responsePlans.of(operation, method);
  }
}
