import { type BrotliDecompress, brotliDecompress, type Gunzip, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { DecodedBody } from '../migrate/decoded-body.ts';
import { type Coding, isZlib } from '../http/content-coding.ts';

/** The result of zlib with `info`: the output, and the engine that knows how many bytes it consumed. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: Pick<Gunzip | BrotliDecompress, 'bytesWritten'>;
}

/**
 * Decodes a body off the main thread. Decoding stops when the result exceeds `limit` bytes (a bomb); a body with bytes after its
 * end is undecodable: another reader might take them as part of it.
 */
export function decodeBody(
  coding: Coding,
  body: Uint8Array,
  limit: number,
  done: (outcome: DecodedBody) => void,
): void {
  const options = { maxOutputLength: Math.max(1, limit), info: true };
  decoderOf(coding, body)(body, options, (error, result) => {
    if (error !== null) {
      const tooLarge = 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
      done(tooLarge ? 'too-large' : 'undecodable');
      return;
    }
    if (!isInflated(result)) throw new Error('zlib gave no information of its engine');
    done(result.engine.bytesWritten === body.length ? result.buffer : 'undecodable');
  });
}

function decoderOf(coding: Coding, body: Uint8Array): typeof gunzip {
  switch (coding) {
    case 'gzip':
      return gunzip;
    case 'br':
      return brotliDecompress;
    case 'deflate':
      return isZlib(body) ? inflate : inflateRaw;
  }
}

/** Node's types declare the result as a buffer, whatever the options are. */
function isInflated(result: object): result is Inflated {
  return 'engine' in result && 'buffer' in result;
}
