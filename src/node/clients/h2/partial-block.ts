import { copyOf } from '../shared-reads.ts';

/** Frames that one block may be cut into. */
const MAX_FRAMES = 64;

/** A block of fields whose last frame has not arrived (RFC 9113 §4.3). */
export class PartialBlock {
  readonly stream: number;
  /** True when nothing follows it on its stream. */
  readonly isEnd: boolean;
  /** Bytes so far. */
  bytes: number;
  private readonly parts: Buffer[];

  /** `first` is what the first frame has of it, valid until this returns. */
  constructor(stream: number, isEnd: boolean, first: Buffer) {
    this.stream = stream;
    this.isEnd = isEnd;
    this.parts = [copyOf(first)];
    this.bytes = first.length;
  }

  /** Adds what the next frame has of it, valid until this returns. */
  add(part: Buffer): void {
    this.parts.push(copyOf(part));
    this.bytes += part.length;
  }

  /** True for more bytes than the limit, and for more frames than any client needs. */
  isTooLarge(limit: number): boolean {
    return this.bytes > limit || this.parts.length > MAX_FRAMES;
  }

  /** All of it. */
  whole(): Buffer {
    return Buffer.concat(this.parts, this.bytes);
  }
}
