import { connect, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { HeaderList } from '../http/header-list.ts';
import type { UpstreamFault, UpstreamReceiver } from '../gateway/upstream.ts';
import { type AnswerEvents, AnswerReader } from './answer-reader.ts';
import type { UpstreamOptions } from './node-upstream.ts';

/** A request that waits for a connection, or is on one. */
export interface PendingRequest {
  readonly method: string;
  /** The request on the wire. */
  readonly bytes: Buffer;
  readonly receiver: UpstreamReceiver;
  /** When the first byte of the answer must be there, on the pool's clock. */
  readonly due: number;
}

/** Who keeps connections. */
export interface ConnectionOwner {
  /** Milliseconds of a clock that is read now and then. */
  readonly now: number;
  /** The connection can take a request. */
  freed(connection: UpstreamConnection): void;
  closed(connection: UpstreamConnection): void;
}

/** Milliseconds for which a connection is kept: shorter than any server in use does, for a POST that meets its end costs a 502. */
const kept = 4000;

/** One connection to V2, with one request on it at a time. */
export class UpstreamConnection implements AnswerEvents {
  private readonly owner: ConnectionOwner;
  private readonly options: UpstreamOptions;
  private readonly socket: Socket;
  private readonly reader: AnswerReader;
  private request: PendingRequest | undefined;
  private connected = false;
  private closed = false;
  /** True once the head of the answer is told. */
  private answered = false;
  /** When something must have happened, on the owner's clock. */
  private due: number;
  private isPaused = false;
  private error: Error | undefined = undefined;

  /** `buffer` is read into; it may be shared, for what comes is copied or written before the next read. */
  constructor(owner: ConnectionOwner, options: UpstreamOptions, buffer: Buffer, request: PendingRequest) {
    this.owner = owner;
    this.options = options;
    this.request = request;
    this.reader = new AnswerReader(options, this);
    this.due = owner.now + options.connectTimeout;
    this.socket = open(options, {
      buffer,
      callback: (length) => {
        this.read(buffer.subarray(0, length));
        return !this.isPaused;
      },
    });
    this.socket.setNoDelay(true);
    this.socket.setKeepAlive(true, 60_000);
    this.socket.on(this.isSecure ? 'secureConnect' : 'connect', () => this.ready());
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('end', () => this.ended());
    this.socket.on('close', () => this.gone());
  }

  /** Sends a request; the connection is free. */
  send(request: PendingRequest): void {
    this.request = request;
    this.write(request);
  }

  /** True while an idle connection may be used: not closed, and not kept for too long. */
  isFresh(now: number): boolean {
    return now < this.due && !this.socket.destroyed && !this.socket.readableEnded;
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
    this.due = this.owner.now + this.options.bodyTimeout;
    this.socket.resume();
  }

  /** Gives the request up; nothing more is told of it. */
  abort(): void {
    this.request = undefined;
    this.destroy();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Looks whether something is late. */
  check(now: number): void {
    const { request } = this;
    if (request === undefined) {
      if (now >= this.due) this.destroy();
      return;
    }
    if (!this.connected) {
      if (this.options.connectTimeout > 0 && now >= this.due)
        this.fail({ kind: 'timeout', sent: false, cause: 'UND_ERR_CONNECT_TIMEOUT' });
      else if (now >= request.due) this.fail({ kind: 'timeout', sent: false, cause: 'no connection free' });
      return;
    }
    if (!this.answered) {
      if (now >= request.due) this.fail({ kind: 'timeout', sent: true, cause: 'first byte' });
      return;
    }
    if (this.options.bodyTimeout > 0 && !this.isPaused && now >= this.due)
      this.fail({ kind: 'timeout', sent: true, cause: 'UND_ERR_BODY_TIMEOUT' });
  }

  information(status: number, headers: HeaderList): void {
    this.request?.receiver.information(status, headers);
  }

  head(status: number, reason: string, headers: HeaderList): void {
    this.answered = true;
    this.due = this.owner.now + this.options.bodyTimeout;
    this.request?.receiver.head(status, reason, headers);
  }

  data(chunk: Buffer): void {
    this.due = this.owner.now + this.options.bodyTimeout;
    this.request?.receiver.data(Buffer.from(chunk));
  }

  complete(trailers: HeaderList, keptFor: number): void {
    const { request, socket } = this;
    this.request = undefined;
    // An answer that came before the request was out: the rest of it must not be read as another request.
    if (keptFor <= 0 || socket.writableLength > 0 || socket.readableEnded) this.destroy();
    request?.receiver.end(trailers);
    if (socket.destroyed) return;
    if (this.isPaused) this.resume();
    this.due = this.owner.now + Math.min(kept, keptFor);
    this.owner.freed(this);
  }

  private get isSecure(): boolean {
    return this.options.origin.startsWith('https:');
  }

  private ready(): void {
    this.connected = true;
    if (this.request === undefined) this.owner.freed(this);
    else this.write(this.request);
  }

  private write(request: PendingRequest): void {
    this.answered = false;
    this.reader.expect(request.method);
    this.socket.write(request.bytes);
  }

  private read(chunk: Buffer): void {
    const fault = this.reader.read(chunk);
    if (fault === undefined) return;
    this.fail({ kind: fault === 'upgrade' ? 'closed' : 'invalid', sent: true, cause: fault });
  }

  private ended(): void {
    if (!this.reader.isUntilClose || this.request === undefined) {
      this.destroy();
      return;
    }
    this.complete([], 0);
  }

  private gone(): void {
    if (this.closed) return;
    this.closed = true;
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

function open({ origin, tls, lookup }: UpstreamOptions, onread: OnReadOpts): Socket {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, '');
  const where = { host, onread, ...(lookup === undefined ? {} : { lookup }) };
  if (protocol !== 'https:') return connect({ ...where, port: Number(port === '' ? 80 : port) });
  return connectSecurely({
    ...where,
    ...tls,
    port: Number(port === '' ? 443 : port),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['http/1.1'],
  });
}

function causeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
