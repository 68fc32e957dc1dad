import { readFile } from 'node:fs/promises';
import { compilePlans } from '../rewrite/plan.ts';
import { OperationTable } from '../rules/operation-table.ts';
import { printFault } from '../rules/rule-book-fault.ts';
import { readRuleBook } from '../rules/read-rule-book.ts';
import type { RuleBookOutcome } from './rule-books.ts';

/** Reads, checks and compiles the rule book in a file; its faults name file, line and column. */
export async function loadRuleBook(path: string): Promise<RuleBookOutcome> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { faults: [`--rules names a file that cannot be read: ${path} (${code}).`] };
  }
  const reading = await readRuleBook(text, path);
  if (!reading.ok) return { faults: reading.faults.map((fault) => printFault(fault)) };
  const { ruleBook } = reading;
  const table = new OperationTable(ruleBook.operations);
  const plans = compilePlans(ruleBook);
  return { text, inForce: { ruleBook, plans, match: (method, target) => table.match(method, target) } };
}
