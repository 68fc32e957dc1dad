import { isIP, type OnReadOpts, type Socket, type TcpSocketConnectOpts } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely, createSecureContext } from 'node:tls';
import type { HeaderList } from '../../http/header-list.ts';
import type { UpstreamFault, UpstreamReceiver } from '../../gateway/upstream.ts';
import { BodyWriter, type BodyWriterOwner } from './body-writer.ts';
import { type ResponseEvents, ResponseReader } from './response-reader.ts';
import type { UpstreamOptions } from './node-upstream.ts';
import { UpstreamSocket } from './upstream-socket.ts';

/** A request that waits for a connection, or is on one. */
export interface PendingRequest {
  readonly method: string;
  /** The request on the wire, but for a large body. */
  readonly bytes: Buffer;
  /** What is written behind `bytes`. */
  readonly body: Uint8Array | undefined;
  /** What is written behind `bytes` as it comes; `length` is undefined where it is framed by chunks. */
  readonly parts: AsyncIterable<Uint8Array> | undefined;
  readonly length: number | undefined;
  readonly receiver: UpstreamReceiver;
  /** When the first byte of the response must be there, on the pool's clock. */
  readonly due: number;
}

/** Who keeps connections. */
export interface ConnectionOwner {
  /** Milliseconds of a clock that is read now and then: it may be late, never ahead. */
  readonly now: number;
  /** The response is whole, and the connection can take another request, if the server keeps to what it said. */
  released(connection: UpstreamConnection): void;
  /** The server wrote what it was not asked for. */
  quarantine(): void;
  /** The socket is gone, whatever the reason. */
  closed(connection: UpstreamConnection): void;
}

/** Milliseconds for which a connection is kept: shorter than any server in use does, for a POST that meets its end costs a 502. */
const KEEP_ALIVE_MARGIN_MS = 4000;

/** Where connections lead, worked out once for all of them. */
export class Destination {
  readonly options: UpstreamOptions;
  readonly isSecure: boolean;
  private readonly where: TcpSocketConnectOpts;
  private readonly secure: ConnectionOptions;
  /** What the next TLS handshake can be cut short with (RFC 8446 §2.2). */
  private session: Buffer | undefined = undefined;

  constructor(options: UpstreamOptions) {
    const { protocol, hostname, port } = new URL(options.origin);
    const host = hostname.replace(/^\[|\]$/g, '');
    const { lookup, tls } = options;
    this.options = options;
    this.isSecure = protocol === 'https:';
    const usual = this.isSecure ? 443 : 80;
    this.where = { host, port: port === '' ? usual : Number(port), ...(lookup && { lookup }) };
    this.secure = this.isSecure
      ? {
          secureContext: createSecureContext(tls),
          ALPNProtocols: ['http/1.1'],
          ...(isIP(host) === 0 ? { servername: host } : {}),
        }
      : {};
  }

  connect(onread?: OnReadOpts): Socket {
    if (!this.isSecure) return new UpstreamSocket(onread && { onread }).connect(this.where);
    const socket = connectSecurely({
      ...this.where,
      ...(onread && { onread }),
      ...this.secure,
      ...(this.session && { session: this.session }),
    });
    socket.on('session', (fresh) => {
      this.session = fresh;
    });
    // Whatever went wrong, the next handshake is a whole one.
    socket.on('error', () => {
      this.session = undefined;
    });
    return socket;
  }
}

/** One connection to V2, with one request on it at a time. */
export class UpstreamConnection implements ResponseEvents, BodyWriterOwner {
  private readonly owner: ConnectionOwner;
  private readonly options: UpstreamOptions;
  private readonly socket: Socket;
  private readonly reader: ResponseReader;
  private request: PendingRequest | undefined;
  /** Writes the request's body, where that comes in parts. */
  private writer: BodyWriter | undefined = undefined;
  /** Until then the first byte of the response is not late: some of the request is still on its way. */
  private writtenUntil = 0;
  private connected = false;
  private closed = false;
  /** True once the head of the response is told. */
  private answered = false;
  /** True when some of the response came since the last look. */
  private moved = false;
  /** When something must have happened. */
  private due: number;
  private isPaused = false;
  private error: Error | undefined = undefined;

  /** `buffer` is read into; it may be shared, for what comes is copied or written before the next read. */
  constructor(owner: ConnectionOwner, destination: Destination, buffer: Buffer, request: PendingRequest) {
    const { options } = destination;
    this.owner = owner;
    this.options = options;
    this.request = request;
    this.reader = new ResponseReader(options, this);
    this.due = performance.now() + options.connectTimeout;
    this.socket = destination.connect({
      buffer,
      callback: (length) => {
        this.read(buffer.subarray(0, length));
        return !this.isPaused;
      },
    });
    this.socket.setNoDelay(true);
    this.socket.setKeepAlive(true, 60_000);
    this.socket.on(destination.isSecure ? 'secureConnect' : 'connect', () => this.ready());
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('end', () => this.ended());
    this.socket.on('close', () => this.gone());
  }

