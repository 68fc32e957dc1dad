import type { Socket } from 'node:net';

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
export class SharedReads {
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
  static begin(socket: Socket, onBytes: (bytes: Buffer) => void): SharedReads | undefined {
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
    return new SharedReads(socket, parts.callback);
  }

  /** Ends it: the socket emits `data` again. */
  end(): void {
    const { socket } = this;
    const onRead: OnRead = (length) => socket.push(copyOf(BUFFER.subarray(0, length)));
    Reflect.set(socket, this.callback, onRead);
  }
}

/** Copies lent bytes. Few of them go into a buffer that others share too: nothing holds it for long. */
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
