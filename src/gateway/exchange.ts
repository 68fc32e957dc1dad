import type { HeaderList } from '../http/header-list.ts';
import type { HttpVersion } from '../migrate/head-failure.ts';

/** A body on its way to V2: whole, in parts as they come, or none. It can be read once; only a whole one can be sent again. */
export type Body = Uint8Array | AsyncIterable<Uint8Array> | null;

/** Why the client's side of an exchange broke: its body did not come in time, or was framed wrongly. */
export type ClientFault = 'client-timeout' | 'bad-framing';

/**
 * One exchange with a client, as an adapter hands it in: what was asked, and where the response goes. Everything is raw:
 * nothing is decoded, joined or normalised before the gateway has judged it.
 */
export interface Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version: HttpVersion;
  /** The peer's address; empty where the platform does not tell. */
  readonly remote: string;
  readonly secure: boolean;
  /** True when bytes of a body follow the head. */
  readonly hasBody: boolean;
  /** Bytes of the request body taken in so far. */
  readonly bytesIn: number;
  /** What a handler returns for it: an adapter that writes to a socket gives any response. */
  readonly handled: Response | Promise<Response>;

  /** Names who is told of the exchange; called once, before anything else. */
  attach(owner: ExchangeOwner): void;
  /** Takes the whole body in, and calls `owner.collected`, unless `owner.mayTake` stops it. */
  collect(): void;
  /** Gets the body ready to be sent on, and calls `owner.opened`, now or within the turn: a small one whole. */
  open(): void;

  /** Sends an interim response (1xx), where the client can read one. */
  information(status: number, headers: HeaderList): void;
  /** Sends the head of the response; without a reason the usual words. Headers are end-to-end ones; framing is the adapter's. Throws `UnwritableHead`. */
  head(status: number, reason: string | undefined, headers: HeaderList): void;
  /** Sends a part of the response's body; false asks to hold back until `owner.drained`. */
  data(chunk: Uint8Array): boolean;
  /** Ends the response, with trailers where the client can read them. */
  end(trailers: HeaderList): void;
  /** Has the connection closed once the response is out. Called before `head`. */
  closeAfterResponse(): void;
  /** Breaks the client's connection, so that a part of a response never looks whole. */
  reset(): void;
}

/** Who is told what happens on the client's side of an exchange. */
export interface ExchangeOwner {
  /** Asked for every chunk that is collected, with the bytes of the chunk; false stops the collecting. */
  acceptChunk(bytes: number): boolean;
  onWholeBody(body: Uint8Array): void;
  onBody(body: Body): void;
  /** The client reads again after `data` answered false. */
  drained(): void;
  /** The client's body broke: no more of it comes. */
  onClientFault(fault: ClientFault): void;
  /** The client is gone, before the response was out. */
  disconnected(): void;
  /** The last byte of the response was handed to the system. */
  flushed(): void;
}
