/** A chunk of a log. */
export interface LogPiece {
  /** Whole lines. Valid only until the next chunk is requested, because the buffer is reused. */
  readonly bytes: Buffer;
  /** Bytes of the file read so far, before decompression. */
  readonly read: number;
}
