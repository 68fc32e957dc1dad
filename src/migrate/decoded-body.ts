import type { Coding } from '../http/content-coding.ts';

/** A body without its content coding, or why there is none: it is larger than the limit, or not what the coding says. */
export type DecodedBody = Uint8Array | 'too-large' | 'undecodable';

/** Removes the content coding of `body`, up to `limit` bytes of the result, and calls `done` once. */
export type DecodeBody = (
  coding: Coding,
  body: Uint8Array,
  limit: number,
  done: (decoded: DecodedBody) => void,
) => void;
