import { compilePlans, type Plan } from '../src/rewrite/plan.ts';
import { SHIPPED, bookOf } from '../test/support/plan-of.ts';

/** The plan that the engine is measured with: unwrap, nest seven members, rename, strip. */
export function benchPlan(): Plan {
  return compilePlans(bookOf(SHIPPED)).of(undefined);
}
