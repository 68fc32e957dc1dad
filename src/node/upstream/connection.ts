import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { BodyParts } from '../../gateway/exchange.ts';
import type { UpstreamFault, UpstreamReceiver } from '../../gateway/upstream.ts';
import { writeFieldLines } from '../../http/raw-headers.ts';
import type { HeaderList } from '../../http/header-list.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import type { TickBudget } from '../fair-turns.ts';
import type { Address, Origin, UpstreamOptions } from './origin.ts';
import { type ResponseEvents, ResponseReader } from './response-reader.ts';
import { writeTogether } from '../body-memory.ts';
import { watchTlsEnd } from '../node-internals.ts';

/** A request in flight on a connection. */
export interface PendingRequest {
  readonly method: string;
  /** In latin1. */
  readonly head: string;
  /** Written with the head; empty if there is no body or a large one. */
  readonly smallBody: Uint8Array;
  /** Written after the head. */
  readonly body: Uint8Array | undefined;
  /** Written after the head as it arrives; framed by chunks if `length` is undefined. */
  readonly parts: BodyParts | undefined;
  readonly length: number | undefined;
  readonly receiver: UpstreamReceiver;
  /** Deadline for the first byte of the response, on the pool's clock. */
  readonly due: number;
  /** True when no client waits for it. */
  readonly isBackground: boolean;
}

/** The pool that owns connections. */
export interface ConnectionHandler {
  /** A clock in milliseconds that is updated regularly: it may be behind, but never ahead. */
  readonly now: number;
  /** Turns for responses in tiny chunks. */
  readonly turns: TickBudget;
  /** The connection is established. */
  opened(connection: UpstreamConnection): void;
  /** Connecting failed; nothing was sent. */
  failed(connection: UpstreamConnection, fault: UpstreamFault): void;
  /** The response is complete, and the connection can take another request if the server stays silent. */
  released(connection: UpstreamConnection): void;
  /** The server sent unsolicited bytes. */
  quarantine(): void;
  /** The server closed a connection that had been idle for `age` milliseconds. */
  closedIdle(age: number): void;
  /** The socket of an established connection is closed, for any reason. */
  closed(connection: UpstreamConnection): void;
}

/** Maximum milliseconds to send the rest of a request once its response is complete. */
const FLUSH_MS = 1000;
/** Milliseconds for which a new connection waits for its first request: servers close unused connections earlier than used ones. */
const UNUSED_MS = 5000;

const nothing = Buffer.alloc(0);

/** One connection to V2, with one request on it at a time. */
export class UpstreamConnection implements ResponseEvents, BodyWriterHandler {
  /** When connecting began, on the clock of `performance`. */
  readonly began = performance.now();
  /** When it became idle, on the same clock. */
  idleSince = 0;
  private readonly handler: ConnectionHandler;
  private readonly options: UpstreamOptions;
  /** Its address, once known. */
  address: Address | undefined = undefined;
  private readonly socket: Socket;
  private readonly reader: ResponseReader;
  private readonly origin: Origin;
  private request: PendingRequest | undefined = undefined;
  /** Writes the request's body, if that arrives in parts. */
  private writer: BodyWriter | undefined = undefined;
  /** Time until which the response's first byte is not late, because V2 still took part of the request. */
  private writtenUntil = 0;
  private connected = false;
  private closed = false;
  /** True once this side has closed it. */
  private isGivenUp = false;
  /** True once the response's head is reported. */
  private hasHead = false;
  /** True when part of the response arrived since the last check. */
  private moved = false;
  /** Deadline for the next event. */
  private due = 0;
  /** Time until which it may be idle, once the last request is sent. */
  private idleUntil = 0;
  /** Time from which it is too old for another request. */
  private retiredAt = Number.POSITIVE_INFINITY;
  private isUsed = false;
  private isPaused = false;
  /** True until TLS reports that a request of one write is sent. */
  private isSending = false;
  /** True if the response is complete by then: the connection is released once the request is reported as sent. */
  private isReleaseDue = false;
  /** True while a response in tiny chunks waits for its turn. */
  private isWaiting = false;
  /** True when connecting took too long. */
  private isLate = false;
  /** Tells how TLS ended, where that ends the response. */
  private tlsEnd: (() => boolean | undefined) | undefined = undefined;
  private error: Error | undefined = undefined;

