import type { Readable } from 'node:stream';
import type { Body, ClientFault, ExchangeOwner } from '../../gateway/exchange.ts';
import type { Peer } from './busy-peers.ts';
import { IncomingBody, type IncomingBodyOptions, type IncomingBodyOwner } from './incoming-body.ts';
import type { ReaderLimits } from './slow-reader-guard.ts';

/** What every exchange of a server shares. Times are milliseconds. */
export interface BodyExchangeOptions extends ReaderLimits, IncomingBodyOptions {
  /** The address of the client on a connection. */
  addressOf(peer: Peer): string;
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
  /** Told of a bug in what an event of Node does: the exchange is over by then. */
  onUnexpectedError(error: unknown): void;
}

/** The request's side of an exchange whose body Node reads, of HTTP/1.1 and of HTTP/2: what the body tells goes to the owner. */
export abstract class BodyExchange implements IncomingBodyOwner {
  protected readonly options: BodyExchangeOptions;
  protected readonly body: IncomingBody;
  protected owner: ExchangeOwner | undefined = undefined;
  protected expectsContinue: boolean;

  /** `length` is the request's own, `undefined` without one. */
  constructor(
    source: Readable,
    length: string | undefined,
    expectsContinue: boolean,
    options: BodyExchangeOptions,
  ) {
    this.options = options;
    this.expectsContinue = expectsContinue;
    this.body = new IncomingBody(source, length === undefined ? undefined : Number(length), options, this);
  }

  get bytesIn(): number {
    return this.body.bytes;
  }

  collect(): void {
    if (this.expectsContinue) this.writeContinue();
    this.body.collect();
  }

  open(): void {
    if (this.expectsContinue) this.writeContinue();
    this.body.open();
  }

  /** The body broke: no more of it comes. */
  fault(fault: ClientFault): void {
    this.body.stop(new Error(fault));
    this.owner?.onClientFault(fault);
  }

  mayTake(bytes: number): boolean {
    return this.owner?.acceptChunk(bytes) ?? false;
  }

  collected(body: Uint8Array): void {
    this.owner?.onWholeBody(body);
  }

  opened(body: Body): void {
    this.owner?.onBody(body);
  }

  stalled(): void {
    this.fault('client-timeout');
  }

  /** Tells the client that its body is wanted (RFC 9110 §10.1.1). */
  protected abstract writeContinue(): void;
}
