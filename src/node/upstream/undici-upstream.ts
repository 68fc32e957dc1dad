import type { Socket } from 'node:net';
// By its file, for Bun takes the bare name for a stand-in of its own that has no `dispatch`.
import { type buildConnector, Client, type Dispatcher } from 'undici/index.js';
import type { HeaderList } from '../../http/header-list.ts';
import type {
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../gateway/upstream.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';
import { Destination } from './destination.ts';

/**
 * An upstream on undici's `dispatch`: raw header lists both ways, and nothing sent twice. Each request has a connection that is new,
 * and that the gateway closes behind the response, so that none is kept. V2 is not asked to close it: many a server that responds
 * before the body is there would then close with bytes unread, and its response would be lost. How many there may be is left to who sends.
 */
export class UndiciUpstream implements NodeUpstream {
  private readonly options: UpstreamOptions;
  private readonly destination: Destination;
  private readonly freed: () => void;
  private readonly attempts = new Set<Attempt>();
  private readonly emptied = Promise.withResolvers<void>();
  private isClosed = false;

  /** `freed` is called whenever there is a connection less. */
  constructor(options: UpstreamOptions, destination = new Destination(options), freed = (): void => {}) {
    this.options = options;
    this.destination = destination;
    this.freed = freed;
  }

  /** How many connections are being made, open, or not yet gone. */
  get connections(): number {
    return this.attempts.size;
  }

  /** `patience` is what is left of `headersTimeout`: milliseconds, or 0 for ever. */
  send(
    request: UpstreamRequest,
    receiver: UpstreamReceiver,
    patience = this.options.headersTimeout,
  ): UpstreamCall {
    const attempt = new Attempt(receiver, this.options, this.destination, (gone) => this.drop(gone));
    this.attempts.add(attempt);
    if (this.isClosed) attempt.close();
    else attempt.dispatch(request, patience);
    return attempt;
  }

  close(): Promise<void> {
    this.isClosed = true;
    for (const attempt of this.attempts) attempt.close();
    if (this.attempts.size === 0) this.emptied.resolve();
    return this.emptied.promise;
  }

  private drop(attempt: Attempt): void {
    this.attempts.delete(attempt);
    if (this.isClosed && this.attempts.size === 0) this.emptied.resolve();
    this.freed();
  }
}

/** One request to V2 and its connection: undici's handler on one side, the call that the gateway holds on the other. */
class Attempt implements Dispatcher.DispatchHandler, UpstreamCall {
  private readonly receiver: UpstreamReceiver;
  private readonly options: UpstreamOptions;
  private readonly destination: Destination;
  private readonly disconnected: (attempt: Attempt) => void;
  private deadline: NodeJS.Timeout | undefined = undefined;
  private client: Client | undefined = undefined;
  private controller: Dispatcher.DispatchController | undefined = undefined;
  private socket: Socket | undefined = undefined;
  /** True when the socket is gone: its own `closed` is true a little sooner. */
  private isClosed = false;
  private isPaused = false;
  private sent = false;
  private over = false;

  /** `gone` is called once, when the request is over and there is no connection. */
  constructor(
    receiver: UpstreamReceiver,
    options: UpstreamOptions,
    destination: Destination,
    gone: (attempt: Attempt) => void,
  ) {
    this.receiver = receiver;
    this.options = options;
    this.destination = destination;
    this.disconnected = gone;
  }

  dispatch({ method, target, headers, body, length }: UpstreamRequest, patience: number): void {
    const { origin, bodyTimeout, headerBytes, connectTimeout } = this.options;
    const client = (this.client = new Client(origin, {
      connect: (_where, done) => this.connect(done),
      headersTimeout: patience,
      bodyTimeout,
      maxHeaderSize: headerBytes,
    }));
    const [connecting, waiting] = [connectTimeout || Infinity, patience || Infinity];
    const cause = connecting < waiting ? 'UND_ERR_CONNECT_TIMEOUT' : 'no connection free';
    const time = Math.min(connecting, waiting);
    if (time < Infinity) this.deadline = setTimeout(() => this.expire(cause), time);
    // undici frames by Content-Length where it is told one, and by chunks where it is not.
    const fields = ['host', this.destination.host, ...headers];
    if (body !== null && !(body instanceof Uint8Array) && length !== undefined)
      fields.push('content-length', String(length));
    try {
      if (!isDispatchBody(body)) throw new TypeError('not a body');
      client.dispatch({ method, path: target, headers: fields, body }, this);
    } catch (error) {
      this.settle({ kind: 'rejected', sent: false, cause: causeOf(error) });
    }
  }

  pause(): void {
    this.isPaused = true;
    this.controller?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.controller?.resume();
  }

  abort(): void {
    if (this.over) return;
    this.finish();
    this.controller?.abort(new Error('given up'));
  }

  /** Gives the request up, and tells so. */
  close(): void {
    const { controller, sent } = this;
    this.settle({ kind: sent ? 'closed' : 'unreachable', sent, cause: 'closed' });
    controller?.abort(new Error('closed'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.over) {
      controller.abort(new Error('given up'));
      return;
    }
    this.sent = true;
    if (this.isPaused) controller.pause();
    // From here on undici's own timer stands in: it waits while the request's body is still on its way.
    clearTimeout(this.deadline);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    reason?: string,
  ): void {
    if (this.over) return;
    const headers = latin1List(controller.rawHeaders);
    if (headers.length > this.options.headerCount * 2) {
      this.settle({ kind: 'invalid', sent: true, cause: 'too many header fields' });
      controller.abort(new Error('given up'));
      return;
    }
    if (status < 200) this.receiver.information(status, headers);
    else this.receiver.head(status, reason ?? '', headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.over) this.receiver.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.over) return;
    this.finish();
    this.client?.close(() => {});
    this.receiver.end(latin1List(controller.rawTrailers));
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.settle(faultOf(error, this.sent));
  }

  /** Makes the one connection; undici would make another when it loses the first before the request is on it. */
  private connect(done: buildConnector.Callback): void {
    if (this.over || this.socket !== undefined) {
      done(new Error('given up'), null);
      return;
    }
    const socket = this.destination.connect();
    this.socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    let isDone = false;
    socket.once(this.destination.isSecure ? 'secureConnect' : 'connect', () => {
      isDone = true;
      done(null, socket);
    });
    const failed = (error: Error): void => {
      if (!isDone) done(error, null);
      isDone = true;
    };
    socket.on('error', failed);
    socket.on('close', () => {
      failed(new Error('closed'));
      this.isClosed = true;
      if (this.over) this.disconnected(this);
    });
  }

  private expire(cause: string): void {
    this.settle({ kind: 'timeout', sent: false, cause });
  }

  private settle(fault: UpstreamFault): void {
    if (this.over) return;
    this.finish();
    this.receiver.fail(fault);
  }

  private finish(): void {
    this.over = true;
    clearTimeout(this.deadline);
    const { socket, controller } = this;
    if (socket === undefined || this.isClosed) this.disconnected(this);
    // A connection with a request on it is undici's to close: whoever writes the body must be told by an error.
    else if (controller === undefined) socket.destroy();
  }
}

/** undici takes any sequence that can be awaited; its types name streams only. */
function isDispatchBody(body: unknown): body is NonNullable<Dispatcher.DispatchOptions['body']> | null {
  return (
    body === null || body instanceof Uint8Array || (typeof body === 'object' && Symbol.asyncIterator in body)
  );
}

function latin1List(raw: unknown): HeaderList {
  if (!Array.isArray(raw)) return [];
  const list: string[] = [];
  for (const part of raw) list.push(Buffer.isBuffer(part) ? part.toString('latin1') : String(part));
  return list;
}

function faultOf(error: Error, sent: boolean): UpstreamFault {
  const cause = causeOf(error);
  if (!sent && cause === 'ETIMEDOUT') return { kind: 'timeout', sent: false, cause };
  if (cause === 'UND_ERR_HEADERS_TIMEOUT' || cause === 'UND_ERR_BODY_TIMEOUT')
    return { kind: 'timeout', sent, cause };
  if (cause === 'UND_ERR_INVALID_ARG' || cause === 'UND_ERR_NOT_SUPPORTED')
    return { kind: 'rejected', sent, cause };
  if (cause.startsWith('HPE_') || cause === 'HTTPParserError' || INVALID_RESPONSES.has(cause))
    return { kind: 'invalid', sent, cause };
  return { kind: sent ? 'closed' : 'unreachable', sent, cause };
}

const INVALID_RESPONSES: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
]);

function causeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