  /**
   * Begins to connect. `buffer` receives reads; it may be shared, since its bytes are copied or written before the next read.
   * `spread`, from 0 up to 1, keeps connections that were made together from expiring together.
   */
  constructor(handler: ConnectionHandler, origin: Origin, buffer: Buffer, spread: number) {
    const { options } = origin;
    this.handler = handler;
    this.options = options;
    this.origin = origin;
    this.reader = new ResponseReader(options, this);
    if (options.maxAge > 0) this.retiredAt = this.began + options.maxAge * (1 - spread / 10);
    this.socket = origin.connect(
      {
        buffer,
        callback: (length) => {
          this.read(buffer.subarray(0, length));
          return !this.isPaused && !this.isWaiting;
        },
      },
      (address) => {
        this.address = address;
      },
    );
    this.socket.setNoDelay(true);
    this.socket.setKeepAlive(true, 60_000);
    this.socket.on(origin.isSecure ? 'secureConnect' : 'connect', () => this.ready());
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('end', () => this.ended());
    this.socket.on('close', () => this.onClose());
  }

  /** True when a request can be sent: a closed socket emits `close` only later in the turn of the event loop. */
  isFree(now: number): boolean {
    const { socket } = this;
    // The socket's current state rather than remembered events: after V2's FIN was read in this turn, no POST may be written to the
    // connection (RFC 9112 §9.3.1).
    return this.request === undefined && now < this.due && !socket.destroyed && !socket.readableEnded;
  }

  /** Sends a request; the connection must be free. */
  send(request: PendingRequest): void {
    this.request = request;
    this.write(request);
  }

  /** True while `request` is the one on this connection. */
  has(request: PendingRequest): boolean {
    return this.request === request;
  }

  /** True while part of a streamed body is still to come. */
  get isStreaming(): boolean {
    return this.writer?.isWhole === false;
  }

  pause(): void {
    this.isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.moved = true;
    if (!this.isWaiting) this.socket.resume();
  }

  /** Cancels the request; reports nothing more about it. */
  abort(): void {
    this.request = undefined;
    this.destroy();
  }

  destroy(): void {
    this.isGivenUp = true;
    this.writer?.stop();
    this.socket.destroy();
  }

  /** Fails the request in flight, and closes. */
  close(): void {
    this.fail({ kind: 'closed', mayHaveArrived: true, cause: 'closed' });
  }

  /** Cancels a request without a client. */
  endBackground(): void {
    // No client waits for its response.
    if (this.request?.isBackground === true)
      this.fail({ kind: 'crowded', mayHaveArrived: true, cause: 'others need the connection' });
  }

  check(now: number): void {
    const { request, options } = this;
    // Only until the socket is open; after that each phase of a request has its own deadline.
    if (!this.connected) {
      const { attemptTimeout } = this.origin;
      if (attemptTimeout > 0 && now >= this.began + attemptTimeout) this.expire();
      return;
    }
    if (request === undefined) {
      if (now >= this.due) this.destroy();
      return;
    }
    if (this.writer?.hasProgress() === true) {
      this.moved = true;
      this.writtenUntil = now + options.headersTimeout;
    }
    // While V2 reads the body, its head is not late: many servers respond only after the whole body.
    if (!this.hasHead) {
      if (now >= request.due && now >= this.writtenUntil)
        this.fail({ kind: 'timeout', mayHaveArrived: true, cause: 'no response head in time' });
      return;
    }
    // Not the pool's clock: after a long turn it is so far behind that the next part would seem late.
    if (this.moved || this.isPaused || this.isWaiting) {
      this.moved = false;
      this.due = now + options.bodyTimeout;
      return;
    }
    if (options.bodyTimeout > 0 && now >= this.due)
      this.fail({ kind: 'timeout', mayHaveArrived: true, cause: 'no next byte in time' });
  }

