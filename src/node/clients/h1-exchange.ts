import { type IncomingMessage, STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HeaderList } from '../../http/header-list.ts';
import type { Body, ClientFault, Exchange, ExchangeOwner } from '../../gateway/exchange.ts';
import { IncomingBody, type IncomingBodyOptions, type IncomingBodyOwner } from './incoming-body.ts';
import type { Peer } from './busy-peers.ts';
import { ALREADY_SENT } from './already-sent.ts';

/** What every exchange of a server shares. Times are milliseconds. */
export interface H1ExchangeOptions extends IncomingBodyOptions {
  /** The address of the client on a connection. */
  addressOf(peer: Peer): string;
  /** True while the server drains: every response then closes its connection. */
  readonly draining: boolean;
}

const nothing = Buffer.alloc(0);
/** Bytes that a client takes within its time at the least: as many as wait of a response that streams. */
const SLOW_READ_CHECK_MS = 64 * 1024;
/** Bytes of a request's rest that is waited for behind an early response, so that the connection can be kept. */
const SMALL_REST_BYTES = 1024 * 1024;
/** Milliseconds of the longest timer. */
const MOST_TIMER_MS = 2 ** 31 - 1;

/** An exchange on Node's own HTTP/1.1 server: no web request or response is ever made for it. */
export class H1Exchange implements Exchange, IncomingBodyOwner {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version: Exchange['version'];
  readonly remote: string;
  readonly secure: boolean;
  readonly hasBody: boolean;
  readonly handled = ALREADY_SENT;
  private readonly incoming: IncomingMessage;
  private readonly outgoing: ServerResponse;
  private readonly options: H1ExchangeOptions;
  private readonly expectsContinue: boolean;
  private readonly body: IncomingBody;
  private owner: ExchangeOwner | undefined = undefined;
  private last: Uint8Array | undefined = undefined;
  private left = -1;
  /** True once something of the response is written. */
  private started = false;
  private stalledReader: NodeJS.Timeout | undefined = undefined;
  private closed = false;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    expectsContinue: boolean,
    options: H1ExchangeOptions,
  ) {
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.options = options;
    this.expectsContinue = expectsContinue;
    this.method = incoming.method ?? '';
    this.target = incoming.url ?? '';
    this.headers = incoming.rawHeaders;
    this.version = versionOf(incoming.httpVersion);
    this.remote = options.addressOf(incoming.socket);
    this.secure = 'encrypted' in incoming.socket;
    const length = incoming.headers['content-length'];
    this.hasBody = incoming.headers['transfer-encoding'] !== undefined || Number(length ?? 0) > 0;
    this.body = new IncomingBody(incoming, length === undefined ? undefined : Number(length), options, this);
  }

  get bytesIn(): number {
    return this.body.bytes;
  }

  attach(owner: ExchangeOwner): void {
    this.owner = owner;
    this.outgoing.on('close', () => this.over());
    this.incoming.on('error', ignore);
    this.outgoing.on('error', ignore);
  }

  collect(): void {
    this.goOn();
    this.body.collect();
  }

  open(): void {
    this.goOn();
    this.body.open();
  }

  information(status: number, headers: HeaderList): void {
    const { socket } = this.outgoing;
    // A socket is there once it is this response's turn; before, an interim response would stand in another one.
    if (socket === null || this.version !== '1.1' || this.outgoing.headersSent || status === 101) return;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    socket.write(`${text}\r\n`, 'latin1');
  }

  head(status: number, reason: string | undefined, headers: HeaderList): void {
    const { outgoing } = this;
    if (outgoing.headersSent || outgoing.destroyed) return;
    if (this.options.draining || this.isMuchToCome) outgoing.shouldKeepAlive = false;
    outgoing.sendDate = false;
    const fields = this.framed(status, headers);
    if (reason === undefined) outgoing.writeHead(status, fields);
    else outgoing.writeHead(status, reason, fields);
    process.nextTick(flushHead, this);
  }

  data(chunk: Uint8Array): boolean {
    if (this.left >= 0) {
      this.left -= chunk.length;
      if (this.left === 0) {
        // The response ends now: its last part goes out in one write with what stands before it.
        this.last = chunk;
        return true;
      }
    }
    this.started = true;
    if (this.outgoing.write(chunk)) return true;
    this.awaitDrain();
    return false;
  }

  end(trailers: HeaderList): void {
    const { outgoing } = this;
    if (trailers.length > 0) outgoing.addTrailers(pairs(trailers));
    this.started = true;
    if (this.last === undefined) outgoing.end();
    else outgoing.end(this.last);
    if (outgoing.writableLength > 0) this.watchReader();
    if (this.hasBody && !this.body.complete) this.body.discard(() => this.incoming.socket.destroy());
  }

  /** The turn of the head is over: an event stream may stay silent for long after it. */
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
    const { socket } = this.incoming;
    // Where a response ends with its connection, only a reset tells a broken one from a whole one.
    if ('resetAndDestroy' in socket && !this.secure) (socket satisfies Socket).resetAndDestroy();
    else socket.destroy();
  }

  /** The parser met a fault in the body of this request. */
  fault(fault: ClientFault): void {
    this.body.stop(new Error(fault));
    this.owner?.onClientFault(fault);
  }

  /** True when the request is in, so that a fault of the parser is about a later one. */
  get taken(): boolean {
    return this.incoming.complete;
  }

  /** True when much of the request is not in, or nobody knows how much: its client goes on sending, and the next request is far. */
  private get isMuchToCome(): boolean {
    if (!this.hasBody || this.taken) return false;
    const length = Number(this.incoming.headers['content-length'] ?? Infinity);
    return this.expectsContinue || length - this.bytesIn > SMALL_REST_BYTES;
  }

  // What the body tells.

  mayTake(bytes: number): boolean {
    return this.owner?.acceptChunk(bytes) ?? false;
  }

  collected(body: Uint8Array): void {
    this.owner?.onWholeBody(body);
  }

  opened(body: Body): void {
    this.owner?.onBody(body);
  }

  stalled(): void {
    this.fault('client-timeout');
  }

  private goOn(): void {
    if (this.expectsContinue) this.outgoing.writeContinue();
  }

  /** Framing is this connection's: Node adds chunks where there is no length. */
  private framed(status: number, headers: HeaderList): string[] {
    const fields: string[] = [];
    let trailer: string | undefined;
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at] ?? '';
      const value = headers[at + 1] ?? '';
      const lower = name.length === 14 || name.length === 7 ? name.toLowerCase() : '';
      if (lower === 'content-length') {
        // RFC 9110 §8.6: a length on 204 would have the client wait for bytes that never come.
        if (status === 204) continue;
        if (this.method !== 'HEAD' && status !== 304) this.left = Number(value);
      }
      if (lower === 'trailer') trailer = value;
      else fields.push(name, value);
    }
    const chunks =
      this.left < 0 && this.version === '1.1' && this.method !== 'HEAD' && status !== 204 && status !== 304;
    if (trailer !== undefined && chunks) fields.push('Trailer', trailer);
    return fields;
  }

  /** Waits no longer than it may for a client that has stopped reading, with more time for more bytes. */
  private watchReader(): void {
    const { bodyTimeout } = this.options;
    if (bodyTimeout === 0) return;
    const parts = Math.ceil(this.outgoing.writableLength / SLOW_READ_CHECK_MS);
    const time = Math.min(bodyTimeout * Math.max(1, parts), MOST_TIMER_MS);
    this.stalledReader ??= setTimeout(resetConnection, time, this);
  }

  private awaitDrain(): void {
    this.watchReader();
    this.outgoing.once('drain', () => {
      clearTimeout(this.stalledReader);
      this.stalledReader = undefined;
      this.owner?.drained();
    });
  }

  private over(): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.stalledReader);
    if (!this.incoming.complete && !this.outgoing.writableFinished) this.body.stop(new Error('client gone'));
    // Behind the last response the connection lingers by itself.
    if (this.body.complete || this.incoming.destroyed || !this.outgoing.shouldKeepAlive) this.body.rest();
    if (this.outgoing.writableFinished) this.owner?.flushed();
    else this.owner?.disconnected();
  }
}

function versionOf(version: string): Exchange['version'] {
  return version === '1.1' || version === '1.0' ? version : 'other';
}

function resetConnection(exchange: H1Exchange): void {
  exchange.reset();
}

function flushHead(exchange: H1Exchange): void {
  exchange.flushHead();
}

function pairs(list: HeaderList): [string, string][] {
  const entries: [string, string][] = [];
  for (let at = 0; at < list.length; at += 2) entries.push([list[at] ?? '', list[at + 1] ?? '']);
  return entries;
}

/** The `close` of the response tells what there is to know. */
function ignore(): void {}
