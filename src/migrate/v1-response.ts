import { fieldsOfAnotherBody } from '../http/body-fields.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { ResponsePlan } from '../rewrite/response-plan.ts';
import type { Operation } from '../rules/rule-book.ts';
import { isJson } from './decide-response.ts';

/** A V1 request, as far as its response depends on it. */
export interface RequestFacts {
  readonly method: string;
  /** The raw path below `/api/v1`. */
  readonly rest: string;
  readonly operation: Operation | undefined;
}

/** Returns the plan for the response to a request; for a HEAD that to the GET that it stands for (RFC 9110 §9.3.2). */
export function representationPlan(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): ResponsePlan {
  if (method !== 'HEAD') return rules.responsePlan(operation, method);
  return rules.responsePlan(rules.match('GET', rest), 'GET');
}

/**
 * Returns the fields of a response without content as those of the GET that it stands for, where that would be rewritten: a response to
 * HEAD (RFC 9110 §9.3.2), or a 304 (§15.4.5). They tell no length: nobody knows it before a body is rewritten.
 */
export function contentlessFields(
  request: RequestFacts,
  rules: CompiledRuleBook,
  status: number,
  headers: HeaderList,
): HeaderList {
  const { method } = request;
  const isNotModified = status === 304;
  if (method !== 'HEAD' && !(isNotModified && method === 'GET')) return headers;
  const plan = representationPlan(request, rules);
  const isRewritten = isNotModified
    ? plan.appliesTo(200, false)
    : plan.appliesTo(status, false) && isJson(headers);
  return isRewritten ? fieldsOfAnotherBody(headers) : headers;
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
