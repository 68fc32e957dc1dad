import { ChangeIndex } from '../rules/change-index.ts';
import { InverseIndex } from '../rules/inverse.ts';
import { canBeRewritten, isRewritten } from '../rules/rewritten-methods.ts';
import type { Change, Operation, RuleBook } from '../rules/rule-book.ts';
import { ResponsePlan } from './response-plan.ts';

/** The response plans of a rule book. */
export interface ResponsePlans {
  /** Returns the plan for responses to `operation`; `undefined` is for requests without an operation in the rule book. */
  of(operation: Operation | undefined, method: string): ResponsePlan;
}

/**
 * Compiles the response rules of `book`, each plan on first use. A change `on: every` applies to the responses to any POST or
 * PATCH; what `inverse` undoes, it undoes in all responses, and errors of reads have the names of what writes the resource.
 */
export function compileResponsePlans(book: RuleBook): ResponsePlans {
  const changes = new ChangeIndex(book.changes);
  const inverse = new InverseIndex(book.operations, book.changes);
  const unnamed = inverse.of(undefined);
  const other = new ResponsePlan(book, changes.of(undefined, true), unnamed);
  const read = new ResponsePlan(book, changesOfRead([], inverse.writing(undefined)), unnamed);
  const plans = new Map<string, ResponsePlan>();
  return {
    of: (operation, method) => {
      if (operation === undefined) return isRewritten(method) ? other : read;
      const known = plans.get(operation.id);
      if (known !== undefined) return known;
      const named = changes.of(operation.id, isRewritten(operation.method));
      const applied = canBeRewritten(operation.method)
        ? named
        : changesOfRead(named, inverse.writing(operation));
      const plan = new ResponsePlan(book, applied, inverse.of(operation));
      plans.set(operation.id, plan);
      return plan;
    },
  };
}

/** Adds to the changes that name a read the `errors` rules of those that write the resource, where V1 has other names for it. */
function changesOfRead(named: readonly Change[], writing: readonly Change[]): readonly Change[] {
  const isRenamed = writing.some(({ request }) =>
    request.some(({ rule }) => rule === 'rename' || rule === 'nest'),
  );
  if (!isRenamed) return named;
  return writing.map((change) => {
    if (named.includes(change)) return change;
    return { ...change, query: [], response: change.response.filter(({ rule }) => rule === 'errors') };
  });
}
