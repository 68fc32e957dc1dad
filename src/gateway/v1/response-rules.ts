import { DeprecatedAttributes } from '../../rewrite/deprecated-attributes.ts';
import { compileResponsePlans, type ResponsePlans } from '../../rewrite/response-plan.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import { SignalHeaders } from '../../rollout/signal-headers.ts';

/** What the responses to V1 clients need of a rule book. */
export interface ResponseRules {
  readonly plans: ResponsePlans;
  readonly deprecated: DeprecatedAttributes;
  /** Absent when the rule book gives no dates and links. */
  readonly signals: SignalHeaders | undefined;
}

/** Keeps what was compiled of the rule book in force; a new rule book is compiled with its first exchange. */
export class ResponseRulesInForce {
  private book: RuleBook | undefined;
  private rules: ResponseRules | undefined;

  of(book: RuleBook): ResponseRules {
    if (this.rules !== undefined && this.book === book) return this.rules;
    this.book = book;
    const signals = book.rollout?.signals;
    this.rules = {
      plans: compileResponsePlans(book),
      deprecated: new DeprecatedAttributes(),
      signals: signals === undefined ? undefined : new SignalHeaders(signals),
    };
    return this.rules;
  }
}
