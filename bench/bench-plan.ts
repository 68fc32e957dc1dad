import { readFileSync } from 'node:fs';
import { compilePlans, type Plan } from '../src/rewrite/plan.ts';
import { compileResponsePlans, type ResponsePlan } from '../src/rewrite/response-plan.ts';
import type { Change, RuleBook } from '../src/rules/rule-book.ts';
import { readRuleBook } from '../src/rules/read-rule-book.ts';

/** Reads a rule book for the bench; a fault in it is the bench's own. */
export async function benchRuleBook(text: string): Promise<RuleBook> {
  const reading = await readRuleBook(text, 'bench/rules.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  return reading.ruleBook;
}

/** The plan that the engine is measured with: unwrap, nest seven members, rename, strip. */
export async function benchPlan(): Promise<Plan> {
  const book = await engineRuleBook();
  return compilePlans(book).of(book.operations[0]);
}

/** The plan for responses: the inverse of nest and rename. */
export async function benchResponsePlan(): Promise<ResponsePlan> {
  const book = await engineRuleBook();
  const changes = book.changes.map((change): Change =>
    change.on === 'every' ? change : { ...change, response: [{ rule: 'inverse', status: ['2xx'] }] },
  );
  return compileResponsePlans({ ...book, changes }).of(book.operations[0], 'POST');
}

function engineRuleBook(): Promise<RuleBook> {
  return benchRuleBook(readFileSync(new URL('./rules.yaml', import.meta.url), 'utf8'));
}
