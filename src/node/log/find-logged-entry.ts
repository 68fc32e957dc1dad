import { type FileHandle, open } from 'node:fs/promises';
import type { Entry } from '../../rewrite-log/entry.ts';
import { EntrySearch, type SearchResult } from './entry-search.ts';
import { findInGzip } from './find-in-gzip.ts';
import { rotatedLogs } from './rotated-logs.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Maximum bytes to read, of all files together and uncompressed: a second's work, while others wait for nothing. */
const MAX_BYTES = 256 * CHUNK_BYTES;

/**
 * Finds the newest entry of a request in a log file and in the rotated ones beside it, from the newest line backwards within 256
 * MiB. Undefined when it is not there; files that cannot be read are passed over.
 */
export async function findLoggedEntry(path: string, requestId: string): Promise<Entry | undefined> {
  const search = new EntrySearch(requestId);
  let left = MAX_BYTES;
  for (const file of [path, ...(await rotatedLogs(path))]) {
    if (left <= 0) return undefined;
    const result = file.endsWith('.gz')
      ? await findInGzip(file, search, left)
      : await findInFile(file, search, left);
    if (result.entry !== undefined) return result.entry;
    left -= result.bytes;
  }
  return undefined;
}

async function findInFile(path: string, search: EntrySearch, maxBytes: number): Promise<SearchResult> {
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return { bytes: 0 };
  try {
    return await findBackwards(handle, search, maxBytes);
  } catch {
    return { bytes: 0 };
  } finally {
    await handle.close();
  }
}

async function findBackwards(
  handle: FileHandle,
  search: EntrySearch,
  maxBytes: number,
): Promise<SearchResult> {
  const { size } = await handle.stat();
  let end = size;
  const least = Math.max(0, end - maxBytes);
  /** The beginning of a line whose start is in the next chunk to read. */
  let rest = Buffer.alloc(0);
  while (end > least) {
    const start = Math.max(least, end - CHUNK_BYTES);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    const text = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
    // Before the first line feed is the end of a line that begins earlier.
    const first = start === 0 ? 0 : text.indexOf(0x0a) + 1;
    const entry = search.lastIn(text.subarray(first));
    if (entry !== undefined) return { entry, bytes: size - start };
    rest = text.subarray(0, first).length > CHUNK_BYTES ? Buffer.alloc(0) : text.subarray(0, first);
    end = start;
  }
  return { bytes: size - least };
}
