import { type InputType, brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { Decoded } from '../gateway/gateway.ts';
import type { Coding } from '../http/content-coding.ts';

type Inflate = (
  body: InputType,
  options: { readonly maxOutputLength: number },
  done: (error: Error | null, result: Buffer) => void,
) => void;

/** Decodes a body off the main thread; one that would grow beyond `limit` bytes is given up on the way (a bomb). */
export function decodeBody(
  coding: Coding,
  body: Uint8Array,
  limit: number,
  done: (outcome: Decoded) => void,
): void {
  decoderOf(coding, body)(body, { maxOutputLength: Math.max(1, limit) }, (error, result) => {
    if (error === null) {
      done(result);
      return;
    }
    const tooLarge = 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    done(tooLarge ? 'too-large' : 'undecodable');
  });
}

function decoderOf(coding: Coding, body: Uint8Array): Inflate {
  switch (coding) {
    case 'gzip':
      return gunzip;
    case 'br':
      return brotliDecompress;
    case 'deflate':
      // Some clients send raw deflate under the name of zlib's format, which always starts with method 8.
      return ((body[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw;
  }
}
