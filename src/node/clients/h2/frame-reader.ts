import { ERROR, type ErrorCode, FLAG, FRAME, FRAME_BYTES, FRAME_HEAD_BYTES, readNumber } from './frames.ts';

/** The first bytes of every connection (RFC 9113 §3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Receives what a connection brings. Bytes are valid until the method returns. */
export interface FrameReceiver {
  /** True when nothing more is to be read for now. */
  readonly isStopped: boolean;
  /** A whole frame; its payload lies between two offsets. */
  frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void;
  /** Part of a body, which lies between two offsets; the last one of its stream where `isEnd` is true. */
  data(stream: number, bytes: Buffer, from: number, to: number, isEnd: boolean): void;
  /** The bytes are not HTTP/2. */
  fail(code: ErrorCode): void;
}

/**
 * Cuts the bytes of a connection into frames (RFC 9113 §4.1). Bodies are passed on as they arrive; any other frame is collected, if it
 * does not arrive whole.
 */
export class FrameReader {
  private readonly receiver: FrameReceiver;
  /** Bytes of the preface that have arrived. */
  private prefaceBytes = 0;
  /** The head of a frame that has arrived in part. */
  private readonly head = Buffer.alloc(FRAME_HEAD_BYTES);
  private headBytes = 0;
  /** The payload of a frame that has arrived in part. */
  private payload: Buffer | undefined = undefined;
  private payloadBytes = 0;
  /** Bytes of the body in the current frame that are still to come, and what its head says. */
  private dataBytes = 0;
  private dataStream = 0;
  private dataEnds = false;

  constructor(receiver: FrameReceiver) {
    this.receiver = receiver;
  }

  /** True while a frame that is no body, or the preface, has arrived in part. */
  get isPartial(): boolean {
    return this.headBytes > 0 || this.payload !== undefined || this.prefaceBytes < PREFACE.length;
  }

  /** Reads until the receiver stops it; returns the offset of the first byte that was not read. */
  read(bytes: Buffer): number {
    const { receiver } = this;
    let at = 0;
    if (this.prefaceBytes < PREFACE.length) at = this.readPreface(bytes);
    while (at < bytes.length && !receiver.isStopped) {
      if (this.dataBytes > 0) at = this.readData(bytes, at);
      else if (this.payload !== undefined) at = this.readPayload(this.payload, bytes, at);
      else if (this.headBytes > 0 || bytes.length - at < FRAME_HEAD_BYTES) at = this.readHead(bytes, at);
      else at = this.begin(bytes, at, bytes, at + FRAME_HEAD_BYTES);
    }
    return at;
  }

  private readPreface(bytes: Buffer): number {
    const length = Math.min(bytes.length, PREFACE.length - this.prefaceBytes);
    const isSame = bytes.compare(PREFACE, this.prefaceBytes, this.prefaceBytes + length, 0, length) === 0;
    this.prefaceBytes += length;
    if (!isSame) this.receiver.fail(ERROR.protocol);
    return length;
  }

  /** Reads a head that does not arrive whole. */
  private readHead(bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, FRAME_HEAD_BYTES - this.headBytes);
    bytes.copy(this.head, this.headBytes, at, at + length);
    this.headBytes += length;
    if (this.headBytes < FRAME_HEAD_BYTES) return at + length;
    this.headBytes = 0;
    return this.begin(this.head, 0, bytes, at + length);
  }

  /** Begins the frame whose head lies at an offset of `head`; returns the offset behind what was read of its payload. */
  private begin(head: Buffer, headAt: number, bytes: Buffer, at: number): number {
    const { receiver } = this;
    const length = lengthAt(head, headAt);
    const type = head[headAt + 3] ?? 0;
    const flags = head[headAt + 4] ?? 0;
    const stream = readNumber(head, headAt + 5);
    if (length > FRAME_BYTES) {
      receiver.fail(ERROR.frameSize);
      return at;
    }
    if (type === FRAME.data && (flags & FLAG.padded) === 0) {
      this.dataBytes = length;
      this.dataStream = stream;
      this.dataEnds = (flags & FLAG.endStream) !== 0;
      if (length === 0) receiver.data(stream, bytes, at, at, this.dataEnds);
      return at;
    }
    if (at + length <= bytes.length) {
      receiver.frame(type, flags, stream, bytes, at, at + length);
      return at + length;
    }
    // With its head in front, for the time when it is whole.
    this.payload = Buffer.allocUnsafe(FRAME_HEAD_BYTES + length);
    head.copy(this.payload, 0, headAt, headAt + FRAME_HEAD_BYTES);
    this.payloadBytes = FRAME_HEAD_BYTES;
    return at;
  }

  private readPayload(payload: Buffer, bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, payload.length - this.payloadBytes);
    bytes.copy(payload, this.payloadBytes, at, at + length);
    this.payloadBytes += length;
    if (this.payloadBytes < payload.length) return at + length;
    this.payload = undefined;
    const stream = readNumber(payload, 5);
    this.receiver.frame(payload[3] ?? 0, payload[4] ?? 0, stream, payload, FRAME_HEAD_BYTES, payload.length);
    return at + length;
  }

  private readData(bytes: Buffer, at: number): number {
    const end = at + Math.min(bytes.length - at, this.dataBytes);
    this.dataBytes -= end - at;
    this.receiver.data(this.dataStream, bytes, at, end, this.dataEnds && this.dataBytes === 0);
    return end;
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}
