import type { Body, ClientFault } from '../../gateway/exchange.ts';
import type { CollectorMemory } from '../../http/byte-collector.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { afterReads } from './fair-turns.ts';
import { isFarFromComplete } from './early-response.ts';
import type { FastPathRequest } from './fast-path-request.ts';
import {
  IncomingBody,
  type IncomingBodyOptions,
  type IncomingBodyOwner,
  type SocketBody,
} from './request-body.ts';
import { type ExchangeConnection, SocketExchange } from './socket-exchange.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const NO_BODY = Buffer.alloc(0);

/** An exchange whose body is still on its way when it begins. */
export class LongBodyExchange extends SocketExchange implements IncomingBodyOwner {
  /** Bytes of the body; `Infinity` for one in chunks. */
  private readonly length: number;
  private readonly expectsContinue: boolean;
  private hasContinued = false;
  private readonly incoming: IncomingBody;
  private readonly timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    connection: ExchangeConnection,
    request: FastPathRequest,
    source: SocketBody,
    options: IncomingBodyOptions,
  ) {
    super(connection, request, NO_BODY);
    this.length = request.end - request.bodyAt;
    this.expectsContinue = request.expectsContinue;
    this.incoming = new IncomingBody(
      source,
      Number.isFinite(this.length) ? this.length : undefined,
      options,
      this,
    );
    if (options.requestTimeout > 0) this.timer = setTimeout(expire, options.requestTimeout, this);
  }

  /** The rest of the body comes after an early response. */
  protected override get mayQueue(): boolean {
    return false;
  }

  override get bytesIn(): number {
    return this.incoming.bytes;
  }

  /** Those that may be forwarded, once the body is complete. */
  get trailers(): HeaderList {
    return this.incoming.trailers;
  }

  override collect(memory: CollectorMemory): void {
    this.writeContinue();
    this.incoming.collect(memory);
  }

  override open(lifetime?: 'exchange'): void {
    this.writeContinue();
    this.incoming.open(lifetime);
  }

  override head(head: ResponseHead): void {
    if (this.isFarFromComplete || (this.expectsContinue && !this.hasContinued)) this.closeAfterResponse();
    super.head(head);
  }

  override end(trailers: HeaderList): void {
    super.end(trailers);
    if (this.incoming.complete) return;
    if (this.isLast) this.stopBody('early response');
    else this.incoming.discard(this.connection.socket, () => this.reset());
  }

  override flushed(): void {
    super.flushed();
    clearTimeout(this.timer);
    if (this.incoming.complete) this.incoming.rest();
  }

  override disconnected(): void {
    if (!this.incoming.complete) this.incoming.stop(new Error('client gone'));
    clearTimeout(this.timer);
    super.disconnected();
    this.incoming.rest();
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
    this.fault('client-timeout');
  }

  /** The body is broken: no more of it arrives, and the response is the last. */
  fault(fault: ClientFault): void {
    this.closeAfterResponse();
    this.incoming.stop(new Error(fault));
    this.owner?.onClientFault(fault);
  }

  /** The whole request was due. */
  expire(): void {
    if (!this.isGone && !this.incoming.complete) this.fault('client-timeout');
  }

  private get isFarFromComplete(): boolean {
    const { incoming, length, bytesIn: received, expectsContinue } = this;
    return !incoming.complete && isFarFromComplete({ length, received, expectsContinue });
  }

  private writeContinue(): void {
    if (!this.expectsContinue || this.hasContinued) return;
    this.hasContinued = true;
    this.writeInterim(CONTINUE);
  }

  private stopBody(cause: string): void {
    if (!this.incoming.complete) this.incoming.stop(new Error(cause));
    this.incoming.rest();
  }
}

function expire(exchange: LongBodyExchange): void {
  // After the process stood still, what came in time is read first.
  afterReads(() => exchange.expire());
}
