import { copyOf } from '../../node-internals.ts';

/** Bytes of a frame's head: length, type, flags and stream (RFC 9113 §4.1). */
export const FRAME_HEAD_BYTES = 9;
/** The largest frame payload in bytes that every peer must accept (RFC 9113 §4.2); the gateway also accepts no larger ones. */
export const FRAME_BYTES = 16_384;
/** The largest flow-control window in bytes, and the largest stream number (RFC 9113 §5.1.1, §6.9). */
export const MAX_31_BITS = 0x7fff_ffff;
/** The flow-control window of a connection, and of a stream whose peer has set no other, in bytes (RFC 9113 §6.9.2). */
export const FIRST_WINDOW_BYTES = 65_535;

/** The types of frames (RFC 9113 §6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** The flags of frames; `ack` is for settings and pings (RFC 9113 §6). */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** The settings that the gateway reads or sends (RFC 9113 §6.5.2). */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Why a stream or a connection ends (RFC 9113 §7). */
export const ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

/** A code of `ERROR`. */
export type ErrorCode = (typeof ERROR)[keyof typeof ERROR];

/** Writes a frame's head at an offset of `target`. */
export function writeFrameHead(
  target: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  target[at] = length >>> 16;
  target[at + 1] = length >>> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  writeNumber(target, at + 5, stream);
}

/** Writes a 32-bit number at an offset of `target`. */
export function writeNumber(target: Buffer, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

/** Reads the 31-bit number at an offset; the bit before it is reserved. */
export function readNumber(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) & 0x7f) << 24) |
    ((bytes[at + 1] ?? 0) << 16) |
    ((bytes[at + 2] ?? 0) << 8) |
    (bytes[at + 3] ?? 0)
  );
}

/** The first bytes of every connection (RFC 9113 §3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Receives a connection's frames. Bytes are valid until the method returns. */
interface FrameReceiver {
  /** True while nothing more may be read. */
  readonly isStopped: boolean;
  /** A whole frame with its payload between two offsets. */
  frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void;
  /** Part of a body between two offsets; the stream's last one if `isEnd` is true. */
  data(stream: number, bytes: Buffer, from: number, to: number, isEnd: boolean): void;
  /** The bytes are not HTTP/2. */
  fail(code: ErrorCode): void;
}

/**
 * Cuts a connection's bytes into frames (RFC 9113 §4.1). Bodies are passed on as they arrive; any other frame is collected until it is
 * whole.
 */
export class FrameReader {
  private readonly receiver: FrameReceiver;
  /** Bytes of the preface so far. */
  private prefaceBytes = 0;
  /** A partial frame head. */
  private readonly head = Buffer.alloc(FRAME_HEAD_BYTES);
  private headBytes = 0;
  /** A partial payload. */
  private payload: Buffer | undefined = undefined;
  private payloadBytes = 0;
  /** Bytes of the current data frame that have not arrived, with its stream and end flag. */
  private dataBytes = 0;
  private dataStream = 0;
  private dataEnds = false;

  constructor(receiver: FrameReceiver) {
    this.receiver = receiver;
  }

  /** True while the preface, or a frame other than data, is incomplete. */
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

  /** Reads a frame head that arrives in pieces. */
  private readHead(bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, FRAME_HEAD_BYTES - this.headBytes);
    bytes.copy(this.head, this.headBytes, at, at + length);
    this.headBytes += length;
    if (this.headBytes < FRAME_HEAD_BYTES) return at + length;
    this.headBytes = 0;
    return this.begin(this.head, 0, bytes, at + length);
  }

  /** Begins the frame whose head is at an offset of `head`; returns the offset after the bytes that it read. */
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
    // Kept with its head until it is whole.
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

/** Receives the content of a connection's frames. Bytes are valid until the method returns. */
export interface FrameConsumer {
  /** True while nothing more may be read. */
  readonly isStopped: boolean;
  /** A frame or part of a body has arrived; its content follows. */
  onFrame(): void;
  /** A whole header block; nothing follows on its stream if `isEnd` is true. */
  onBlock(stream: number, isEnd: boolean, bytes: Buffer, from: number, to: number): void;
  /** Part of a body that used `frameBytes` of the windows. */
  onData(stream: number, part: Buffer, frameBytes: number, isEnd: boolean): void;
  onReset(stream: number): void;
  onSetting(setting: number, value: number): void;
  /** All settings of a frame have been reported. */
  onSettingsRead(): void;
  /** A ping to send back. */
  onPing(bytes: Buffer, from: number, to: number): void;
  /** The client takes `more` bytes of a body, or of all bodies if `stream` is 0. */
  onWindowUpdate(stream: number, more: number): void;
  /** The bytes are not HTTP/2, so the connection must end. */
  fail(code: ErrorCode): void;
}

