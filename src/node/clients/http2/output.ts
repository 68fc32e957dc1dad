import type { Socket } from 'node:net';
import type { BodyMemory } from '../../body-memory.ts';
import {
  type ErrorCode,
  FIRST_WINDOW_BYTES,
  FLAG,
  FRAME,
  FRAME_BYTES,
  FRAME_HEAD_BYTES,
  MAX_31_BITS,
  writeFrameHead,
  writeNumber,
} from './frames.ts';

/** Bytes that are written together, as many as a TLS record holds. */
const PIECE_BYTES = 16 * 1024;
/** Bytes waiting for the kernel beyond which no more of a body is written. */
const FULL_BYTES = 64 * 1024;
/** Bytes and responses waiting for the kernel beyond which no more requests are read. */
const CONGESTED_BYTES = 256 * 1024;
const CONGESTED_RESPONSES = 128;
const nothing = Buffer.alloc(0);
/** A table size of 0 (RFC 7541 §6.3). */
const EMPTY_TABLE = Buffer.from([0x20]);

/** The connection that owns an output. */
export interface H2OutputHandler {
  /** The kernel has taken earlier writes; there may be room for more. */
  onFlushed(): void;
}

/** A response whose last byte has been written. */
export interface WrittenResponse {
  /** The kernel has taken it. */
  flushed(): void;
  /** The connection closed before that. */
  disconnected(): void;
}

/** Writes one connection's frames, those of one turn of the event loop together: each write takes as long as a thousand bytes. */
export class H2Output {
  private readonly socket: Socket;
  private readonly memory: BodyMemory;
  private readonly handler: H2OutputHandler;
  private piece: Buffer = nothing;
  private length = 0;
  private turn: NodeJS.Immediate | undefined = undefined;
  /** Responses that end in the piece. */
  private ending: WrittenResponse[] = [];
  /** Written bytes that the kernel has not taken, and responses that it has not taken whole. */
  private unflushedBytes = 0;
  private unflushedResponses = 0;
  private isStopped = false;
  private isTableSizeDue = false;

  constructor(socket: Socket, memory: BodyMemory, handler: H2OutputHandler) {
    this.socket = socket;
    this.memory = memory;
    this.handler = handler;
  }

  /** Bytes that wait for the kernel, or for the end of this turn of the event loop. */
  get waitingBytes(): number {
    return this.unflushedBytes + this.length;
  }

  /** True while no more of a body should be written. */
  get isFull(): boolean {
    return this.waitingBytes >= FULL_BYTES;
  }

  /** True while no more requests should be read: their heads and responses without bodies ignore `isFull`, so this bounds them. */
  get isCongested(): boolean {
    return this.waitingBytes >= CONGESTED_BYTES || this.unflushedResponses >= CONGESTED_RESPONSES;
  }

  /** Writes settings (RFC 9113 §6.5), names and values in turn. */
  settings(values: readonly number[]): void {
    const length = values.length * 3;
    const at = this.begin(length, FRAME.settings, 0, 0);
    for (let index = 0; index < values.length; index += 2) {
      const name = values[index] ?? 0;
      this.piece[at + index * 3] = name >>> 8;
      this.piece[at + index * 3 + 1] = name;
      writeNumber(this.piece, at + index * 3 + 2, values[index + 1] ?? 0);
    }
  }

  acknowledgeSettings(): void {
    this.begin(0, FRAME.settings, FLAG.ack, 0);
  }

  /** Sends a ping back (RFC 9113 §6.7). */
  acknowledgePing(bytes: Buffer, from: number, to: number): void {
    const at = this.begin(to - from, FRAME.ping, FLAG.ack, 0);
    bytes.copy(this.piece, at, from, to);
  }

  /** Lets the client send `bytes` more bytes of a body, or of all bodies if `stream` is 0 (RFC 9113 §6.9). */
  sendWindowUpdate(stream: number, bytes: number): void {
    const at = this.begin(4, FRAME.windowUpdate, 0, stream);
    writeNumber(this.piece, at, bytes);
  }

  /** Ends a stream at once (RFC 9113 §6.4). */
  reset(stream: number, code: ErrorCode): void {
    const at = this.begin(4, FRAME.reset, 0, stream);
    writeNumber(this.piece, at, code);
  }

  /** Names the last stream that is served (RFC 9113 §6.8). */
  goAway(lastStream: number, code: ErrorCode): void {
    const at = this.begin(8, FRAME.goAway, 0, 0);
    writeNumber(this.piece, at, lastStream);
    writeNumber(this.piece, at + 4, code);
  }

  /**
   * Called when the client has set the size of its dynamic table. The gateway never uses that table; its next block sets the size to 0,
   * because some clients insist on a confirmation (RFC 7541 §4.2).
   */
  emptyTable(): void {
    this.isTableSizeDue = true;
  }

