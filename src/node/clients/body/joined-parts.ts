import type { Readable } from 'node:stream';
import { ByteCollector } from '../../../http/byte-collector.ts';

/** Size in bytes from which a part is passed on as it is. */
const SMALL_PART_BYTES = 128;
/** Bytes of tiny parts that are passed on before the turn of the event loop is over. */
const JOINED_BYTES = 16 * 1024;

/**
 * Joins the tiny parts of a body that one read of its connection brings: Node reports each of them by itself, which takes several
 * times as long as reading it.
 */
export class JoinedParts {
  private readonly source: Readable;
  private readonly push: (part: Uint8Array | null) => boolean;
  private readonly onPart: (bytes: number) => void;
  private readonly parts = new ByteCollector();

  /** Stands before `source` from now on; `onPart` is called for each part as it is read. */
  constructor(source: Readable, onPart: (bytes: number) => void) {
    this.source = source;
    this.push = source.push.bind(source);
    this.onPart = onPart;
    source.push = (part: Uint8Array | null) => this.take(part);
  }

  /** Passes on the parts that are joined so far; called at the end of the turn in which `onPart` was called. */
  flush(): boolean {
    return this.parts.length === 0 || this.push(this.parts.take());
  }

  private take(part: Uint8Array | null): boolean {
    if (part === null) {
      this.flush();
      return this.push(null);
    }
    this.onPart(part.length);
    if (part.length >= SMALL_PART_BYTES) {
      this.flush();
      return this.push(part);
    }
    this.parts.add(part, true);
    if (this.parts.length >= JOINED_BYTES) return this.flush();
    const { readableLength, readableHighWaterMark } = this.source;
    return readableLength + this.parts.length < readableHighWaterMark;
  }
}
