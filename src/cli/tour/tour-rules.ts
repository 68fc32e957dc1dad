import { readFileSync, writeFileSync } from 'node:fs';
import type { Serving } from '../serve/serving.ts';

/** The operation that the rule book of the tour lacks at first, as the first rule book of an operator may. */
export const UNDECLARED_OPERATION = 'list_floor_plan_orders';

const DECLARATION = new RegExp(`^  ${UNDECLARED_OPERATION}:.*\\n`, 'm');
const OPERATIONS = /^operations:\n/m;

/** Returns the shipped rule book without one operation. */
export function firstRuleBook(shipped: string): string {
  if (!DECLARATION.test(shipped) || !OPERATIONS.test(shipped))
    throw new Error(`The rule book does not declare ${UNDECLARED_OPERATION}.`);
  return shipped.replace(DECLARATION, '');
}

/** Declares the operation in a rule book. */
export function declareOperation(rulesPath: string): void {
  const text = readFileSync(rulesPath, 'utf8');
  const line = `  ${UNDECLARED_OPERATION}: { match: GET /orders/floor_plans, assumed: true }\n`;
  writeFileSync(
    rulesPath,
    text.replace(OPERATIONS, (start) => `${start}${line}`),
  );
}

/** Adds lines at the end of a rule book. */
export function addToRuleBook(rulesPath: string, lines: string): void {
  writeFileSync(rulesPath, `${readFileSync(rulesPath, 'utf8').trimEnd()}\n\n${lines}\n`);
}

/** Lets a gateway read its rule book, as it does by itself a second after the file has changed; returns the hash in force. */
export async function reloadRules(serving: Serving): Promise<string> {
  const before = serving.ruleBooks.current.ruleBook.hash;
  await serving.life.reloadFile('rule-book');
  const { hash } = serving.ruleBooks.current.ruleBook;
  if (hash === before) throw new Error('The gateway did not take the changed rule book.');
  return hash;
}
