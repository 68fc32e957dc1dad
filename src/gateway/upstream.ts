import type { RawHeaders } from '../http/raw-headers.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { type Failure, failure } from '../migrate/failure.ts';
import { gatewayFailure } from './failures.ts';
import type { Body } from './exchange.ts';

/** A request to an origin. The upstream adds the framing and `Host` itself. */
export interface UpstreamRequest {
  readonly method: string;
  /** Raw, in origin form. */
  readonly target: string;
  /** End-to-end fields in order, without `Host` and framing. */
  readonly headers: HeaderList;
  /** The lines that most of the fields come from, if the platform reads lines. */
  readonly lines?: RawHeaders | undefined;
  /** All lines of these fields in latin1, if known; they have been checked. */
  readonly fieldText?: string | undefined;
  readonly body: Body;
  /** Length in bytes of a streamed body, if the client declared it. */
  readonly length: number | undefined;
  /** Milliseconds that an earlier attempt already waited for the first byte. */
  readonly spentMs?: number | undefined;
  /** Aborts when the client has disconnected, on platforms with such a signal. */
  readonly signal?: AbortSignal | undefined;
  /** True for a request that no client waits for: it takes no connection that others need, and is aborted if they need its own. */
  readonly isBackground?: boolean | undefined;
}

/** The request with other header fields. */
export function withHeaders(request: UpstreamRequest, headers: HeaderList): UpstreamRequest {
  return { ...request, headers, fieldText: undefined };
}

/** Why there is no complete response. */
export interface UpstreamFault {
  /**
   * `unreachable`: no connection (refused, DNS, TLS). `timeout`: connecting, the first byte or the next byte took too long. `closed`: the
   * connection closed. `invalid`: the response is not HTTP, or shorter than its declared length. `rejected`: the request cannot be
   * written. `crowded`: too many others wait. `away`: the origin has been unreachable for so long that the upstream did not try; it keeps
   * connecting, and calls `onReached` when the origin is back.
   */
  readonly kind: 'unreachable' | 'timeout' | 'closed' | 'invalid' | 'rejected' | 'crowded' | 'away';
  /** True if a byte of the request may have reached the origin; whether it did is unknown. */
  readonly mayHaveArrived: boolean;
  /** The kernel's error code, such as `ECONNREFUSED`, or a few words, such as `no response head in time`: for the log, never for the client. */
  readonly cause: string;
}

/** Receives the response. Exactly one of `end` and `fail` is called, last, unless the request was aborted. */
export interface UpstreamReceiver {
  /** True if it keeps no part of the body after `data` returns: the upstream may reuse the memory. */
  readonly borrowsParts?: boolean;
  information(status: number, headers: HeaderList): void;
  head(head: ResponseHead): void;
  /** With `isLast`, `end` follows at once. */
  data(chunk: Uint8Array, isLast?: boolean): void;
  /**
   * Takes a body of `length` bytes as a stream of the platform, between `head` and `end`; the promise settles at its end, and `fail`
   * follows if it rejects. Absent or undefined if the gateway reads the body: `data` then gets it.
   */
  pass?(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined;
  end(trailers: HeaderList): void;
  fail(fault: UpstreamFault): void;
  /** Called before `end` if only the close of the connection marks the end of the body, which may therefore be truncated. */
  endUnproven?(): void;
}

/** A request in flight. */
export interface UpstreamCall {
  /** False while nothing of the request was sent; undefined if unknown. */
  readonly isSent?: boolean;
  /** True while it occupies its connection; undefined if unknown. */
  readonly isHolding?: boolean;
  /** Its position in the queue for a connection: the lowest is served first. */
  rank?: number;
  /** Pauses the response body while the client reads slowly. */
  pause(): void;
  resume(): void;
  /** Aborts the request; the receiver gets no more calls. */
  abort(): void;
}

/**
 * Sends requests to one origin, V1 or V2. It never sends a request twice, follows no redirect and decodes nothing. While nothing was
 * sent, it keeps trying to connect until the timeout, so that such a fault is final.
 */
export interface Upstream {
  /** Called each time that an unreachable origin accepts a connection again; set by the gateway. If absent, no fault is `away`. */
  onReached?: (() => void) | undefined;
  /** Called regularly while `count` requests have waited long for one of its `connections`; set by the gateway. */
  onShort?: ((connections: number, count: number) => void) | undefined;
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall;
}

/** Maximum body size in bytes for which a closed connection counts as a failure of the server, and not as a refusal of the body. */
const SMALL_BODY_BYTES = 16 * 1024;

/**
 * Converts the fault of the last attempt to a failure for the client. It never contains the origin's address or the kernel's error text.
 */
export function failureForFault(fault: UpstreamFault): Failure {
  switch (fault.kind) {
    case 'unreachable':
      // For a retry: its first attempt reached the origin, which closed the connection.
      return gatewayFailure(fault.mayHaveArrived ? 'upstream-closed' : 'upstream-unreachable');
    case 'timeout':
      return gatewayFailure(
        'upstream-timeout',
        fault.mayHaveArrived
          ? undefined
          : 'The gateway did not reach the service in time, and sent it nothing.',
      );
    case 'closed':
      return gatewayFailure('upstream-closed');
    case 'invalid':
      return gatewayFailure('upstream-invalid');
    case 'rejected':
      return failure('bad-request', 'The request cannot be forwarded to the service.');
    case 'away':
      return gatewayFailure(
        'circuit-open',
        'The service accepts no connections; requests no longer wait for it.',
        ['Retry-After', '1'],
      );
    case 'crowded':
      return gatewayFailure('overloaded', 'Too many requests are waiting for the service.', [
        'Retry-After',
        '1',
      ]);
  }
}

/**
 * True for a fault that indicates the origin's health. A server may refuse a large body by closing the connection, and the reset
 * then discards its response: that fault is about the body.
 */
export function isCounted(fault: UpstreamFault, body: UpstreamRequest['body']): boolean {
  if (fault.kind === 'rejected' || fault.kind === 'crowded' || fault.kind === 'away') return false;
  // The gateway has no file descriptor left for the connection.
  if (fault.cause === 'EMFILE' || fault.cause === 'ENFILE') return false;
  if (fault.kind !== 'closed' || body === null) return true;
  return body instanceof Uint8Array && body.length <= SMALL_BODY_BYTES;
}

/** Thrown by `Exchange.head` before anything is sent: the client's protocol cannot express this head. */
export class UnwritableHead extends Error {
  constructor(status: number) {
    super(`The head of the response ${status} cannot be written.`);
    this.name = 'UnwritableHead';
  }
}
