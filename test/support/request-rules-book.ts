import { readFile } from 'node:fs/promises';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../rules/reading.ts';

/** The rule book of `cases/request-rules`: maps, query rules, and an operation of PUT. */
export async function requestRulesBook(): Promise<CompiledRuleBook> {
  const text = await readFile(new URL('../cases/request-rules/rules.yaml', import.meta.url), 'utf8');
  return new CompiledRuleBook(await bookIn(text));
}