  /** True when a request can be sent: a socket that was closed is gone only later in the turn of the event loop. */
  isFree(now: number): boolean {
    const { socket } = this;
    return this.request === undefined && now < this.due && !socket.destroyed && !socket.readableEnded;
  }

  /** Sends a request; the connection is free. */
  send(request: PendingRequest): void {
    this.request = request;
    this.write(request);
  }

  /** True while `request` is the one on this connection. */
  has(request: PendingRequest): boolean {
    return this.request === request;
  }

  pause(): void {
    this.isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.moved = true;
    this.socket.resume();
  }

  /** Gives the request up; nothing more is told of it. */
  abort(): void {
    this.request = undefined;
    this.destroy();
  }

  destroy(): void {
    this.writer?.stop();
    this.socket.destroy();
  }

  /** Gives up whatever is on the connection, and tells so. */
  close(): void {
    this.fail({ ...this.fault(), cause: 'closed' });
  }

  /** Looks whether something is late. */
  check(now: number): void {
    const { request, options } = this;
    if (request === undefined) {
      if (now >= this.due) this.destroy();
      return;
    }
    if (!this.connected) {
      if (options.connectTimeout > 0 && now >= this.due)
        this.fail({ kind: 'timeout', sent: false, cause: 'UND_ERR_CONNECT_TIMEOUT' });
      else if (now >= request.due) this.fail({ kind: 'timeout', sent: false, cause: 'no connection free' });
      return;
    }
    if (this.writer?.goesOn() === true) {
      this.moved = true;
      this.writtenUntil = now + options.headersTimeout;
    }
    if (!this.answered) {
      if (now >= request.due && now >= this.writtenUntil)
        this.fail({ kind: 'timeout', sent: true, cause: 'first byte' });
      return;
    }
    // Not by the owner's clock: after a long turn it is so late that the next part would be.
    if (this.moved || this.isPaused) {
      this.moved = false;
      this.due = now + options.bodyTimeout;
      return;
    }
    if (options.bodyTimeout > 0 && now >= this.due)
      this.fail({ kind: 'timeout', sent: true, cause: 'UND_ERR_BODY_TIMEOUT' });
  }

  information(status: number, headers: HeaderList): void {
    this.request?.receiver.information(status, headers);
  }

  head(status: number, reason: string, headers: HeaderList): void {
    this.answered = true;
    this.moved = true;
    this.request?.receiver.head(status, reason, headers);
  }

  data(chunk: Buffer): void {
    this.moved = true;
    this.request?.receiver.data(Buffer.from(chunk));
  }

  complete(trailers: HeaderList, keptFor: number): void {
    const { request, socket, writer } = this;
    this.request = undefined;
    this.writer = undefined;
    writer?.stop();
    // A response that came before the request was out: the rest of it must not be read as another request.
    const isOut = socket.writableLength === 0 && writer?.isWhole !== false;
    if (keptFor <= 0 || !isOut || socket.readableEnded) this.destroy();
    request?.receiver.end(trailers);
    if (socket.destroyed) return;
    if (this.isPaused) this.resume();
    this.due = this.owner.now + Math.min(KEEP_ALIVE_MARGIN_MS, keptFor);
    this.owner.released(this);
  }

  /** It is the client that broke it, not V2. */
  bodyBroke(cause: string): void {
    this.fail({ kind: 'rejected', sent: true, cause });
  }

  private ready(): void {
    this.connected = true;
    if (this.request !== undefined) this.write(this.request);
  }

  private write(request: PendingRequest): void {
    this.answered = false;
    this.reader.expect(request.method);
    const { socket } = this;
    if (request.body === undefined) {
      socket.write(request.bytes);
      if (request.parts !== undefined)
        this.writer = new BodyWriter(socket, request.parts, request.length, this);
      return;
    }
    socket.cork();
    socket.write(request.bytes);
    socket.write(request.body);
    socket.uncork();
  }

  private read(chunk: Buffer): void {
    const fault = this.reader.read(chunk);
    if (fault === undefined) return;
    if (fault === 'unasked') this.owner.quarantine();
    this.fail({ kind: fault === 'upgrade' ? 'closed' : 'invalid', sent: true, cause: fault });
  }

  private ended(): void {
    if (!this.reader.isUntilClose || this.request === undefined) {
      this.destroy();
      return;
    }
    // Whether TLS was closed in order (RFC 8446 §6.1) or cut, Node does not tell.
    if ('encrypted' in this.socket) this.request.receiver.endUnproven?.();
    this.complete([], 0);
  }

  private gone(): void {
    if (this.closed) return;
    this.closed = true;
    this.writer?.stop();
    this.fail(this.fault());
    this.owner.closed(this);
  }

  private fault(): UpstreamFault {
    const { error, connected } = this;
    const cause = error === undefined ? 'other side closed' : causeOf(error);
    if (connected) return { kind: 'closed', sent: true, cause };
    return { kind: cause === 'ETIMEDOUT' ? 'timeout' : 'unreachable', sent: false, cause };
  }

  private fail(fault: UpstreamFault): void {
    const { request } = this;
    this.request = undefined;
    this.destroy();
    request?.receiver.fail(fault);
  }
}

function causeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