/** Bytes of a priority, in a frame of its own or at the beginning of HEADERS (RFC 9113 §6.2, §6.3). */
const PRIORITY_BYTES = 5;
const SETTING_BYTES = 6;
const PING_BYTES = 8;
/** Bytes of a number, as in resets and window updates. */
const NUMBER_BYTES = 4;

/**
 * Reads one connection's frames, checks their sizes, their order, and whether they may be on a stream (RFC 9113 §6), and joins header
 * blocks.
 */
export class FrameRules implements FrameReceiver {
  private readonly consumer: FrameConsumer;
  /** Maximum bytes of a header block. */
  private readonly blockBytes: number;
  private readonly reader = new FrameReader(this);
  private block: PartialBlock | undefined = undefined;
  private hasSettings = false;

  constructor(consumer: FrameConsumer, blockBytes: number) {
    this.consumer = consumer;
    this.blockBytes = blockBytes;
  }

  get isStopped(): boolean {
    return this.consumer.isStopped;
  }

  /** True while the preface, a header block, or a frame other than data is incomplete. */
  get isPartial(): boolean {
    return this.block !== undefined || this.reader.isPartial;
  }

  /** Reads until the consumer stops it; returns the offset of the first byte that was not read. */
  read(bytes: Buffer): number {
    return this.reader.read(bytes);
  }

  frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    if (!this.mayFollow(type, stream)) return;
    switch (type) {
      // §6.1. Padding counts against the windows: otherwise it would be unlimited.
      case FRAME.data:
        this.readPaddedData(flags, stream, bytes, from, to);
        return;
      // §6.2. Its priority is skipped (§5.3.2).
      case FRAME.headers:
        this.readHeaders(flags, stream, bytes, from, to);
        return;
      // §6.10. `mayFollow` has checked that its block is open.
      case FRAME.continuation:
        this.readContinuation(flags, bytes, from, to);
        return;
      // §6.3: deprecated, but still to be checked.
      case FRAME.priority:
        this.check(stream !== 0, to - from === PRIORITY_BYTES);
        return;
      // §6.4.
      case FRAME.reset:
        if (this.check(stream !== 0, to - from === NUMBER_BYTES)) this.consumer.onReset(stream);
        return;
      // §6.5.
      case FRAME.settings:
        this.readSettings(flags, stream, bytes, from, to);
        return;
      // §6.7. Acknowledgements are ignored, because the gateway sends no pings.
      case FRAME.ping:
        if (this.check(stream === 0, to - from === PING_BYTES) && (flags & FLAG.ack) === 0)
          this.consumer.onPing(bytes, from, to);
        return;
      // §6.8. A client that sends GOAWAY may still finish its streams.
      case FRAME.goAway:
        this.check(stream === 0, to - from >= 2 * NUMBER_BYTES);
        return;
      // §6.9. Stream 0 is allowed: it means the connection.
      case FRAME.windowUpdate:
        if (this.check(true, to - from === NUMBER_BYTES))
          this.consumer.onWindowUpdate(stream, readNumber(bytes, from));
        return;
      // §6.6, §8.4: clients cannot push.
      case FRAME.pushPromise:
        this.fail(ERROR.protocol);
        return;
      default:
      // Frames of other types are ignored (RFC 9113 §5.5).
    }
  }

  data(stream: number, bytes: Buffer, from: number, to: number, isEnd: boolean): void {
    if (!this.mayFollow(FRAME.data, stream)) return;
    this.consumer.onData(stream, bytes.subarray(from, to), to - from, isEnd);
  }

  fail(code: ErrorCode): void {
    this.consumer.fail(code);
  }

  /** Settings must come first, and nothing may come between the frames of a header block (RFC 9113 §3.4, §4.3). */
  private mayFollow(type: number, stream: number): boolean {
    this.consumer.onFrame();
    const { block } = this;
    const isAfterSettings = this.hasSettings || type === FRAME.settings;
    const isNext = (block === undefined) !== (type === FRAME.continuation);
    if (isAfterSettings && isNext && (block === undefined || block.stream === stream)) return true;
    this.fail(ERROR.protocol);
    return false;
  }

  /** Checks that a frame is on a stream or not, as its type requires, and has the right size. */
  private check(isOnStream: boolean, hasSize: boolean): boolean {
    if (!isOnStream) this.fail(ERROR.protocol);
    else if (!hasSize) this.fail(ERROR.frameSize);
    return isOnStream && hasSize;
  }

  private readPaddedData(flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    const end = to - (bytes[from] ?? 0);
    const isEnd = (flags & FLAG.endStream) !== 0;
    if (end <= from) this.fail(ERROR.protocol);
    else this.consumer.onData(stream, bytes.subarray(from + 1, end), to - from, isEnd);
  }

  private readHeaders(flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    const isPadded = (flags & FLAG.padded) !== 0;
    const begin = from + (isPadded ? 1 : 0) + ((flags & FLAG.priority) === 0 ? 0 : PRIORITY_BYTES);
    const end = to - (isPadded ? (bytes[from] ?? 0) : 0);
    const isEnd = (flags & FLAG.endStream) !== 0;
    // Streams of clients have odd numbers.
    if (begin > end || stream % 2 === 0) this.fail(ERROR.protocol);
    else if ((flags & FLAG.endHeaders) !== 0) this.consumer.onBlock(stream, isEnd, bytes, begin, end);
    else this.block = new PartialBlock(stream, isEnd, bytes.subarray(begin, end));
  }

  private readContinuation(flags: number, bytes: Buffer, from: number, to: number): void {
    const { block } = this;
    if (block === undefined) return;
    block.add(bytes.subarray(from, to));
    if (block.isTooLarge(this.blockBytes)) {
      this.fail(ERROR.enhanceYourCalm);
      return;
    }
    if ((flags & FLAG.endHeaders) === 0) return;
    this.block = undefined;
    this.consumer.onBlock(block.stream, block.isEnd, block.whole(), 0, block.bytes);
  }

  private readSettings(flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    const isAck = (flags & FLAG.ack) !== 0;
    const hasSize = isAck ? from === to : (to - from) % SETTING_BYTES === 0;
    if (!this.check(stream === 0, hasSize) || isAck) return;
    this.hasSettings = true;
    for (let at = from; at < to; at += SETTING_BYTES)
      this.consumer.onSetting(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    this.consumer.onSettingsRead();
  }
}

