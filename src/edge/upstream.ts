import type { BodyParts } from '../gateway/exchange.ts';
import type {
  Upstream,
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../gateway/upstream.ts';
import { readDecimal, responseHeaders, toHeaders } from '../http/header-list.ts';
import { identityStream, ownBytes, PartReader, PhaseTimer, READ_BYTES } from './streams.ts';

/** Address and timeouts of V2. Times are in milliseconds; 0 is no limit. */
interface FetchUpstreamOptions {
  /** Scheme, host and port: the only host that is ever contacted. */
  readonly origin: string;
  /** Maximum time to receive response headers. */
  readonly headersTimeout: number;
  /** Maximum time between two chunks of the response body. */
  readonly bodyTimeout: number;
}

/** Creates an upstream for an origin on `fetch`: it follows no redirect and decodes nothing. */
export function createFetchUpstream(options: FetchUpstreamOptions): Upstream {
  return {
    send(request, receiver) {
      const call = new FetchCall(receiver, options);
      call.run(request).catch((error: unknown) => call.settle(error));
      return call;
    },
  };
}

class FetchCall implements UpstreamCall {
  private readonly receiver: UpstreamReceiver;
  private readonly options: FetchUpstreamOptions;
  private readonly timer = new PhaseTimer(() => this.late());
  /** Aborts a request whose body is written here; the platform ends any other one with the work that waits for it. */
  private aborter: AbortController | undefined = undefined;
  private body: PartReader | undefined = undefined;
  private paused: PromiseWithResolvers<void> | undefined = undefined;
  private isHeadDue = true;
  private settled = false;

  constructor(receiver: UpstreamReceiver, options: FetchUpstreamOptions) {
    this.receiver = receiver;
    this.options = options;
  }

  pause(): void {
    this.paused ??= Promise.withResolvers();
  }

  resume(): void {
    this.paused?.resolve();
    this.paused = undefined;
  }

  abort(): void {
    this.settled = true;
    this.timer.stop();
    this.aborter?.abort();
    this.body?.cancel();
    this.resume();
  }

  async run(request: UpstreamRequest): Promise<void> {
    const { method, target, headers } = request;
    const init: ManualRequestInit = {
      method,
      headers: toHeaders(headers),
      body: this.bodyOf(request),
      redirect: 'manual',
      signal: this.signalOf(request),
      encodeResponseBody: 'manual',
    };
    const response = await fetch(this.options.origin + target, init);
    this.isHeadDue = false;
    this.timer.pause();
    const { body } = response;
    if (this.settled) {
      await body?.cancel();
      return;
    }
    const fault = faultOfHead(response);
    if (fault !== undefined) {
      this.aborter?.abort();
      throw new InvalidHead(fault);
    }
    const { status, statusText: reason } = response;
    const fields = responseHeaders(response.headers);
    this.receiver.head({ status, reason, headers: fields, lines: undefined });
    if (body !== null) await this.receive(body, readDecimal(response.headers.get('content-length') ?? ''));
    if (this.settled) return;
    this.settled = true;
    this.timer.stop();
    this.receiver.end([]);
  }

  /** Reports a failure, unless the exchange has already ended. */
  settle(error: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.timer.stop();
    this.receiver.fail(faultOf(error));
  }

  /** A phase took longer than its time. */
  private late(): void {
    if (this.settled) return;
    const cause = this.isHeadDue ? 'no response head in time' : 'no next byte in time';
    this.abort();
    this.receiver.fail({ kind: 'timeout', mayHaveArrived: true, cause });
  }

  private signalOf({ signal }: UpstreamRequest): AbortSignal | null {
    const own = this.aborter?.signal;
    if (own === undefined || signal === undefined) return own ?? signal ?? null;
    return AbortSignal.any([own, signal]);
  }

  private bodyOf({ body, length }: UpstreamRequest): BodyInit | null {
    if (body === null || body instanceof Uint8Array) {
      this.awaitHead();
      return body && ownBytes(body);
    }
    const { readable, writable } = identityStream(length);
    this.aborter = new AbortController();
    void this.upload(body, writable, length, this.aborter);
    return readable;
  }

  /**
   * Sends a body in parts, or leaves that to the platform. The time limit for the response head does not run while the client's next
   * part is awaited. If the body breaks off, the whole request is aborted: aborting the writer would end a chunked body as if complete.
   */
  private async upload(
    body: BodyParts,
    writable: WritableStream<Uint8Array>,
    length: number | undefined,
    aborter: AbortController,
  ): Promise<void> {
    const isOver = (): boolean => this.settled || !this.isHeadDue;
    try {
      const passed = length === undefined ? undefined : body.pass?.(writable, isOver);
      if (passed === undefined) {
        if (!(await this.write(body, writable.getWriter()))) return;
      } else await passed;
    } catch {
      if (!isOver()) aborter.abort();
      return;
    }
    this.awaitHead();
  }

  /** Resolves to false if V2 stops reading; `fetch` then reports the reason. */
  private async write(parts: BodyParts, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<boolean> {
    for await (const part of parts) {
      this.awaitHead();
      if (!(await succeeds(writer.write(part)))) return false;
      if (this.isHeadDue) this.timer.pause();
    }
    this.awaitHead();
    return succeeds(writer.close());
  }

  /** Reads the body for the receiver, or hands it over unread. */
  private async receive(stream: ReadableStream<Uint8Array>, length: number | undefined): Promise<void> {
    const passed =
      length !== undefined && length > READ_BYTES ? this.receiver.pass?.(stream, length) : undefined;
    if (passed !== undefined) {
      this.timer.stop();
      await passed;
      return;
    }
    const lends = this.receiver.borrowsParts === true;
    const body = new PartReader(stream, length, lends, this.timer, this.options.bodyTimeout);
    this.body = body;
    for (;;) {
      const part = await body.next();
      if (part === undefined || this.settled) return;
      this.receiver.data(part, body.isWhole);
      if (this.paused !== undefined) await this.paused.promise;
    }
  }

  private awaitHead(): void {
    if (this.isHeadDue && !this.settled) this.timer.start(this.options.headersTimeout);
  }
}

/** Resolves to whether a write succeeds. */
function succeeds(writing: Promise<void>): Promise<boolean> {
  return writing.then(
    () => true,
    () => false,
  );
}

/** The response's head cannot be forwarded; the message says why. */
class InvalidHead extends Error {}

/** Returns why a `Response` to the client could not have this head, or undefined. */
function faultOfHead({ status, headers }: Response): string | undefined {
  if (status < 200 || status > 599) return `status ${status}`;
  const length = headers.get('content-length');
  return length === null || readDecimal(length) !== undefined ? undefined : 'content-length';
}

interface ManualRequestInit extends RequestInit {
  readonly encodeResponseBody: 'manual';
}

/**
 * Workers report "Network connection lost." both for a refused connection and for one that broke midway, and mark both as
 * retryable: the request may always have reached V2, so only idempotent ones are ever sent again.
 */
function faultOf(error: unknown): UpstreamFault {
  const cause = error instanceof Error ? error.message.slice(0, 80) : 'unknown';
  if (error instanceof InvalidHead) return { kind: 'invalid', mayHaveArrived: true, cause };
  if (error instanceof TypeError) return { kind: 'rejected', mayHaveArrived: false, cause };
  return { kind: 'closed', mayHaveArrived: true, cause };
}
