// By its file, for Bun takes the bare name for a stand-in of its own that has no `dispatch`.
import { type Dispatcher, Pool } from 'undici/index.js';
import type { HeaderList } from '../http/header-list.ts';
import type { UpstreamCall, UpstreamFault, UpstreamReceiver, UpstreamRequest } from '../gateway/upstream.ts';
import type { NodeUpstream, UpstreamOptions } from './node-upstream.ts';

/** Makes an upstream on undici's `dispatch`: raw header lists both ways, and nothing sent twice. */
export function createUndiciUpstream(options: UpstreamOptions): NodeUpstream {
  const pool = new Pool(options.origin, {
    connections: options.connections,
    pipelining: 1,
    connect: {
      timeout: options.connectTimeout,
      allowH2: false,
      ...options.tls,
      ...(options.lookup === undefined ? {} : { lookup: options.lookup }),
    },
    headersTimeout: options.headersTimeout,
    bodyTimeout: options.bodyTimeout,
    maxHeaderSize: options.headerBytes,
    // Shorter than the idle time of any server in use: a connection that V2 closes while a POST is on its way costs a 502.
    keepAliveTimeout: 4000,
    keepAliveTimeoutThreshold: 2000,
  });
  return {
    send(request, receiver) {
      const attempt = new Attempt(request, receiver, options);
      attempt.dispatch(pool);
      return attempt;
    },
    close: () => pool.destroy(),
  };
}

/** One request to V2: undici's handler on one side, the call that the gateway holds on the other. */
class Attempt implements Dispatcher.DispatchHandler, UpstreamCall {
  private readonly request: UpstreamRequest;
  private readonly receiver: UpstreamReceiver;
  private readonly options: UpstreamOptions;
  private readonly streams: boolean;
  private readonly deadline: NodeJS.Timeout | undefined;
  private controller: Dispatcher.DispatchController | undefined = undefined;
  private sent = false;
  private over = false;

  constructor(request: UpstreamRequest, receiver: UpstreamReceiver, options: UpstreamOptions) {
    this.request = request;
    this.receiver = receiver;
    this.options = options;
    this.streams = request.body !== null && !(request.body instanceof Uint8Array);
    this.deadline =
      options.headersTimeout > 0 ? setTimeout(timedOut, options.headersTimeout, this) : undefined;
  }

  dispatch(pool: Pool): void {
    const { method, target, headers, body, length } = this.request;
    // undici frames by Content-Length where it is told one, and by chunks where it is not.
    const fields = headers.slice();
    if (this.streams && length !== undefined) fields.push('content-length', String(length));
    try {
      if (!isDispatchBody(body)) throw new TypeError('not a body');
      pool.dispatch({ method, path: target, headers: fields, body }, this);
    } catch (error) {
      this.settle({ kind: 'rejected', sent: false, cause: causeOf(error) });
    }
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  abort(): void {
    if (this.over) return;
    this.finish();
    this.controller?.abort(new Error('given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.over) {
      controller.abort(new Error('given up'));
      return;
    }
    this.sent = true;
    // From here on undici's own timer stands in: it waits while the request's body is still on its way.
    if (this.streams) clearTimeout(this.deadline);
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
    if (status < 200) {
      this.receiver.information(status, headers);
      return;
    }
    clearTimeout(this.deadline);
    this.receiver.head(status, reason ?? '', headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.over) this.receiver.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.over) return;
    this.finish();
    this.receiver.end(latin1List(controller.rawTrailers));
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.settle(faultOf(error, this.sent));
  }

  /** The first byte did not come in time. */
  expire(): void {
    const { controller, sent } = this;
    this.settle({ kind: 'timeout', sent, cause: sent ? 'first byte' : 'no connection free' });
    controller?.abort(new Error('given up'));
  }

  private settle(fault: UpstreamFault): void {
    if (this.over) return;
    this.finish();
    this.receiver.fail(fault);
  }

  private finish(): void {
    this.over = true;
    clearTimeout(this.deadline);
  }
}

/** undici takes any sequence that can be awaited; its types name streams only. */
function isDispatchBody(body: unknown): body is NonNullable<Dispatcher.DispatchOptions['body']> | null {
  return (
    body === null || body instanceof Uint8Array || (typeof body === 'object' && Symbol.asyncIterator in body)
  );
}

function timedOut(attempt: Attempt): void {
  attempt.expire();
}

function latin1List(raw: unknown): HeaderList {
  if (!Array.isArray(raw)) return [];
  const list: string[] = [];
  for (const part of raw) list.push(Buffer.isBuffer(part) ? part.toString('latin1') : String(part));
  return list;
}

function faultOf(error: Error, sent: boolean): UpstreamFault {
  const cause = causeOf(error);
  if (cause === 'UND_ERR_CONNECT_TIMEOUT' || (!sent && cause === 'ETIMEDOUT')) {
    return { kind: 'timeout', sent: false, cause };
  }
  if (cause === 'UND_ERR_HEADERS_TIMEOUT' || cause === 'UND_ERR_BODY_TIMEOUT')
    return { kind: 'timeout', sent, cause };
  if (cause === 'UND_ERR_INVALID_ARG' || cause === 'UND_ERR_NOT_SUPPORTED')
    return { kind: 'rejected', sent, cause };
  if (cause.startsWith('HPE_') || cause === 'HTTPParserError' || invalidAnswers.has(cause))
    return { kind: 'invalid', sent, cause };
  return { kind: sent ? 'closed' : 'unreachable', sent, cause };
}

const invalidAnswers: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
]);

function causeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
