import { readFileSync } from 'node:fs';
import { compilePlans, type Plan } from '../src/rewrite/plan.ts';
import type { RuleBook } from '../src/rules/rule-book.ts';
import { readRuleBook } from '../src/rules/read-rule-book.ts';

/** Reads a rule book for the bench; a fault in it is the bench's own. */
export async function benchRuleBook(text: string): Promise<RuleBook> {
  const reading = await readRuleBook(text, 'bench/rules.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  return reading.ruleBook;
}

/** The plan that the engine is measured with: unwrap, nest seven members, rename, strip. */
export async function benchPlan(): Promise<Plan> {
  const book = await benchRuleBook(readFileSync(new URL('./rules.yaml', import.meta.url), 'utf8'));
  return compilePlans(book).of(book.operations[0]);
}
