import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../gateway/upstream.ts';
import { writeFieldLines } from '../http/field-lines.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';
import { createUndiciUpstream } from './undici-upstream.ts';
import {
  type ConnectionOwner,
  Destination,
  type PendingRequest,
  UpstreamConnection,
} from './upstream-connection.ts';

/**
 * An upstream on sockets of its own, for requests whose body is there: a request is one write, and timers are one look at all
 * connections now and then. It costs a third of a client for everything. A body that comes in parts is left to undici.
 */
export function createSocketUpstream(options: UpstreamOptions): NodeUpstream {
  const streams = createUndiciUpstream(options);
  const pool = new SocketPool(options);
  return {
    send(request, receiver) {
      const { body } = request;
      if (body !== null && !(body instanceof Uint8Array)) return streams.send(request, receiver);
      return pool.send(request, body, receiver);
    },
    async close() {
      await Promise.all([pool.close(), streams.close()]);
    },
  };
}

class SocketPool implements ConnectionOwner {
  /** When somebody last looked. */
  now = 0;
  private readonly options: UpstreamOptions;
  private readonly host: string;
  private readonly destination: Destination;
  private readonly all = new Set<UpstreamConnection>();
  private readonly idle: UpstreamConnection[] = [];
  /** Connections whose answer came in this turn of the event loop. */
  private readonly resting: UpstreamConnection[] = [];
  /** In order of time, since all may wait equally long. */
  private readonly waiting: SocketCall[] = [];
  /** True when calls are served at the end of this turn. */
  private isStirred = false;
  /** Until then every request has a connection to itself. */
  private distrustedUntil = 0;
  /** What all connections read into, one after the other. */
  private readonly buffer = Buffer.allocUnsafeSlow(64 * 1024);
  private timer: NodeJS.Timeout | undefined = undefined;
  private isClosed = false;
  private readonly emptied = Promise.withResolvers<void>();

  constructor(options: UpstreamOptions) {
    this.options = options;
    this.host = new URL(options.origin).host;
    this.destination = new Destination(options);
  }

  send(request: UpstreamRequest, body: Uint8Array | null, receiver: UpstreamReceiver): UpstreamCall {
    this.now = performance.now();
    const { headersTimeout } = this.options;
    const due = headersTimeout > 0 ? this.now + headersTimeout : Number.POSITIVE_INFINITY;
    const call = new SocketCall(this, request.method, receiver, due);
    const head = headOf(request, this.host, body);
    if (head === undefined) {
      receiver.fail({ kind: 'rejected', sent: false, cause: 'not a request' });
      return call;
    }
    if (this.isClosed) {
      receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
      return call;
    }
    call.write(head, body);
    this.waiting.push(call);
    this.stir();
    return call;
  }

  freed(connection: UpstreamConnection): void {
    if (this.now < this.distrustedUntil) {
      connection.destroy();
      return;
    }
    this.resting.push(connection);
    this.stir();
  }

  distrusted(): void {
    this.distrustedUntil = performance.now() + distrust;
    for (const connection of this.resting) connection.destroy();
    for (const connection of this.idle) connection.destroy();
  }

  /**
   * Gives calls their connections, once all sockets were read that had something to read. A connection is lent a turn after its
   * answer at the soonest, and never in the turn in which V2 wrote what nobody asked for, or closed without saying so: what
   * stands behind an answer would be the answer to somebody else, and a POST to a connection that is closed a 502.
   */
  serve(): void {
    this.isStirred = false;
    const { waiting, idle, resting } = this;
    if (waiting.length > 0) this.now = performance.now();
    for (let call = waiting[0]; call !== undefined; call = waiting[0]) {
      const connection = this.take();
      if (connection === undefined) break;
      waiting.shift();
      call.connection = connection;
      connection.send(call);
      if (call.isPaused) connection.pause();
    }
    for (const connection of resting) idle.push(connection);
    resting.length = 0;
    if (waiting.length === 0) return;
    // Connecting takes longer than the turn for which the others wait.
    for (const call of waiting.splice(idle.length, this.options.connections - this.all.size)) this.open(call);
    if (idle.length > 0) this.stir();
  }

  closed(connection: UpstreamConnection): void {
    this.all.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    if (this.isClosed) {
      if (this.all.size === 0) this.emptied.resolve();
      return;
    }
    if (this.waiting.length > 0) this.stir();
  }

