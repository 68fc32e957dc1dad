import { OperationTable } from '../rules/operation-table.ts';
import type { Operation, RuleBook } from '../rules/rule-book.ts';
import { DeprecatedAttributes } from './deprecated-attributes.ts';
import { compilePlans, type Plan, type Plans } from './plan.ts';
import { compileResponsePlans, type ResponsePlan, type ResponsePlans } from './response-plan.ts';

/**
 * A rule book with its compiled parts: the matching of operations and the plans of both directions, each compiled on first use.
 * An exchange uses the same one from start to end.
 */
export class CompiledRuleBook {
  readonly ruleBook: RuleBook;
  /** Lists the deprecated attributes that a request used, from its edit records. */
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

  /** Returns the operation for a method and a raw path below `/api/v1`; undefined if the rule book has none. */
  match(method: string, path: string): Operation | undefined {
    return this.operations.match(method, path);
  }

  /** Returns the plan for request bodies; `undefined` is for requests without an operation in the rule book. */
  requestPlan(operation: Operation | undefined): Plan {
    return this.requestPlans.of(operation);
  }

  /** Returns the plan for response bodies; `undefined` is for requests without an operation in the rule book. */
  responsePlan(operation: Operation | undefined, method: string): ResponsePlan {
    return this.responsePlans.of(operation, method);
  }
}
