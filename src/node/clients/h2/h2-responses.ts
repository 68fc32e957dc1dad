import { FIRST_WINDOW_BYTES, FRAME_BYTES, FRAME_HEAD_BYTES, MAX_31_BITS } from './frames.ts';
import type { H2Output } from './h2-output.ts';

/** A response whose body is being written. */
export interface SentResponse {
  readonly id: number;
  /** Bytes of its body that the client takes (RFC 9113 §6.9.1). */
  sendWindow: number;
  /** True while part of it waits for the client. */
  readonly isWaiting: boolean;
  /** The client takes more: writes one frame of what waits; false when it takes none. */
  writeOn(): boolean;
}

/** Bytes of a body in one frame: with its head it makes one record of TLS. */
export const PART_BYTES = FRAME_BYTES - FRAME_HEAD_BYTES;

/** Sends the bodies of the responses on one connection, as far as the client's windows reach (RFC 9113 §5.2). */
export class H2Responses<Response extends SentResponse> {
  /** Bytes of each body that the client takes at first. */
  firstWindow = FIRST_WINDOW_BYTES;
  private readonly output: H2Output;
  /** Bytes of all bodies that the client takes. */
  private window = FIRST_WINDOW_BYTES;
  /** Responses with parts that wait for the client; the next one to write comes first. */
  private waiting: Response[] = [];

  constructor(output: H2Output) {
    this.output = output;
  }

  /** Sends as much of a body as the client takes now; returns the number of bytes. `isLast` is true where the response ends with it. */
  send(response: Response, bytes: Uint8Array, isLast: boolean): number {
    const { output } = this;
    let sent = 0;
    while (sent < bytes.length && !output.isFull) {
      const left = bytes.length - sent;
      const length = Math.min(left, PART_BYTES, response.sendWindow, this.window);
      if (length <= 0) break;
      output.data(response.id, bytes.subarray(sent, sent + length), isLast && length === left);
      response.sendWindow -= length;
      this.window -= length;
      sent += length;
    }
    return sent;
  }

  /** Part of a response waits until the client takes more. */
  wait(response: Response): void {
    if (!this.waiting.includes(response)) this.waiting.push(response);
  }

  /** The client takes so many more bytes of all bodies; false for more than there may be. */
  widen(bytes: number): boolean {
    this.window += bytes;
    return this.window <= MAX_31_BITS;
  }

  /** The client takes so many bytes of each body at first, which moves the windows of those on their way; false for too many. */
  resize(bytes: number, open: Iterable<Response>): boolean {
    const more = bytes - this.firstWindow;
    this.firstWindow = bytes;
    let isFine = bytes <= MAX_31_BITS;
    for (const response of open) {
      response.sendWindow += more;
      isFine &&= response.sendWindow <= MAX_31_BITS;
    }
    return isFine;
  }

  /** Writes what waits, as far as the client takes it: a frame of each response in turn. */
  writeOn(): void {
    for (let idle = 0; idle < this.waiting.length && !this.output.isFull && this.window > 0;) {
      const response = this.waiting.shift();
      if (response === undefined) return;
      const hasWritten = response.writeOn();
      // A closed response takes nothing; that says nothing about the others.
      idle = hasWritten || !response.isWaiting ? 0 : idle + 1;
      if (response.isWaiting) this.wait(response);
    }
  }

  /** The connection is closed. */
  stop(): void {
    this.waiting = [];
  }
}
