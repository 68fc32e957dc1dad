import type { Failure } from '../migrate/failure.ts';

/** The response of a failure for which no exchange can respond. */
export function failureResponse(failure: Failure): Response {
  return new Response(failure.envelope(), {
    status: failure.status,
    headers: { 'Content-Type': 'application/json', 'x-gateway-error': failure.code },
  });
}
