import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';

/** The rule book that ships, in force. */
export async function compiledShippedRuleBook(): Promise<CompiledRuleBook> {
  const outcome = await loadRuleBook(new URL('../../config/rules.yaml', import.meta.url).pathname);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.rules;
}
