import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';

/** The rule book that ships, in force. */
export async function compiledShippedRuleBook(): Promise<CompiledRuleBook> {
  return compiledRuleBookIn(new URL('../../config/rules.yaml', import.meta.url));
}

/** The rule book in a file, in force. */
export async function compiledRuleBookIn(file: URL): Promise<CompiledRuleBook> {
  const outcome = await loadRuleBook(file.pathname);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.rules;
}
