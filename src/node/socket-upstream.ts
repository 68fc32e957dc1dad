import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../gateway/upstream.ts';
import { writeFieldLines } from '../http/field-lines.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';
import { createUndiciUpstream } from './undici-upstream.ts';
import { type ConnectionOwner, type PendingRequest, UpstreamConnection } from './upstream-connection.ts';

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
      pool.close();
      await streams.close();
    },
  };
}

class SocketPool implements ConnectionOwner {
  /** Ahead of the time by one look, so that nothing is late too early. */
  now = 0;
  private readonly options: UpstreamOptions;
  private readonly host: string;
  private readonly all = new Set<UpstreamConnection>();
  private readonly idle: UpstreamConnection[] = [];
  private readonly waiting: SocketCall[] = [];
  /** What all connections read into, one after the other. */
  private readonly buffer = Buffer.allocUnsafeSlow(64 * 1024);
  private timer: NodeJS.Timeout | undefined = undefined;
  private period = 0;
  private isClosed = false;

  constructor(options: UpstreamOptions) {
    this.options = options;
    this.host = new URL(options.origin).host;
  }

  send(request: UpstreamRequest, body: Uint8Array | null, receiver: UpstreamReceiver): UpstreamCall {
    this.wake();
    const { headersTimeout } = this.options;
    const due = headersTimeout > 0 ? this.now + headersTimeout : Number.POSITIVE_INFINITY;
    const call = new SocketCall(this, request.method, receiver, due);
    const head = headOf(request, this.host, body);
    if (head === undefined || this.isClosed) {
      receiver.fail({ kind: 'rejected', sent: false, cause: 'not a request' });
      return call;
    }
    call.bytes = bytesOf(head, body);
    const connection = this.free();
    if (connection !== undefined) this.assign(connection, call);
    else if (this.all.size < this.options.connections) this.open(call);
    else this.waiting.push(call);
    return call;
  }

  freed(connection: UpstreamConnection): void {
    const next = this.waiting.shift();
    if (next === undefined) this.idle.push(connection);
    else this.assign(connection, next);
  }

  closed(connection: UpstreamConnection): void {
    this.all.delete(connection);
    const at = this.idle.indexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    if (this.isClosed) return;
    const next = this.waiting.shift();
    if (next !== undefined) this.open(next);
  }

  /** A call that waits for a connection waits no longer. */
  leave(call: SocketCall): void {
    const at = this.waiting.indexOf(call);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    for (const call of this.waiting.splice(0))
      call.receiver.fail({ kind: 'unreachable', sent: false, cause: 'closed' });
    for (const connection of this.all) connection.destroy();
  }

  /** A connection that can take a request at this very moment: one that is given up may still be in the list. */
  private free(): UpstreamConnection | undefined {
    const now = performance.now();
    for (;;) {
      const connection = this.idle.pop();
      if (connection === undefined || connection.isFresh(now)) return connection;
      connection.destroy();
    }
  }

  private assign(connection: UpstreamConnection, call: SocketCall): void {
    call.connection = connection;
    connection.send(call);
  }

  private open(call: SocketCall): void {
    const connection = new UpstreamConnection(this, this.options, this.buffer, call);
    call.connection = connection;
    this.all.add(connection);
  }

  /** Keeps time while there is something to time. */
  private wake(): void {
    if (this.timer !== undefined) return;
    const { connectTimeout, headersTimeout, bodyTimeout } = this.options;
    const least = Math.min(...[connectTimeout, headersTimeout, bodyTimeout, 2500].filter((time) => time > 0));
    this.period = Math.max(5, least / 10);
    this.now = performance.now() + this.period;
    this.timer = setInterval(look, this.period, this);
    this.timer.unref();
  }

  /** Looks at everything that may be late. */
  look(): void {
    const now = performance.now();
    this.now = now + this.period;
    for (const connection of this.all) connection.check(now);
    for (const call of this.waiting.filter(({ due }) => due <= now)) {
      this.leave(call);
      call.receiver.fail({ kind: 'timeout', sent: false, cause: 'no connection free' });
    }
    if (this.all.size > 0 || this.waiting.length > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

class SocketCall implements UpstreamCall, PendingRequest {
  readonly method: string;
  readonly receiver: UpstreamReceiver;
  readonly due: number;
  bytes: Buffer = nothing;
  connection: UpstreamConnection | undefined = undefined;
  private readonly pool: SocketPool;

  constructor(pool: SocketPool, method: string, receiver: UpstreamReceiver, due: number) {
    this.pool = pool;
    this.method = method;
    this.receiver = receiver;
    this.due = due;
  }

  pause(): void {
    if (this.connection?.has(this) === true) this.connection.pause();
  }

  resume(): void {
    if (this.connection?.has(this) === true) this.connection.resume();
  }

  abort(): void {
    if (this.connection === undefined) this.pool.leave(this);
    else if (this.connection.has(this)) this.connection.abort();
  }
}

const nothing = Buffer.alloc(0);
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

/** Head and body as one write: small bodies are copied, for that costs less than a second write. */
function bytesOf(head: string, body: Uint8Array | null): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + (body?.length ?? 0));
  bytes.write(head, 0, 'latin1');
  if (body !== null) bytes.set(body, head.length);
  return bytes;
}

function look(pool: SocketPool): void {
  pool.look();
}