  information(status: number, headers: HeaderList): void {
    this.request?.receiver.information(status, headers);
  }

  head(head: ResponseHead): void {
    this.hasHead = true;
    this.moved = true;
    if (this.origin.isSecure && this.reader.isUntilClose) this.tlsEnd = watchTlsEnd(this.socket);
    this.request?.receiver.head(head);
  }

  data(chunk: Buffer, isLast: boolean): void {
    this.moved = true;
    const receiver = this.request?.receiver;
    receiver?.data(receiver.borrowsParts === true ? chunk : Buffer.from(chunk), isLast);
  }

  complete(trailers: HeaderList, keepAliveMs: number): void {
    const { request, socket, writer, options } = this;
    // Not the pool's clock, which may be behind by the duration of the response: learnt idle times must be exact.
    const now = performance.now();
    this.request = undefined;
    this.writer = undefined;
    writer?.stop();
    // Whether the connection may take another request (RFC 9112 §9.3). Each of these alone ends it:
    // - V2 said `close`, speaks HTTP/1.0, or announced an idle time that is nearly over (`keepAliveMs`, read by the response reader);
    // - it is older than its maximum age; its successor resolves V2's name again;
    // - the response came before the whole body was sent, so V2 would read the rest of the body as the next request: the gateway itself
    //   would smuggle a request (RFC 9112 §11.2);
    // - V2 has half-closed it: a request could still be written, and no response would come.
    const isCut = writer?.isWhole === false || this.isBodyUnsent(request);
    if (keepAliveMs <= 0 || now >= this.retiredAt || isCut || socket.readableEnded) this.destroy();
    request?.receiver.end(trailers);
    if (socket.destroyed) return;
    // A pause for the last client must not delay the next one.
    if (this.isPaused) this.resume();
    this.idleUntil = now + Math.min(options.idleTimeout, keepAliveMs);
    if (socket.writableLength === 0) {
      this.releaseAt(now);
      return;
    }
    // TLS may report a request as sent only after its response. V2 must not read unsent bytes as another request.
    this.due = now + FLUSH_MS;
    if (this.isSending) this.isReleaseDue = true;
    else socket.write(nothing, this.release);
  }

  /**
   * True while the kernel has not taken all of a body, whose memory is reused once the exchange is over; TLS has a copy.
   */
  private isBodyUnsent(request: PendingRequest | undefined): boolean {
    const hasBody = request?.body !== undefined || request?.parts !== undefined;
    return hasBody && !this.origin.isSecure && this.socket.writableLength > 0;
  }

  private readonly sent = (): void => {
    this.isSending = false;
    if (!this.isReleaseDue) return;
    this.isReleaseDue = false;
    this.release();
  };

  private readonly release = (): void => {
    if (!this.socket.destroyed) this.releaseAt(performance.now());
  };

  private releaseAt(now: number): void {
    this.idleSince = now;
    this.due = Math.min(this.idleUntil, this.retiredAt);
    this.handler.released(this);
  }

  /** Fails the request without counting it against V2: the client broke off its body. */
  bodyBroke(cause: string): void {
    this.fail({ kind: 'rejected', mayHaveArrived: true, cause });
  }

  private ready(): void {
    this.connected = true;
    this.idleSince = performance.now();
    this.due = this.idleSince + UNUSED_MS;
    this.handler.opened(this);
  }

