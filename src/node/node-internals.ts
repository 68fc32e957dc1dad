import { isIPv6, type Server, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import type { ProcessLine } from './log/process-log.ts';
import { IS_NODE } from './runtime.ts';

/**
 * The private parts of Node that the gateway uses, and the disadvantage if this Node lacks one: the gateway then uses the public API. No
 * other file may name them. Two more workarounds are here although they use public APIs: a method of one socket is replaced
 * (`readOnceMore`), and a flag of V8 is set (`allocateYoung`), which V8 silently ignores if it does not know it.
 */
const PARTS = {
  // Symbols of `net.Socket` for its read buffer and callback. The option `onread` sets them, but only `net.connect` accepts it.
  kBuffer: 'each read of a client allocates memory of its own, which takes 1 to 3 µs more for each request',
  kBufferCb: 'each read of a client allocates memory of its own, which takes 1 to 3 µs more for each request',
  // The handle below a socket or server; the following parts are its members.
  _handle: 'everything that needs the handles of sockets is lost',
  useUserBuffer:
    'each read of a client allocates memory of its own, which takes 1 to 3 µs more for each request',
  // `pause` and `resume` of a stream take longer than a read, and take effect too late: after the next read.
  readStop: 'one busy connection may delay the others by more than a turn of the event loop',
  readStart: 'one busy connection may delay the others by more than a turn of the event loop',
  reading:
    'one busy connection may delay the others, and clients that reset a connection while it is not read are noticed late',
  // Node cannot shorten a listen queue, and closing a port resets the connections in it.
  listen: 'a client that connects while the gateway stops may be reset',
  // Another API can test a port only by listening, and a client that connects meanwhile would be reset.
  _createServerHandle: 'the gateway listens with one socket, so bursts of new clients wait longer',
  getsockname: 'the gateway listens with one socket, so bursts of new clients wait longer',
  // The public `remoteAddress` is cached: it does not tell whether there is still a peer.
  getpeername:
    'stopping takes longer, and clients that reset a connection while it is not read are noticed late',
  // The public `bytesWritten` also counts bytes that wait in the process.
  bytesWritten: 'a slow reader of a large response may be treated as one that does not read',
  writeQueueSize: 'a slow reader of a large response may be treated as one that does not read',
  // The socket or handle below TLS: Node exposes neither.
  _parent:
    'over TLS, a broken response ends without a reset, slow readers are measured by unencrypted bytes, and a truncated body of V2 looks complete',
} as const;

/** A private part of Node, by its name there. */
export type PrivatePart = keyof typeof PARTS;

/** The names of all private parts. */
export const PRIVATE_PARTS = Object.keys(PARTS).filter(isPart);

function isPart(name: string): name is PrivatePart {
  return name in PARTS;
}

const hidden = new Set<PrivatePart>();

/** Runs the process as if this Node lacked a part, until the returned function is called; for testing each part. */
export function hidePart(part: PrivatePart): () => void {
  hidden.add(part);
  return () => void hidden.delete(part);
}

/** A part of a socket or handle; undefined if it is absent. */
function partOf(owner: object, name: PrivatePart): unknown {
  return hidden.has(name) ? undefined : Reflect.get(owner, name);
}

/**
 * Looks for each private part, once, as soon as `server` listens; returns those that are missing or of another kind. That needs no
 * connection: the handle of a server has the same class as that of a connection. On Bun and Deno, which have none of the parts, it
 * returns none.
 */
export function probe(server: object): readonly PrivatePart[] {
  if (!IS_NODE) return [];
  const plain = new Socket();
  const secure = new TLSSocket(plain);
  const handle = systemHandle(server);
  const isThere = (name: PrivatePart): boolean => {
    switch (name) {
      case 'kBuffer':
      case 'kBufferCb':
        return symbolOf(plain, name) !== undefined;
      case '_handle':
        return handle !== undefined;
      case '_createServerHandle':
        return serverHandle() !== undefined;
      case '_parent':
        return partOf(secure, name) === plain && handleBelowTls(secure) !== undefined;
      case 'reading':
        return handle !== undefined && typeof partOf(handle, name) === 'boolean';
      case 'bytesWritten':
      case 'writeQueueSize':
        return handle !== undefined && typeof partOf(handle, name) === 'number';
      case 'useUserBuffer':
      case 'readStop':
      case 'readStart':
      case 'listen':
      case 'getpeername':
      case 'getsockname':
        return handle !== undefined && typeof partOf(handle, name) === 'function';
    }
  };
  const missing = PRIVATE_PARTS.filter((name) => !isThere(name));
  secure.destroy();
  plain.destroy();
  return missing;
}

/** The line of the process log about missing parts; undefined if there are none. */
export function missingPartsLine(missing: readonly PrivatePart[]): ProcessLine | undefined {
  if (missing.length === 0) return undefined;
  const losses = new Set(missing.map((name) => PARTS[name]));
  return {
    level: 'warn',
    event: 'node-internals',
    message: `Node ${process.versions.node} lacks ${missing.join(', ')}: ${[...losses].join('; ')}. Nothing else changes. Use Node 24 or 26.`,
    fields: { missing },
  };
}

/** The buffer that all connections read into, one after the other. */
const BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** Bytes from which a read gets its own buffer: they may be the beginning of a large body, which is collected for a while. */
const POOLED_BYTES = 4096;

/** Reads `length` bytes into the buffer; false ends the reading until it is resumed. */
type OnRead = (length: number) => boolean;

/** The private parts of Node's socket for the option `onread`, which only `net.connect` accepts. */
interface UserBuffer {
  readonly buffer: symbol;
  readonly callback: symbol;
}

/**
 * Reads of an accepted socket into one shared buffer, as `onread` of `net.connect` allows for outgoing ones: Node otherwise allocates 64
 * KiB for each read and shrinks them to the bytes that arrived. Avoiding that saves 1 to 3 µs for a request of 1 KB.
 */
export class ReusedReadBuffer {
  private readonly socket: Socket;
  private readonly callback: symbol;

  private constructor(socket: Socket, callback: symbol) {
    this.socket = socket;
    this.callback = callback;
  }

  /**
   * Begins to pass the bytes of `socket` to `onBytes`, valid until it returns, instead of emitting `data`; undefined if this Node lacks
   * the parts for that.
   */
  static begin(socket: Socket, onBytes: (bytes: Buffer) => void): ReusedReadBuffer | undefined {
    const parts = userBufferOf(socket);
    const handle = systemHandle(socket);
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

  /** Ends that: the socket emits `data` again. */
  end(): void {
    const { socket } = this;
    const onRead: OnRead = (length) => socket.push(copyOf(BUFFER.subarray(0, length)));
    Reflect.set(socket, this.callback, onRead);
  }
}

/** Copies borrowed bytes; small ones into a shared buffer, which is released soon. */
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
  return (
    typeof handle === 'object' && handle !== null && typeof partOf(handle, 'useUserBuffer') === 'function'
  );
}

let known: UserBuffer | undefined;

function userBufferOf(socket: Socket): UserBuffer | undefined {
  if (known !== undefined && hidden.size === 0) return known;
  const buffer = symbolOf(socket, 'kBuffer');
  const callback = symbolOf(socket, 'kBufferCb');
  if (buffer === undefined || callback === undefined) return undefined;
  known = { buffer, callback };
  return known;
}

/** Node does not export its symbols, but every socket has them as keys. */
function symbolOf(socket: Socket, name: 'kBuffer' | 'kBufferCb'): symbol | undefined {
  if (hidden.has(name)) return undefined;
  return Object.getOwnPropertySymbols(socket).find(({ description }) => description === name);
}

/** The internal object of a socket or server in Node, for features without a public API; undefined on other runtimes. */
function systemHandle(socket: object): object | undefined {
  return objectIn(socket, '_handle');
}

/** The object below the TLS of a socket; undefined without TLS. */
function handleBelowTls(socket: object): object | undefined {
  const tls = systemHandle(socket);
  return tls && objectIn(tls, '_parent');
}

/** The socket below a TLS socket; undefined if unknown. */
export function socketBelowTls(socket: Socket): Socket | undefined {
  const below: unknown = partOf(socket, '_parent');
  return below instanceof Socket ? below : undefined;
}

/**
 * Ends a connection in the middle of a response. If the end of the connection ends the response (RFC 9112 §6.3, rule 8), only a reset
 * shows that the response is incomplete; many clients accept the end of TLS without its alert, so the socket below is reset.
 */
export function resetConnection(socket: Socket): void {
  if (!('encrypted' in socket)) {
    // Bun's sockets may lack it.
    if ('resetAndDestroy' in socket) socket.resetAndDestroy();
  } else {
    socketBelowTls(socket)?.resetAndDestroy();
  }
  socket.destroy();
}

/** Sets how many connections the kernel queues for a listening server: 0 means one. */
export function setBacklog(server: Server, backlog: number): void {
  callHandle(server, 'listen', backlog);
}

/**
 * Binds an address without `SO_REUSEPORT`, and releases it without listening. Returns the kernel's error, undefined if there is none, and
 * also a fault if this Node cannot do that.
 */
export function bindFault(host: string, port: number): string | undefined {
  const create = serverHandle();
  if (create === undefined) return 'cannot be asked';
  const handle: unknown = create(host, port, isIPv6(host) ? 6 : 4);
  if (typeof handle !== 'object' || handle === null) return `fault ${String(handle)}`;
  // libuv defers EADDRINUSE until the address is read.
  const ask = partOf(handle, 'getsockname');
  const fault: unknown = typeof ask === 'function' ? Reflect.apply(ask, handle, [{}]) : 'cannot be asked';
  const close: unknown = Reflect.get(handle, 'close');
  if (typeof close === 'function') Reflect.apply(close, handle, []);
  return fault === 0 ? undefined : `fault ${String(fault)}`;
}

function serverHandle(): ((host: string, port: number, family: 4 | 6) => unknown) | undefined {
  const create = partOf(process.getBuiltinModule('node:net'), '_createServerHandle');
  return typeof create === 'function' ? (...bound) => Reflect.apply(create, undefined, bound) : undefined;
}

/**
 * True if the kernel says that a socket has a peer, false if it has none (on Linux: one that was reset); undefined if the kernel
 * does not say.
 */
export function hasPeer(socket: Socket): boolean | undefined {
  const fault = callHandle(socket, 'getpeername', {});
  return typeof fault === 'number' ? fault === 0 : undefined;
}

/** True while the socket is being read; undefined if unknown. */
export function isReading(socket: Socket): boolean | undefined {
  const handle = systemHandle(socket);
  const isRead = handle && partOf(handle, 'reading');
  return typeof isRead === 'boolean' ? isRead : undefined;
}

/** Stops reading a socket at its handle, without its stream noticing. Does so only if `startReading` can undo it. */
export function stopReading(socket: Socket): void {
  const handle = systemHandle(socket);
  if (handle === undefined || typeof partOf(handle, 'readStart') !== 'function') return;
  if (isReading(socket) !== undefined) callHandle(socket, 'readStop');
}

/** Undoes `stopReading`, unless Node has stopped reading as well. */
export function startReading(socket: Socket): void {
  if (isReading(socket) === true) callHandle(socket, 'readStart');
}

/**
 * Watches how TLS ends on a socket, from now on. The returned function tells whether the other side closed it with `close_notify` (RFC
 * 8446 §6.1); undefined before the end, and if unknown. A stream does not distinguish that alert from the end of the connection below,
 * but the alert arrives while that connection is still being read.
 */
export function watchTlsEnd(socket: Socket): () => boolean | undefined {
  let isNotified: boolean | undefined;
  const push = socket.push.bind(socket);
  // Node pushes `null` at that moment; `end` may follow much later.
  socket.push = (chunk, encoding) => {
    if (chunk === null) isNotified = isReadBelowTls(socket);
    return push(chunk, encoding);
  };
  return () => isNotified;
}

/** True if the connection below the TLS of a socket has not ended; undefined if unknown. */
function isReadBelowTls(socket: Socket): boolean | undefined {
  const below = handleBelowTls(socket);
  const isRead = isReading(socket);
  if (below === undefined || isRead === undefined) return undefined;
  // A socket that is not being read cannot end: the alert came with the last bytes that were read.
  if (!isRead) return true;
  // libuv reports EALREADY for a socket that it is already reading, and stops reading by itself only at the end.
  const fault = callOf(below, 'readStart');
  return typeof fault === 'number' ? fault !== 0 : undefined;
}

type Method = 'listen' | 'getpeername' | 'readStart' | 'readStop';

/** Calls a method of a socket's handle; undefined if it has none. */
function callHandle(socket: object, name: Method, ...parameters: readonly unknown[]): unknown {
  const handle = systemHandle(socket);
  return handle && callOf(handle, name, ...parameters);
}

function callOf(handle: object, name: Method, ...parameters: readonly unknown[]): unknown {
  const method = partOf(handle, name);
  return typeof method === 'function' ? Reflect.apply(method, handle, parameters) : undefined;
}

function objectIn(value: object, name: '_handle' | '_parent'): object | undefined {
  const member = partOf(value, name);
  return typeof member === 'object' && member !== null ? member : undefined;
}

/**
 * Returns the bytes of a socket that the kernel has taken. `writableLength` counts a write until all of it is taken, and a response of
 * megabytes is one write; so this checks the queue of the handle, as Node's own idle timer does. With TLS, the handle below counts
 * encrypted bytes.
 */
export function bytesFlushed(socket: Socket): number {
  const counts = countsOf(handleBelowTls(socket)) ?? countsOf(systemHandle(socket));
  return counts ?? socket.bytesWritten - socket.writableLength;
}

function countsOf(handle: object | undefined): number | undefined {
  if (handle === undefined) return undefined;
  const written = partOf(handle, 'bytesWritten');
  const queued = partOf(handle, 'writeQueueSize');
  return typeof written === 'number' && typeof queued === 'number' ? written - queued : undefined;
}

/**
 * Makes a socket, plain or over TLS, read once more if a write to it fails. A V2 that refuses a body responds, closes, and resets further
 * bytes: its response is then unread, and Node would close the socket without it.
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
 * Keeps V8 from allocating objects directly in its old generation, which it does if earlier objects from the same code lived for some
 * time. With hundreds of requests in flight that would apply to all objects of an exchange: each would stay in memory until a full
 * garbage collection, with everything that it refers to. Applies to the whole process, from now on.
 */
export function allocateYoung(): void {
  if (IS_NODE) setFlagsFromString('--no-allocation-site-pretenuring');
}
