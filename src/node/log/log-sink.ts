import { close, closeSync, fstatSync, openSync, readSync, write, writeSync } from 'node:fs';
import { Socket } from 'node:net';

/** Lines on their way to the log. */
export interface LogQueue {
  /** Lines lost since the start. */
  readonly dropped: number;
  /** The last of them, in milliseconds since 1970; undefined without any. */
  readonly droppedAt?: number | undefined;
  /** Waits until everything is written, at most for some milliseconds; lines not written by then are lost. */
  flush(milliseconds: number): Promise<void>;
  /**
   * Reopens the file after it was renamed (logrotate's `create`); no line is lost. False if it is not a regular file. If the path cannot
   * be opened, it throws the kernel's error and keeps the old file.
   */
  reopen(): boolean;
}

/** A destination for lines. Writing never waits, never throws, and never buffers more than `limit` bytes. */
export interface LogSink extends LogQueue {
  write(line: string): void;
  /** Writes an encoded line in parts, which are copied. */
  writeEncoded(parts: readonly Uint8Array[]): void;
}

/** Limit and error handler of a sink. */
export interface LogSinkOptions {
  /** Maximum bytes of lines buffered for a slow reader. */
  readonly limit: number;
  /** Called with the reason once lines begin to be lost. */
  readonly onNotice: (trouble: string) => void;
}

/** The byte that ends a line. */
const FEED = 0x0a;
/** Milliseconds for which lines are gathered into one write. */
const GATHER_MS = 10;
/** Bytes for a file that are written at once without gathering more: each write wakes a thread. */
const FILE_BATCH_BYTES = 128 * 1024;
/** The same for a pipe: it holds 64 KiB on Linux, so that this fits into one write. */
const PIPE_BATCH_BYTES = 48 * 1024;
/** Room on a page for the line that completes a batch. */
const LAST_LINE_BYTES = 32 * 1024;
/** Milliseconds before writing to a full disk is retried. */
const RETRY_MS = 1000;

/** Opens a sink that appends to a file, or writes to a file descriptor such as 1. */
export function openLogSink(target: string | number, options: LogSinkOptions): LogSink {
  return new QueueSink(openTarget(target), options);
}

/** Permission bits of a new log file: paths and client hashes are private. */
const LOG_MODE = 0o600;

interface Target {
  readonly writer: Writer;
  /** Bytes that are written at once without gathering more. */
  readonly batch: number;
  /** Opens the same path again; undefined for anything but a regular file. */
  readonly openAgain: (() => Target) | undefined;
  readonly close: () => void;
}

function openTarget(target: string | number): Target {
  const descriptor = typeof target === 'string' ? openSync(target, 'a', LOG_MODE) : target;
  const kind = fstatSync(descriptor);
  const isFile = typeof target === 'string' && kind.isFile();
  const isPipe = kind.isFIFO() || kind.isSocket();
  if (isFile && kind.size > 0) endLastLine(target, descriptor, kind.size);
  return {
    writer: isPipe ? pipeWriter(descriptor) : fileWriter(descriptor),
    batch: isPipe ? PIPE_BATCH_BYTES : FILE_BATCH_BYTES,
    openAgain: isFile ? () => openTarget(target) : undefined,
    close: () => close(descriptor, () => {}),
  };
}

/** Ends a line that was cut off by a full disk or a killed process, so that the next line is not lost with it. */
function endLastLine(path: string, descriptor: number, size: number): void {
  try {
    const reader = openSync(path, 'r');
    const last = Buffer.alloc(1);
    try {
      readSync(reader, last, 0, 1, size - 1);
    } finally {
      closeSync(reader);
    }
    if (last[0] !== FEED) writeSync(descriptor, '\n');
  } catch {
    // For a file without read permission, or while the disk is full, only the next line is at risk.
  }
}

/** Writes bytes and calls back with an error, or with the number of bytes written. */
type Writer = (bytes: Buffer, done: (error: Error | null, written: number) => void) => void;

function fileWriter(descriptor: number): Writer {
  return (bytes, done) => write(descriptor, bytes, 0, bytes.length, null, done);
}

