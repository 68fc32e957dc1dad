import type { HeaderList } from '../http/header-list.ts';
import type { Body, ClientFault, ExchangeOwner } from './exchange.ts';
import type { UpstreamFault, UpstreamReceiver } from './upstream.ts';

/** Who is told of an error that is a bug. */
export type Stumble = (error: unknown) => void;

/** Stands between an adapter's events and the owner of an exchange: a bug ends one exchange, not the process. */
export class GuardedOwner implements ExchangeOwner {
  private readonly owner: ExchangeOwner;
  private readonly stumble: Stumble;

  constructor(owner: ExchangeOwner, stumble: Stumble) {
    this.owner = owner;
    this.stumble = stumble;
  }

  mayTake(bytes: number): boolean {
    try {
      return this.owner.mayTake(bytes);
    } catch (error) {
      this.stumble(error);
      return false;
    }
  }

  collected(body: Uint8Array): void {
    try {
      this.owner.collected(body);
    } catch (error) {
      this.stumble(error);
    }
  }

  opened(body: Body): void {
    try {
      this.owner.opened(body);
    } catch (error) {
      this.stumble(error);
    }
  }

  drained(): void {
    try {
      this.owner.drained();
    } catch (error) {
      this.stumble(error);
    }
  }

  faulted(fault: ClientFault): void {
    try {
      this.owner.faulted(fault);
    } catch (error) {
      this.stumble(error);
    }
  }

  gone(): void {
    try {
      this.owner.gone();
    } catch (error) {
      this.stumble(error);
    }
  }

  flushed(): void {
    try {
      this.owner.flushed();
    } catch (error) {
      this.stumble(error);
    }
  }
}

/** The same for what V2 answers. */
export class GuardedReceiver implements UpstreamReceiver {
  private readonly receiver: UpstreamReceiver;
  private readonly stumble: Stumble;

  constructor(receiver: UpstreamReceiver, stumble: Stumble) {
    this.receiver = receiver;
    this.stumble = stumble;
  }

  information(status: number, headers: HeaderList): void {
    try {
      this.receiver.information(status, headers);
    } catch (error) {
      this.stumble(error);
    }
  }

  head(status: number, reason: string, headers: HeaderList): void {
    try {
      this.receiver.head(status, reason, headers);
    } catch (error) {
      this.stumble(error);
    }
  }

  data(chunk: Uint8Array): void {
    try {
      this.receiver.data(chunk);
    } catch (error) {
      this.stumble(error);
    }
  }

  end(trailers: HeaderList): void {
    try {
      this.receiver.end(trailers);
    } catch (error) {
      this.stumble(error);
    }
  }

  fail(fault: UpstreamFault): void {
    try {
      this.receiver.fail(fault);
    } catch (error) {
      this.stumble(error);
    }
  }
}
