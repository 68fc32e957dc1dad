import type { ExplainRequest } from '../api.ts';
import { encodeBase64, exactText } from '../entries/base64.ts';

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

/** A body for a request to explain: as text where that is exact, and in Base64 where the bytes are no text. */
export function bodyOfBytes(bytes: Uint8Array): Pick<ExplainRequest, 'body' | 'bodyBase64'> {
  const text = exactText(bytes);
  return text === undefined ? { bodyBase64: encodeBase64(bytes) } : { body: text };
}
