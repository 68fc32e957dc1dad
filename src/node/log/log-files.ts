import { once } from 'node:events';
import { createReadStream, type ReadStream } from 'node:fs';
import { glob, open, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { createGunzip, createZstdDecompress, ZstdDecompress } from 'node:zlib';
import type { Entry } from '../../rewrite-log/entry.ts';
import { readEntry } from '../../rewrite-log/read-entry.ts';
import { LogLines } from './log-lines.ts';

/** Bytes per read by default. Two chunks are in memory at a time, for a file of any size. */
const CHUNK_BYTES = 1024 * 1024;
/** Maximum line length in bytes; longer lines are cut, because no entry is that long. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Reads a log file in chunks and decompresses gzip and Zstandard, which it detects by their first bytes. `-` is stdin, compressed or not.
 * Lines are the gateway's own, without text that a collector added (`LogLines`). `start` is the byte of a plain file to begin at, which
 * may be within a line.
 */
export function readLogFile(path: string, chunkBytes = CHUNK_BYTES, start = 0): AsyncGenerator<LogPiece> {
  return unwrapLog(readPacked(path, chunkBytes, start));
}

async function* readPacked(path: string, chunkBytes: number, start: number): AsyncGenerator<LogPiece> {
  if (await isPipe(path)) {
    yield* ofPipe(path === '-' ? process.stdin : createReadStream(path), chunkBytes);
    return;
  }
  const unpack = unpacker(await firstBytes(path), chunkBytes);
  if (unpack === undefined) yield* ofPlainFile(path, chunkBytes, start);
  else yield* unpacked(createReadStream(path, { highWaterMark: chunkBytes }), unpack);
}

/** True for stdin, and for a file without positions, such as `<(zcat …)` of a shell: it can be read once. */
async function isPipe(path: string): Promise<boolean> {
  return path === '-' || !(await stat(path)).isFile();
}

/** Total size of files in bytes, for progress; an input without a size counts as 0. */
export async function sizeOfFiles(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (path === '-' ? 0 : (await stat(path)).size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** An incomplete line stays in the buffer and the next bytes are read after it, so that nothing is concatenated. */
async function* ofPlainFile(path: string, chunkBytes: number, start: number): AsyncGenerator<LogPiece> {
  const handle = await open(path, 'r');
  try {
    let position = start;
    let buffer = Buffer.allocUnsafe(chunkBytes);
    let carried = 0;
    let read = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, carried, buffer.length - carried, position);
      position += bytesRead;
      read += bytesRead;
      const end = carried + bytesRead;
      if (bytesRead === 0) {
        if (end > 0) yield { bytes: buffer.subarray(0, end), read };
        return;
      }
      const line = buffer.subarray(0, end).lastIndexOf(0x0a) + 1;
      if (line > 0) yield { bytes: buffer.subarray(0, line), read };
      carried = end - line;
      buffer.copyWithin(0, line, end);
      if (carried < buffer.length) continue;
      if (carried >= MAX_LINE_BYTES) {
        carried = 0;
        continue;
      }
      const larger = Buffer.allocUnsafe(buffer.length * 2);
      buffer.copy(larger, 0, 0, carried);
      buffer = larger;
    }
  } finally {
    await handle.close();
  }
}

/** Reads a pipe, whose first chunk shows whether it is packed. */
async function* ofPipe(
  pipe: typeof process.stdin | ReadStream,
  chunkBytes: number,
): AsyncGenerator<LogPiece> {
  await once(pipe, 'readable');
  const first: unknown = pipe.read();
  if (!Buffer.isBuffer(first)) return;
  pipe.unshift(first);
  const unpack = unpacker(first, chunkBytes);
  yield* unpack === undefined ? ofStream(pipe, () => 0) : unpacked(pipe, unpack);
}

/**
 * Decompresses a stream. Node unpacks all members of a gzip stream, but only the first frame of a Zstandard stream; so several frames
 * are an error, rather than a silent loss of the rest.
 */
async function* unpacked(
  packed: Readable & { readonly bytesRead: number },
  unpack: Transform,
): AsyncGenerator<LogPiece> {
  packed.on('error', (error) => unpack.destroy(error)).pipe(unpack);
  try {
    yield* ofStream(unpack, () => packed.bytesRead);
  } catch (error) {
    if (error instanceof Error && error.message === 'Unknown frame descriptor')
      throw new Error(FRAMES, { cause: error });
    throw error;
  } finally {
    packed.destroy();
  }
  if (unpack instanceof ZstdDecompress && unpack.bytesWritten < packed.bytesRead) throw new Error(FRAMES);
}

const FRAMES = 'there is more after the first Zstandard frame; unpack it with zstd -dc';

async function* ofStream(stream: Readable, read: () => number): AsyncGenerator<LogPiece> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    const next = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    const bytes = rest.length === 0 ? next : Buffer.concat([rest, next]);
    const line = bytes.lastIndexOf(0x0a) + 1;
    if (line > 0) yield { bytes: bytes.subarray(0, line), read: read() };
    rest = bytes.length - line > MAX_LINE_BYTES ? Buffer.alloc(0) : Buffer.from(bytes.subarray(line));
  }
  if (rest.length > 0) yield { bytes: rest, read: read() };
}

