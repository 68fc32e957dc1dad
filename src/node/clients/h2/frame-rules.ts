import { FrameReader, type FrameReceiver } from './frame-reader.ts';
import { ERROR, type ErrorCode, FLAG, FRAME, readNumber } from './frames.ts';
import { PartialBlock } from './partial-block.ts';

/** Receives what the frames of a connection say. Bytes are valid until the method returns. */
export interface FrameConsumer {
  /** True when nothing more is to be read for now. */
  readonly isStopped: boolean;
  /** A frame has arrived, or part of a body; what it says follows. */
  onFrame(): void;
  /** A whole block of fields; nothing follows it on its stream where `isEnd` is true. */
  onBlock(stream: number, isEnd: boolean, bytes: Buffer, from: number, to: number): void;
  /** Part of a body, which took `frameBytes` of the windows. */
  onData(stream: number, part: Buffer, frameBytes: number, isEnd: boolean): void;
  onReset(stream: number): void;
  onSetting(setting: number, value: number): void;
  /** All settings of a frame were reported. */
  onSettingsRead(): void;
  /** A ping to send back. */
  onPing(bytes: Buffer, from: number, to: number): void;
  /** The client takes so many more bytes of a body, or of all where `stream` is 0. */
  onWindowUpdate(stream: number, more: number): void;
  /** The bytes are not HTTP/2: the connection ends. */
  fail(code: ErrorCode): void;
}

/** Bytes of the priority that a head may begin with, and of a frame of that type (RFC 9113 §6.2, §6.3). */
const PRIORITY_BYTES = 5;
const SETTING_BYTES = 6;
const PING_BYTES = 8;
/** Bytes of a number, as a reset and a change of a window have it. */
const NUMBER_BYTES = 4;

/**
 * Reads the frames of one connection, and holds them to the rules that concern them alone (RFC 9113 §6): their sizes, their order, and
 * whether they belong to a stream. The blocks of fields are put together.
 */
export class FrameRules implements FrameReceiver {
  private readonly consumer: FrameConsumer;
  /** Bytes that a block of fields may have. */
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

  /** True while a frame that is no body, a block of fields, or the preface has arrived in part. */
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
      case FRAME.data:
        this.readPaddedData(flags, stream, bytes, from, to);
        return;
      case FRAME.headers:
        this.readHeaders(flags, stream, bytes, from, to);
        return;
      case FRAME.continuation:
        this.readContinuation(flags, bytes, from, to);
        return;
      case FRAME.priority:
        this.check(stream !== 0, to - from === PRIORITY_BYTES);
        return;
      case FRAME.reset:
        if (this.check(stream !== 0, to - from === NUMBER_BYTES)) this.consumer.onReset(stream);
        return;
      case FRAME.settings:
        this.readSettings(flags, stream, bytes, from, to);
        return;
      case FRAME.ping:
        if (this.check(stream === 0, to - from === PING_BYTES) && (flags & FLAG.ack) === 0)
          this.consumer.onPing(bytes, from, to);
        return;
      case FRAME.goAway:
        this.check(stream === 0, to - from >= 2 * NUMBER_BYTES);
        return;
      case FRAME.windowUpdate:
        if (this.check(true, to - from === NUMBER_BYTES))
          this.consumer.onWindowUpdate(stream, readNumber(bytes, from));
        return;
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

  /** Settings come first, and the frames of a block of fields one behind the other (RFC 9113 §3.4, §4.3). */
  private mayFollow(type: number, stream: number): boolean {
    this.consumer.onFrame();
    const { block } = this;
    const isAfterSettings = this.hasSettings || type === FRAME.settings;
    const isNext = (block === undefined) !== (type === FRAME.continuation);
    if (isAfterSettings && isNext && (block === undefined || block.stream === stream)) return true;
    this.fail(ERROR.protocol);
    return false;
  }

  /** Whether a frame belongs to a stream or to the connection, as its type wants it, and has its size. */
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
