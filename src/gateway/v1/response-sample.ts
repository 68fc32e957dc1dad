import { ByteCollector } from '../../http/byte-collector.ts';
import { type HeaderList, headerValue } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { readJsonType } from '../../http/media-type.ts';
import type { UpstreamFault, UpstreamReceiver } from '../upstream.ts';

/**
 * Maximum bytes of a response to keep, of a success and of an error: longer ones are lists of resources, which say nothing about a
 * request. With the limited number of exchanges per second that are captured, they limit the work.
 */
const MAX_BYTES = 32 * 1024;
const MAX_ERROR_BYTES = 8 * 1024;

/** Passes a response on as it comes, and keeps a short JSON body, as the service sent it, for the log entry. */
export class ResponseSample implements UpstreamReceiver {
  /** Status of the service, 0 before its response. */
  status = 0;
  private readonly receiver: UpstreamReceiver;
  private readonly isWanted: (status: number) => boolean;
  private collector: ByteCollector | undefined = undefined;
  private isComplete = false;

  constructor(receiver: UpstreamReceiver, isWanted: (status: number) => boolean) {
    this.receiver = receiver;
    this.isWanted = isWanted;
  }

  get borrowsParts(): boolean {
    return this.receiver.borrowsParts === true;
  }

  /** The whole body; undefined when it is not JSON, encoded, too long, incomplete or not wanted. */
  takeBody(): Uint8Array | undefined {
    return this.isComplete ? this.collector?.take() : undefined;
  }

  private get limit(): number {
    return this.status >= 400 ? MAX_ERROR_BYTES : MAX_BYTES;
  }

  information(status: number, headers: HeaderList): void {
    this.receiver.information(status, headers);
  }

  head(head: ResponseHead): void {
    const { status, headers } = head;
    this.status = status;
    if (
      this.isWanted(status) &&
      headerValue(headers, 'content-encoding') === undefined &&
      readJsonType(headerValue(headers, 'content-type')) === 'json' &&
      !(Number(headerValue(headers, 'content-length')) > this.limit)
    )
      this.collector = new ByteCollector();
    this.receiver.head(head);
  }

  data(chunk: Uint8Array, isLast?: boolean): void {
    const { collector } = this;
    if (collector !== undefined) {
      if (collector.length + chunk.length > this.limit) this.collector = undefined;
      else collector.add(chunk, true);
    }
    this.receiver.data(chunk, isLast);
  }

  end(trailers: HeaderList): void {
    this.isComplete = true;
    this.receiver.end(trailers);
  }

  fail(fault: UpstreamFault): void {
    this.receiver.fail(fault);
  }

  endUnproven(): void {
    this.receiver.endUnproven?.();
  }
}