  private write(request: PendingRequest): void {
    this.hasHead = false;
    this.isUsed = true;
    this.reader.expect(request.method);
    const { socket } = this;
    if (request.body === undefined) {
      this.isSending = this.origin.isSecure && request.parts === undefined;
      writeTogether(socket, request.head, request.smallBody, '', this.isSending ? this.sent : undefined);
      if (request.parts !== undefined)
        this.writer = new BodyWriter(socket, request.parts, request.length, this);
      return;
    }
    // One `writev`: copying a large body next to its head would take longer than a second buffer.
    socket.cork();
    socket.write(request.head, 'latin1');
    socket.write(request.body);
    socket.uncork();
  }

  private read(chunk: Buffer): void {
    const { reader } = this;
    reader.pieces = 0;
    const fault = reader.read(chunk);
    if (fault === undefined) {
      const { turns } = this.handler;
      if (this.request !== undefined && turns.areTooSmall(reader.pieces, chunk.length))
        this.waitForTurn(turns);
      return;
    }
    // The connection is lost either way. Unsolicited bytes also cast doubt on the others: see `SocketPool.quarantine`.
    if (fault === 'unsolicited bytes') this.handler.quarantine();
    this.fail({ kind: 'invalid', mayHaveArrived: true, cause: fault });
  }

  private waitForTurn(turns: TickBudget): void {
    this.isWaiting = true;
    const { socket } = this;
    socket.pause();
    turns.wait(
      {
        get destroyed() {
          return socket.destroyed;
        },
        resume: () => this.readMore(),
      },
      this.reader.pieces,
    );
  }

  private readMore(): void {
    this.isWaiting = false;
    this.moved = true;
    if (!this.isPaused) this.socket.resume();
  }

  private ended(): void {
    // The end of the connection ends a response only if nothing else does (RFC 9112 §6.3, case 8); any other response is incomplete (§8).
    if (!this.reader.isUntilClose || this.request === undefined) {
      this.socket.destroy();
      return;
    }
    const isNotified = this.tlsEnd?.();
    if (isNotified === false && this.options.needsCloseNotify === true) {
      // Any hop can end a connection, but only V2 can close its TLS: the body may be truncated (RFC 9112 §9.8).
      this.fail({ kind: 'closed', mayHaveArrived: true, cause: 'TLS ended without close_notify' });
      return;
    }
    if (this.origin.isSecure && isNotified !== true) this.request.receiver.endUnproven?.();
    this.complete([], 0);
  }

  private onClose(): void {
    if (this.closed) return;
    this.closed = true;
    this.writer?.stop();
    const { handler, request } = this;
    if (!this.connected) {
      handler.failed(this, this.fault());
      return;
    }
    // V2 closed a used connection, which shows how long V2 keeps idle ones. An unused one does not, because many servers wait less for a
    // first request.
    if (request === undefined && !this.isGivenUp && this.isUsed)
      handler.closedIdle(performance.now() - this.idleSince);
    this.fail(this.fault());
    handler.closed(this);
  }

  private expire(): void {
    this.isLate = true;
    this.destroy();
  }

