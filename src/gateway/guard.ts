import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { Body, ClientFault, ExchangeHandler } from './exchange.ts';
import type { UpstreamFault, UpstreamReceiver } from './upstream.ts';

/** Called with an unexpected error: a bug. */
export type OnError = (error: unknown) => void;

/** The error boundary between an adapter's events and the handler of an exchange: a bug ends one exchange, not the process. */
export class HandlerBoundary implements ExchangeHandler {
  private readonly handler: ExchangeHandler;
  private readonly onError: OnError;

  constructor(handler: ExchangeHandler, onError: OnError) {
    this.handler = handler;
    this.onError = onError;
  }

  acceptChunk(bytes: number): boolean {
    try {
      return this.handler.acceptChunk(bytes);
    } catch (error) {
      this.onError(error);
      return false;
    }
  }

  onWholeBody(body: Uint8Array): void {
    try {
      this.handler.onWholeBody(body);
    } catch (error) {
      this.onError(error);
    }
  }

  onBody(body: Body): void {
    try {
      this.handler.onBody(body);
    } catch (error) {
      this.onError(error);
    }
  }

  drained(): void {
    try {
      this.handler.drained();
    } catch (error) {
      this.onError(error);
    }
  }

  onClientFault(fault: ClientFault): void {
    try {
      this.handler.onClientFault(fault);
    } catch (error) {
      this.onError(error);
    }
  }

  disconnected(): void {
    try {
      this.handler.disconnected();
    } catch (error) {
      this.onError(error);
    }
  }

  flushed(): void {
    try {
      this.handler.flushed();
    } catch (error) {
      this.onError(error);
    }
  }
}

/** The same boundary around what receives a response from an upstream. */
export class ReceiverBoundary implements UpstreamReceiver {
  private readonly receiver: UpstreamReceiver;
  private readonly onError: OnError;

  constructor(receiver: UpstreamReceiver, onError: OnError) {
    this.receiver = receiver;
    this.onError = onError;
  }

  get borrowsParts(): boolean {
    return this.receiver.borrowsParts === true;
  }

  information(status: number, headers: HeaderList): void {
    try {
      this.receiver.information(status, headers);
    } catch (error) {
      this.onError(error);
    }
  }

  head(head: ResponseHead): void {
    try {
      this.receiver.head(head);
    } catch (error) {
      this.onError(error);
    }
  }

  data(chunk: Uint8Array, isLast?: boolean): void {
    try {
      this.receiver.data(chunk, isLast);
    } catch (error) {
      this.onError(error);
    }
  }

  pass(body: ReadableStream<Uint8Array>, length: number): Promise<void> | undefined {
    try {
      return this.receiver.pass?.(body, length);
    } catch (error) {
      this.onError(error);
      return undefined;
    }
  }

  end(trailers: HeaderList): void {
    try {
      this.receiver.end(trailers);
    } catch (error) {
      this.onError(error);
    }
  }

  fail(fault: UpstreamFault): void {
    try {
      this.receiver.fail(fault);
    } catch (error) {
      this.onError(error);
    }
  }

  endUnproven(): void {
    try {
      this.receiver.endUnproven?.();
    } catch (error) {
      this.onError(error);
    }
  }
}
