import type { Body, BodyParts } from '../../gateway/exchange.ts';
import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from '../../gateway/upstream.ts';
import { expectsContent, isIdempotent } from '../../http/methods.ts';
import { isFieldName } from '../../http/field-characters.ts';
import { writeFieldLines } from '../../http/field-lines.ts';
import { isVisible } from '../../http/visible-text.ts';
import type { PendingRequest, UpstreamConnection } from './upstream-connection.ts';

const nothing = Buffer.alloc(0);
/** Largest body in bytes that is copied behind its head: beyond it, new memory costs more than a second buffer. */
const SMALL_BODY_BYTES = 4 * 1024;

/** When a call arrived, and deadline for the first byte of its response, on the queue's clock; `Infinity` for none. */
export interface CallTimes {
  readonly since: number;
  readonly due: number;
}

/** A queue of calls for a connection. */
interface CallQueue {
  /** Removes a call, if it waits here. */
  remove(call: PooledCall): void;
}

/**
 * A request that waits for a connection of the pool, or is on one. A complete body is one write with its head; one that arrives
 * in parts is not read before the head is written.
 */
export class PooledCall implements UpstreamCall, PendingRequest {
  readonly method: string;
  readonly receiver: UpstreamReceiver;
  readonly due: number;
  readonly since: number;
  readonly isBackground: boolean;
  head = '';
  smallBody: Uint8Array = nothing;
  body: Uint8Array | undefined = undefined;
  parts: BodyParts | undefined = undefined;
  length: number | undefined = undefined;
  connection: UpstreamConnection | undefined = undefined;
  /** True when the response is paused, also before there is a connection. */
  isPaused = false;
  /** The queue in which it waits, between these two. */
  queue: CallQueue | undefined = undefined;
  previous: PooledCall | undefined = undefined;
  next: PooledCall | undefined = undefined;

  constructor(
    { method, isBackground = false }: UpstreamRequest,
    receiver: UpstreamReceiver,
    times: CallTimes,
  ) {
    this.method = method;
    this.receiver = receiver;
    this.since = times.since;
    this.due = times.due;
    this.isBackground = isBackground;
  }

  /** True when it could be sent twice without harm and without loss (RFC 9110 §9.2.2): a body in parts can be read only once. */
  get isRepeatable(): boolean {
    return this.parts === undefined && isIdempotent(this.method);
  }

  /** True once it is on a connection, whatever of it has reached V2. */
  get isSent(): boolean {
    return this.connection !== undefined;
  }

  /** Bytes held while it waits. */
  get heldBytes(): number {
    return this.head.length + this.smallBody.length + (this.body?.length ?? 0);
  }

  /** Sets what is sent. */
  set(head: string, { body, length }: UpstreamRequest): void {
    this.head = head;
    if (body === null) return;
    if (body instanceof Uint8Array) {
      if (body.length <= SMALL_BODY_BYTES) this.smallBody = body;
      else this.body = body;
      return;
    }
    this.parts = body;
    this.length = length;
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
    if (this.connection === undefined) this.queue?.remove(this);
    else if (this.connection.has(this)) this.connection.abort();
  }
}

/** The head of a request; undefined when it cannot be written. */
export function headOf(request: UpstreamRequest, host: string): string | undefined {
  const { method, target, body, length } = request;
  const fields = request.fieldText ?? writeFieldLines(request.headers, request.lines);
  if (fields === undefined || !isFieldName(method) || target === '' || !isVisible(target)) return undefined;
  const framing = framingOf(method, body, length);
  return `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${fields}${framing}\r\n`;
}

function framingOf(method: string, body: Body, length: number | undefined): string {
  if (body === null) return expectsContent(method) ? 'content-length: 0\r\n' : '';
  const bytes = body instanceof Uint8Array ? body.length : length;
  return bytes === undefined ? 'transfer-encoding: chunked\r\n' : `content-length: ${bytes}\r\n`;
}
