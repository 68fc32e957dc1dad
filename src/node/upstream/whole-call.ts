import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../../gateway/upstream.ts';
import { writeFieldLines } from '../../http/field-lines.ts';
import type { CallQueue, CallTimes } from './stream-call.ts';
import type { PendingRequest, UpstreamConnection } from './upstream-connection.ts';

const nothing = Buffer.alloc(0);
/** Bytes of a body that is copied behind its head. */
const SMALL_BODY_BYTES = 16 * 1024;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VISIBLE = /^[\x21-\x7e]+$/;

/** A request whose body is there: one write, on a connection that may have had others before. */
export class WholeCall implements UpstreamCall, PendingRequest {
  readonly method: string;
  readonly receiver: UpstreamReceiver;
  readonly due: number;
  readonly since: number;
  readonly isBackground: boolean;
  bytes: Buffer = nothing;
  body: Uint8Array | undefined = undefined;
  connection: UpstreamConnection | undefined = undefined;
  /** True when the response is held back, also before there is a connection. */
  isPaused = false;
  private readonly queue: CallQueue<WholeCall>;

  constructor(
    queue: CallQueue<WholeCall>,
    { method, isBackground = false }: UpstreamRequest,
    receiver: UpstreamReceiver,
    times: CallTimes,
  ) {
    this.queue = queue;
    this.method = method;
    this.receiver = receiver;
    this.since = times.since;
    this.due = times.due;
    this.isBackground = isBackground;
  }

  /** Bytes that are held while it waits. */
  get heldBytes(): number {
    return this.bytes.length + (this.body?.length ?? 0);
  }

  /** Puts a request on the wire as one write: a small body is copied, for that costs less than a second buffer. */
  write(head: string, body: Uint8Array | null): void {
    const isSmall = body !== null && body.length <= SMALL_BODY_BYTES;
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
    if (this.connection === undefined) this.queue.leave(this);
    else if (this.connection.has(this)) this.connection.abort();
  }
}

/** The head of a request; undefined when it cannot be written. */
export function headOf(
  { method, target, headers }: UpstreamRequest,
  host: string,
  body: Uint8Array | null,
): string | undefined {
  const fields = writeFieldLines(headers);
  if (fields === undefined || !TOKEN.test(method) || !VISIBLE.test(target)) return undefined;
  const length = body !== null || expectsBody(method) ? `content-length: ${body?.length ?? 0}\r\n` : '';
  return `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${fields}${length}\r\n`;
}

/** Without a body, methods that mean to have one say that it is empty (RFC 9110 §8.6). */
function expectsBody(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}
