import { ByteCollector } from '../http/byte-collector.ts';
import { reusesMemory } from './platform.ts';

/** Size of the buffer that every part of a streamed body is read into. */
const PART_BYTES = 64 * 1024;

/** The body of a request: buffered whole, or streamed with backpressure. It can be read once. */
export class PartBody implements AsyncIterable<Uint8Array> {
  /** Bytes read so far. */
  bytes = 0;
  private readonly stream: ReadableStream<Uint8Array>;
  private readonly length: number | undefined;
  private readonly timeout: number;
  private readonly onBroken: (error: unknown) => void;
  private reader: PartReader | undefined = undefined;
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
    for (;;) {
      const chunk = await this.next();
      if (chunk === undefined) return body.take();
      if (!acceptBytes(body.add(chunk))) {
        this.cancel();
        return undefined;
      }
    }
  }

  /** Streams the body: a part is valid until the next one is asked for. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    this.reader ??= reusesMemory ? lentParts(this.stream) : ownedParts(this.stream);
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
    this.reader ??= ownedParts(this.stream);
    this.reader.cancel().catch(ignore);
  }

  private async next(): Promise<Uint8Array | undefined> {
    if (this.done) return undefined;
    this.reader ??= ownedParts(this.stream);
    const part = await this.withTimeout(this.reader.read());
    if (part === undefined) {
      this.done = true;
      return undefined;
    }
    this.bytes += part.length;
    return part;
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

interface PartReader {
  /** The next part; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function ownedParts(stream: ReadableStream<Uint8Array>): PartReader {
  const reader = stream.getReader();
  return { read: async () => (await reader.read()).value, cancel: () => reader.cancel() };
}

/** Reads all parts into one buffer: with a new one for each, 96 MiB left 128 MB of garbage in workerd. */
function lentParts(stream: ReadableStream<Uint8Array>): PartReader {
  const reader = stream.getReader({ mode: 'byob' });
  let buffer = new ArrayBuffer(PART_BYTES);
  return {
    read: async () => {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (value !== undefined) buffer = value.buffer;
      return done ? undefined : value;
    },
    cancel: () => reader.cancel(),
  };
}

/** Ignores failures of a cancelled body. */
function ignore(): void {}
