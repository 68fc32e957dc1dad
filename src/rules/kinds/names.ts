import type { RequestRuleName, ResponseRuleName } from './words.ts';

/** Every kind of rule, as the type requires. */
const RULES: Readonly<Record<RequestRuleName | ResponseRuleName, true>> = {
  unwrap: true,
  nest: true,
  rename: true,
  strip: true,
  only: true,
  map: true,
  set: true,
  default: true,
  move: true,
  copy: true,
  list: true,
  entries: true,
  unlist: true,
  join: true,
  split: true,
  scale: true,
  quote: true,
  unquote: true,
  prefix: true,
  unprefix: true,
  date: true,
  unnest: true,
  alias: true,
  flatten: true,
  deprecations: true,
  errors: true,
  first: true,
  lookup: true,
  wrap: true,
};

/**
 * The names of all kinds of rules. Code that needs nothing but names takes them from here, such as the page, which completes filters:
 * the kinds themselves, with all that they do, would be a tenth of its script.
 */
export const RULE_NAMES: readonly string[] = Object.keys(RULES);