/** The decompressor for data that begins with these bytes, or a decoder for UTF-16, as PowerShell writes it; undefined for plain text. */
function unpacker(first: Uint8Array, chunkSize: number): Transform | undefined {
  if (startsWith(first, GZIP)) return createGunzip({ chunkSize });
  if (startsWith(first, ZSTANDARD)) return createZstdDecompress({ chunkSize });
  if (startsWith(first, [0xff, 0xfe])) return wideDecoder('utf-16le');
  return startsWith(first, [0xfe, 0xff]) ? wideDecoder('utf-16be') : undefined;
}

function wideDecoder(encoding: 'utf-16le' | 'utf-16be'): Transform {
  const decoder = new TextDecoder(encoding);
  return new Transform({
    transform: (chunk: Buffer, _, done) => done(null, decoder.decode(chunk, { stream: true })),
    // Half a character at the end of a log that is being written.
    flush: (done) => done(null, decoder.decode()),
  });
}

/** RFC 1952, section 2.3.1; RFC 8878, section 3.1.1. */
const GZIP = [0x1f, 0x8b];
const ZSTANDARD = [0x28, 0xb5, 0x2f, 0xfd];

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}

async function firstBytes(path: string): Promise<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Extracts the gateway's lines from the records of collectors. */
async function* unwrapLog(pieces: AsyncIterable<LogPiece>): AsyncGenerator<LogPiece> {
  const lines = new LogLines();
  let read = 0;
  for await (const piece of pieces) {
    ({ read } = piece);
    yield { bytes: lines.add(piece.bytes), read };
  }
  yield { bytes: lines.end(), read };
}

/** A chunk of a log. */
export interface LogPiece {
  /** Whole lines. Valid only until the next chunk is requested, because the buffer is reused. */
  readonly bytes: Buffer;
  /** Bytes of the file read so far, before decompression. */
  readonly read: number;
}

/** Log files in the order of their arguments, or why an argument matches none. */
type LogSources = { readonly files: readonly string[] } | { readonly fault: string };

/**
 * Lists the log files that arguments name: files, `-` for stdin, folders with the logs below them, and glob patterns; stdin without
 * arguments, unless that is a terminal. A file that several arguments name, or a link to it, is listed once.
 */
export async function logSources(
  given: readonly string[],
  isTerminal = process.stdin.isTTY,
): Promise<LogSources> {
  if (given.length === 0 && isTerminal)
    return { fault: 'Name a log file, a folder of logs or a glob pattern, or pipe a log into the command.' };
  const files = new Map<string, string>();
  for (const argument of given.length === 0 ? ['-'] : given) {
    const found = await named(argument);
    if ('fault' in found) return found;
    for (const file of found.files) {
      // A shell's `<(…)` has no path of its own.
      const key = await realpath(file).catch(() => file);
      if (!files.has(key)) files.set(key, file);
    }
  }
  return { files: [...files.values()] };
}

/** Names of logs in a folder, including rotated and packed ones such as `rewrite.ndjson-20261122.gz`. */
const LOG_NAME = /\.(?:log|ndjson|jsonl)(?:[.-]|$)/;

