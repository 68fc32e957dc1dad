import { open } from 'node:fs/promises';
import type { Entry } from '../../rewrite-log/entry.ts';
import { readEntry } from '../../rewrite-log/read-entry.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Maximum bytes to read from the end of the log: a second's work, while others wait for nothing. */
const MAX_BYTES = 256 * CHUNK_BYTES;

/**
 * Finds the newest entry of a request in a log file, from its end backwards within 256 MiB. Undefined when it is not there, or the
 * file cannot be read.
 */
export async function findLoggedEntry(path: string, requestId: string): Promise<Entry | undefined> {
  const sign = Buffer.from(`"requestId":${asciiJson(requestId)}`);
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    let { size: end } = await handle.stat();
    const least = Math.max(0, end - MAX_BYTES);
    /** The beginning of a line whose start is in the next chunk to read. */
    let rest = Buffer.alloc(0);
    while (end > least) {
      const start = Math.max(least, end - CHUNK_BYTES);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
      const text = Buffer.concat([buffer.subarray(0, bytesRead), rest]);
      // Before the first line feed is the end of a line that begins earlier.
      const first = start === 0 ? 0 : text.indexOf(0x0a) + 1;
      const found = lastEntry(text.subarray(first), sign, requestId);
      if (found !== undefined) return found;
      rest = text.subarray(0, first).length > CHUNK_BYTES ? Buffer.alloc(0) : text.subarray(0, first);
      end = start;
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

function lastEntry(lines: Buffer, sign: Buffer, requestId: string): Entry | undefined {
  for (let at = lines.lastIndexOf(sign); at !== -1; at = at === 0 ? -1 : lines.lastIndexOf(sign, at - 1)) {
    const start = lines.lastIndexOf(0x0a, at) + 1;
    const feed = lines.indexOf(0x0a, at);
    const entry = entryIn(lines.toString('utf8', start, feed === -1 ? lines.length : feed));
    if (entry?.requestId === requestId) return entry;
  }
  return undefined;
}

function entryIn(line: string): Entry | undefined {
  try {
    return readEntry(JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** The text as the log writes it: every character beyond ASCII is escaped. */
function asciiJson(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
