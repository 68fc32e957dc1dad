import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { HeaderList } from '../../http/header-list.ts';
import type { Body, ClientFault, Exchange, ExchangeOwner } from '../../gateway/exchange.ts';
import type { H1ExchangeOptions } from './h1-exchange.ts';
import { IncomingBody, type IncomingBodyOwner } from './incoming-body.ts';
import { ALREADY_SENT } from './already-sent.ts';

/** `NO_ERROR` and `INTERNAL_ERROR` of RFC 9113 §7. */
const NO_ERROR = 0;
const INTERNAL_ERROR = 2;

/** An exchange on a stream of HTTP/2. Pseudo-header fields become method, target and `host`. */
export class H2Exchange implements Exchange, IncomingBodyOwner {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly version = '2';
  readonly remote: string;
  readonly secure = true;
  readonly hasBody: boolean;
  readonly handled = ALREADY_SENT;
  private readonly stream: ServerHttp2Stream;
  private readonly options: H1ExchangeOptions;
  private readonly body: IncomingBody;
  private readonly expectsContinue: boolean;
  private owner: ExchangeOwner | undefined = undefined;
  private trailers: HeaderList = [];
  private stalledReader: NodeJS.Timeout | undefined = undefined;
  private ended = false;
  private closed = false;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    options: H1ExchangeOptions,
  ) {
    this.stream = stream;
    this.options = options;
    this.method = headers[':method'] ?? '';
    this.target = headers[':path'] ?? '';
    this.headers = plainHeaders(raw);
    this.remote = stream.session === undefined ? '' : options.addressOf(stream.session.socket);
    this.hasBody = !stream.endAfterHeaders;
    this.expectsContinue = headers.expect !== undefined;
    const length = headers['content-length'];
    this.body = new IncomingBody(stream, length === undefined ? undefined : Number(length), options, this);
  }

  get bytesIn(): number {
    return this.body.bytes;
  }

  attach(owner: ExchangeOwner): void {
    this.owner = owner;
    this.stream.on('close', () => this.over());
    this.stream.on('error', ignore);
    this.stream.on('wantTrailers', () => this.stream.sendTrailers(asObject(this.trailers)));
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
    if (this.stream.destroyed || this.stream.headersSent || status === 101) return;
    this.stream.additionalHeaders({ ':status': status, ...asObject(headers) });
  }

  head(status: number, _reason: string | undefined, headers: HeaderList): void {
    if (this.stream.destroyed || this.stream.headersSent) return;
    const empty = this.method === 'HEAD' || status === 204 || status === 304;
    const fields = lowerCased(headers, status);
    this.stream.respond([':status', String(status), ...fields], { waitForTrailers: !empty });
    if (this.options.draining) this.stream.session?.close();
  }

  data(chunk: Uint8Array): boolean {
    if (this.stream.destroyed) return true;
    if (this.stream.write(chunk)) return true;
    if (this.options.bodyTimeout > 0) {
      this.stalledReader ??= setTimeout(() => this.reset(), this.options.bodyTimeout);
    }
    this.stream.once('drain', () => {
      clearTimeout(this.stalledReader);
      this.stalledReader = undefined;
      this.owner?.drained();
    });
    return false;
  }

  end(trailers: HeaderList): void {
    this.trailers = trailers;
    this.ended = true;
    this.stream.end();
    // RFC 9113 §8.1: a response that is whole before its request tells the client to stop sending.
    if (this.hasBody && !this.body.complete) this.body.discard(() => this.stream.close(NO_ERROR));
  }

  closeAfterResponse(): void {}

  reset(): void {
    this.stream.close(INTERNAL_ERROR);
  }

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
    const fault: ClientFault = 'client-timeout';
    this.body.stop(new Error(fault));
    this.owner?.onClientFault(fault);
  }

  private goOn(): void {
    if (this.expectsContinue) this.stream.additionalHeaders({ ':status': 100 });
  }

  private over(): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.stalledReader);
    this.body.rest();
    if (!this.body.complete) this.body.stop(new Error('client gone'));
    if (this.ended && this.stream.rstCode === NO_ERROR) this.owner?.flushed();
    else this.owner?.disconnected();
  }
}

/**
 * The fields without the pseudo ones. The parts of a cookie become one again, for HTTP/1.1 knows no others (RFC 9113
 * §8.2.3). An authority beside another `host` stays as a second one, which is refused.
 */
function plainHeaders(raw: readonly string[]): string[] {
  const headers: string[] = [];
  let authority: string | undefined;
  let host: string | undefined;
  let cookie = -1;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] ?? '';
    const value = raw[at + 1] ?? '';
    if (name === ':authority') authority = value;
    if (name.startsWith(':')) continue;
    if (name === 'cookie' && cookie !== -1) {
      headers[cookie] += `; ${value}`;
      continue;
    }
    headers.push(name, value);
    if (name === 'host') host = value;
    if (name === 'cookie') cookie = headers.length - 1;
  }
  if (authority !== undefined && authority !== host) headers.push('host', authority);
  return headers;
}

/** HTTP/2 has names in lower case only, and a length on 204 is a fault of framing. */
function lowerCased(headers: HeaderList, status: number): string[] {
  const fields: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase();
    if (name !== 'content-length' || status !== 204) fields.push(name, headers[at + 1] ?? '');
  }
  return fields;
}

function asObject(list: HeaderList): Record<string, string[]> {
  const object: Record<string, string[]> = {};
  for (let at = 0; at < list.length; at += 2)
    (object[(list[at] ?? '').toLowerCase()] ??= []).push(list[at + 1] ?? '');
  return object;
}

/** The `close` of the stream tells what there is to know. */
function ignore(): void {}
