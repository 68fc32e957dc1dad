import { LogCursor } from './log-cursor.ts';
import { readLogFile } from './log-files.ts';

/** Memory for chunks of all logs together, and the limits of a chunk, in bytes. */
const BUFFER_BYTES = 64 * 1024 * 1024;
const MIN_CHUNK_BYTES = 64 * 1024;
const MAX_CHUNK_BYTES = 1024 * 1024;

/**
 * Reads several logs as one, by the times of their lines, and gives `take` whole lines of one log each, with the bytes read of all
 * files so far, before decompression. The lines are valid during the call. Lines of one log keep their order, in which exchanges
 * ended. A log is opened when its first time is reached, so that memory grows with the replicas that write at once, not with files.
 */
export async function readMergedLogs(
  files: readonly string[],
  take: (lines: Uint8Array, file: string, read: number) => void,
): Promise<void> {
  const chunk = Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, Math.floor(BUFFER_BYTES / files.length)));
  const waiting = await byFirstTime(files);
  const open = new CursorHeap();
  let read = 0;
  const fill = async (cursor: LogCursor): Promise<void> => {
    const before = cursor.read;
    if (await filled(cursor)) open.add(cursor);
    read += cursor.read - before;
  };
  try {
    for (;;) {
      for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
        if (open.first !== undefined && next.time > open.first.time) break;
        waiting.pop();
        await fill(new LogCursor(next.file, readLogFile(next.file, chunk)));
      }
      const cursor = open.take();
      if (cursor === undefined) return;
      take(cursor.take(earlier(open.first?.time, waiting.at(-1)?.time)), cursor.file, read);
      if (cursor.advance()) open.add(cursor);
      else await fill(cursor);
    }
  } finally {
    for (let cursor = open.take(); cursor !== undefined; cursor = open.take()) await cursor.close();
  }
}

interface WaitingLog {
  readonly file: string;
  readonly time: number;
}

/** The logs by the time of their first line, the earliest last. Stdin, which cannot be read twice, is opened at once. */
async function byFirstTime(files: readonly string[]): Promise<WaitingLog[]> {
  const waiting: WaitingLog[] = [];
  for (const file of files) {
    if (file === '-' || files.length === 1) {
      waiting.push({ file, time: 0 });
      continue;
    }
    const cursor = new LogCursor(file, readLogFile(file, MIN_CHUNK_BYTES));
    await filled(cursor);
    waiting.push({ file, time: cursor.time });
    await cursor.close();
  }
  // Of logs that begin at once, the one named first comes first.
  return waiting.reverse().sort((one, other) => other.time - one.time);
}

/** Fills a cursor; an error names its log. */
async function filled(cursor: LogCursor): Promise<boolean> {
  try {
    return await cursor.fill();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new Error(`${cursor.file === '-' ? 'stdin' : cursor.file}: ${error.message}`, { cause: error });
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** Cursors by the time of their next line: a binary heap. */
class CursorHeap {
  private readonly cursors: LogCursor[] = [];

  get first(): LogCursor | undefined {
    return this.cursors[0];
  }

  add(cursor: LogCursor): void {
    let at = this.cursors.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const parent = this.cursors[above];
      if (parent === undefined || parent.time <= cursor.time) break;
      this.cursors[at] = parent;
      at = above;
    }
    this.cursors[at] = cursor;
  }

  take(): LogCursor | undefined {
    const first = this.cursors[0];
    const last = this.cursors.pop();
    if (last === undefined || last === first) return first;
    let at = 0;
    for (;;) {
      const left = at * 2 + 1;
      const [one, other] = [this.cursors[left], this.cursors[left + 1]];
      const smaller = other !== undefined && one !== undefined && other.time < one.time ? left + 1 : left;
      const child = this.cursors[smaller];
      if (child === undefined || child.time >= last.time) break;
      this.cursors[at] = child;
      at = smaller;
    }
    this.cursors[at] = last;
    return first;
  }
}
