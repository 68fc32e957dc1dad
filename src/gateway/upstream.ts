import type { FieldLines } from '../http/field-lines.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { Body } from './exchange.ts';

/** A request to an origin. The upstream adds the framing and `Host` itself. */
export interface UpstreamRequest {
  readonly method: string;
  /** Raw, in origin form. */
  readonly target: string;
  /** End-to-end fields in order, without `Host` and framing. */
  readonly headers: HeaderList;
  /** The lines that most of the fields come from, where the platform reads lines. */
  readonly lines?: FieldLines | undefined;
  /** The lines of all of these fields, in latin1, where they are known: they are checked. */
  readonly fieldText?: string | undefined;
  readonly body: Body;
  /** Length in bytes of a streamed body, if the client declared it. */
  readonly length: number | undefined;
  /** Milliseconds that an earlier attempt used of the time to the first byte. */
  readonly spentMs?: number | undefined;
  /** True for a request that no client waits for: it takes no connection that others need, and is aborted when they do. */
  readonly isBackground?: boolean | undefined;
}

/** The request with other header fields. */
export function withHeaders(request: UpstreamRequest, headers: HeaderList): UpstreamRequest {
  return { ...request, headers, fieldText: undefined };
}

/** Why there is no complete response. */
export interface UpstreamFault {
  /**
   * `unreachable`: no connection (refused, DNS, TLS). `timeout`: connecting, the first byte or the next byte took too long.
   * `closed`: the connection closed. `invalid`: the response is not HTTP, or shorter than its declared length. `rejected`: the
   * request cannot be written. `crowded`: too many others wait. `away`: no connection for so long that the request was not tried; the
   * upstream itself looks for the origin's return, and counts it in `recoveries`.
   */
  readonly kind: 'unreachable' | 'timeout' | 'closed' | 'invalid' | 'rejected' | 'crowded' | 'away';
  /** True when a byte of the request may have reached the origin. */
  readonly sent: boolean;
  /** The system's error code, such as `ECONNREFUSED`, or a few words, such as `no response head in time`: for the log, never for the client. */
  readonly cause: string;
}

/** Receives the response. Exactly one of `end` and `fail` is called, last, unless the request was aborted. */
export interface UpstreamReceiver {
  /** True when it keeps no part of the body once `data` returns: the upstream may use the memory again. */
  readonly borrowsParts?: boolean;
  information(status: number, headers: HeaderList): void;
  head(head: ResponseHead): void;
  /** With `isLast`, `end` follows at once. */
  data(chunk: Uint8Array, isLast?: boolean): void;
  end(trailers: HeaderList): void;
  fail(fault: UpstreamFault): void;
  /** Called before `end` when only the close of the connection marks the end of the body, which may thus be truncated. */
  endUnproven?(): void;
}

/** A request in flight. */
export interface UpstreamCall {
  /** False while nothing of the request is sent; undefined where that is not known. */
  readonly isSent?: boolean;
  /** Pauses the response body while the client reads slowly. */
  pause(): void;
  resume(): void;
  /** Aborts the request; the receiver gets no more calls. */
  abort(): void;
}

/**
 * Sends requests to one origin, V1 or V2: the only way to it. It never sends twice, follows no redirect and decodes nothing. While it
 * knows that nothing was sent, it keeps trying until the timeout, so that such a fault is final.
 */
export interface Upstream {
  /** Number of times that the origin became reachable again; undefined where that is not known, and no fault is `away`. */
  readonly recoveries?: number;
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall;
}
