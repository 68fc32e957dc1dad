import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';

/** A frame that was received. */
export interface H2Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** One connection of HTTP/2 on which frames are written as an attacker would: Node's own client is too polite. */
export interface RawH2 {
  readonly socket: TLSSocket;
  /** Sends a frame (RFC 9113 §4.1). */
  readonly frame: (type: number, flags: number, stream: number, payload?: Uint8Array) => void;
  /** Sends the head of a request with these fields, in their order, and no body unless `open`. */
  readonly head: (stream: number, fields: H2Fields, open?: boolean) => void;
  /** Frames received so far. */
  readonly frames: readonly H2Frame[];
}

/** The fields of a header section, in order. */
export type H2Fields = readonly (readonly [name: string, value: string])[];

export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
/** ACK, in SETTINGS and PING. */
export const END_STREAM = 1;
export const END_HEADERS = 4;
const HEAD_BYTES = 9;

/** Waits for a connection of TLS, and sends the preface and settings such as `[4, 0]` for a window of 0 (RFC 9113 §6.5.2). */
export async function openH2(
  socket: TLSSocket,
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawH2> {
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const frames: H2Frame[] = [];
  onFrames(socket, (one) => void frames.push(one));
  const frame: RawH2['frame'] = (...parts) => void socket.write(frameBytes(...parts));
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const values = Buffer.alloc(settings.length * 6);
  for (const [at, [name, value]] of settings.entries()) {
    values.writeUInt16BE(name, at * 6);
    values.writeUInt32BE(value, at * 6 + 2);
  }
  frame(SETTINGS, 0, 0, values);
  frame(SETTINGS, END_STREAM, 0);
  return {
    socket,
    frames,
    frame,
    head: (stream, fields, open = false) =>
      frame(HEADERS, END_HEADERS | (open ? 0 : END_STREAM), stream, headerBlock(fields)),
  };
}

/** Calls back for each frame that arrives whole. */
export function onFrames(socket: TLSSocket, take: (frame: H2Frame) => void): void {
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    for (;;) {
      const end = received.length < HEAD_BYTES ? Infinity : HEAD_BYTES + received.readUIntBE(0, 3);
      if (received.length < end) return;
      take({
        type: received[3] ?? 0,
        flags: received[4] ?? 0,
        stream: received.readUInt32BE(5) & 0x7fffffff,
        payload: received.subarray(HEAD_BYTES, end),
      });
      received = received.subarray(end);
    }
  });
}

/** The bytes of a frame. */
export function frameBytes(type: number, flags: number, stream: number, payload?: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload?.length ?? 0, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return payload === undefined ? head : Buffer.concat([head, payload]);
}

/** Pseudo fields of a GET or another method. */
export function requestHead(path: string, method = 'GET'): [string, string][] {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'g'],
    [':path', path],
  ];
}

/** Writes fields as HPACK literals without indexing (RFC 7541 §6.2.2): with any characters in them, as latin1. */
export function headerBlock(fields: H2Fields): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.of(0), hpackString(name), hpackString(value)]),
  );
}

function hpackString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  length.push(rest);
  return Buffer.concat([Buffer.from(length), bytes]);
}
