import { ByteCollector } from '../http/byte-collector.ts';

type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>;

/** Bytes of the memory into which all parts of a forwarded body are read. */
const PART_BYTES = 64 * 1024;

/** The body of a request: buffered whole, or streamed with backpressure. It can be read once. */
export class PartBody implements AsyncIterable<Uint8Array> {
  /** Bytes read so far. */
  bytes = 0;
  private readonly stream: ReadableStream<Uint8Array>;
  private readonly length: number | undefined;
  private readonly timeout: number;
  private readonly onBroken: (error: unknown) => void;
  private reader: BodyReader | undefined = undefined;
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

  /** Buffers the body; undefined when `acceptBytes` stopped it. Rejects when the body breaks off. */
  async collect(acceptBytes: (bytes: number) => boolean): Promise<Uint8Array | undefined> {
    const body = new ByteCollector(this.length);
    this.reader ??= this.stream.getReader();
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
    this.reader ??= reusingReader(this.stream);
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
    const { value, done } = await this.withTimeout(this.reader.read());
    if (done || value === undefined) {
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

/** Reads each part into the memory of the one before: 96 MiB in new memory left 128 MB of garbage in workerd. */
function reusingReader(stream: ReadableStream<Uint8Array>): BodyReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({ mode: 'byob' });
  } catch {
    return stream.getReader();
  }
  let memory = new ArrayBuffer(PART_BYTES);
  return {
    read: async () => {
      const { value, done } = await reader.read(new Uint8Array(memory));
      if (done || value === undefined) return { value: undefined, done: true };
      memory = value.buffer;
      return { value, done };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** Ignores failures of a cancelled body. */
function ignore(): void {}
