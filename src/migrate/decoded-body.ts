import type { Coding } from '../http/content-coding.ts';
import type { WorkMemory } from '../json/work-memory.ts';

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
