import type {
  Upstream,
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../gateway/upstream.ts';
import { readDecimal, responseHeaders, toHeaders } from '../http/header-list.ts';

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
  private readonly aborter = new AbortController();
  private paused: PromiseWithResolvers<void> | undefined = undefined;
  private timedOutPhase: string | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
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
    this.stopTimer();
    this.aborter.abort();
    this.resume();
  }

  async run(request: UpstreamRequest): Promise<void> {
    const init: ManualRequestInit = {
      method: request.method,
      headers: toHeaders(request.headers),
      body: this.bodyOf(request),
      redirect: 'manual',
      signal: this.aborter.signal,
      encodeResponseBody: 'manual',
    };
    if (!(init.body instanceof ReadableStream)) this.awaitHead();
    const response = await fetch(this.options.origin + request.target, init);
    this.isHeadDue = false;
    this.stopTimer();
    if (this.settled) return;
    const fault = faultOfHead(response);
    if (fault !== undefined) {
      this.aborter.abort();
      throw new InvalidHead(fault);
    }
    const { status, statusText: reason } = response;
    this.receiver.head({ status, reason, headers: responseHeaders(response.headers), lines: undefined });
    if (response.body !== null) await this.read(response.body.getReader());
    if (this.settled) return;
    this.settled = true;
    this.receiver.end([]);
  }

  /** Reports a failure, unless the exchange has already ended. */
  settle(error: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.stopTimer();
    this.receiver.fail(
      this.timedOutPhase === undefined
        ? faultOf(error)
        : { kind: 'timeout', sent: true, cause: `no ${this.timedOutPhase} in time` },
    );
  }

  private bodyOf({ body, length }: UpstreamRequest): BodyInit | null {
    if (body === null) return null;
    // Copied into a buffer of its own, because `fetch` does not accept views of shared buffers.
    if (body instanceof Uint8Array) return new Uint8Array(body);
    const { readable, writable } = length === undefined ? identity() : fixedLength(length);
    void this.upload(body, writable.getWriter());
    return readable;
  }

  /**
   * Sends a body in parts. The time for the head of the response stands still while the next part is awaited from the client. A
   * body that breaks off aborts the request: an aborted writer would end a chunked one as if it were whole.
   */
  private async upload(
    parts: AsyncIterable<Uint8Array>,
    writer: WritableStreamDefaultWriter<Uint8Array>,
  ): Promise<void> {
    try {
      for await (const part of parts) {
        this.awaitHead();
        if (!(await succeeds(writer.write(part)))) return;
        if (this.isHeadDue) this.stopTimer();
      }
    } catch {
      this.aborter.abort();
      return;
    }
    this.awaitHead();
    await succeeds(writer.close());
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      this.startTimer(this.options.bodyTimeout, 'next byte');
      const { value } = await reader.read();
      this.stopTimer();
      if (value === undefined || this.settled) return;
      this.receiver.data(value);
      await this.paused?.promise;
    }
  }

  private awaitHead(): void {
    if (this.isHeadDue && !this.settled) this.startTimer(this.options.headersTimeout, 'response head');
  }

  private startTimer(milliseconds: number, phase: string): void {
    this.stopTimer();
    if (milliseconds === 0) return;
    this.timer = setTimeout(() => {
      this.timedOutPhase = phase;
      this.aborter.abort();
    }, milliseconds);
  }

  private stopTimer(): void {
    clearTimeout(this.timer);
  }
}

/** False when nobody reads what is written any more; why, `fetch` itself reports. */
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
  if (error instanceof InvalidHead) return { kind: 'invalid', sent: true, cause };
  if (error instanceof TypeError) return { kind: 'rejected', sent: false, cause };
  return { kind: 'closed', sent: true, cause };
}

/** The interfaces used here that Workers add to the web standards. */
interface Platform {
  /** An identity stream with a declared length: without it workerd sends a chunked body. */
  readonly FixedLengthStream?: new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;
  /** Its write is over when the bytes were read: the writer may use their memory again. */
  readonly IdentityTransformStream?: new () => TransformStream<Uint8Array, Uint8Array>;
}

const platform: typeof globalThis & Platform = globalThis;

/** True where a stream of the platform reads into the memory that it is given, and a write is over when its bytes were read. */
export const reusesMemory: boolean = platform.IdentityTransformStream !== undefined;

/** Creates an identity stream for any number of bytes. */
function identity(): TransformStream<Uint8Array, Uint8Array> {
  const { IdentityTransformStream } = platform;
  return IdentityTransformStream === undefined ? new TransformStream() : new IdentityTransformStream();
}

/** Creates an identity stream for exactly `length` bytes. */
export function fixedLength(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = platform;
  return FixedLengthStream === undefined ? new TransformStream() : new FixedLengthStream(bytes);
}
