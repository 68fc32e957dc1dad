import type { HeaderList } from '../http/header-list.ts';
import type { Body } from './exchange.ts';

/** A request to V2. The upstream frames it anew, and writes `Host` itself. */
export interface UpstreamRequest {
  readonly method: string;
  /** Origin form, raw. */
  readonly target: string;
  /** End-to-end fields without `Host` and framing, in order. */
  readonly headers: HeaderList;
  readonly body: Body;
  /** The bytes of a body that comes in parts, when the client said so. */
  readonly length: number | undefined;
  /** Milliseconds that an earlier attempt took of the time for a first byte. */
  readonly spentMs?: number | undefined;
  /** True for a request that no client waits for: it takes no connection that others need, and is given up when they do. */
  readonly isBackground?: boolean | undefined;
}

/** Why there is no response, or no whole one. */
export interface UpstreamFault {
  /**
   * `unreachable`: no connection (refused, DNS, TLS). `timeout`: connecting, the first byte or the next byte took too
   * long. `closed`: the connection went away. `invalid`: the response is not HTTP, or not whole by its own length.
   * `rejected`: the request cannot be written. `crowded`: too many others wait.
   */
  readonly kind: 'unreachable' | 'timeout' | 'closed' | 'invalid' | 'rejected' | 'crowded';
  /** True when a byte of the request may have reached V2. */
  readonly sent: boolean;
  /** The system's name for it, such as `ECONNREFUSED`: for the log of the operator, never for the client. */
  readonly cause: string;
}

/** Who is told of the response. Exactly one of `end` and `fail` is called, last, unless the request was aborted. */
export interface UpstreamReceiver {
  information(status: number, headers: HeaderList): void;
  head(status: number, reason: string, headers: HeaderList): void;
  data(chunk: Uint8Array): void;
  end(trailers: HeaderList): void;
  fail(fault: UpstreamFault): void;
  /** Called before `end` when nothing but the close of the connection says that the body is whole, and that may have been a cut. */
  endUnproven?(): void;
}

/** A request under way. */
export interface UpstreamCall {
  /** Holds the response's body back, for a client that reads slowly. */
  pause(): void;
  resume(): void;
  /** Gives the request up; nothing more is told. */
  abort(): void;
}

/**
 * What sends to V2: the one seam to it. It never sends twice, follows no redirect and decodes nothing. Where it can tell that nothing was
 * sent, it tries for as long as it may by itself, so that such a fault is final.
 */
export interface Upstream {
  /** How often V2 could be reached again after it could not; undefined where that is not known. */
  readonly recoveries?: number;
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall;
}
