import type { Coding } from '../http/content-coding.ts';

/** A body without its content coding, or why it cannot be decoded: it is larger than the limit, or does not match the coding. */
export type DecodedBody = Uint8Array | 'too-large' | 'undecodable';

/** Removes the content coding of `body`, up to `limit` decoded bytes, and calls `done` once. */
export type DecodeBody = (
  coding: Coding,
  body: Uint8Array,
  limit: number,
  done: (decoded: DecodedBody) => void,
) => void;
