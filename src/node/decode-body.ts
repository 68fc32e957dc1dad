import {
  brotliCompress,
  type BrotliDecompress,
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
} from 'node:zlib';
import { concatBytes } from '../http/byte-collector.ts';
import { type Coding, isZlib } from '../http/content.ts';
import type { WorkMemory } from '../json/tape.ts';
import type { DecodedBody } from '../migrate/decode-web-body.ts';

/** Output bytes that zlib produces at once: few large buffers, so that 10 MiB are not copied out of a thousand small ones. */
const OUTPUT_BYTES = 64 * 1024;

/**
 * Decodes a body off the main thread. Decoding stops when the result exceeds `limit` bytes (a bomb) or the memory there is; a body
 * with bytes after its end is undecodable: another reader might take them as part of it.
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

/** Decodes a body as {@link decodeBody} does, but before it returns. */
export function decodeBodySync(coding: Coding, body: Uint8Array, limit: number): DecodedBody {
  try {
    const decoded = decodeWhole(coding, body, limit);
    return isWithEngine(decoded) && decoded.engine.bytesWritten === body.length
      ? decoded.buffer
      : 'undecodable';
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? 'too-large' : 'undecodable';
  }
}

/** Returns what zlib's types leave out: with `info`, the output and its engine. */
function decodeWhole(coding: Coding, body: Uint8Array, limit: number): unknown {
  const options = { chunkSize: chunkSizeFor(body), maxOutputLength: limit, info: true };
  switch (coding) {
    case 'gzip':
      return gunzipSync(body, options);
    case 'br':
      return brotliDecompressSync(body, options);
    case 'deflate':
      return isZlib(body) ? inflateSync(body, options) : inflateRawSync(body, options);
  }
}

function isWithEngine(
  decoded: unknown,
): decoded is { readonly buffer: Uint8Array; readonly engine: { readonly bytesWritten: number } } {
  return typeof decoded === 'object' && decoded !== null && 'engine' in decoded;
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
 * Qualities at which services encode while the client waits: the default of Brotli, 11, takes a hundred times as long as 4 for a fifth fewer
 * bytes.
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
