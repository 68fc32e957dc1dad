import type { ExplainRequest } from '../api.ts';

/** True for a value with the shape of a request to explain. */
export function isExplainRequest(value: unknown): value is ExplainRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const {
    operation,
    method,
    target,
    headers,
    body,
    bodyBase64,
  }: Partial<Record<keyof ExplainRequest, unknown>> = value;
  return (
    [operation, method, target, body, bodyBase64].every(
      (text) => text === undefined || typeof text === 'string',
    ) &&
    (headers === undefined || (Array.isArray(headers) && headers.every((pair) => isHeader(pair))))
  );
}

function isHeader(pair: unknown): boolean {
  return Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === 'string');
}
