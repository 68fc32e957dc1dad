import type { Body } from '../../gateway/exchange.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { FastPathRequest } from './fast-path-request.ts';
import { IncomingBody, type IncomingBodyOptions, type IncomingBodyOwner } from './incoming-body.ts';
import type { SocketBody } from './socket-body.ts';
import { type ExchangeConnection, SocketExchange } from './socket-exchange.ts';

/** Bytes of a body that may follow an early response on a connection that is kept. */
const SMALL_REST_BYTES = 1024 * 1024;
const NO_BODY = Buffer.alloc(0);

/** An exchange whose body is still on its way when it begins. */
export class LongBodyExchange extends SocketExchange implements IncomingBodyOwner {
  private readonly length: number;
  private readonly incoming: IncomingBody;

  constructor(
    connection: ExchangeConnection,
    request: FastPathRequest,
    source: SocketBody,
    options: IncomingBodyOptions,
  ) {
    super(connection, request, NO_BODY);
    this.length = request.end - request.bodyAt;
    this.incoming = new IncomingBody(source, this.length, options, this);
  }

  override get bytesIn(): number {
    return this.incoming.bytes;
  }

  override collect(): void {
    this.incoming.collect();
  }

  override open(): void {
    this.incoming.open();
  }

  override head(status: number, reason: string | undefined, headers: HeaderList): void {
    // Much is still to come: the client goes on sending, and the next request is far off.
    if (this.length - this.bytesIn > SMALL_REST_BYTES) this.closeAfterResponse();
    super.head(status, reason, headers);
  }

  override end(trailers: HeaderList): void {
    super.end(trailers);
    if (this.incoming.complete) return;
    if (this.isLast) this.stopBody('early response');
    else this.incoming.discard(() => this.reset());
  }

  override flushed(): void {
    super.flushed();
    if (this.incoming.complete) this.incoming.rest();
  }

  override disconnected(): void {
    this.stopBody('client gone');
    super.disconnected();
  }

  acceptChunk(bytes: number): boolean {
    return this.owner?.acceptChunk(bytes) ?? false;
  }

  onWholeBody(body: Uint8Array): void {
    this.owner?.onWholeBody(body);
  }

  onBody(body: Body): void {
    this.owner?.onBody(body);
  }

  onStalled(): void {
    this.incoming.stop(new Error('client-timeout'));
    this.owner?.onClientFault('client-timeout');
  }

  private stopBody(cause: string): void {
    if (!this.incoming.complete) this.incoming.stop(new Error(cause));
    this.incoming.rest();
  }
}
