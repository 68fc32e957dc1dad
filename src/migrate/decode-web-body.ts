import { concatBytes } from '../http/byte-collector.ts';
import { type Coding, isZlib } from '../http/content.ts';
import type { WorkMemory } from '../json/tape.ts';

/** Content codings that web streams decode everywhere: the `DecompressionStream` of Workers does not support Brotli. */
export const WEB_CODINGS: readonly Coding[] = ['gzip', 'deflate'];

/** Decodes a body, up to `limit` bytes; decoding stops as soon as the output exceeds it (a decompression bomb), or the memory there is. */
export function decodeWebBody(
  coding: Coding,
  body: Uint8Array,
  limit: number,
  memory: WorkMemory,
  done: (outcome: DecodedBody) => void,
): void {
  decode(formatOf(coding, body), body, limit, memory).then(done, () => done('undecodable'));
}

async function decode(
  format: CompressionFormat | undefined,
  body: Uint8Array,
  limit: number,
  memory: WorkMemory,
): Promise<DecodedBody> {
  // Workers do not support Brotli.
  if (format === undefined) return 'undecodable';
  const { readable, writable } = new DecompressionStream(format);
  const writer = writable.getWriter();
  const reader = readable.getReader();
  const written = writer.write(new Uint8Array(body)).then(() => writer.close());
  // An error on the writing side ends the reading.
  written.catch(() => reader.cancel()).catch(ignore);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { value } = await reader.read();
    if (value === undefined) break;
    bytes += value.length;
    const isTooLarge = bytes > limit;
    if (isTooLarge || !memory.take(value.length)) {
      reader.cancel().catch(ignore);
      return isTooLarge ? 'too-large' : 'buffer-full';
    }
    chunks.push(value);
  }
  await written;
  return concatBytes(chunks);
}

function formatOf(coding: Coding, body: Uint8Array): CompressionFormat | undefined {
  switch (coding) {
    case 'gzip':
      return 'gzip';
    case 'deflate':
      return isZlib(body) ? 'deflate' : 'deflate-raw';
    case 'br':
      return undefined;
  }
}

/** Gives a body a content coding, and calls `done` once: with undefined where that fails. */
export type EncodeBody = (
  coding: Coding,
  body: Uint8Array,
  done: (encoded: Uint8Array | undefined) => void,
) => void;

/** Encodes a body with web streams. */
export const encodeWebBody: EncodeBody = (coding, body, done) => {
  if (coding === 'br') {
    done(undefined);
    return;
  }
  const stream = new Blob([new Uint8Array(body)]).stream().pipeThrough(new CompressionStream(coding));
  new Response(stream).arrayBuffer().then(
    (encoded) => done(new Uint8Array(encoded)),
    () => done(undefined),
  );
};

/** Ignores failures of a cancelled stream. */
function ignore(): void {}

/**
 * A body without its content coding, or why it cannot be decoded: it is larger than the limit, does not match the coding, or there
 * is not enough memory for it.
 */
export type DecodedBody = Uint8Array | 'too-large' | 'undecodable' | 'buffer-full';

/** Removes the content coding of `body`, up to `limit` decoded bytes, which are taken from `memory`, and calls `done` once. */
export type DecodeBody = (
  coding: Coding,
  body: Uint8Array,
  limit: number,
  memory: WorkMemory,
  done: (decoded: DecodedBody) => void,
) => void;
