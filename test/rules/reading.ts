import { printFault } from '../../src/rules/rule-book-fault.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';

/** The rule book in `text`; fails with its faults when it has any. */
export async function bookIn(text: string): Promise<RuleBook> {
  const reading = await readRuleBook(text, 'rules.yaml');
  if (reading.ok) return reading.ruleBook;
  throw new Error(reading.faults.map(printFault).join('\n'));
}

/** The faults of `text`, printed without the file: `line:column message`. */
export async function faultsIn(text: string): Promise<readonly string[]> {
  const reading = await readRuleBook(text, 'f');
  return reading.ok ? [] : reading.faults.map((fault) => printFault(fault).slice('f:'.length));
}

/** The messages of the faults of `text`. */
export async function messagesIn(text: string): Promise<readonly string[]> {
  const reading = await readRuleBook(text, 'f');
  return reading.ok ? [] : reading.faults.map(({ message }) => message);
}

/** A rule book of the changes in `changes`, a YAML list without its indentation, over the operations a, b (POST), g (GET) and h (HEAD). */
export function withChanges(changes: string): string {
  return `version: 2025-01-01\noperations: { a: POST /a, b: PATCH /b, g: GET /g, h: HEAD /h }\nchanges:\n${changes}`;
}
