import type { RuleBook } from '../rules/rule-book.ts';
import { compileForms } from './form.ts';
import { compileJsonPatches } from './json-patch.ts';
import { type FormatPlans, LoadableRuleBook } from './loadable-rule-book.ts';
import { MultipartStream } from './multipart.ts';

/** Compiles the rules for forms, multipart bodies and patches: an isolate at the edge imports this for its first such body. */
export function formatPlans(book: RuleBook): FormatPlans {
  return {
    forms: compileForms(book),
    patches: compileJsonPatches(book),
    multipart: (rules, keepsEdits) => new MultipartStream(rules, keepsEdits),
  };
}

/** A rule book with its compiled parts, for bodies of every format. */
export class CompiledRuleBook extends LoadableRuleBook {
  constructor(ruleBook: RuleBook) {
    super(ruleBook);
    this.formats = formatPlans(ruleBook);
  }
}
