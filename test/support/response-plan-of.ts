import { compileResponsePlans, type ResponsePlan } from '../../src/rewrite/response-plan.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { bookOf } from './plan-of.ts';

/** The plan that carries out the given response rules on the response to any POST. */
export function responsePlanOf(
  response: readonly ResponseRule[],
  request: readonly RequestRule[] = [],
): ResponsePlan {
  const book = bookOf(request);
  const changes = book.changes.map((change) => ({ ...change, response }));
  return compileResponsePlans({ ...book, changes }).of(undefined, 'POST');
}

/**
 * Response rules in words: `rename data.a to b`, `unnest data.a [x y]`, `alias data.a as b`, `flatten data.a [x y]`,
 * `deprecations meta.list`, `wrap data`, `errors`.
 */
export function responseRule(text: string): ResponseRule {
  const [rule, where = '', ...more] = text.split(' ');
  const path = where.split('.');
  if (rule === 'alias') return { rule, path, as: more[1] ?? '', status: ['2xx'] };
  if (rule === 'flatten')
    return { rule, path, members: more.length === 0 ? undefined : more, status: ['2xx'] };
  if (rule === 'wrap') return { rule, path, status: ['2xx'] };
  if (rule === 'deprecations') return { rule, path, status: ['2xx', '4xx'] };
  if (rule === 'rename') return { rule, path, to: more[1] ?? '', status: ['2xx'] };
  if (rule === 'unnest')
    return { rule, path, members: more.length === 0 ? undefined : more, status: ['2xx'] };
  return { rule: 'errors', details: {}, status: ['4xx', '5xx'] };
}
