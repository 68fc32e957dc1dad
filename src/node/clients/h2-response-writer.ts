import type { ServerHttp2Stream } from 'node:http2';
import { type ReaderLimits, type SlowReader, SlowReaderGuard } from './slow-reader-guard.ts';

/** Bytes per write: Node reports a write only when all of it has left, and this is the most that fits one frame. */
const PIECE_BYTES = 16 * 1024;
/** Bytes that may be buffered for the client before reading from V2 pauses. */
const MAX_WAITING_BYTES = 64 * 1024;

/** The response being written. */
export interface H2WriterOwner {
  /** The buffer has drained; writing can resume. */
  drained(): void;
  /** The client reads too slowly. */
  reset(): void;
}

/**
 * Writes the body of a response on an HTTP/2 stream piece by piece, each when the one before it has left. The client's
 * flow-control window decides when that is, so each piece has as much time as the minimum rate allows it.
 */
export class H2ResponseWriter implements SlowReader {
  bytesTaken = 0;
  private readonly stream: ServerHttp2Stream;
  private readonly owner: H2WriterOwner;
  private readonly guard: SlowReaderGuard;
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  private pieceBytes = 0;
  private isHeldBack = false;
  private isEnded = false;

  constructor(stream: ServerHttp2Stream, limits: ReaderLimits, owner: H2WriterOwner) {
    this.stream = stream;
    this.owner = owner;
    this.guard = new SlowReaderGuard(limits, this);
  }

  /** Writes a part of the body; false signals backpressure until `owner.drained`. */
  write(chunk: Uint8Array): boolean {
    if (chunk.length === 0) return true;
    this.waiting.push(chunk);
    this.waitingBytes += chunk.length;
    if (this.pieceBytes === 0) this.writeNext();
    this.isHeldBack = this.waitingBytes > MAX_WAITING_BYTES;
    return !this.isHeldBack;
  }

  /** Ends the body after the last write. */
  end(): void {
    this.isEnded = true;
    if (this.pieceBytes === 0) this.stream.end();
  }

  /** The stream is closed: no more timeouts run. */
  stop(): void {
    this.guard.stop();
    this.waiting = [];
    this.waitingBytes = 0;
  }

  reset(): void {
    this.owner.reset();
  }

  private writeNext(): void {
    const piece = this.nextPiece();
    this.pieceBytes = piece.length;
    this.stream.write(piece, this.pieceLeft);
    this.guard.wait(piece.length);
  }

  /** Joins small parts into one piece, since each costs a frame and a record. */
  private nextPiece(): Uint8Array {
    const { waiting } = this;
    const [first = new Uint8Array(0)] = waiting;
    if (first.length >= PIECE_BYTES || waiting.length === 1) {
      if (first.length > PIECE_BYTES) waiting[0] = first.subarray(PIECE_BYTES);
      else waiting.shift();
      return first.subarray(0, PIECE_BYTES);
    }
    let count = 0;
    let bytes = 0;
    for (; count < waiting.length && bytes < PIECE_BYTES; count += 1) bytes += waiting[count]?.length ?? 0;
    const joined = Buffer.concat(waiting.splice(0, count), bytes);
    if (bytes > PIECE_BYTES) waiting.unshift(joined.subarray(PIECE_BYTES));
    return joined.subarray(0, PIECE_BYTES);
  }

  private readonly pieceLeft = (error?: Error | null): void => {
    this.guard.stop();
    if (error !== undefined && error !== null) return;
    this.bytesTaken += this.pieceBytes;
    this.waitingBytes -= this.pieceBytes;
    this.pieceBytes = 0;
    if (this.stream.destroyed || this.stream.closed) return;
    if (this.waitingBytes > 0) this.writeNext();
    else if (this.isEnded) this.stream.end();
    if (!this.isHeldBack || this.waitingBytes > MAX_WAITING_BYTES / 2) return;
    this.isHeldBack = false;
    this.owner.drained();
  };
}
