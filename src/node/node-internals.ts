import type { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { IS_NODE } from './runtime.ts';

/** The buffer that all connections read into, one after the other. */
const BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** Bytes from which a read gets a buffer of its own: they may be the beginning of a large body, which is collected for a while. */
const POOLED_BYTES = 4096;

/** Reads `length` bytes into the buffer; false ends the reading until it is resumed. */
type OnRead = (length: number) => boolean;

/** The parts of Node's socket behind the option `onread`, which only `net.connect` takes. */
interface UserBuffer {
  readonly buffer: symbol;
  readonly callback: symbol;
}

/**
 * Reads of an accepted socket into one shared buffer, as `onread` of `net.connect` has them for outgoing ones: Node otherwise
 * allocates 64 KiB for each read and shrinks them to the bytes that came. A request of 1 KB costs 1 to 3 µs less without that.
 */
export class ReusedReadBuffer {
  private readonly socket: Socket;
  private readonly callback: symbol;

  private constructor(socket: Socket, callback: symbol) {
    this.socket = socket;
    this.callback = callback;
  }

  /**
   * Begins to pass the bytes of `socket` to `onBytes`, valid until it returns, instead of emitting `data`; undefined where this Node
   * does not have what that takes.
   */
  static begin(socket: Socket, onBytes: (bytes: Buffer) => void): ReusedReadBuffer | undefined {
    const parts = userBufferOf(socket);
    const handle: unknown = Reflect.get(socket, '_handle');
    if (parts === undefined || !takesBuffer(handle)) return undefined;
    const onRead: OnRead = (length) => {
      onBytes(BUFFER.subarray(0, length));
      return true;
    };
    Reflect.set(socket, parts.buffer, BUFFER);
    Reflect.set(socket, parts.callback, onRead);
    handle.useUserBuffer(BUFFER);
    return new ReusedReadBuffer(socket, parts.callback);
  }

  /** Ends it: the socket emits `data` again. */
  end(): void {
    const { socket } = this;
    const onRead: OnRead = (length) => socket.push(copyOf(BUFFER.subarray(0, length)));
    Reflect.set(socket, this.callback, onRead);
  }
}

/** Copies borrowed bytes. Few of them go into a buffer that others share too: nothing holds it for long. */
export function copyOf(bytes: Buffer): Buffer {
  if (bytes.length < POOLED_BYTES) return Buffer.from(bytes);
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

interface BufferTaker {
  useUserBuffer(buffer: Buffer): void;
}

function takesBuffer(handle: unknown): handle is BufferTaker {
  return typeof handle === 'object' && handle !== null && 'useUserBuffer' in handle;
}

let known: UserBuffer | undefined;

function userBufferOf(socket: Socket): UserBuffer | undefined {
  if (known !== undefined) return known;
  const symbols = Object.getOwnPropertySymbols(socket);
  const buffer = symbols.find(({ description }) => description === 'kBuffer');
  const callback = symbols.find(({ description }) => description === 'kBufferCb');
  if (buffer !== undefined && callback !== undefined) known = { buffer, callback };
  return known;
}

/** The object below a socket or server of Node, which does what Node itself does not offer; undefined on other runtimes. */
export function systemHandle(socket: object): object | undefined {
  return objectIn(socket, '_handle');
}

/** The object below the TLS of a socket; undefined without TLS. */
function handleBelowTls(socket: object): object | undefined {
  const tls = systemHandle(socket);
  return tls && objectIn(tls, '_parent');
}

/** Calls a method of such an object; undefined where it has none. */
export function callHandle(
  handle: object | undefined,
  name: 'listen' | 'getpeername' | 'readStart' | 'readStop',
  ...parameters: readonly unknown[]
): unknown {
  const method: unknown = handle && Reflect.get(handle, name);
  return typeof method === 'function' ? Reflect.apply(method, handle, parameters) : undefined;
}

function objectIn(value: object, name: string): object | undefined {
  const member: unknown = Reflect.get(value, name);
  return typeof member === 'object' && member !== null ? member : undefined;
}

/**
 * Returns the bytes of a socket that the kernel has taken. `writableLength` counts a write until all of it is taken, and a
 * response of megabytes is one write; Node's own idle timer checks the queue of the handle for that reason, and so does this.
 * Under TLS the handle below counts encrypted bytes.
 */
export function bytesFlushed(socket: Socket): number {
  const counts = countsOf(handleBelowTls(socket)) ?? countsOf(systemHandle(socket));
  return counts ?? socket.bytesWritten - socket.writableLength;
}

function countsOf(handle: object | undefined): number | undefined {
  if (handle === undefined) return undefined;
  const written: unknown = Reflect.get(handle, 'bytesWritten');
  const queued: unknown = Reflect.get(handle, 'writeQueueSize');
  return typeof written === 'number' && typeof queued === 'number' ? written - queued : undefined;
}

/**
 * Has a socket, plain or over TLS, read once more when a write to it fails. A V2 that refuses a body responds, closes, and resets
 * further bytes: its response is then unread, and Node would close the socket without it.
 */
export function readOnceMore<Connection extends Socket>(socket: Connection): Connection {
  const destroy = socket.destroy.bind(socket);
  let isReadOnceMore = false;
  socket.destroy = (error) => {
    if (isReadOnceMore || !isWriteError(error)) return destroy(error);
    isReadOnceMore = true;
    // Sockets are read between two turns; a reader that finds the whole response closes the socket earlier.
    setImmediate(() => setImmediate(() => destroy(error)));
    return socket;
  };
  return socket;
}

function isWriteError(error: Error | undefined): boolean {
  return error !== undefined && 'syscall' in error && error.syscall === 'write';
}

/**
 * Keeps V8 from allocating objects in its old generation because those of the same place in the code lived for some time. With hundreds
 * of requests in flight that holds for all that an exchange consists of: each object is then garbage until the whole heap is searched,
 * and keeps everything that it refers to. For the whole process, from now on.
 */
export function allocateYoung(): void {
  if (IS_NODE) setFlagsFromString('--no-allocation-site-pretenuring');
}
