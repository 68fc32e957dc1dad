import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { quoted } from '../../rewrite-log/entry-line.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { parseEntry, readLogFile } from './log-files.ts';
import { LogLines } from './log-lines.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Maximum bytes to read from all files together, uncompressed: about a second of work. */
const MAX_BYTES = 256 * CHUNK_BYTES;

/**
 * Finds the newest entry of a request in a log file and in the rotated ones beside it, from the newest line backwards within 256
 * MiB. Undefined if it is not there; skips files that it cannot read.
 */
export async function findLoggedEntry(path: string, requestId: string): Promise<Entry | undefined> {
  const search = new EntrySearch(requestId);
  let left = MAX_BYTES;
  for (const file of [path, ...(await rotatedLogs(path))]) {
    if (left <= 0) return undefined;
    const result = PACKED.test(file)
      ? await findInPacked(file, search, left)
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
    // The bytes before the first line feed end a line that begins in an earlier chunk.
    const first = start === 0 ? 0 : text.indexOf(0x0a) + 1;
    const entry = search.lastIn(text.subarray(first));
    if (entry !== undefined) return { entry, bytes: size - start };
    rest = text.subarray(0, first).length > CHUNK_BYTES ? Buffer.alloc(0) : text.subarray(0, first);
    end = start;
  }
  return { bytes: size - least };
}

/** An entry, if found, and the bytes read for it. */
interface SearchResult {
  readonly entry?: Entry | undefined;
  readonly bytes: number;
}

/** Finds one request's entry among log lines. */
class EntrySearch {
  private readonly requestId: string;
  private readonly sign: Buffer;

  constructor(requestId: string) {
    this.requestId = requestId;
    // Without quotation marks, which a collector may have escaped.
    this.sign = Buffer.from(quoted(requestId).slice(1, -1));
  }

  /** The request's last entry in whole lines. */
  lastIn(lines: Buffer): Entry | undefined {
    const { sign, requestId } = this;
    for (let at = lines.lastIndexOf(sign); at !== -1; at = at === 0 ? -1 : lines.lastIndexOf(sign, at - 1)) {
      const start = lines.lastIndexOf(0x0a, at) + 1;
      const feed = lines.indexOf(0x0a, at);
      const reader = new LogLines();
      const read = reader.add(lines.subarray(start, feed === -1 ? lines.length : feed + 1));
      const texts = `${read.toString()}${reader.end().toString()}`.split('\n');
      const entry = texts.map(parseEntry).findLast((one) => one?.requestId === requestId);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }
}

/**
 * Finds a request's last entry in a compressed log, which can only be read forwards; `maxBytes` limits the uncompressed bytes. If the
 * file is longer or damaged, only the part that was read counts.
 */
async function findInPacked(path: string, search: EntrySearch, maxBytes: number): Promise<SearchResult> {
  let size = 0;
  let entry: Entry | undefined;
  try {
    for await (const { bytes } of readLogFile(path)) {
      size += bytes.length;
      entry = search.lastIn(bytes) ?? entry;
      if (size >= maxBytes) break;
    }
  } catch {
    // The part that was read counts.
  }
  return { entry, bytes: size };
}

/** Maximum number of rotated files. */
const MAX_FILES = 64;

/**
 * Lists the rotated files of a log beside it, the newest first: its name with a number or a date, as in `rewrite.log.1`,
 * `rewrite.log.2.gz`, `rewrite.log-20261122.zst`. Links are not followed.
 */
export async function rotatedLogs(path: string): Promise<readonly string[]> {
  const folder = dirname(path);
  const name = basename(path);
  const names = await readdir(folder).catch(() => []);
  const rotated = names.filter((other) => other.startsWith(name) && ROTATED.test(other.slice(name.length)));
  const files = await Promise.all(
    rotated.map(async (file) => {
      const stats = await lstat(join(folder, file)).catch(() => undefined);
      return stats?.isFile() === true ? [{ file, modified: stats.mtimeMs }] : [];
    }),
  );
  return files
    .flat()
    .sort((one, other) => other.modified - one.modified)
    .slice(0, MAX_FILES)
    .map(({ file }) => join(folder, file));
}

const ROTATED = /^[.-]\d[\dT:_.-]*(?:\.(?:gz|zst))?$/;
const PACKED = /\.(?:gz|zst)$/;
