import { Buffer } from 'node:buffer';
import { connect, type TLSSocket } from 'node:tls';
import { FRAME, frame, literal } from '../attack/h2-frames.ts';
import type { Lane, Lanes } from './lanes.ts';

/** Streams that a connection has open at a time. */
const STREAMS = 8;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
/** The length of a frame, its type, its flags and its stream (RFC 9113 §4.1). */
const HEAD_BYTES = 9;
const MAX_WINDOW = 0x7fff_ffff;
const FIRST_WINDOW = 65_535;

/** A request as HTTP/2 frames carry it. */
export interface H2Request {
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Bytes of the body of each response. */
  readonly responseBytes: number;
}

/**
 * Opens connections of HTTP/2, and eight streams at a time on each. Frames are written by hand and only counted when read: a library
 * costs more than what is measured.
 */
export async function openH2(port: number, request: H2Request, lanes: number): Promise<Lanes> {
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const connections = await Promise.all(
    Array.from(
      { length: Math.ceil(lanes / STREAMS) },
      async () => new Connection(await opened(port), request, fail),
    ),
  );
  return {
    lanes: connections.flatMap((one) => Array.from({ length: STREAMS }, (): Lane => one)).slice(0, lanes),
    failed,
    close() {
      for (const one of connections) one.close();
    },
  };
}

function opened(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] };
    const socket = connect(options, () => resolve(socket));
    socket.once('error', reject);
  });
}

class Connection implements Lane {
  private readonly socket: TLSSocket;
  private readonly request: H2Request;
  private readonly onFailure: (error: Error) => void;
  /** The frames of a request, whose stream is written into a copy. */
  private readonly frames: Buffer;
  private readonly streams = new Map<number, { readonly onResponse: () => void; bytes: number }>();
  private readonly waiting: (() => void)[] = [];
  private next = 1;
  /** Bytes of bodies that the peer takes on this connection. */
  private window = FIRST_WINDOW;
  private rest: Buffer = Buffer.alloc(0);

  constructor(socket: TLSSocket, request: H2Request, onFailure: (error: Error) => void) {
    this.socket = socket;
    this.request = request;
    this.onFailure = onFailure;
    const block = Buffer.concat(request.fields.map(([name, value]) => literal(name, value)));
    this.frames = Buffer.concat([
      frame(FRAME.headers, END_HEADERS, 0, block),
      frame(FRAME.data, END_STREAM, 0, request.body),
    ]);
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('error', onFailure);
    socket.on('close', () => onFailure(new Error('the connection was closed')));
    const settings = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]);
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frame(FRAME.settings, 0, 0, settings),
        frame(FRAME.window, 0, 0, number(MAX_WINDOW - FIRST_WINDOW)),
      ]),
    );
  }

  send(onResponse: () => void): void {
    if (this.window < this.request.body.length) {
      this.waiting.push(onResponse);
      return;
    }
    this.window -= this.request.body.length;
    const bytes = Buffer.from(this.frames);
    bytes.writeUInt32BE(this.next, 5);
    bytes.writeUInt32BE(this.next, bytes.length - this.request.body.length - 4);
    this.streams.set(this.next, { onResponse, bytes: 0 });
    this.next += 2;
    this.socket.write(bytes);
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      this.take(bytes.subarray(at, end));
      at = end;
    }
    this.rest = bytes.subarray(at);
  }

  private take(bytes: Buffer): void {
    const [type, flags] = [bytes[3] ?? 0, bytes[4] ?? 0];
    const stream = bytes.readUInt32BE(5);
    if (type === FRAME.settings && (flags & ACK) === 0)
      this.socket.write(frame(FRAME.settings, ACK, 0, Buffer.alloc(0)));
    if (type === FRAME.ping && (flags & ACK) === 0)
      this.socket.write(frame(FRAME.ping, ACK, 0, bytes.subarray(HEAD_BYTES)));
    if (type === FRAME.reset || type === FRAME.goaway)
      this.onFailure(new Error(`stream ${stream} was reset, or the connection ends`));
    if (type === FRAME.window && stream === 0) this.widen(bytes.readUInt32BE(HEAD_BYTES));
    const open = this.streams.get(stream);
    if (open === undefined) return;
    if (type === FRAME.data) open.bytes += bytes.length - HEAD_BYTES;
    if ((type !== FRAME.data && type !== FRAME.headers) || (flags & END_STREAM) === 0) return;
    this.streams.delete(stream);
    if (open.bytes !== this.request.responseBytes)
      this.onFailure(new Error(`a response of ${open.bytes} bytes instead of ${this.request.responseBytes}`));
    open.onResponse();
  }

  private widen(by: number): void {
    this.window += by;
    for (const onResponse of this.waiting.splice(0)) this.send(onResponse);
  }
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
