import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { Change } from '../../src/rules/rule-book.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { responseRule } from './response-plan-of.ts';
import { testRuleBook } from './rule-book.ts';
import type { TextCase } from '../../src/cli/cases/text-cases.ts';

const STRIP: RequestRule = { rule: 'strip', members: ['legacy'], in: [] };

/** The rule book of a case of `cases/response-rules`, which names its response rules itself. */
export function responseRulesBook({ options }: TextCase): CompiledRuleBook {
  const rules = (options['response'] ?? '').split(';').map((rule) => responseRule(rule.trim()));
  const { changes: all } = testRuleBook();
  const changes = all.map((change): Change =>
    change.on === 'every' ? { ...change, request: [...change.request, STRIP], response: rules } : change,
  );
  return new CompiledRuleBook(testRuleBook({ changes }));
}
