import { connect, type TLSSocket } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';

/** Types of frames (RFC 9113 §6) that an attacker or the load writes or reads. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;
/** END_STREAM, and END_HEADERS. */
const END_STREAM = 1;
const END_HEADERS = 4;

/** The fields of a header section, in order. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** A frame that was read. */
interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** HTTP/2 by hand over TLS: an HTTP/2 library would refuse to write an attacker's frames. */
export class H2Attacker {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  private rest = Buffer.alloc(0);
  private isOver = false;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('close', () => (this.isOver = true)).on('error', () => {});
  }

  /** Connects, and sends the preface with these settings, by their numbers. */
  static async open(
    port: number,
    settings: readonly (readonly [id: number, value: number])[] = [],
  ): Promise<H2Attacker> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject);
    });
    const attacker = new H2Attacker(socket);
    const payload = Buffer.alloc(settings.length * 6);
    for (const [k, [id, value]] of settings.entries()) {
      payload.writeUInt16BE(id, k * 6);
      payload.writeUInt32BE(value, k * 6 + 2);
    }
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(frame(FRAME.settings, 0, 0, payload));
    return attacker;
  }

  /** Sends a header section, in as many frames as it needs. */
  request(stream: number, fields: Fields, endsStream = true): void {
    this.socket.write(Buffer.concat(this.requestFrames(stream, fields, endsStream)));
  }

  /** Sends a request with a part of a body, and cancels it in the same write, with this code. */
  cancelled(stream: number, fields: Fields, body: string, code: number): void {
    const head = this.requestFrames(stream, fields, false);
    const cancel = frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, code]));
    this.socket.write(Buffer.concat([...head, frame(FRAME.data, 0, stream, Buffer.from(body)), cancel]));
  }

  private requestFrames(stream: number, fields: Fields, endsStream: boolean): Buffer[] {
    const frames: Buffer[] = [];
    const block = Buffer.concat(fields.map(([name, value]) => literal(name, value)));
    for (let at = 0; at === 0 || at < block.length; at += 16_384) {
      const isLast = at + 16_384 >= block.length;
      const type = at === 0 ? FRAME.headers : FRAME.continuation;
      const flags = (isLast ? END_HEADERS : 0) | (at === 0 && endsStream ? END_STREAM : 0);
      frames.push(frame(type, flags, stream, block.subarray(at, at + 16_384)));
    }
    return frames;
  }

  /** Waits for a frame that fits, the end of the connection, or until `milliseconds` have passed. */
  async until(fits: (frame: Frame) => boolean, milliseconds: number): Promise<Frame | undefined> {
    const end = performance.now() + milliseconds;
    for (;;) {
      const found = this.frames.find((one) => fits(one));
      if (found !== undefined || this.isOver || performance.now() > end) return found;
      await delay(5);
    }
  }

  /** Waits until more can be written, the connection is closed, or `end` is aborted. */
  async writable(end: AbortSignal): Promise<void> {
    const { socket } = this;
    await new Promise<void>((resolve) => {
      const over = (): void => {
        socket.off('drain', over).off('close', over);
        end.removeEventListener('abort', over);
        resolve();
      };
      socket.on('drain', over).on('close', over);
      end.addEventListener('abort', over);
      if (end.aborted || socket.destroyed) over();
    });
  }

  private read(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk]);
    while (this.rest.length >= 9) {
      const length = this.rest.readUIntBE(0, 3);
      if (this.rest.length < 9 + length) return;
      const [type, flags] = [this.rest[3] ?? 0, this.rest[4] ?? 0];
      const stream = this.rest.readUInt32BE(5) & 0x7fffffff;
      this.frames.push({ type, flags, stream, payload: this.rest.subarray(9, 9 + length) });
      if (type === FRAME.settings && (flags & 1) === 0)
        this.socket.write(frame(FRAME.settings, 1, 0, Buffer.alloc(0)));
      this.rest = this.rest.subarray(9 + length);
    }
  }
}

/** The pseudo fields of a request. */
export function requestFields(method: string, path: string): Fields {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'gateway'],
    [':path', path],
  ];
}

/** The bytes of a frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A field without index and without Huffman coding (RFC 7541 §6.2.2). */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
