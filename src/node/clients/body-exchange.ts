import type { Readable } from 'node:stream';
import type { Body, ClientFault, ExchangeOwner } from '../../gateway/exchange.ts';
import type { CollectorMemory } from '../../http/byte-collector.ts';
import type { HeaderList } from '../../http/header-list.ts';
import { IS_NODE } from '../is-node.ts';
import type { Peer } from './busy-peers.ts';
import { IncomingBody, type IncomingBodyOptions, type IncomingBodyOwner } from './incoming-body.ts';
import type { ReaderLimits } from './slow-reader-guard.ts';

/** Options shared by every exchange of a server. Times are milliseconds. */
export interface BodyExchangeOptions extends ReaderLimits, IncomingBodyOptions {
  /** The address of the client on a connection. */
  addressOf(peer: Peer): string;
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
  /** Called with a bug met in an event handler of Node; the exchange is already over. */
  onUnexpectedError(error: unknown): void;
}

/** The request side of an exchange whose body Node reads, for HTTP/1.1 and HTTP/2; events of the body go to the owner. */
export abstract class BodyExchange implements IncomingBodyOwner {
  protected readonly options: BodyExchangeOptions;
  protected readonly body: IncomingBody;
  protected owner: ExchangeOwner | undefined = undefined;
  protected expectsContinue: boolean;

  /** `length` is the request's Content-Length, `undefined` without one. */
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

  get trailers(): HeaderList {
    return this.body.trailers;
  }

  get bytesIn(): number {
    return this.body.bytes;
  }

  collect(memory: CollectorMemory): void {
    if (this.expectsContinue) this.writeContinue();
    this.body.collect(memory);
  }

  open(): void {
    if (this.expectsContinue) this.writeContinue();
    this.body.open();
  }

  /** The body is broken: no more of it arrives. */
  fault(fault: ClientFault): void {
    this.body.stop(new Error(fault));
    this.owner?.onClientFault(fault);
  }

  acceptChunk(bytes: number): boolean {
    return this.owner?.acceptChunk(bytes) ?? false;
  }

  /** Has tiny parts of the body joined; other runtimes do not pass them through the stream in the way of Node. */
  protected joinParts(source: Readable): void {
    if (IS_NODE) this.body.joinParts(source);
  }

  /** The stream of the body is closed. */
  protected leaveParts(): void {
    this.body.leaveParts();
  }

  onWholeBody(body: Uint8Array): void {
    this.owner?.onWholeBody(body);
  }

  onBody(body: Body): void {
    this.owner?.onBody(body);
  }

  onStalled(): void {
    this.fault('client-timeout');
  }

  /** Sends 100 Continue, so that the client sends its body (RFC 9110 §10.1.1). */
  protected abstract writeContinue(): void;
}
