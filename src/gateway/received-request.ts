import { type AddressRange, isWithin } from '../http/address-range.ts';
import { isHost } from '../http/host.ts';
import { type HeadLimits, type RequestHead, readHead } from '../http/request-head.ts';
import type { Exchange } from './exchange.ts';
import { type Failure, type FailureCode, failure } from '../migrate/failure.ts';

/** A request whose head has been read and judged. */
export interface ReceivedRequest {
  readonly exchange: Exchange;
  readonly head: RequestHead;
  /** Milliseconds of the monotonic clock when the head had arrived. */
  readonly started: number;
  /** Milliseconds since 1970 when the head had arrived. */
  readonly time: number;
}

/** What the head of a request is judged by. */
export interface ReceivedRequestLimits extends HeadLimits {
  readonly trustedProxies: readonly AddressRange[];
}

/** Reads the head of a request: nothing of it is decoded or joined before it is judged. */
export function receiveRequest(
  exchange: Exchange,
  limits: ReceivedRequestLimits,
  started: number,
  time: number,
): ReceivedRequest {
  const trusted = isWithin(exchange.remote, limits.trustedProxies);
  return { exchange, head: readHead(exchange.headers, limits, trusted), started, time };
}

/** Why the head of a request is refused, whatever its target. Each closes the connection: its end may be elsewhere. */
export function requestFailure({ exchange, head }: ReceivedRequest): Failure | undefined {
  if (exchange.version === 'other') return failure('unsupported-version');
  if (head.fault !== undefined) return failure(FAULT_CODES[head.fault.status], head.fault.detail);
  if (head.host === undefined) {
    if (exchange.version !== '1.0') return failure('bad-request', 'The request has no Host.');
  } else if (!isHost(head.host)) {
    return failure(
      'bad-request',
      'The Host of the request is not a name or an address with an optional port.',
    );
  }
  if (head.chunked && exchange.version === '1.0') {
    return failure('bad-request', 'Transfer-Encoding is not known to HTTP/1.0.');
  }
  if (exchange.method === 'CONNECT') return failure('upgrade-refused');
  // Java's HttpClient offers h2c with every first request. RFC 9110 §7.8 lets a server ignore an offer.
  if (head.upgrade !== undefined && !/^h2c?(?:[ \t]*,[ \t]*h2c?)*$/i.test(head.upgrade))
    return failure('upgrade-refused');
  if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue')
    return failure('expectation-failed');
  return undefined;
}

const FAULT_CODES = {
  400: 'bad-request',
  431: 'headers-too-large',
  501: 'not-implemented',
} as const satisfies Record<number, FailureCode>;
