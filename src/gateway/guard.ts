import type { HeaderList } from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { Body, ClientFault, ExchangeOwner } from './exchange.ts';
import type { UpstreamFault, UpstreamReceiver } from './upstream.ts';

/** Called with an unexpected error: a bug. */
export type OnError = (error: unknown) => void;

/** Catches errors between an adapter's events and the owner of an exchange: a bug ends one exchange, not the process. */
export class GuardedOwner implements ExchangeOwner {
  private readonly owner: ExchangeOwner;
  private readonly onError: OnError;

  constructor(owner: ExchangeOwner, onError: OnError) {
    this.owner = owner;
    this.onError = onError;
  }

  acceptChunk(bytes: number): boolean {
    try {
      return this.owner.acceptChunk(bytes);
    } catch (error) {
      this.onError(error);
      return false;
    }
  }

  onWholeBody(body: Uint8Array): void {
    try {
      this.owner.onWholeBody(body);
    } catch (error) {
      this.onError(error);
    }
  }

  onBody(body: Body): void {
    try {
      this.owner.onBody(body);
    } catch (error) {
      this.onError(error);
    }
  }

  drained(): void {
    try {
      this.owner.drained();
    } catch (error) {
      this.onError(error);
    }
  }

  onClientFault(fault: ClientFault): void {
    try {
      this.owner.onClientFault(fault);
    } catch (error) {
      this.onError(error);
    }
  }

  disconnected(): void {
    try {
      this.owner.disconnected();
    } catch (error) {
      this.onError(error);
    }
  }

  flushed(): void {
    try {
      this.owner.flushed();
    } catch (error) {
      this.onError(error);
    }
  }
}

/** Catches errors in the same way while a response from an upstream is received. */
export class GuardedReceiver implements UpstreamReceiver {
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
