import {
  brotliCompress,
  type BrotliDecompress,
  type BrotliOptions,
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  deflate,
  type Gunzip,
  gunzipSync,
  gzip,
  inflateRawSync,
  inflateSync,
  type ZlibOptions,
} from 'node:zlib';
import { concatBytes } from '../http/byte-collector.ts';
import { type Coding, isZlib } from '../http/content.ts';
import type { WorkMemory } from '../json/tape.ts';
import type { DecodedBody, DecoderReceiver, StreamDecoder } from '../migrate/decode-web-body.ts';

/** Bytes of zlib's output buffers: large, so that 10 MiB are not assembled from a thousand small ones. */
const OUTPUT_BYTES = 64 * 1024;

/**
 * Decodes a body off the main thread. Stops when the result exceeds `limit` bytes (a bomb) or the available memory. Bytes after the
 * end make the body undecodable, because another reader might take them as part of it.
 */
export function decodeBody(
  coding: Coding,
  body: Uint8Array,
  limit: number,
  memory: WorkMemory,
  done: (outcome: DecodedBody) => void,
): void {
  const decoder = decoderOf(coding, body);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isOver = false;
  const finish = (outcome: DecodedBody): void => {
    if (isOver) return;
    isOver = true;
    decoder.destroy();
    done(outcome);
  };
  decoder.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > limit) finish('too-large');
    else if (!memory.take(chunk.length)) finish('buffer-full');
    else chunks.push(chunk);
  });
  decoder.on('end', () => finish(decoder.bytesWritten === body.length ? concatBytes(chunks) : 'undecodable'));
  decoder.on('error', () => finish('undecodable'));
  decoder.end(body);
}

/** Decodes a body like {@link decodeBody}, but synchronously. */
export function decodeBodySync(coding: Coding, body: Uint8Array, limit: number): DecodedBody {
  try {
    const options = { chunkSize: chunkSizeFor(body), maxOutputLength: limit, info: true };
    const decoded: unknown = decodeAtOnce(coding, body, options);
    return isWithEngine(decoded) && decoded.engine.bytesWritten === body.length
      ? decoded.buffer
      : 'undecodable';
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? 'too-large' : 'undecodable';
  }
}

/** Decodes at once. With `info`, zlib returns the output and its engine; its types do not say so. */
function decodeAtOnce(coding: Coding, body: Uint8Array, options: ZlibOptions & BrotliOptions): Buffer {
  switch (coding) {
    case 'gzip':
      return gunzipSync(body, options);
    case 'br':
      return brotliDecompressSync(body, options);
    case 'deflate':
      return isZlib(body) ? inflateSync(body, options) : inflateRawSync(body, options);
  }
}

/** Decodes as much of a body's beginning as its first bytes allow; returns no bytes if they do not match the coding. */
export function peekBody(coding: Coding, begin: Uint8Array): Uint8Array {
  // zlib returns the whole output or, beyond the limit, none of it. 256 bytes of gzip cannot exceed the limit.
  const short = decodedBegin(coding, begin.subarray(0, SHORT_BYTES));
  return short.length > 0 || begin.length <= SHORT_BYTES ? short : decodedBegin(coding, begin);
}

const SHORT_BYTES = 256;

const PEEKED_BYTES = 512 * 1024;

function decodedBegin(coding: Coding, begin: Uint8Array): Uint8Array {
  const { BROTLI_OPERATION_FLUSH, Z_SYNC_FLUSH } = constants;
  const finishFlush = coding === 'br' ? BROTLI_OPERATION_FLUSH : Z_SYNC_FLUSH;
  try {
    return decodeAtOnce(coding, begin, { maxOutputLength: PEEKED_BYTES, finishFlush });
  } catch {
    return new Uint8Array();
  }
}

function isWithEngine(
  decoded: unknown,
): decoded is { readonly buffer: Uint8Array; readonly engine: { readonly bytesWritten: number } } {
  return typeof decoded === 'object' && decoded !== null && 'engine' in decoded;
}

/** Opens a decoder for a body that arrives in parts. */
export function openDecoder(coding: Coding, receiver: DecoderReceiver): StreamDecoder {
  return new ZlibDecoder(coding, receiver);
}

class ZlibDecoder implements StreamDecoder {
  private readonly coding: Coding;
  private readonly receiver: DecoderReceiver;
  private decoder: Gunzip | BrotliDecompress | undefined = undefined;
  private isPaused = false;
  private isOver = false;

  constructor(coding: Coding, receiver: DecoderReceiver) {
    this.coding = coding;
    this.receiver = receiver;
  }

  push(part: Uint8Array): boolean {
    if (part.length === 0 || this.isOver) return true;
    this.decoder ??= this.open(part);
    // A copy: zlib reads it after this call.
    return this.decoder.write(new Uint8Array(part));
  }

  end(): void {
    if (this.isOver) return;
    // An empty body has no coding, even if its head declares one.
    if (this.decoder === undefined) this.receiver.end();
    else this.decoder.end();
  }

  pause(): void {
    this.isPaused = true;
    this.decoder?.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.decoder?.resume();
  }

  close(): void {
    this.isOver = true;
    this.decoder?.destroy();
  }

  private open(part: Uint8Array): Gunzip | BrotliDecompress {
    const decoder = decoderOf(this.coding, part);
    decoder.on('data', (decoded: Uint8Array) => {
      if (!this.isOver) this.receiver.data(decoded);
    });
    decoder.on('drain', () => this.receiver.drained());
    decoder.on('end', () => {
      if (!this.isOver) this.receiver.end();
    });
    decoder.on('error', () => {
      if (this.isOver) return;
      this.isOver = true;
      this.receiver.fail();
    });
    return decoder;
  }
}

function decoderOf(coding: Coding, body: Uint8Array): Gunzip | BrotliDecompress {
  const options = { chunkSize: chunkSizeFor(body) };
  switch (coding) {
    case 'gzip':
      return createGunzip(options);
    case 'br':
      return createBrotliDecompress(options);
    case 'deflate':
      return isZlib(body) ? createInflate(options) : createInflateRaw(options);
  }
}

/**
 * Qualities at which services encode while the client waits: Brotli's default, 11, takes a hundred times as long as 4 and saves a fifth
 * of the bytes.
 */
const GZIP_LEVEL = 5;
const BROTLI_QUALITY = 4;

/** Encodes a body off the main thread. */
export function encodeBody(
  coding: Coding,
  body: Uint8Array,
  done: (encoded: Uint8Array | undefined) => void,
): void {
  const finish = (error: Error | null, encoded: Uint8Array): void =>
    done(error === null ? encoded : undefined);
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  switch (coding) {
    case 'gzip':
      return gzip(body, { level: GZIP_LEVEL }, finish);
    case 'deflate':
      return deflate(body, { level: GZIP_LEVEL }, finish);
    case 'br':
      return brotliCompress(
        body,
        { params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: body.length } },
        finish,
      );
  }
}

function chunkSizeFor(body: Uint8Array): number {
  return Math.min(OUTPUT_BYTES, Math.max(1024, body.length * 8));
}
