import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { EntrySearch, SearchResult } from './entry-search.ts';

/** Maximum bytes of a line: a longer one is no entry. */
const MAX_LINE_BYTES = 1024 * 1024;

/** Bytes searched at once. */
const PIECE_BYTES = 256 * 1024;

/**
 * Finds the last entry of a request in a compressed log, read forwards, for nothing else is possible; `maxBytes` limits what it is
 * uncompressed. Of a file that is damaged or longer, the part that was read counts.
 */
export async function findInGzip(path: string, search: EntrySearch, maxBytes: number): Promise<SearchResult> {
  let bytes = 0;
  let entry: Entry | undefined;
  let rest: Buffer = Buffer.alloc(0);
  const searchLines = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      const text = Buffer.concat([rest, chunk]);
      const end = text.lastIndexOf(0x0a) + 1;
      entry = search.lastIn(text.subarray(0, end)) ?? entry;
      rest = text.length - end > MAX_LINE_BYTES ? Buffer.alloc(0) : text.subarray(end);
      if (bytes >= maxBytes) return;
    }
  };
  try {
    await pipeline(createReadStream(path), createGunzip({ chunkSize: PIECE_BYTES }), searchLines);
    entry = search.lastIn(rest) ?? entry;
  } catch {
    // The part that was read counts.
  }
  return { entry, bytes };
}
