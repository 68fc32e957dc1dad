import { concatBytes } from '../http/byte-collector.ts';
import { type Coding, isZlib } from '../http/content.ts';
import type { WorkMemory } from '../json/tape.ts';

/** Content codings that web streams decode everywhere: the `DecompressionStream` of Workers does not support Brotli. */
export const WEB_CODINGS: readonly Coding[] = ['gzip', 'deflate'];

/** Decodes a body, up to `limit` bytes; decoding stops as soon as the output exceeds it (a decompression bomb), or the available memory. */
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

/** Returns a stream without its content coding; `first` is its beginning. Undefined for a coding that the platform does not support. */
export function decodedStream(
  coding: Coding | undefined,
  first: Uint8Array,
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array> | undefined {
  const format = coding && formatOf(coding, first);
  return format && stream.pipeThrough(new DecompressionStream(format));
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

/** Gives a body a content coding, and calls `done` once, with undefined if that fails. */
export type EncodeBody = (
  coding: Coding,
  body: Uint8Array,
  done: (encoded: Uint8Array | undefined) => void,
) => void;

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

/** Receives what a {@link StreamDecoder} decodes. */
export interface DecoderReceiver {
  data(part: Uint8Array): void;
  /** More can be pushed after `push` returned false. */
  drained(): void;
  end(): void;
  /** The body does not match its coding, or is truncated. Nothing follows. */
  fail(): void;
}

/** Removes the content coding of a body that arrives in parts; copies each part, and immediately outputs the bytes that it completes. */
export interface StreamDecoder {
  /** False when it has buffered enough. */
  push(part: Uint8Array): boolean;
  end(): void;
  /** Pauses the output of decoded parts, or resumes it. */
  pause(): void;
  resume(): void;
  /** Stops; nothing follows. */
  close(): void;
}

/** Opens a decoder for one body. */
export type OpenDecoder = (coding: Coding, receiver: DecoderReceiver) => StreamDecoder;

/** Opens a decoder of the platform's streams, for the codings that {@link decodeWebBody} knows. */
export function openWebDecoder(coding: Coding, receiver: DecoderReceiver): StreamDecoder {
  return new WebStreamDecoder(coding, receiver);
}

class WebStreamDecoder implements StreamDecoder {
  private readonly coding: Coding;
  private readonly receiver: DecoderReceiver;
  private writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> | undefined = undefined;
  private isClosed = false;
  private paused: PromiseWithResolvers<void> | undefined = undefined;

  constructor(coding: Coding, receiver: DecoderReceiver) {
    this.coding = coding;
    this.receiver = receiver;
  }

  push(part: Uint8Array): boolean {
    if (part.length === 0 || this.isClosed) return true;
    this.writer ??= this.open(part);
    const { writer } = this;
    if (writer === undefined) return true;
    writer.write(new Uint8Array(part)).then(
      () => this.receiver.drained(),
      () => this.fail(),
    );
    return false;
  }

  end(): void {
    if (this.isClosed) return;
    // An empty body has no coding, even if its head declares one.
    if (this.writer === undefined) this.receiver.end();
    else this.writer.close().catch(() => this.fail());
  }

  pause(): void {
    this.paused ??= Promise.withResolvers();
  }

  resume(): void {
    this.paused?.resolve();
    this.paused = undefined;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.resume();
    this.writer?.abort().catch(ignore);
  }

  private open(part: Uint8Array): WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>> | undefined {
    const format = formatOf(this.coding, part);
    if (format === undefined) {
      this.fail();
      return undefined;
    }
    const { readable, writable } = new DecompressionStream(format);
    this.read(readable.getReader()).catch(() => this.fail());
    return writable.getWriter();
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const { value } = await reader.read();
      await this.paused?.promise;
      if (this.isClosed) return;
      if (value === undefined) {
        this.receiver.end();
        return;
      }
      this.receiver.data(value);
    }
  }

  private fail(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.receiver.fail();
  }
}
