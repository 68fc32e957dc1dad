/** The body of a request, read in parts: collected whole, or handed on with back-pressure. */
export class PartBody {
  /** Bytes taken in so far. */
  bytes = 0;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly timeout: number;
  private done = false;

  constructor(stream: ReadableStream<Uint8Array>, timeout: number) {
    this.reader = stream.getReader();
    this.timeout = timeout;
  }

  /** Takes the body in; undefined when `mayTake` stopped it. Rejects when it breaks. */
  async collect(mayTake: (bytes: number) => boolean): Promise<Uint8Array | undefined> {
    const chunks: Uint8Array[] = [];
    for (;;) {
      const chunk = await this.next();
      if (chunk === undefined) return joined(chunks, this.bytes);
      if (!mayTake(chunk.length)) {
        this.cancel();
        return undefined;
      }
      chunks.push(chunk);
    }
  }

  /** The parts as they come; `broken` is told when they end too early, before whoever reads them is. */
  async *parts(broken: (error: unknown) => void): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      let chunk: Uint8Array | undefined;
      try {
        chunk = await this.next();
      } catch (error) {
        broken(error);
        throw error;
      }
      if (chunk === undefined) return;
      yield chunk;
    }
  }

  /** Gives up what has not been read. */
  cancel(): void {
    if (this.done) return;
    this.done = true;
    this.reader.cancel().catch(ignore);
  }

  private async next(): Promise<Uint8Array | undefined> {
    if (this.done) return undefined;
    const { value } = await this.inTime(this.reader.read());
    if (value === undefined) {
      this.done = true;
      return undefined;
    }
    this.bytes += value.length;
    return value;
  }

  private async inTime<Value>(reading: Promise<Value>): Promise<Value> {
    if (this.timeout === 0) return reading;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('client-timeout')), this.timeout);
    try {
      return await Promise.race([reading, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function joined(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** A body that is not wanted any more may break as it likes. */
function ignore(): void {}
