import type { HeaderList } from '../http/header-list.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { Operation } from '../rules/rule-book.ts';
import { isJson } from './decide-response.ts';

/** The V1 request that a response belongs to. */
export interface RequestFacts {
  readonly method: string;
  /** The raw path below `/api/v1`. */
  readonly rest: string;
  readonly operation: Operation | undefined;
}

/**
 * True for a HEAD whose GET would be rewritten: it has the length that the GET would have (RFC 9110 §8.6), and nobody knows that
 * before a body is rewritten.
 */
export function isHeadOfRewritten(
  { method, rest }: RequestFacts,
  rules: CompiledRuleBook,
  status: number,
  headers: HeaderList,
): boolean {
  if (method !== 'HEAD') return false;
  return rules.responsePlan(rules.match('GET', rest), 'GET').appliesTo(status, false) && isJson(headers);
}

/**
 * Returns the query of a link to V2 as V1 has it: by the rules of this operation, or of the one that the link leads to. `path` is
 * that of the link below `/api/v2`, undefined for a link that is only a query.
 */
export function restoredQuery(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
  path: string | undefined,
  query: string,
): string {
  const linked = path ?? rest;
  const own = linked === rest ? rules.queryPlan(operation, method) : undefined;
  const plan = own ?? rules.queryPlan(rules.match('GET', linked), 'GET');
  return plan?.restore(query) ?? query;
}
