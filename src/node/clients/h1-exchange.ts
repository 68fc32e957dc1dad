import { type IncomingMessage, STATUS_CODES, type ServerResponse } from 'node:http';
import type { Body, ClientFault, Exchange, ExchangeHandler } from '../../gateway/exchange.ts';
import { UnwritableHead } from '../../gateway/upstream.ts';
import type { CollectorMemory } from '../../http/byte-collector.ts';
import { type HeaderList, headerValue, isFieldValue, isNamed } from '../../http/header-list.ts';
import { areFieldLines, writeFieldLines } from '../../http/raw-headers.ts';
import type { ResponseHead } from '../../http/response-head.ts';
import { ALREADY_SENT } from './already-sent.ts';
import { IS_NODE } from '../runtime.ts';
import type { Peer } from './busy-peers.ts';
import { isFarFromComplete } from './early-response.ts';
import { IncomingBody, type IncomingBodyOptions, type IncomingBodyOwner } from './request-body.ts';
import { resetConnection } from './reset-connection.ts';
import { isFinalStatus, isInterimStatus, ResponseFraming } from './response-framing.ts';
import { type ReaderLimits, type SlowReader, SlowReaderGuard, unacknowledgedBytes } from './rates.ts';
import { bytesFlushed } from '../node-internals.ts';

/** Options shared by every exchange of a server. Times are milliseconds. */
export interface H1ExchangeOptions extends ReaderLimits, IncomingBodyOptions {
  /** The address of the client on a connection. */
  addressOf(peer: Peer): string;
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
}

const nothing = Buffer.alloc(0);

