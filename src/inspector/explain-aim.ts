import type { Operation } from '../rules/rule-book.ts';
import type { ExplainRequest } from './api.ts';
import type { InspectedRules } from './inspected-rules.ts';

/** A request that cannot be explained: a sentence. */
export interface ExplainFault {
  readonly fault: string;
}

/** What a request to explain is aimed at. */
export interface ExplainAim {
  readonly isV1: boolean;
  readonly method: string;
  readonly target: string;
  readonly v2Target: string;
  readonly operation: Operation | undefined;
}

/** Finds operation and targets of a request to explain. */
export function aimOf(request: ExplainRequest, rules: InspectedRules): ExplainAim | ExplainFault {
  const { operations } = rules.ruleBook;
  const named = operations.find(({ id }) => id === request.operation);
  if (request.operation !== undefined && named === undefined) {
    return {
      fault: `There is no operation ${request.operation}; there are ${operations.map(({ id }) => id).join(', ')}.`,
    };
  }
  if (named === undefined && request.target === undefined)
    return { fault: 'Name an operation, or give a method and a target.' };
  const target = originForm(request.target ?? named?.template ?? '/');
  const method = (request.method ?? named?.method ?? 'POST').toUpperCase();
  const rest = /^\/api\/v[12](?=[/?]|$)/.test(target) ? target.slice(7) : target;
  const isV1 = !target.startsWith('/api/v2');
  const path = rest.split('?', 1)[0] ?? '';
  return {
    isV1,
    method,
    target: isV1 ? `/api/v1${rest}` : target,
    v2Target: `/api/v2${rest}`,
    operation: isV1 ? (named ?? rules.match(method, path)) : undefined,
  };
}

/** Takes scheme and host off a full address, with or without scheme. */
function originForm(target: string): string {
  const address = /^(?:https?:)?\/\/[^/?#]*([^#]*)/i.exec(target);
  const path = address === null ? target : (address[1] ?? '');
  return path.startsWith('/') ? path : `/${path}`;
}
