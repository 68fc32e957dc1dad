import { isHost } from '../http/host.ts';
import type { RequestHead } from '../http/request-head.ts';
import { type Failure, type FailureCode, failure } from './failure.ts';

/** The HTTP version of a request; `other` is one that is not supported, `malformed` that of a request whose line or fields are invalid. */
export type HttpVersion = '1.0' | '1.1' | '2' | 'other' | 'malformed';

/** The parts of a request that decide whether its head is accepted. */
export interface CheckedHead {
  readonly method: string;
  readonly version: HttpVersion;
  readonly head: RequestHead;
}

/**
 * Returns why a head is refused, whatever its target. The connection is then closed, because the end of the request is uncertain.
 */
export function headFailure({ method, version, head }: CheckedHead): Failure | undefined {
  if (version === 'malformed')
    return failure('bad-request', 'The request line or a header field is not valid.');
  if (version === 'other') return failure('unsupported-version');
  if (head.fault !== undefined) return failure(CODE_OF_STATUS[head.fault.status], head.fault.detail);
  if (head.host === undefined) {
    if (version !== '1.0') return failure('bad-request', 'The request has no Host.');
  } else if (!isHost(head.host)) {
    return failure(
      'bad-request',
      'The Host of the request is not a name or an address with an optional port.',
    );
  }
  if (head.chunked && version === '1.0') {
    return failure('bad-request', 'HTTP/1.0 does not define Transfer-Encoding.');
  }
  if (method === 'CONNECT') return failure('upgrade-refused');
  // Java's HttpClient offers h2c with every first request. RFC 9110 §7.8 allows a server to ignore the offer.
  if (head.upgrade !== undefined && !/^h2c?(?:[ \t]*,[ \t]*h2c?)*$/i.test(head.upgrade))
    return failure('upgrade-refused');
  if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue')
    return failure('expectation-failed');
  return undefined;
}

const CODE_OF_STATUS = {
  400: 'bad-request',
  431: 'headers-too-large',
  501: 'not-implemented',
} as const satisfies Record<number, FailureCode>;