/** Maximum frames of one block, against endless CONTINUATION (CVE-2024-27316 and similar); empty frames add no bytes to the block. */
const MAX_FRAMES = 64;

/** A header block whose last frame has not arrived (RFC 9113 §4.3). */
class PartialBlock {
  readonly stream: number;
  /** True when nothing follows it on its stream. */
  readonly isEnd: boolean;
  /** Bytes so far. */
  bytes: number;
  private readonly parts: Buffer[];

  /** `first` is the first frame's part, valid until this returns. */
  constructor(stream: number, isEnd: boolean, first: Buffer) {
    this.stream = stream;
    this.isEnd = isEnd;
    this.parts = [copyOf(first)];
    this.bytes = first.length;
  }

  /** Adds the next frame's part, valid until this returns. */
  add(part: Buffer): void {
    this.parts.push(copyOf(part));
    this.bytes += part.length;
  }

  /** True beyond the limit on bytes, or with more frames than any client needs. */
  isTooLarge(limit: number): boolean {
    return this.bytes > limit || this.parts.length > MAX_FRAMES;
  }

  whole(): Buffer {
    return Buffer.concat(this.parts, this.bytes);
  }
}

/**
 * Bytes that a connection may bring without content, against floods of empty frames (CVE-2019-9518), priorities (CVE-2019-9513) and
 * window updates (CVE-2019-9511). Ordinary windows, settings and pings take far fewer.
 */
const FREE_BYTES = 4 * 1024 * 1024;
/** Bytes in frames for each byte of content, as in nginx. A body in one-byte frames has ten. */
const FRAMING = 8;
/** Control frames (resets, pings, settings) that a connection may send at once, and per second; nghttp2 has these limits for resets. */
const CONTROL_FRAMES = 1000;
const CONTROL_FRAMES_PER_SECOND = 33;

/**
 * Bounds frames without content and frames that cost the gateway more than the client (RFC 9113 §10.5): window updates, priorities,
 * unknown frames, empty or tiny bodies, requests that are reset at once. Each is legal, but takes more time to read than to send.
 */
export class FrameBudget {
  private bytesIn = 0;
  private bytesOut = 0;
  private content = 0;
  private controlFrames = CONTROL_FRAMES;
  private countedAt = 0;

  /** True once the connection has exceeded its budget and must be closed. */
  get isExceeded(): boolean {
    return this.bytesIn > FREE_BYTES + this.content * FRAMING + this.bytesOut || this.controlFrames < 0;
  }

  /** Counts bytes that were read. */
  read(bytes: number): void {
    this.bytesIn += bytes;
  }

  /** Counts body bytes that were sent, for which the client sends window updates. */
  sent(bytes: number): void {
    this.bytesOut += bytes;
  }

  /** Counts bytes of content, in header sections or bodies. */
  receive(bytes: number): void {
    this.content += bytes;
  }

  /** Counts a control frame that makes the gateway work. */
  countControlFrame(): void {
    const now = performance.now();
    const earned = ((now - this.countedAt) / 1000) * CONTROL_FRAMES_PER_SECOND;
    this.countedAt = now;
    this.controlFrames = Math.min(CONTROL_FRAMES, this.controlFrames + earned) - 1;
  }
}
