import type { LogPiece } from './log-piece.ts';
import { lineEnd, lineTime } from './line-times.ts';

/** Reads one of several logs, from line to line in the order of the log. */
export class LogCursor {
  readonly file: string;
  /** Comparable time of the next line; that of the line before it when it has none. */
  time = 0;
  /** Bytes of the file read so far, before decompression. */
  read = 0;
  private readonly pieces: AsyncIterator<LogPiece, unknown>;
  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;

  constructor(file: string, pieces: AsyncIterable<LogPiece>) {
    this.file = file;
    this.pieces = pieces[Symbol.asyncIterator]();
  }

  /** Moves to the next line; false when it has to be read first. */
  advance(): boolean {
    if (this.at === this.bytes.length) return false;
    this.time = lineTime(this.bytes, this.at, lineEnd(this.bytes, this.at)) ?? this.time;
    return true;
  }

  /** Reads the next line; false at the end of the log. What `take` returned is not valid any more. */
  async fill(): Promise<boolean> {
    while (!this.advance()) {
      const { value, done } = await this.pieces.next();
      if (done === true) return false;
      this.bytes = value.bytes;
      this.read = value.read;
      this.at = 0;
    }
    return true;
  }

  /** Takes the next line and those behind it up to a time; without one, all that was read. Lines without a time come along. */
  take(until: number | undefined): Uint8Array {
    const start = this.at;
    if (until === undefined) this.at = this.bytes.length;
    else
      do this.at = lineEnd(this.bytes, this.at);
      while (this.at < this.bytes.length && this.isUpTo(until));
    return this.bytes.subarray(start, this.at);
  }

  /** Closes the log. */
  async close(): Promise<void> {
    await this.pieces.return?.();
  }

  private isUpTo(until: number): boolean {
    const time = lineTime(this.bytes, this.at, lineEnd(this.bytes, this.at));
    return time === undefined || time <= until;
  }
}
