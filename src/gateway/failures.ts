import type { HeaderList } from '../http/header-list.ts';
import { Failure, failure, type FailureCode, failureIn, type FailureRow } from '../migrate/failure.ts';

/** The code of a failure that only a gateway has, because of its connections, clients and reports. The library does not contain these. */
export type GatewayFailureCode = keyof typeof FAILURES;

const FAILURES = {
  'no-api-key': [401, 'Unauthorized', 'Send the API key as Authorization: Bearer.'],
  'bad-signature': [401, 'Unauthorized', "The delivery's signature is not valid."],
  'not-seen': [404, 'Not Found', 'The gateway has seen no V1 request with this API key.'],
  'only-get': [405, 'Method Not Allowed', 'Reports are read-only: send GET or HEAD.'],
  'only-post': [405, 'Method Not Allowed', 'Send deliveries with POST.'],
  'too-many-requests': [429, 'Too Many Requests', 'A client may read its report only a few times a minute.'],
  'client-timeout': [408, 'Request Timeout', 'The request did not arrive in time.'],
  internal: [
    500,
    'Internal error',
    'The gateway failed; the service may or may not have carried out the request.',
  ],
  'upstream-unreachable': [502, 'Bad Gateway', 'The gateway cannot reach the service, and sent it nothing.'],
  'upstream-closed': [
    502,
    'Bad Gateway',
    'The service closed the connection before it responded; it may or may not have carried out the request.',
  ],
  'upstream-invalid': [
    502,
    'Bad Gateway',
    'The service sent invalid HTTP; it may or may not have carried out the request.',
  ],
  overloaded: [503, 'Service Unavailable', 'The gateway has too many requests in flight.'],
  'circuit-open': [
    503,
    'Service Unavailable',
    'The service keeps failing, so the gateway has paused requests to it.',
  ],
  'no-v1-origin': [503, 'Service Unavailable', 'The request is for V1, but no V1 service is configured.'],
  'upstream-timeout': [
    504,
    'Gateway Timeout',
    'The service did not respond in time; it may or may not have carried out the request.',
  ],
} as const satisfies Record<string, FailureRow>;

/** Creates the failure for a code; `detail` replaces the default sentence with one about this case. */
export function gatewayFailure(
  code: GatewayFailureCode | FailureCode,
  detail?: string,
  headers: HeaderList = [],
): Failure {
  return isOwn(code) ? failureIn(code, FAILURES[code], detail, headers) : failure(code, detail, headers);
}

function isOwn(code: string): code is GatewayFailureCode {
  return Object.hasOwn(FAILURES, code);
}

/** Creates the failure for a client that has to wait `reset` whole seconds, in the service's form. */
export function tooManyRequests(reset: number): Failure {
  const { code, status, title, detail } = gatewayFailure('too-many-requests');
  return new Failure({ code, status, title, detail, reset, headers: ['Retry-After', String(reset)] });
}
