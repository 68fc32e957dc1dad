import type { Socket } from 'node:net';
import type { HeaderList } from '../../http/header-list.ts';
import type { UpstreamFault, UpstreamReceiver } from '../../gateway/upstream.ts';
import type { Address } from './addresses.ts';
import type { Destination } from './destination.ts';
import { BodyWriter, type BodyWriterOwner } from './body-writer.ts';
import { type ResponseEvents, ResponseReader } from './response-reader.ts';
import type { UpstreamOptions } from './node-upstream.ts';

/** A request that is on a connection. */
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
  /** True when no client waits for it. */
  readonly isBackground: boolean;
}

/** Who keeps connections. */
export interface ConnectionOwner {
  /** Milliseconds of a clock that is read now and then: it may be late, never ahead. */
  readonly now: number;
  /** The connection is made. */
  opened(connection: UpstreamConnection): void;
  /** The connection could not be made; nothing was sent on it. */
  failed(connection: UpstreamConnection, fault: UpstreamFault): void;
  /** The response is whole, and the connection can take another request, if the server keeps to what it said. */
  released(connection: UpstreamConnection): void;
  /** The server wrote what it was not asked for. */
  quarantine(): void;
  /** The server closed a connection that had been idle for `age` milliseconds. */
  closedIdle(age: number): void;
  /** The socket of a connection that was made is gone, whatever the reason. */
  closed(connection: UpstreamConnection): void;
}

/** Milliseconds within which the rest of a request is out once its response is whole; a V2 that reads no more does not get it. */
const FLUSH_MS = 1000;
/** Milliseconds for which a connection waits for its first request: servers give up such connections sooner than used ones. */
const UNUSED_MS = 5000;

const nothing = Buffer.alloc(0);

/** One connection to V2, with one request on it at a time. */
export class UpstreamConnection implements ResponseEvents, BodyWriterOwner {
  private readonly owner: ConnectionOwner;
  private readonly options: UpstreamOptions;
  /** Where it leads, once that is known. */
  address: Address | undefined = undefined;
  private readonly socket: Socket;
  private readonly reader: ResponseReader;
  private readonly destination: Destination;
  private readonly attemptedAt = performance.now();
  private request: PendingRequest | undefined = undefined;
  /** Writes the request's body, where that comes in parts. */
  private writer: BodyWriter | undefined = undefined;
  /** Until then the first byte of the response is not late: some of the request is still on its way. */
  private writtenUntil = 0;
  private connected = false;
  private closed = false;
  /** True once it is given up on this side. */
  private isGivenUp = false;
  /** True once the head of the response is told. */
  private answered = false;
  /** True when some of the response came since the last look. */
  private moved = false;
  /** When something must have happened. */
  private due = 0;
  /** Until when it may be idle, once the last request is out. */
  private keptUntil = 0;
  private freeSince = 0;
  /** When it is too old for another request. */
  private retiredAt = Number.POSITIVE_INFINITY;
  private requests = 0;
  private isPaused = false;
  /** True when connecting took too long. */
  private isLate = false;
  private error: Error | undefined = undefined;

  /**
   * Begins to connect. `buffer` is read into; it may be shared, for what comes is copied or written before the next read. `spread`, from
   * 0 up to 1, keeps connections that were made together from growing old together.
   */
  constructor(owner: ConnectionOwner, destination: Destination, buffer: Buffer, spread: number) {
    const { options } = destination;
    this.owner = owner;
    this.options = options;
    this.destination = destination;
    this.reader = new ResponseReader(options, this);
    if (options.maxAge > 0) this.retiredAt = this.attemptedAt + options.maxAge * (1 - spread / 10);
    this.socket = destination.connect(
      {
        buffer,
        callback: (length) => {
          this.read(buffer.subarray(0, length));
          return !this.isPaused;
        },
      },
      (address) => {
        this.address = address;
      },
    );
    this.socket.setNoDelay(true);
    this.socket.setKeepAlive(true, 60_000);
    this.socket.on(destination.isSecure ? 'secureConnect' : 'connect', () => this.ready());
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('end', () => this.ended());
    this.socket.on('close', () => this.gone());
  }

  /** When connecting began, on the clock of `performance`. */
  get began(): number {
    return this.attemptedAt;
  }

  /** Since when it is idle, on the owner's clock. */
  get idleSince(): number {
    return this.freeSince;
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
    this.isGivenUp = true;
    this.writer?.stop();
    this.socket.destroy();
  }

  /** Gives up whatever is on the connection, and tells so. */
  close(): void {
    this.fail({ kind: 'closed', sent: true, cause: 'closed' });
  }

  /** Gives up a request that no client waits for. */
  endBackground(): void {
    if (this.request?.isBackground === true)
      this.fail({ kind: 'crowded', sent: true, cause: 'others need the connection' });
  }

  /** Looks whether something is late. */
  check(now: number): void {
    const { request, options } = this;
    if (!this.connected) {
      const { attemptTimeout } = this.destination;
      if (attemptTimeout > 0 && now >= this.attemptedAt + attemptTimeout) this.expire();
      return;
    }
    if (request === undefined) {
      if (now >= this.due) this.destroy();
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
    const { request, socket, writer, options } = this;
    // Not by the owner's clock, which may be as late as the response took: what is learnt of idle times must be exact.
    const now = performance.now();
    this.request = undefined;
    this.writer = undefined;
    writer?.stop();
    const isSpent = now >= this.retiredAt || this.requests === options.maxRequests;
    // A response that came before the body was out: the rest of it must not be read as another request.
    const isCut = writer?.isWhole === false;
    if (keptFor <= 0 || isSpent || isCut || socket.readableEnded) this.destroy();
    request?.receiver.end(trailers);
    if (socket.destroyed) return;
    if (this.isPaused) this.resume();
    this.keptUntil = now + Math.min(options.idleTimeout, keptFor);
    if (socket.writableLength === 0) {
      this.release();
      return;
    }
    // TLS tells that a request is out only after a fast response to it. What V2 did not take yet must not be read as another request.
    this.due = now + FLUSH_MS;
    socket.write(nothing, this.release);
  }

  private readonly release = (): void => {
    if (this.socket.destroyed) return;
    this.freeSince = performance.now();
    this.due = Math.min(this.keptUntil, this.retiredAt);
    this.owner.released(this);
  };

  /** It is the client that broke it, not V2. */
  bodyBroke(cause: string): void {
    this.fail({ kind: 'rejected', sent: true, cause });
  }

  private ready(): void {
    this.connected = true;
    this.freeSince = performance.now();
    this.due = this.freeSince + UNUSED_MS;
    this.owner.opened(this);
  }

  private write(request: PendingRequest): void {
    this.answered = false;
    this.requests += 1;
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
      this.socket.destroy();
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
    const { owner, request } = this;
    if (!this.connected) {
      owner.failed(this, this.fault());
      return;
    }
    if (request === undefined && !this.isGivenUp && this.requests > 0)
      owner.closedIdle(performance.now() - this.freeSince);
    this.fail(this.fault());
    owner.closed(this);
  }

  private expire(): void {
    this.isLate = true;
    this.destroy();
  }

  private fault(): UpstreamFault {
    const { error, connected } = this;
    if (this.isLate) return { kind: 'timeout', sent: false, cause: 'UND_ERR_CONNECT_TIMEOUT' };
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
