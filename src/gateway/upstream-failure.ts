import { isIdempotent } from '../http/methods.ts';
import { type Failure, failure } from '../migrate/failure.ts';
import type { UpstreamFault, UpstreamRequest } from './upstream.ts';

/** Bytes of a body up to which a server that closes is taken to have failed, and not to have refused the body. */
const SMALL_BODY_BYTES = 16 * 1024;

/**
 * The retry table of the transport contract §4: a connection that closed before a response — once more for idempotent methods with a
 * body that is still there; anything else never, for an order must not be placed twice. While nothing was sent the upstream itself
 * connects again, until the time is over.
 */
export function mayResend(request: UpstreamRequest, fault: UpstreamFault, attempts: number): boolean {
  if (!fault.sent || fault.kind !== 'closed' || attempts > 1) return false;
  return isIdempotent(request.method) && (request.body === null || request.body instanceof Uint8Array);
}

/** Milliseconds to wait before the next attempt: doubling from 25, spread over half to one and a half of it. */
export function resendDelay(attempts: number, random: number): number {
  return Math.round(25 * 2 ** (attempts - 1) * (0.5 + random));
}

/** What the client is told of a fault. Never the origin's address, nor the system's words. */
export function failureForFault(fault: UpstreamFault): Failure {
  switch (fault.kind) {
    case 'unreachable':
      return failure('upstream-unreachable');
    case 'timeout':
      return failure('upstream-timeout');
    case 'closed':
      return failure('upstream-closed');
    case 'invalid':
      return failure('upstream-invalid');
    case 'rejected':
      return failure('bad-request', 'The request cannot be written for the service.');
    case 'crowded':
      return failure('overloaded', 'Too many requests wait for the service.', ['Retry-After', '1']);
  }
}

/**
 * True for a fault that says something of the origin's health. A server may refuse a large body by closing, and its response is then lost
 * in the reset: that is about the body.
 */
export function isCounted(fault: UpstreamFault, body: UpstreamRequest['body']): boolean {
  if (fault.kind === 'rejected' || fault.kind === 'crowded') return false;
  if (fault.kind !== 'closed' || body === null) return true;
  return body instanceof Uint8Array && body.length <= SMALL_BODY_BYTES;
}