/**
 * Writes to a pipe without a thread: with a stuck reader, a write would block a thread of the pool forever, and so the exit of the
 * process. Files and terminals have no alternative.
 */
function pipeWriter(descriptor: number): Writer {
  const socket = new Socket({ fd: descriptor, readable: false, writable: true });
  socket.on('error', () => {});
  socket.unref();
  return (bytes, done) => {
    socket.write(bytes, (error) => done(error ?? null, bytes.length));
  };
}

/** Maximum number of pages written at once to catch up. */
const MAX_BUFFERS = 16;

/** Lines as bytes, one after the other. */
class Page {
  readonly bytes: Buffer;
  used = 0;
  lines = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
  }

  /** True if a line fits with any characters. */
  hasRoom(line: string): boolean {
    return this.used + line.length * 3 <= this.bytes.length;
  }

  add(line: string): void {
    this.used += this.bytes.write(line, this.used);
    this.lines += 1;
  }

  addEncoded(part: Uint8Array): void {
    this.bytes.set(part, this.used);
    this.used += part.length;
  }

  clear(): void {
    this.used = 0;
    this.lines = 0;
  }
}

class QueueSink implements LogSink {
  dropped = 0;
  droppedAt: number | undefined = undefined;
  private target: Target;
  /** Replaces `target` after the current write, so that no batch is split over two files. */
  private renewed: Target | undefined = undefined;
  private readonly options: LogSinkOptions;
  /** Full pages, the oldest first. */
  private full: Page[] = [];
  private page: Page;
  /** A written page that can be reused. */
  private spare: Page | undefined = undefined;
  /** Bytes not yet written. */
  private size = 0;
  private writing: readonly Page[] | undefined = undefined;
  /** True while the target ends within a line after a failed write. */
  private isWithinLine = false;
  private isTroubleReported = false;
  private ended = false;
  private timer: NodeJS.Timeout | undefined = undefined;
  private waiting: (() => void)[] = [];

  constructor(target: Target, options: LogSinkOptions) {
    this.target = target;
    this.options = options;
    this.page = new Page(this.pageSize);
  }

  /** Bytes of a page of lines. */
  private get pageSize(): number {
    return this.target.batch + LAST_LINE_BYTES;
  }

  write(line: string): void {
    if (!this.hasRoom(line.length)) return;
    if (!this.page.hasRoom(line)) this.turn(line.length * 3);
    const before = this.page.used;
    this.page.add(line);
    this.size += this.page.used - before;
    if (this.writing === undefined) this.gather();
  }

  writeEncoded(parts: readonly Uint8Array[]): void {
    let length = 0;
    for (const part of parts) length += part.length;
    if (!this.hasRoom(length)) return;
    if (this.page.used + length > this.page.bytes.length) this.turn(length);
    for (const part of parts) this.page.addEncoded(part);
    this.page.lines += 1;
    this.size += length;
    if (this.writing === undefined) this.gather();
  }

  /** False for a line that is dropped. */
  private hasRoom(length: number): boolean {
    if (!this.ended && this.size + length <= this.options.limit) return true;
    this.drop(1, 'the reader of the log is too slow');
    return false;
  }

  reopen(): boolean {
    const reopened = this.target.openAgain?.();
    if (reopened === undefined) return false;
    this.renewed?.close();
    this.renewed = reopened;
    this.next();
    return true;
  }

