import { ByteCollector } from '../http/byte-collector.ts';
import type { Coding } from '../http/content-coding.ts';
import { unlimitedMemory } from '../json/work-memory.ts';
import type { DecodedBody } from '../migrate/decoded-body.ts';
import { decodeWebBody } from '../migrate/decode-web-body.ts';

/** The body of a web request or response: whole, streamed, or none. */
export type WebBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | null;

/** A stream that was read up to a limit. */
export type CollectedStream =
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

/** Returns the stream of a body of which `start` was read. */
export function continueStream(
  start: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(new Uint8Array(start)),
    pull: async (controller) => {
      const { value } = await reader.read();
      if (value === undefined) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** A whole body that is rewritten: a part of a request or response that was started. */
interface Finishing<Outcome> {
  readonly coding: Coding | undefined;
  finish(decoded: DecodedBody, received?: Uint8Array): Outcome;
}

/**
 * True for a body that is JSON text, whatever its `Content-Encoding` says: `fetch` decodes the bodies of responses, and leaves the
 * field. No body in gzip or zlib's format begins so.
 */
export function isJsonText(body: Uint8Array): boolean {
  const first = body.find((byte) => byte > 0x20);
  return first === 0x7b || first === 0x5b;
}

/** Finishes a request or response with its whole body, without its content coding, up to `limit` decoded bytes. */
export function finishWith<Outcome>(
  started: Finishing<Outcome>,
  whole: Uint8Array,
  limit: number,
): Promise<Outcome> {
  const { coding } = started;
  if (coding === undefined || whole.length === 0) return Promise.resolve(started.finish(whole));
  return new Promise((resolve) => {
    decodeWebBody(coding, whole, limit, unlimitedMemory, (decoded) =>
      resolve(started.finish(decoded, whole)),
    );
  });
}
