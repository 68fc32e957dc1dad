import { type LogPiece, readLogFile } from './log-files.ts';

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

/** Reads one of several logs, from line to line in the order of the log. */
class LogCursor {
  readonly file: string;
  /** Comparable time of the next line; that of the line before it when it has none. */
  time = 0;
  /** Bytes of the file read so far, before decompression. */
  read = 0;
  private readonly pieces: AsyncIterator<LogPiece, unknown>;
  private bytes: Uint8Array = new Uint8Array(0);
  private at = 0;

  constructor(file: string, pieces: AsyncIterable<LogPiece>) {
    this.file = file;
    this.pieces = pieces[Symbol.asyncIterator]();
  }

  /** Moves to the next line; false when it has to be read first. */
  advance(): boolean {
    if (this.at === this.bytes.length) return false;
    this.time = lineTime(this.bytes, this.at, lineEnd(this.bytes, this.at)) ?? this.time;
    return true;
  }

  /** Reads the next line; false at the end of the log. What `take` returned is not valid any more. */
  async fill(): Promise<boolean> {
    while (!this.advance()) {
      const { value, done } = await this.pieces.next();
      if (done === true) return false;
      this.bytes = value.bytes;
      this.read = value.read;
      this.at = 0;
    }
    return true;
  }

  /** Takes the next line and those behind it up to a time; without one, all that was read. Lines without a time come along. */
  take(until: number | undefined): Uint8Array {
    const start = this.at;
    if (until === undefined) this.at = this.bytes.length;
    else
      do this.at = lineEnd(this.bytes, this.at);
      while (this.at < this.bytes.length && this.isUpTo(until));
    return this.bytes.subarray(start, this.at);
  }

  /** Closes the log. */
  async close(): Promise<void> {
    await this.pieces.return?.();
  }

  private isUpTo(until: number): boolean {
    const time = lineTime(this.bytes, this.at, lineEnd(this.bytes, this.at));
    return time === undefined || time <= until;
  }
}

const BRACE = 0x7b;
const FEED = 0x0a;
const MARK = new TextEncoder().encode('"time":"');
/** Bytes behind the first brace of a line in which its time begins: the first member of an entry, the second of a process line. */
const WITHIN = 64;
/** `2026-11-22T07:00:00.000Z`. */
const LENGTH = 24;

/** Returns the offset after the line that begins at `start`. */
function lineEnd(bytes: Uint8Array, start: number): number {
  const feed = bytes.indexOf(FEED, start);
  return feed === -1 ? bytes.length : feed + 1;
}

/**
 * Reads the time of the line from `start` up to `end` as a number to compare: later times are larger. Undefined for a line without
 * one. Text before the first brace, such as a container's own time stamp, is skipped.
 */
export function lineTime(bytes: Uint8Array, start: number, end: number): number | undefined {
  const brace = bytes[start] === BRACE ? start : start + bytes.subarray(start, end).indexOf(BRACE);
  if (brace < start) return undefined;
  const last = Math.min(brace + WITHIN, end - MARK.length - LENGTH);
  for (let at = brace + 1; at <= last; at += 1)
    if (isMark(bytes, at)) return comparable(bytes, at + MARK.length);
  return undefined;
}

function isMark(bytes: Uint8Array, at: number): boolean {
  for (let k = 0; k < MARK.length; k += 1) if (bytes[at + k] !== MARK[k]) return false;
  return true;
}

/** Milliseconds of a calendar whose months all have 31 days: in the order of the times, without a date to construct. */
function comparable(bytes: Uint8Array, at: number): number | undefined {
  const day = (number(bytes, at, 4) * 12 + number(bytes, at + 5, 2)) * 31 + number(bytes, at + 8, 2);
  const second =
    (number(bytes, at + 11, 2) * 60 + number(bytes, at + 14, 2)) * 60 + number(bytes, at + 17, 2);
  const time = (day * 86_400 + second) * 1000 + number(bytes, at + 20, 3);
  return Number.isNaN(time) ? undefined : time;
}

function number(bytes: Uint8Array, at: number, digits: number): number {
  let value = 0;
  for (let k = at; k < at + digits; k += 1) {
    const digit = (bytes[k] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}