  /** A call that waits for a connection waits no longer. */
  leave(call: SocketCall): void {
    const at = this.waiting.indexOf(call);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  /** Resolves when the last socket is gone, and every request was told of it. */
  close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    for (let call = this.waiting.shift(); call !== undefined; call = this.waiting.shift())
      call.receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
    for (const connection of this.all) connection.close();
    if (this.all.size === 0) this.emptied.resolve();
    return this.emptied.promise;
  }

  /** The connection that was used last, of those that are free: the others grow old, and close. */
  private take(): UpstreamConnection | undefined {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (last.isFree(this.now)) return last;
      last.destroy();
    }
    return undefined;
  }

  private stir(): void {
    if (this.isStirred) return;
    this.isStirred = true;
    setImmediate(serve, this);
  }

  private open(call: SocketCall): void {
    const connection = new UpstreamConnection(this, this.destination, this.buffer, call);
    call.connection = connection;
    if (call.isPaused) connection.pause();
    this.all.add(connection);
    this.wake();
  }

  /** Keeps time while there are connections: where there is none, nobody waits for one. */
  private wake(): void {
    if (this.timer !== undefined) return;
    const { connectTimeout, headersTimeout, bodyTimeout } = this.options;
    const least = Math.min(...[connectTimeout, headersTimeout, bodyTimeout, 2500].filter((time) => time > 0));
    this.timer = setInterval(look, Math.max(5, least / 10), this);
    this.timer.unref();
  }

  /** Looks at everything that may be late. */
  look(): void {
    const now = performance.now();
    this.now = now;
    for (const connection of this.all) connection.check(now);
    for (let call = this.waiting[0]; call !== undefined && call.due <= now; call = this.waiting[0]) {
      this.waiting.shift();
      call.receiver.fail({ kind: 'timeout', sent: false, cause: 'no connection free' });
    }
    if (this.all.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

class SocketCall implements UpstreamCall, PendingRequest {
  readonly method: string;
  readonly receiver: UpstreamReceiver;
  readonly due: number;
  bytes: Buffer = nothing;
  body: Uint8Array | undefined = undefined;
  connection: UpstreamConnection | undefined = undefined;
  /** True when the answer is held back, also before there is a connection. */
  isPaused = false;
  private readonly pool: SocketPool;

  constructor(pool: SocketPool, method: string, receiver: UpstreamReceiver, due: number) {
    this.pool = pool;
    this.method = method;
    this.receiver = receiver;
    this.due = due;
  }

  /** Puts a request on the wire as one write: a small body is copied, for that costs less than a second buffer. */
  write(head: string, body: Uint8Array | null): void {
    const isSmall = body !== null && body.length <= smallBody;
    this.bytes = Buffer.allocUnsafe(head.length + (isSmall ? body.length : 0));
    this.bytes.write(head, 0, 'latin1');
    if (isSmall) this.bytes.set(body, head.length);
    else this.body = body ?? undefined;
  }

  pause(): void {
    this.isPaused = true;
    if (this.connection?.has(this) === true) this.connection.pause();
  }

  resume(): void {
    this.isPaused = false;
    if (this.connection?.has(this) === true) this.connection.resume();
  }

  abort(): void {
    if (this.connection === undefined) this.pool.leave(this);
    else if (this.connection.has(this)) this.connection.abort();
  }
}

const nothing = Buffer.alloc(0);
/**
 * Milliseconds for which no connection is used twice once V2 wrote what nobody asked for: had it come a moment later, it would have
 * been the answer to somebody else's request, which nothing in HTTP/1.1 can tell from the right one.
 */
const distrust = 60_000;
/** Bytes of a body that is copied behind its head. */
const smallBody = 16 * 1024;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const visible = /^[\x21-\x7e]+$/;

/** The head of a request; undefined when it cannot be written. */
function headOf(
  { method, target, headers }: UpstreamRequest,
  host: string,
  body: Uint8Array | null,
): string | undefined {
  const fields = writeFieldLines(headers);
  if (fields === undefined || !token.test(method) || !visible.test(target)) return undefined;
  const length = body !== null || expectsBody(method) ? `content-length: ${body?.length ?? 0}\r\n` : '';
  return `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${fields}${length}\r\n`;
}

/** Without a body, methods that mean to have one say that it is empty (RFC 9110 §8.6). */
function expectsBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

function serve(pool: SocketPool): void {
  pool.serve();
}

function look(pool: SocketPool): void {
  pool.look();
}
