import { ByteCollector } from '../http/byte-collector.ts';

/** The body of a request: buffered whole, or streamed with backpressure. It can be read once. */
export class PartBody implements AsyncIterable<Uint8Array> {
  /** Bytes read so far. */
  bytes = 0;
  private readonly stream: ReadableStream<Uint8Array>;
  private readonly length: number | undefined;
  private readonly timeout: number;
  private readonly onBroken: (error: unknown) => void;
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined = undefined;
  private done = false;

  /** `length` is the Content-Length; `onBroken` is called when a streamed body ends too early. */
  constructor(
    stream: ReadableStream<Uint8Array>,
    length: number | undefined,
    timeout: number,
    onBroken: (error: unknown) => void,
  ) {
    this.stream = stream;
    this.length = length;
    this.timeout = timeout;
    this.onBroken = onBroken;
  }

  /**
   * The platform's own stream, when its length is known: forwarded as it is, its bytes never enter JavaScript. (96 MiB chunk by
   * chunk left 128 MB of garbage in workerd.)
   */
  whole(): ReadableStream<Uint8Array> | undefined {
    if (this.length === undefined || this.reader !== undefined) return undefined;
    this.done = true;
    this.bytes = this.length;
    return this.stream;
  }

  /** Buffers the body; undefined when `acceptBytes` stopped it. Rejects when the body breaks off. */
  async collect(acceptBytes: (bytes: number) => boolean): Promise<Uint8Array | undefined> {
    const body = new ByteCollector(this.length);
    for (;;) {
      const chunk = await this.next();
      if (chunk === undefined) return body.take();
      if (!acceptBytes(body.add(chunk))) {
        this.cancel();
        return undefined;
      }
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      let chunk: Uint8Array | undefined;
      try {
        chunk = await this.next();
      } catch (error) {
        this.onBroken(error);
        throw error;
      }
      if (chunk === undefined) return;
      yield chunk;
    }
  }

  /** Discards the unread rest. */
  cancel(): void {
    if (this.done) return;
    this.done = true;
    this.reader ??= this.stream.getReader();
    this.reader.cancel().catch(ignore);
  }

  private async next(): Promise<Uint8Array | undefined> {
    if (this.done) return undefined;
    this.reader ??= this.stream.getReader();
    const { value } = await this.withTimeout(this.reader.read());
    if (value === undefined) {
      this.done = true;
      return undefined;
    }
    this.bytes += value.length;
    return value;
  }

  private async withTimeout<Value>(reading: Promise<Value>): Promise<Value> {
    if (this.timeout === 0) return reading;
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('client-timeout')), this.timeout);
    try {
      return await Promise.race([reading, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Ignores failures of a cancelled body. */
function ignore(): void {}
