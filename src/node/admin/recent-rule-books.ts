import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';

/** Maximum number of rule books that are kept. */
const MAX_RULE_BOOKS = 8;

/** The rule books that were last in force, by hash: their entries can still be inspected. */
export class RecentRuleBooks {
  private readonly byHash = new Map<string, CompiledRuleBook>();
  private last: CompiledRuleBook | undefined;

  /** Adds the rule book in force; the oldest one is forgotten. */
  add(rules: CompiledRuleBook): void {
    if (rules === this.last) return;
    this.last = rules;
    this.byHash.delete(rules.ruleBook.hash);
    this.byHash.set(rules.ruleBook.hash, rules);
    const [oldest] = this.byHash.keys();
    if (this.byHash.size > MAX_RULE_BOOKS && oldest !== undefined) this.byHash.delete(oldest);
  }

  /** Returns a rule book; undefined when it is no longer kept. */
  get(hash: string): CompiledRuleBook | undefined {
    return this.byHash.get(hash);
  }
}
