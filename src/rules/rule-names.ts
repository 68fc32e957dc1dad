import type { RequestRuleName, ResponseRuleName } from './rule.ts';

/**
 * Every request rule, and whether it gives a member another value. A new one is here, or this does not compile. The compiler then
 * leads to its inverse (`inverse.ts`), its bytes (`compileRule` in `rewrite/kinds/kinds.ts`), the names in errors (`rewrite/name-spellings.ts`), and
 * the sentences of `explain`. It says nothing about: the form in the file (`rule-book-source.ts`) and the rule that this becomes
 * (`declared-change.ts`); what `check` says about it (`check-rule-book.ts`, `stale-rules.ts`); forms (`rewrite/form.ts`), JSON Patch
 * (`rewrite/json-patch.ts`); and its remark in a client's guide (`report/guide/guide.ts`).
 */
const REQUEST_RULES: Readonly<Record<RequestRuleName, boolean>> = {
  unwrap: false,
  nest: false,
  rename: false,
  strip: false,
  only: false,
  map: true,
  set: true,
  default: true,
  move: false,
  scale: true,
  quote: true,
  unquote: true,
  prefix: true,
  unprefix: true,
  date: true,
  list: true,
  join: true,
  split: true,
};

/** The names of all request rules. */
export const REQUEST_RULE_NAMES: readonly RequestRuleName[] =
  Object.keys(REQUEST_RULES).filter(isRequestRuleName);

/** Every explicit response rule, and whether it gives a member another value. */
const RESPONSE_RULES: Readonly<Record<ResponseRuleName, boolean>> = {
  rename: false,
  unnest: false,
  alias: false,
  flatten: false,
  deprecations: false,
  errors: false,
  map: true,
  set: true,
  default: true,
  strip: false,
  move: false,
  scale: true,
  quote: true,
  unquote: true,
  prefix: true,
  unprefix: true,
  date: true,
  list: true,
  first: true,
  join: true,
  split: true,
};

/** The names of all response rules, as in records of edits. */
export const RESPONSE_RULE_NAMES: readonly ResponseRuleName[] =
  Object.keys(RESPONSE_RULES).filter(isResponseRuleName);

function isResponseRuleName(text: string): text is ResponseRuleName {
  return Object.hasOwn(RESPONSE_RULES, text);
}

/** True for a rule that gives a member another value, because V2's values differ from V1's. */
export function changesValue(rule: string): boolean {
  if (isRequestRuleName(rule)) return REQUEST_RULES[rule];
  return isResponseRuleName(rule) && RESPONSE_RULES[rule];
}

/** True for the name of a request rule. */
export function isRequestRuleName(text: string): text is RequestRuleName {
  return Object.hasOwn(REQUEST_RULES, text);
}