const GLOB = /[*?[{]/;

async function named(argument: string): Promise<LogSources> {
  if (argument === '-') return { files: ['-'] };
  const stats = await stat(argument).catch(() => undefined);
  if (stats?.isDirectory() === true) return inFolder(argument);
  if (stats !== undefined) return { files: [argument] };
  if (!GLOB.test(argument)) return { fault: `The log cannot be read: there is no file ${argument}.` };
  const files: string[] = [];
  for await (const path of glob(argument)) if ((await stat(path)).isFile()) files.push(path);
  if (files.length === 0) return { fault: `No file matches ${argument}.` };
  return { files: files.sort() };
}

async function inFolder(folder: string): Promise<LogSources> {
  const below = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = below
    .filter((entry) => !entry.isDirectory() && LOG_NAME.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (files.length === 0)
    return { fault: `${folder} has no log: no file below it is named .log, .ndjson or .jsonl.` };
  return { files };
}

/** Finds one client's entries in whole log lines, without parsing other lines. */
export function entriesOfClient(bytes: Buffer, client: string, take: (entry: Entry) => void): void {
  const sign = `"client":"${client}`;
  let at = bytes.indexOf(sign);
  while (at !== -1) {
    const start = bytes.lastIndexOf(0x0a, at) + 1;
    const feed = bytes.indexOf(0x0a, at);
    const end = feed === -1 ? bytes.length : feed;
    const entry = parseEntry(bytes.toString('utf8', start, end));
    if (entry !== undefined) take(entry);
    at = bytes.indexOf(sign, end);
  }
}

/** Parses the entry in a log line, if there is one; skips text before the first brace. */
export function parseEntry(line: string): Entry | undefined {
  const brace = line.indexOf('{');
  if (brace === -1) return undefined;
  try {
    return readEntry(JSON.parse(line.slice(brace)));
  } catch {
    return undefined;
  }
}

/** Memory for chunks of all logs together, and the limits of a chunk, in bytes. */
const BUFFER_BYTES = 64 * 1024 * 1024;
const MIN_CHUNK_BYTES = 64 * 1024;
const MAX_CHUNK_BYTES = 1024 * 1024;

/**
 * Merges several logs by the times of their lines. It calls `take` with whole lines of one log, valid during the call, and the bytes read
 * from all files so far, before decompression. Lines of one log keep their order, in which exchanges ended. It opens a log when its first
 * time is reached, so that memory grows with the number of replicas that write at the same time, not with the number of files.
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

/** The logs by the time of their first line, the earliest last. Pipes, which cannot be read twice, are opened at once. */
async function byFirstTime(files: readonly string[]): Promise<WaitingLog[]> {
  const waiting: WaitingLog[] = [];
  for (const file of files) {
    if (files.length === 1 || (await isPipe(file))) {
      waiting.push({ file, time: 0 });
      continue;
    }
    const cursor = new LogCursor(file, readLogFile(file, MIN_CHUNK_BYTES));
    await filled(cursor);
    waiting.push({ file, time: cursor.time });
    await cursor.close();
  }
  // Among logs that begin at the same time, the first argument comes first.
  return waiting.reverse().sort((one, other) => other.time - one.time);
}

/** Fills a cursor; adds the log's name to errors. */
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
  /** Comparable time of the next line, or of an earlier one if that has none. */
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

  /** Moves to the next line; false when `fill` has to read it first. */
  advance(): boolean {
    if (this.at === this.bytes.length) return false;
    this.time = lineTime(this.bytes, this.at, lineEnd(this.bytes, this.at)) ?? this.time;
    return true;
  }

  /** Reads the next line, which invalidates earlier results of `take`; false at the end of the log. */
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

  /** Takes the next line and further ones up to a time, including lines without a time; without `until`, all that were read. */
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
/** Bytes after a line's first brace within which its time begins: it is an entry's first member, a process line's second. */
const WITHIN = 64;
/** `2026-11-22T07:00:00.000Z`. */
const LENGTH = 24;

/** Returns the offset after the line that begins at `start`. */
function lineEnd(bytes: Uint8Array, start: number): number {
  const feed = bytes.indexOf(FEED, start);
  return feed === -1 ? bytes.length : feed + 1;
}

/**
 * Reads the time of the line from `start` up to `end` as a number that grows with time; undefined for a line without one. Skips text
 * before the first brace, such as a container's time stamp.
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

/** Milliseconds in a calendar whose months all have 31 days: comparable, and faster than a `Date`. */
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