  private fault(): UpstreamFault {
    const { error, connected } = this;
    if (this.isLate) return { kind: 'timeout', mayHaveArrived: false, cause: 'no connection in time' };
    const cause = error === undefined ? 'other side closed' : causeOf(error);
    // `mayHaveArrived` although perhaps no byte did: that is unknown, so only a request that may be carried out twice is sent again (RFC
    // 9110 §9.2.2).
    if (connected) return { kind: 'closed', mayHaveArrived: true, cause };
    return { kind: cause === 'ETIMEDOUT' ? 'timeout' : 'unreachable', mayHaveArrived: false, cause };
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

const NOTHING = Buffer.alloc(0);

/** Receives the failure of a body. */
interface BodyWriterHandler {
  /** The body broke off or differs from its length; the part already written must never look complete. */
  bodyBroke(cause: string): void;
}

/**
 * Writes a body that arrives in parts, framed by its length or by chunks (RFC 9112 §6). It reads the next part only once the kernel has
 * taken the previous one, so that a large upload takes no more memory than a part.
 */
export class BodyWriter {
  /** True once the socket has the last byte. */
  isWhole = false;
  private isAwaitingPart = false;
  /** True while the kernel has not taken all written bytes. */
  private isAwaitingKernel = false;
  /** True if bytes were read or written since the last check. */
  private moved = true;
  private readonly socket: Socket;
  private readonly body: BodyParts;
  private readonly parts: AsyncIterator<Uint8Array>;
  private readonly handler: BodyWriterHandler;
  /** Missing bytes; undefined for chunks. */
  private left: number | undefined;
  private isStopped = false;

  constructor(socket: Socket, parts: BodyParts, length: number | undefined, handler: BodyWriterHandler) {
    this.socket = socket;
    this.body = parts;
    this.parts = parts[Symbol.asyncIterator]();
    this.left = length;
    this.handler = handler;
    socket.on('drain', this.drained);
    this.pull();
  }

  /** False only if V2 took nothing since the last check although there were bytes to take. */
  hasProgress(): boolean {
    const { moved } = this;
    this.moved = false;
    return moved || (this.isAwaitingPart && !this.isWhole);
  }

  /** Stops reading the body and reports nothing more. */
  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.socket.off('drain', this.drained);
    // Not awaited: that could take as long as the client does. It ends a generator; the receiver drops a client's body.
    void this.parts.return?.().catch(ignore);
  }

  /** Called when the kernel may have taken all written bytes. */
  private readonly drained = (): void => {
    if (this.isStopped || !this.isAwaitingKernel || this.socket.writableLength > 0) return;
    this.isAwaitingKernel = false;
    this.pull();
  };

  private pull(): void {
    // From here on the gateway waits for the client, and V2 is not late.
    this.isAwaitingPart = true;
    this.moved = true;
    this.parts.next().then(this.take).catch(this.broke);
  }

  private readonly take = ({ done, value }: IteratorResult<Uint8Array, unknown>): void => {
    if (this.isStopped) return;
    this.isAwaitingPart = false;
    this.moved = true;
    if (done === true) {
      this.end();
      return;
    }
    // An empty chunk would be the last one.
    const isRoom = value.length === 0 || this.write(value);
    const { socket } = this;
    if (isRoom && socket.writableLength === 0) {
      this.pull();
      return;
    }
    this.isAwaitingKernel = true;
    // Below its high-water mark the socket emits no `drain`.
    if (isRoom) socket.write(NOTHING, this.drained);
  };

  /** False when the socket is full, or the body is broken. */
  private write(part: Uint8Array): boolean {
    const { socket, left } = this;
    if (left === undefined) {
      // A chunk (RFC 9112 §7.1): size line, data and CRLF as one write.
      socket.cork();
      socket.write(`${part.length.toString(16)}\r\n`, 'latin1');
      socket.write(part);
      const isRoom = socket.write('\r\n', 'latin1');
      socket.uncork();
      return isRoom;
    }
    // Bytes beyond Content-Length would be the beginning of the next request to V2 (RFC 9112 §6.3).
    if (part.length > left) {
      this.broke(new Error('body longer than its length'));
      return false;
    }
    this.left = left - part.length;
    this.isWhole = this.left === 0;
    return socket.write(part);
  }

  private end(): void {
    this.socket.off('drain', this.drained);
    if (this.left === undefined) {
      this.socket.write(`0\r\n${writeFieldLines(this.body.trailers ?? []) ?? ''}\r\n`, 'latin1');
      this.isWhole = true;
      return;
    }
    // Closes the connection, so that V2 sees an incomplete request rather than a short body (RFC 9112 §8).
    if (this.left > 0) this.broke(new Error('body shorter than its length'));
  }

  private readonly broke = (error: unknown): void => {
    if (this.isStopped) return;
    this.stop();
    this.handler.bodyBroke(error instanceof Error ? error.message : 'body broke');
  };
}

function ignore(): void {}
