import type { Socket } from 'node:net';
import { PlainChunkSize } from '../../../http/chunk-size.ts';
import type { HeaderList } from '../../../http/header-list.ts';
import { ChunkLine } from './chunk-line.ts';
import { ChunkedTrailers } from './chunked-trailers.ts';
import { SocketBody } from './socket-body.ts';

const LF = 0x0a;
const CR = 0x0d;

type State = 'size' | 'line' | 'data' | 'data-cr' | 'data-lf' | 'trailers' | 'end';

/** The bytes of a body on a socket that the gateway reads itself, in chunks (RFC 9112 §7.1). */
export class ChunkedBody extends SocketBody {
  isComplete = false;
  override pieces = 0;
  /** The fields behind its last chunk, once it is complete. */
  rawTrailers: HeaderList = [];
  private readonly trailers: ChunkedTrailers;
  private readonly plainSize = new PlainChunkSize();
  private readonly line = new ChunkLine();
  private state: State = 'size';
  /** Bytes of the chunk that have not arrived. */
  private left = 0;
  /** Place of the data of chunks already read, moved together: they are one part. */
  private start = 0;
  private end = 0;

  /** `trailerBytes` is the maximum size of the fields behind its last chunk. */
  constructor(connection: Socket, trailerBytes: number) {
    super(connection);
    this.trailers = new ChunkedTrailers(trailerBytes);
  }

  /** Moves the data of chunks together within `bytes`: thousands of a byte each would otherwise be thousands of parts. */
  take(bytes: Buffer): Buffer {
    this.start = 0;
    this.end = 0;
    this.pieces = 0;
    let at = 0;
    while (at < bytes.length && this.state !== 'end' && !this.isFaulty) at = this.step(bytes, at);
    this.isComplete = this.state === 'end';
    this.deliver(bytes.subarray(this.start, this.end));
    return bytes.subarray(at);
  }

  private step(bytes: Buffer, at: number): number {
    switch (this.state) {
      case 'size':
        return this.size(bytes, at);
      case 'line':
        if (this.isEnd(this.line.read(bytes[at] ?? 0))) this.sized(this.line.size);
        return at + 1;
      case 'data':
        return this.data(bytes, at);
      case 'data-cr':
        return this.expect(bytes[at] === CR, 'data-lf', at);
      case 'data-lf':
        return this.expect(bytes[at] === LF, 'size', at);
      case 'trailers':
        if (this.isEnd(this.trailers.read(bytes[at] ?? 0))) this.finish();
        return at + 1;
      case 'end':
        return at;
    }
  }

  private size(bytes: Buffer, at: number): number {
    const { plainSize } = this;
    if (plainSize.read(bytes, at)) {
      this.sized(plainSize.value);
      return plainSize.next;
    }
    this.line.begin();
    this.state = 'line';
    return at;
  }

  private sized(size: number): void {
    this.pieces += 1;
    this.left = size;
    this.state = size === 0 ? 'trailers' : 'data';
  }

  private data(bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, this.left);
    const next = at + length;
    this.left -= length;
    if (this.left === 0) this.state = 'data-cr';
    if (this.end === this.start) {
      this.start = at;
      this.end = next;
    } else {
      bytes.copyWithin(this.end, at, next);
      this.end += length;
    }
    return next;
  }

  private expect(isThere: boolean, next: State, at: number): number {
    if (isThere) this.state = next;
    else this.isFaulty = true;
    return at + 1;
  }

  /** True at the end of a section that is read byte by byte. */
  private isEnd(read: boolean | undefined): boolean {
    if (read === undefined) this.isFaulty = true;
    return read === true;
  }

  private finish(): void {
    this.rawTrailers = this.trailers.fields;
    this.state = 'end';
  }
}
