import { isIdempotent } from '../http/methods.ts';
import { type Failure, failure } from '../migrate/failure.ts';
import type { UpstreamFault, UpstreamRequest } from './upstream.ts';

/**
 * Maximum body size in bytes for which a closed connection counts as a failure of the server and not as its refusal of the body.
 */
const SMALL_BODY_BYTES = 16 * 1024;

/**
 * Decides on a retry: one, of an idempotent method whose body is still available, when the connection closed before a response.
 * Nothing else is retried, because an order must not be placed twice. While nothing was sent, the upstream itself keeps connecting
 * until the timeout.
 */
export function mayRetry(request: UpstreamRequest, fault: UpstreamFault, attempts: number): boolean {
  if (!fault.sent || fault.kind !== 'closed' || attempts > 1) return false;
  return isIdempotent(request.method) && (request.body === null || request.body instanceof Uint8Array);
}

/** Milliseconds before a retry: 25, with jitter from half to one and a half of it. `random` is at least 0 and less than 1. */
export function retryDelayMs(random: number): number {
  return Math.round(25 * (0.5 + random));
}

/** Maps the fault of all attempts to the failure that the client receives. Never contains the origin's address or the system's error text. */
export function failureForFault(fault: UpstreamFault): Failure {
  switch (fault.kind) {
    case 'unreachable':
      // Of a retry: its first attempt reached the origin, which closed the connection.
      return failure(fault.sent ? 'upstream-closed' : 'upstream-unreachable');
    case 'timeout':
      return failure('upstream-timeout');
    case 'closed':
      return failure('upstream-closed');
    case 'invalid':
      return failure('upstream-invalid');
    case 'rejected':
      return failure('bad-request', 'The request cannot be forwarded to the service.');
    case 'away':
      return failure('circuit-open', 'The service accepts no connections; requests wait no longer for it.', [
        'Retry-After',
        '1',
      ]);
    case 'crowded':
      return failure('overloaded', 'Too many requests are waiting for the service.', ['Retry-After', '1']);
  }
}

/**
 * True for a fault that indicates the origin's health. A server may refuse a large body by closing the connection, and the reset
 * then discards its response: that fault is about the body.
 */
export function isCounted(fault: UpstreamFault, body: UpstreamRequest['body']): boolean {
  if (fault.kind === 'rejected' || fault.kind === 'crowded' || fault.kind === 'away') return false;
  // The gateway has no descriptor left for the connection.
  if (fault.cause === 'EMFILE' || fault.cause === 'ENFILE') return false;
  if (fault.kind !== 'closed' || body === null) return true;
  return body instanceof Uint8Array && body.length <= SMALL_BODY_BYTES;
}