  flush(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        this.abandon('the reader of the log is too slow');
        resolve();
      }, milliseconds);
      this.waiting.push(() => {
        clearTimeout(deadline);
        resolve();
      });
      this.next();
    });
  }

  /** Writes the buffered lines. */
  private next(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.writing !== undefined) return;
    this.renew();
    if (this.size === 0) {
      for (const done of this.waiting.splice(0)) done();
      return;
    }
    if (this.full.length < MAX_BUFFERS && this.page.lines > 0) this.turn(0);
    const pages = this.full.splice(0, MAX_BUFFERS);
    this.writing = pages;
    this.put(bytesOf(pages), 0);
  }

  private renew(): void {
    if (this.renewed === undefined) return;
    this.target.close();
    this.target = this.renewed;
    this.renewed = undefined;
    this.isWithinLine = false;
  }

  /** Starts a new page with room for `least` bytes. */
  private turn(least: number): void {
    if (this.page.lines > 0) this.full.push(this.page);
    const { spare } = this;
    if (spare !== undefined && least <= spare.bytes.length) {
      this.spare = undefined;
      this.page = spare;
    } else {
      this.page = new Page(Math.max(this.pageSize, least));
    }
  }

  /** Waits for more lines, unless there are enough or `flush` waits: a write takes longer than many lines. */
  private gather(): void {
    if (this.size >= this.target.batch || this.waiting.length > 0) this.next();
    else if (this.size > 0) this.timer ??= setTimeout(QueueSink.writeNext, GATHER_MS, this);
  }

  /** Writes the current pages from an offset on; begins a new line after one that broke off. */
  private put(bytes: Buffer, from: number): void {
    const isContinued = from === 0 && this.isWithinLine;
    const rest = bytes.subarray(from);
    this.target.writer(isContinued ? Buffer.concat([LINE_END, rest]) : rest, (error, count) => {
      if (this.ended) return;
      const written = error === null ? Math.max(0, count - (isContinued ? LINE_END.length : 0)) : 0;
      const to = from + written;
      if (error === null && count > 0) this.isWithinLine = to > 0 && bytes[to - 1] !== LINE_END[0];
      if (error === null && to < bytes.length) {
        this.put(bytes, to);
        return;
      }
      const code = error !== null && 'code' in error ? String(error.code) : '';
      if (code === 'EAGAIN' || code === 'EINTR') {
        setTimeout(() => this.put(bytes, from), GATHER_MS);
        return;
      }
      const pages = this.writing ?? [];
      this.writing = undefined;
      this.renew();
      for (const page of pages) this.size -= page.used;
      if (error !== null) {
        this.fail(code, lineEnds(rest));
        return;
      }
      this.spare = pages.find((page) => page.bytes.length === this.pageSize);
      this.spare?.clear();
      if (this.size < this.target.batch) this.isTroubleReported = false;
      this.gather();
    });
  }

  private fail(code: string, count: number): void {
    this.drop(count, isGone(code) ? 'the reader of the log is gone' : `the log cannot be written (${code})`);
    // A broken pipe never gets another reader; a full disk may have space later.
    if (isGone(code)) this.abandon('');
    for (const done of this.waiting.splice(0)) done();
    if (this.size > 0) this.timer ??= setTimeout(QueueSink.writeNext, RETRY_MS, this);
  }

  /** Stops writing, and drops all queued and unfinished lines. */
  private abandon(why: string): void {
    const { full, page, writing = [] } = this;
    this.ended = true;
    this.drop(page.lines + linesOf(full) + linesOf(writing), why);
    this.full = [];
    page.clear();
    this.size = 0;
  }

  private drop(count: number, why: string): void {
    if (count === 0) return;
    this.dropped += count;
    this.droppedAt = Date.now();
    if (this.isTroubleReported) return;
    this.isTroubleReported = true;
    this.options.onNotice(`${why}; lines are dropped, and counted`);
  }

  private static writeNext(this: void, sink: QueueSink): void {
    sink.next();
  }
}

const LINE_END = Buffer.from('\n');

function lineEnds(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => (byte === LINE_END[0] ? sum + 1 : sum), 0);
}

function isGone(code: string): boolean {
  return code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_DESTROYED' || code === 'EBADF';
}

/** The bytes of all pages, copied only if there are several, because the reader was slow. */
function bytesOf(pages: readonly Page[]): Buffer {
  const [first = new Page(0)] = pages;
  if (pages.length === 1) return first.bytes.subarray(0, first.used);
  return Buffer.concat(pages.map(({ bytes, used }) => bytes.subarray(0, used)));
}

function linesOf(pages: readonly Page[]): number {
  return pages.reduce((sum, { lines }) => sum + lines, 0);
}
