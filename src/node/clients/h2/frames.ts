/** Bytes of the head of a frame: length, type, flags and stream (RFC 9113 §4.1). */
export const FRAME_HEAD_BYTES = 9;
/** The largest payload of a frame in bytes that every peer takes (RFC 9113 §4.2); the gateway takes no larger ones either. */
export const FRAME_BYTES = 16_384;
/** The largest flow-control window in bytes, and the largest number of a stream (RFC 9113 §5.1.1, §6.9). */
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

/** The flags of frames; `ack` is one of settings and pings (RFC 9113 §6). */
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

/** Writes the head of a frame at an offset of `target`. */
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

/** Writes a number of 32 bits at an offset of `target`. */
export function writeNumber(target: Buffer, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

/** Reads the number of 31 bits at an offset: the bit before it is reserved. */
export function readNumber(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) & 0x7f) << 24) |
    ((bytes[at + 1] ?? 0) << 16) |
    ((bytes[at + 2] ?? 0) << 8) |
    (bytes[at + 3] ?? 0)
  );
}
