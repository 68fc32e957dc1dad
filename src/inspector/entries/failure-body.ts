import type { BodyFault } from '../routes/read-body.ts';

/** The failure body of the admin listener: the `errors` envelope of the service. */
export interface FailureBody {
  readonly errors: readonly [
    { readonly status: string; readonly title: string; readonly detail: string; readonly code: string },
  ];
}

/** Creates a failure body; `detail` is a sentence with the remedy. */
export function failureBody(status: keyof typeof TITLES, code: string, detail: string): FailureBody {
  return { errors: [{ status: String(status), title: TITLES[status], detail, code }] };
}

/** Responds that a body was not read, and closes the connection, because the rest of the body may still arrive. */
export function bodyFailure(fault: BodyFault, limit: number): Response {
  const status = fault === 'too-large' ? 413 : 408;
  const detail =
    fault === 'too-large' ? `Send at most ${limit} bytes.` : 'The body was not received in time.';
  return Response.json(failureBody(status, fault, detail), { status, headers: { Connection: 'close' } });
}

/** Responds 429: too many requests at the moment, retry after a second. */
export function tooManyRequests(): Response {
  const detail = 'Try again in a second.';
  return Response.json(failureBody(429, 'too-many-requests', detail), {
    status: 429,
    headers: { 'Retry-After': '1' },
  });
}

const TITLES = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  408: 'Request timeout',
  413: 'Content too large',
  422: 'Unprocessable content',
  429: 'Too many requests',
  503: 'Service unavailable',
} as const;
