import { isHost } from '../http/host.ts';
import type { RequestHead } from '../http/request-head.ts';
import { type Failure, type FailureCode, failure } from './failure.ts';

/** The HTTP version of a request; `other` is one that is not supported, `malformed` that of a request whose line or fields are invalid. */
export type HttpVersion = '1.0' | '1.1' | '2' | '3' | 'other' | 'malformed';

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
  // HTTP clients for Java offer h2c or TLS with requests that need neither. RFC 9110 §7.8 allows a server to ignore an offer.
  if (head.upgrade !== undefined && !IGNORED_OFFERS.test(head.upgrade)) return failure('upgrade-refused');
  if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue')
    return failure('expectation-failed');
  return undefined;
}

/** A list of protocols that say again what HTTP/1.1 says, so that the client does without them; behind any other follow other bytes. */
const IGNORED_OFFERS = /^(?:(?:h2c?|HTTP\/2\.0|TLS\/1\.\d)[ \t]*(?:,[ \t]*|$))+$/i;

const CODE_OF_STATUS = {
  400: 'bad-request',
  431: 'headers-too-large',
  501: 'not-implemented',
} as const satisfies Record<number, FailureCode>;
