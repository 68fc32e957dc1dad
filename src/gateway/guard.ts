import type { Body, ClientFault, ExchangeHandler } from './exchange.ts';

/** Ends itself after an unexpected error: a bug. */
export interface OnError {
  failInternally(error: unknown): void;
}

/** The error boundary between an adapter's events and the handler of an exchange: a bug ends one exchange, not the process. */
export class HandlerBoundary implements ExchangeHandler {
  private readonly handler: ExchangeHandler & OnError;

  constructor(handler: ExchangeHandler & OnError) {
    this.handler = handler;
  }

  acceptChunk(bytes: number): boolean {
    try {
      return this.handler.acceptChunk(bytes);
    } catch (error) {
      this.handler.failInternally(error);
      return false;
    }
  }

  onWholeBody(body: Uint8Array): void {
    try {
      this.handler.onWholeBody(body);
    } catch (error) {
      this.handler.failInternally(error);
    }
  }

  onBody(body: Body): void {
    try {
      this.handler.onBody(body);
    } catch (error) {
      this.handler.failInternally(error);
    }
  }

  drained(): void {
    try {
      this.handler.drained();
    } catch (error) {
      this.handler.failInternally(error);
    }
  }

  onClientFault(fault: ClientFault): void {
    try {
      this.handler.onClientFault(fault);
    } catch (error) {
      this.handler.failInternally(error);
    }
  }

  disconnected(): void {
    try {
      this.handler.disconnected();
    } catch (error) {
      this.handler.failInternally(error);
    }
  }

  flushed(): void {
    try {
      this.handler.flushed();
    } catch (error) {
      this.handler.failInternally(error);
    }
  }
}
