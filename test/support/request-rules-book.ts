import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { compiledRuleBookIn } from './shipped-rule-book.ts';

/** The rule book of `cases/request-rules`: maps, query rules, and an operation of PUT. */
export function requestRulesBook(): Promise<CompiledRuleBook> {
  return compiledRuleBookIn(new URL('../cases/request-rules/rules.yaml', import.meta.url));
}
