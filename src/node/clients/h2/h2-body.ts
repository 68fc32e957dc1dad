import type { HeaderList } from '../../../http/header-list.ts';
import { SocketBody } from '../body/socket-body.ts';

/** The bytes of a body on an HTTP/2 stream. */
export class H2Body extends SocketBody {
  /** A frame takes as long to read as a chunk of HTTP/1.1 does. */
  override readonly pieces = 1;
  isComplete = false;
  /** Bytes that have arrived. */
  bytes = 0;
  /** The trailers that came behind it. */
  rawTrailers: HeaderList = [];

  /** Takes a part, which is valid until it returns. */
  receive(part: Buffer, isLast: boolean): void {
    this.bytes += part.length;
    this.isComplete = isLast;
    this.deliver(part);
  }

  /** The trailers have arrived: the body is complete. */
  end(trailers: HeaderList): void {
    this.rawTrailers = trailers;
    this.receive(Buffer.alloc(0), true);
  }

  /** Takes the whole body, where nobody has listened to it yet; undefined while it is incomplete, and when trailers follow it. */
  takeWhole(): Buffer | undefined {
    if (!this.isComplete || this.rawTrailers.length > 0) return undefined;
    const parts = this.takeEarly();
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }
}
