import { ByteCollector } from '../../http/byte-collector.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { UpstreamFault, UpstreamReceiver } from '../upstream.ts';

/** A response that only the gateway reads. */
export interface CollectedResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** Why a response was not collected. */
export type CollectFault = UpstreamFault['kind'] | 'too-large';

/** Collects one response, up to `limit` bytes of its body, and reports it once. */
export class ResponseCopy implements UpstreamReceiver {
  readonly borrowsParts = true;
  private readonly limit: number;
  private readonly take: (bytes: number) => boolean;
  private readonly done: (outcome: CollectedResponse | CollectFault) => void;
  private status = 0;
  private headers: HeaderList = [];
  private readonly body = new ByteCollector();
  private isFinished = false;

  /** `take` reserves bytes in the budget; false when they do not fit. */
  constructor(
    limit: number,
    take: (bytes: number) => boolean,
    done: (outcome: CollectedResponse | CollectFault) => void,
  ) {
    this.limit = limit;
    this.take = take;
    this.done = done;
  }

  information(): void {}

  head({ status, headers }: ResponseHead): void {
    this.status = status;
    this.headers = headers;
  }

  data(chunk: Uint8Array): void {
    if (this.isFinished) return;
    const taken = this.body.add(chunk, true);
    if (this.body.length > this.limit || (taken > 0 && !this.take(taken))) this.finish('too-large');
  }

  end(): void {
    this.finish({ status: this.status, headers: this.headers, body: this.body.take() });
  }

  fail(fault: UpstreamFault): void {
    this.finish(fault.kind);
  }

  private finish(outcome: CollectedResponse | CollectFault): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.body.take();
    this.done(outcome);
  }
}