  /** Writes a header block, in as many frames as it takes (RFC 9113 §6.2, §6.10). */
  fields(stream: number, fields: Buffer, isEnd: boolean): void {
    const block = this.isTableSizeDue ? Buffer.concat([EMPTY_TABLE, fields]) : fields;
    this.isTableSizeDue = false;
    let from = 0;
    do {
      const to = Math.min(block.length, from + FRAME_BYTES);
      // In one go, because nothing may come between the frames of a block (RFC 9113 §4.3).
      const last = to === block.length ? FLAG.endHeaders : 0;
      const at =
        from === 0
          ? this.begin(to - from, FRAME.headers, last | (isEnd ? FLAG.endStream : 0), stream)
          : this.begin(to - from, FRAME.continuation, last, stream);
      block.copy(this.piece, at, from, to);
      from = to;
    } while (from < block.length);
  }

  /** Writes part of a body, at most `FRAME_BYTES` (RFC 9113 §6.1). */
  data(stream: number, bytes: Uint8Array, isEnd: boolean): void {
    const at = this.begin(bytes.length, FRAME.data, isEnd ? FLAG.endStream : 0, stream);
    this.piece.set(bytes, at);
  }

  /** Call it when a response's last frame is written. */
  end(response: WrittenResponse): void {
    this.ending.push(response);
    this.unflushedResponses += 1;
    this.turn ??= setImmediate(H2Output.flush, this);
  }

  /** Hands the collected frames to the kernel. */
  flush(): void {
    clearImmediate(this.turn);
    this.turn = undefined;
    const { ending, length, piece, socket } = this;
    if (length === 0 && ending.length === 0) return;
    this.ending = [];
    this.piece = nothing;
    this.length = 0;
    if (this.isStopped) {
      this.memory.release(piece);
      for (const response of ending) response.disconnected();
      return;
    }
    this.unflushedBytes += length;
    socket.write(piece.subarray(0, length), () => {
      this.memory.release(piece);
      this.unflushedBytes -= length;
      this.unflushedResponses -= ending.length;
      for (const response of ending)
        if (socket.destroyed) response.disconnected();
        else response.flushed();
      if (!socket.destroyed) this.handler.onFlushed();
    });
  }

  /** Stops writing, because the connection is closed. */
  stop(): void {
    this.isStopped = true;
    this.flush();
  }

  /** Begins a frame, in a new piece if necessary; returns the offset of its payload there. */
  private begin(length: number, type: number, flags: number, stream: number): number {
    const needed = FRAME_HEAD_BYTES + length;
    if (this.length + needed > this.piece.length) {
      this.flush();
      this.piece = this.memory.acquire(Math.max(PIECE_BYTES, needed));
    }
    const at = this.length;
    writeFrameHead(this.piece, at, length, type, flags, stream);
    this.length = at + needed;
    this.turn ??= setImmediate(H2Output.flush, this);
    return at + FRAME_HEAD_BYTES;
  }

  private static flush(this: void, output: H2Output): void {
    output.flush();
  }
}

/** A response whose body is being written. */
interface SentResponse {
  readonly id: number;
  /** Bytes of its body that the client currently takes (RFC 9113 §6.9.1). */
  sendWindow: number;
  /** True while part of it waits for the client. */
  readonly isWaiting: boolean;
  /** Writes one waiting frame; false when the client takes none. */
  resumeWrite(): boolean;
}

/** Bytes of a body in one frame: with its head they make one TLS record. */
export const PART_BYTES = FRAME_BYTES - FRAME_HEAD_BYTES;

/** Sends the bodies of one connection's responses, as far as the client's windows allow (RFC 9113 §5.2). */
export class H2Responses<Response extends SentResponse> {
  /** The initial window of each body. */
  firstWindow = FIRST_WINDOW_BYTES;
  private readonly output: H2Output;
  /** The window for all bodies. */
  private window = FIRST_WINDOW_BYTES;
  /** Responses with parts that wait for the client, in their order of turns. */
  private waiting: Response[] = [];

  constructor(output: H2Output) {
    this.output = output;
  }

  /** Sends as much of a body as the client takes now; returns the number of bytes. `isLast` is true if the response ends with it. */
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

  /** Queues a response, part of which waits until the client takes more. */
  wait(response: Response): void {
    if (!this.waiting.includes(response)) this.waiting.push(response);
  }

  /** Grows the window for all bodies; false if it is then too large (RFC 9113 §6.9.1). */
  growWindow(bytes: number): boolean {
    this.window += bytes;
    return this.window <= MAX_31_BITS;
  }

  /** Sets the initial window, and moves the windows of open responses by the difference; false if one is then too large. */
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

  /** Writes one frame of each waiting response in turn, as long as the client takes any. */
  resumeWrite(): void {
    for (let idle = 0; idle < this.waiting.length && !this.output.isFull && this.window > 0;) {
      const response = this.waiting.shift();
      if (response === undefined) return;
      const hasWritten = response.resumeWrite();
      // A closed response writes nothing, but others may.
      idle = hasWritten || !response.isWaiting ? 0 : idle + 1;
      if (response.isWaiting) this.wait(response);
    }
  }

  stop(): void {
    this.waiting = [];
  }
}
