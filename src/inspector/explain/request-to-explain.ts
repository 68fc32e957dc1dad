import { decodeBase64 } from '../entries/base64.ts';
import { isFieldName } from '../../http/field-characters.ts';
import { type HeaderList, headerValue } from '../../http/header-list.ts';
import { type HeadLimits, readHead } from '../../http/request-head.ts';
import type { DecidedRequest } from '../../migrate/decision.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { ExplainRequest } from '../api.ts';

/** Explains in a sentence why a request cannot be explained. */
export interface ExplainFault {
  readonly fault: string;
}

/** A request as a client would send it, with its complete body. */
export interface RequestToExplain extends DecidedRequest {
  /** The given fields, before a `Host` is added. */
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/**
 * Completes a partial description of a request: an operation supplies method and target, a body without header fields is JSON,
 * and a missing `Host` is added.
 */
export function requestToExplain(
  request: ExplainRequest,
  { operations }: RuleBook,
  limits: HeadLimits,
): RequestToExplain | ExplainFault {
  const named = operations.find(({ id }) => id === request.operation);
  if (request.operation !== undefined && named === undefined) {
    return {
      fault: `There is no operation ${request.operation}; there are ${operations.map(({ id }) => id).join(', ')}.`,
    };
  }
  if (named === undefined && request.target === undefined)
    return { fault: 'Name an operation, or give a method and a target.' };
  if (request.method !== undefined && !isFieldName(request.method))
    return { fault: `${JSON.stringify(request.method)} is not a method of HTTP.` };
  const body = bodyOf(request);
  if (body === undefined) return { fault: 'The bodyBase64 is not Base64.' };
  const headers = (request.headers ?? (body.length > 0 ? [JSON_TYPE] : [])).flat();
  const complete = headerValue(headers, 'host') === undefined ? ['Host', 'gateway', ...headers] : headers;
  const head = readHead(complete, limits, false);
  return {
    method: request.method ?? named?.method ?? 'POST',
    target: request.target ?? `/api/v1${named?.template ?? ''}`,
    version: '1.1',
    head,
    hasBody: body.length > 0,
    headers,
    body,
  };
}

const JSON_TYPE: readonly [string, string] = ['Content-Type', 'application/json'];

function bodyOf({ body = '', bodyBase64 }: ExplainRequest): Uint8Array | undefined {
  return bodyBase64 === undefined ? new TextEncoder().encode(body) : decodeBase64(bodyBase64);
}
