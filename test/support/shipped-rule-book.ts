import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';

/** The rule book that ships, in force. */
export async function compiledShippedRuleBook(): Promise<CompiledRuleBook> {
  return compiledRuleBookIn(new URL('../../config/rules.yaml', import.meta.url));
}

/** The books that were read: reading one takes longer than most tests. */
const books = new Map<string, Promise<RuleBook>>();

/** The rule book in a file, in force. */
export async function compiledRuleBookIn(file: URL): Promise<CompiledRuleBook> {
  const book = books.get(file.pathname) ?? read(file.pathname);
  books.set(file.pathname, book);
  return new CompiledRuleBook(await book);
}

async function read(path: string): Promise<RuleBook> {
  const outcome = await loadRuleBook(path);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.rules.ruleBook;
}
