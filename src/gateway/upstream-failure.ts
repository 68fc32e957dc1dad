import { type Failure, failure } from '../migrate/failure.ts';
import type { UpstreamFault, UpstreamRequest } from './upstream.ts';

/** How often a request is sent again when nothing of it was sent. */
const MOST_RESENDS = 2;

/** Methods that may be carried out twice (RFC 9110 §9.2.2). */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/**
 * The retry table of the transport contract §4: nothing sent — again, twice at most; a connection that closed before
 * a response — once more for idempotent methods with a body that is still there; anything else never, for an order must
 * not be placed twice.
 */
export function mayResend(request: UpstreamRequest, fault: UpstreamFault, attempts: number): boolean {
  if (!fault.sent)
    return fault.kind === 'unreachable' || fault.kind === 'timeout' ? attempts <= MOST_RESENDS : false;
  if (fault.kind !== 'closed' || attempts > 1) return false;
  return (
    IDEMPOTENT_METHODS.has(request.method) && (request.body === null || request.body instanceof Uint8Array)
  );
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
  }
}

/** True for a fault that says something of the origin's health. */
export function isCounted(fault: UpstreamFault): boolean {
  return fault.kind !== 'rejected';
}
