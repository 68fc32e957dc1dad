import type { CollectorMemory } from '../http/byte-collector.ts';
import type { RawHeaders } from '../http/raw-headers.ts';
import type { HeaderList } from '../http/header-list.ts';
import type { HeadLimits, RequestHead } from '../http/request-head.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { HttpVersion } from '../migrate/decision.ts';

/** A request body for V2: complete, streamed in chunks, or none. It can be read once; only a complete one can be sent again. */
export type Body = Uint8Array | BodyParts | null;

/** A body that arrives in parts. A part is valid until the next one is requested: its memory may be reused. */
export interface BodyParts extends AsyncIterable<Uint8Array> {
  /** Its trailers, once the last part is read. */
  readonly trailers?: HeaderList;
  /** Bytes so far of a body of unknown length that is not the client's own. */
  readonly sentBytes?: number;
  /**
   * Lets the platform write the whole body to a stream, without the gateway reading it; rejects if either side breaks. `isOver` returns
   * true once the request has ended by itself. Undefined if the gateway has read some of the body.
   */
  pass?(to: WritableStream<Uint8Array>, isOver: () => boolean): Promise<void> | undefined;
}

/** How fast a client sends its request and reads its response. */
export interface ClientPace {
  /** True while the exchange waits only for its client: to read more of the response, or to send more of the body. */
  readonly awaitsClient: boolean;
  /** Bytes that the client still has to read or to send; infinite if unknown. */
  readonly rest: number;
  /** Bytes that the client has sent, and that were written to it. */
  readonly moved: number;
  /** Like `moved`, but only with bytes that the client has acknowledged, if the platform tells. */
  transferred(): Promise<number>;
}

/** Why receiving the request failed: the body was too slow, or its framing was invalid. */
export type ClientFault = 'client-timeout' | 'bad-framing';

/**
 * One exchange with a client, as an adapter provides it: the request, and the methods that respond. All data is raw: the adapter decodes,
 * joins and normalises nothing.
 */
export interface Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  /** The fields as checked lines; absent if the platform does not provide them. */
  readonly lines?: RawHeaders;
  readonly version: HttpVersion;
  /** Address of the peer; empty where the platform does not provide it. */
  readonly remote: string;
  readonly secure: boolean;
  /** True when a body follows the head. */
  readonly hasBody: boolean;
  /** Bytes of the request body received so far. */
  readonly bytesIn: number;
  /** Trailers of the request that may be forwarded, once its body is complete; absent where the platform does not report them. */
  readonly trailers?: HeaderList;
  /** True if `data` keeps no chunk beyond the current turn of the event loop or the next call. */
  readonly borrowsChunks?: boolean;
  /** True if it reads no chunk once the exchange is over: the memory may then be reused. */
  readonly releasesChunks?: boolean;
  /** True once the client has disconnected, even before `handler.disconnected` is called. */
  readonly isGone?: boolean;
  /** Aborted when the client disconnects, on platforms with such a signal; the request to V2 is then aborted as well. */
  readonly signal?: AbortSignal;
  /** The fields of the response's head if its framing left some out; undefined otherwise. */
  readonly framedFields?: HeaderList | undefined;
  /** True once the gateway has sent a head for a response without content: it then drops a body from V2. */
  readonly dropsContent?: boolean;
  /** The pace of the client; absent if the platform does not tell. */
  readonly pace?: ClientPace;
  /** The HTTP/2 connection with other exchanges of the client; absent for HTTP/1. */
  readonly carrier?: object;
  /** Return value for the handler; an adapter that writes to a socket may resolve to any response. */
  readonly handled: Response | Promise<Response>;

  /** Reads the head from its lines, as `readHead` does from the list; absent without lines. */
  readHead?(limits: HeadLimits, trusted: boolean, targetBytes: number): RequestHead;
  /** Sets the receiver of the exchange's events; called once, before anything else. */
  attach(handler: ExchangeHandler): void;
  /** Reads the whole body into `memory` and calls `handler.onWholeBody`, unless `handler.acceptChunk` stops it. */
  collect(memory: CollectorMemory): void;
  /**
   * Prepares the body for forwarding and calls `handler.onBody`, synchronously or within the same turn; a small body arrives complete.
   * The lifetime `exchange` promises that no code reads it after the exchange, so that its memory can be reused. `at-once` does not read
   * ahead, because the origin may wait for each part.
   */
  open(lifetime?: 'exchange', forwarding?: 'at-once'): void;

  /** Sends an informational response (1xx), if the client supports them. */
  information(status: number, headers: HeaderList): void;
  /** Sends the head of the response. Its fields are end-to-end; the adapter adds framing. Throws `UnwritableHead`. */
  head(head: ResponseHead): void;
  /** Sends a chunk of the response body; false signals backpressure until `handler.drained`. With `isLast`, `end` follows at once. */
  data(chunk: Uint8Array, isLast?: boolean): boolean;
  /**
   * Lets the platform send the body of the response, between `head` and `end`; the promise settles when it is sent, or when either side
   * breaks. Absent or undefined if the gateway has to send chunks.
   */
  pass?(body: ReadableStream<Uint8Array>): Promise<void> | undefined;
  /** Ends the response, with trailers if the client supports them. */
  end(trailers: HeaderList): void;
  /** Closes the connection after the response. Called before `head`. */
  closeAfterResponse(): void;
  /** Resets the client's connection, so that a partial response never looks complete. */
  reset(): void;
  /** The gateway is done with the exchange, including work after the response. Absent if the platform does not wait for that. */
  ended?(): void;
}

/** Receives the events of the client's side of an exchange. */
export interface ExchangeHandler {
  /** Called for every chunk read by `collect`, with its size in bytes; false stops reading. */
  acceptChunk(bytes: number): boolean;
  onWholeBody(body: Uint8Array): void;
  onBody(body: Body): void;
  /** The client reads again after `data` returned false. */
  drained(): void;
  /** Receiving the body failed; no more of it follows. */
  onClientFault(fault: ClientFault): void;
  /** The client disconnected before the response was complete. */
  disconnected(): void;
  /** The last byte of the response was handed to the operating system. */
  flushed(): void;
}
