import type { Body, Exchange, ExchangeHandler } from '../../../src/gateway/exchange.ts';
import type { HeaderList } from '../../../src/http/header-list.ts';
import { concatBytes } from '../../../src/http/byte-collector.ts';
import type { ResponseHead } from '../../../src/http/response-head.ts';

/** A request of a client of the fleet. */
export interface FleetRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: Uint8Array | null;
}

/** The response as the client of the fleet read it. */
export interface FleetResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** An exchange in memory: the gateway's own code runs, without sockets. */
export class MemoryExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version = '1.1';
  readonly remote = '127.0.0.1';
  readonly secure = true;
  readonly hasBody: boolean;
  readonly handled: Promise<Response>;
  readonly response: Promise<FleetResponse>;
  private readonly request: FleetRequest;
  private readonly resolve: (response: FleetResponse) => void;
  private handler: ExchangeHandler | undefined = undefined;
  private status = 0;
  private fields: HeaderList = [];
  private readonly chunks: Uint8Array[] = [];

  constructor(request: FleetRequest) {
    const { promise, resolve } = Promise.withResolvers<FleetResponse>();
    this.request = request;
    this.method = request.method;
    this.target = request.target;
    this.headers = request.headers;
    this.hasBody = request.body !== null;
    this.response = promise;
    this.resolve = resolve;
    this.handled = promise.then(() => new Response(null));
  }

  get bytesIn(): number {
    return this.request.body?.length ?? 0;
  }

  attach(handler: ExchangeHandler): void {
    this.handler = handler;
  }

  collect(): void {
    const { body } = this.request;
    if (body === null || this.handler?.acceptChunk(body.length) !== true) return;
    this.handler.onWholeBody(body);
  }

  open(): void {
    const body: Body = this.request.body;
    this.handler?.onBody(body);
  }

  information(): void {}

  head({ status, headers }: ResponseHead): void {
    this.status = status;
    this.fields = headers;
  }

  data(chunk: Uint8Array): boolean {
    this.chunks.push(chunk.slice());
    return true;
  }

  end(): void {
    this.resolve({ status: this.status, headers: this.fields, body: concatBytes(this.chunks) });
    this.handler?.flushed();
  }

  closeAfterResponse(): void {}

  reset(): void {
    this.resolve({ status: 0, headers: [], body: concatBytes(this.chunks) });
    this.handler?.disconnected();
  }
}