/** An exchange on Node's own HTTP/1.1 server; no web `Request` or `Response` is ever created for it. */
export class H1Exchange implements Exchange, IncomingBodyOwner, SlowReader {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version: Exchange['version'];
  readonly remote: string;
  readonly secure: boolean;
  readonly hasBody: boolean;
  readonly handled = ALREADY_SENT;
  private readonly options: H1ExchangeOptions;
  private readonly body: IncomingBody;
  private readonly expectsContinue: boolean;
  private owner: ExchangeHandler | undefined = undefined;
  private readonly incoming: IncomingMessage;
  private readonly outgoing: ServerResponse;
  private readonly guard: SlowReaderGuard;
  private framing: ResponseFraming | undefined = undefined;
  private last: Uint8Array | undefined = undefined;
  /** True once part of the response is written. */
  private started = false;
  private closed = false;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { expectsContinue, isValid }: { readonly expectsContinue: boolean; readonly isValid: boolean },
    options: H1ExchangeOptions,
  ) {
    const length = incoming.headers['content-length'];
    this.options = options;
    this.expectsContinue = expectsContinue;
    this.body = new IncomingBody(incoming, length === undefined ? undefined : Number(length), options, this);
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.guard = new SlowReaderGuard(options, this);
    this.method = incoming.method ?? '';
    this.target = incoming.url ?? '';
    this.headers = incoming.rawHeaders;
    this.version = isValid ? versionOf(incoming.httpVersion) : 'malformed';
    this.remote = options.addressOf(incoming.socket);
    this.secure = 'encrypted' in incoming.socket;
    this.hasBody = incoming.headers['transfer-encoding'] !== undefined || Number(length ?? 0) > 0;
    // Other runtimes do not pass parts through the stream in the way of Node.
    if (this.hasBody && IS_NODE) this.body.joinParts(incoming);
  }

  get trailers(): HeaderList {
    return this.body.trailers;
  }

  get bytesIn(): number {
    return this.body.bytes;
  }

  get isGone(): boolean {
    return this.outgoing.destroyed;
  }

  get framedFields(): HeaderList | undefined {
    return this.framing?.fields;
  }

  get dropsContent(): boolean {
    return this.framing?.kind === 'none';
  }

  /** Bytes of the connection that the system has taken; only one response is written on it at a time. */
  get bytesTaken(): number {
    const { socket } = this.incoming;
    return bytesFlushed(socket);
  }

  unacknowledged(): Promise<number | undefined> {
    return unacknowledgedBytes(this.incoming.socket);
  }

  attach(owner: ExchangeHandler): void {
    this.owner = owner;
    this.outgoing.on('close', this.over);
    this.incoming.on('error', ignore);
    this.outgoing.on('error', ignore);
  }

  collect(memory: CollectorMemory): void {
    this.writeContinue();
    this.body.collect(memory);
  }

  open(): void {
    this.writeContinue();
    this.body.open();
  }

  information(status: number, headers: HeaderList): void {
    const { socket } = this.outgoing;
    const lines = writeFieldLines(headers);
    // The socket is assigned once this response is next; before that, an interim response would end up inside another one.
    if (socket === null || this.version !== '1.1' || this.outgoing.headersSent) return;
    if (!isInterimStatus(status) || lines === undefined) return;
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`, 'latin1');
  }

  head({ status, reason, headers }: ResponseHead): void {
    const { outgoing } = this;
    if (outgoing.headersSent || outgoing.destroyed) return;
    const framing = new ResponseFraming(this, status, headers);
    const fields = [...withLengthLast(framing.fields)];
    const isWritable = areFieldLines(fields) && isFieldValue(reason ?? '');
    if (!isWritable || !isFinalStatus(status)) throw new UnwritableHead(status);
    this.framing = framing;
    // Node closes after a response that ends with its connection, but goes on reading requests.
    const endsConnection = this.options.draining || this.isFarFromComplete || framing.kind === 'close';
    if (endsConnection) outgoing.shouldKeepAlive = false;
    outgoing.sendDate = false;
    if (reason === undefined) outgoing.writeHead(status, fields);
    else outgoing.writeHead(status, reason, fields);
    process.nextTick(flushHead, this);
  }

  data(chunk: Uint8Array): boolean {
    switch (this.framing?.count(chunk.length)) {
      case 'last':
        // The response ends now: its last part goes out in one write with the bytes before it.
        this.last = chunk;
        return true;
      case 'beyond':
        this.reset();
        return true;
      case 'none':
      case undefined:
        return true;
      case 'part':
        break;
    }
    this.started = true;
    if (this.outgoing.write(chunk)) return true;
    this.awaitDrain();
    return false;
  }

  end(trailers: HeaderList): void {
    const { outgoing, framing } = this;
    if (framing?.isWhole === false) {
      this.reset();
      return;
    }
    if (framing?.hasTrailers === true && areFieldLines(trailers)) outgoing.addTrailers(pairs(trailers));
    this.started = true;
    if (this.last === undefined) outgoing.end();
    else outgoing.end(this.last);
    if (outgoing.writableLength > 0) this.guard.wait();
    const { socket } = this.incoming;
    if (this.hasBody && !this.body.complete) this.body.discard(socket, () => socket.destroy());
  }

  /** Writes the head by the end of the turn: an event stream may stay silent for a long time after it. */
  flushHead(): void {
    if (this.started) return;
    this.started = true;
    // Not flushHeaders(): it writes the head in UTF-8, and every byte beyond ASCII becomes two.
    this.outgoing.write(this.last ?? nothing);
    this.last = undefined;
  }

  closeAfterResponse(): void {
    this.outgoing.shouldKeepAlive = false;
  }

  reset(): void {
    resetConnection(this.incoming.socket);
  }

  /** The body is broken: no more of it arrives. */
  fault(fault: ClientFault): void {
    this.body.stop(new Error(fault));
    this.owner?.onClientFault(fault);
  }

  acceptChunk(bytes: number): boolean {
    return this.owner?.acceptChunk(bytes) ?? false;
  }

  onWholeBody(body: Uint8Array): void {
    this.owner?.onWholeBody(body);
  }

  onBody(body: Body): void {
    this.owner?.onBody(body);
  }

  onStalled(): void {
    this.fault('client-timeout');
  }

  /** True when the request is complete, so that a parser error concerns a later one. */
  get taken(): boolean {
    return this.incoming.complete;
  }

  private get isFarFromComplete(): boolean {
    if (!this.hasBody || this.taken) return false;
    const length = Number(this.incoming.headers['content-length'] ?? Infinity);
    return isFarFromComplete({ length, received: this.bytesIn, expectsContinue: this.expectsContinue });
  }

  /** Sends 100 Continue, so that the client sends its body (RFC 9110 §10.1.1). */
  private writeContinue(): void {
    if (this.expectsContinue) this.outgoing.writeContinue();
  }

  private awaitDrain(): void {
    this.guard.wait();
    this.outgoing.once('drain', () => {
      this.guard.stop();
      this.owner?.drained();
    });
  }

  private readonly over = (): void => {
    if (this.closed) return;
    this.closed = true;
    this.guard.stop();
    if (!this.incoming.complete && !this.outgoing.writableFinished) this.body.stop(new Error('client gone'));
    // After the last response the connection lingers by itself.
    if (this.body.complete || this.incoming.destroyed || !this.outgoing.shouldKeepAlive) this.body.rest();
    if (this.outgoing.writableFinished) this.owner?.flushed();
    else this.owner?.disconnected();
    this.owner = undefined;
  };
}

/**
 * The fields with `Content-Length` last where there is a `Content-Disposition`: behind the length, Node would read its bytes as
 * UTF-8.
 */
function withLengthLast(fields: HeaderList): HeaderList {
  if (headerValue(fields, 'content-disposition') === undefined) return fields;
  const others: string[] = [];
  const length: string[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    (isNamed(name, 'content-length') ? length : others).push(name, fields[at + 1] ?? '');
  }
  return [...others, ...length];
}

function versionOf(version: string): Exchange['version'] {
  return version === '1.1' || version === '1.0' ? version : 'other';
}

function flushHead(exchange: H1Exchange): void {
  exchange.flushHead();
}

function pairs(list: HeaderList): [string, string][] {
  const entries: [string, string][] = [];
  for (let at = 0; at < list.length; at += 2) entries.push([list[at] ?? '', list[at + 1] ?? '']);
  return entries;
}

/** The `close` event of the response carries all that is needed. */
function ignore(): void {}
