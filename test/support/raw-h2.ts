import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

/** One connection of HTTP/2 on which a test writes frames as an attacker would: Node's own client is too polite. */
export interface RawH2 {
  readonly socket: TLSSocket;
  /** Sends a frame (RFC 9113 §4.1). */
  readonly frame: (type: number, flags: number, stream: number, payload?: Uint8Array) => void;
  /** Sends the head of a request with these fields, in their order, and no body unless `open`. */
  readonly head: (stream: number, fields: readonly (readonly [string, string])[], open?: boolean) => void;
  /** Frames received so far. */
  readonly frames: readonly H2Frame[];
}

/** A frame that was received. */
export interface H2Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const WINDOW_UPDATE = 8;
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** Bytes of a body that a gateway has allowed so far: at first those of RFC 9113 §6.9.2. */
export function grantedBytes({ frames }: RawH2, stream: number): number {
  const updates = frames.filter((frame) => frame.type === WINDOW_UPDATE && frame.stream === stream);
  return updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 65_535);
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

/** Connects, with settings such as `[4, 0]` for a window of 0 (RFC 9113 §6.5.2). */
export async function rawH2(
  port: number,
  ca: string,
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawH2> {
  const socket = connect({ port, host: 'localhost', ca, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  const frames: H2Frame[] = [];
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const length = received.length < 9 ? Infinity : received.readUIntBE(0, 3);
      if (received.length < 9 + length) return;
      frames.push({
        type: received[3] ?? 0,
        flags: received[4] ?? 0,
        stream: received.readUInt32BE(5) & 0x7fffffff,
        payload: received.subarray(9, 9 + length),
      });
      received = received.subarray(9 + length);
    }
  });
  const frame = (type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    socket.write(Buffer.concat([head, payload]));
  };
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const values = Buffer.alloc(settings.length * 6);
  for (const [at, [name, value]] of settings.entries()) {
    values.writeUInt16BE(name, at * 6);
    values.writeUInt32BE(value, at * 6 + 2);
  }
  frame(SETTINGS, 0, 0, values);
  frame(SETTINGS, 1, 0);
  return {
    socket,
    frames,
    frame,
    head: (stream, fields, open = false) =>
      frame(HEADERS, END_HEADERS | (open ? 0 : END_STREAM), stream, headerBlock(fields)),
  };
}

/** Writes fields as HPACK literals without indexing (RFC 7541 §6.2.2): whatever stands in them, as latin1. */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
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
