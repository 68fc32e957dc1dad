import { ByteCollector } from '../http/byte-collector.ts';

/** A stream that was read up to a limit. */
type CollectedStream =
  | { readonly whole: Uint8Array }
  /** The body is larger: the part that was read, and the reader of the rest. */
  | { readonly start: Uint8Array; readonly reader: ReadableStreamDefaultReader<Uint8Array> };

/** Reads a stream up to `limit` bytes; rejects when it breaks off. */
export async function collectStream(
  stream: ReadableStream<Uint8Array>,
  limit: number,
): Promise<CollectedStream> {
  const reader = stream.getReader();
  const body = new ByteCollector(undefined);
  for (;;) {
    const { value } = await reader.read();
    if (value === undefined) return { whole: body.take() };
    body.add(value);
    if (body.length > limit) return { start: body.take(), reader };
  }
}

/** Returns the stream of a body whose `start` was already read. */
export function continueStream(
  start: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return streamOf(
    async () => (await reader.read()).value,
    (reason) => reader.cancel(reason),
    start,
  );
}

/** A stream of `start`, and then of the chunks that `next` resolves to, until it resolves to undefined. */
export function streamOf(
  next: () => Promise<Uint8Array | undefined>,
  cancel: (reason: unknown) => Promise<void>,
  start?: Uint8Array,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      if (start !== undefined) controller.enqueue(new Uint8Array(start));
    },
    pull: async (controller) => {
      const part = await next();
      if (part === undefined) controller.close();
      else controller.enqueue(new Uint8Array(part));
    },
    cancel,
  });
}

/**
 * True for a body that is JSON text, even if it has a `Content-Encoding`: `fetch` decodes the bodies of responses, and leaves the field.
 * Data in the formats of gzip and zlib never begins like this.
 */
export function isJsonText(body: Uint8Array): boolean {
  const first = body.find((byte) => byte > 0x20);
  return first === 0x7b || first === 0x5b;
}
