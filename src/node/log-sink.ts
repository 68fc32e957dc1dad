import { fstatSync, openSync, write } from 'node:fs';
import { Socket } from 'node:net';

/** Where lines go. Writing never waits, never throws, and never holds more than `limit` bytes. */
export interface LogSink {
  write(line: string): void;
  /** Lines that were lost, since the start. */
  readonly dropped: number;
  /** Waits until everything is written, or so many milliseconds; whatever is left then is lost. */
  flush(milliseconds: number): Promise<void>;
}

/** What a sink hears of its own trouble. */
export interface LogSinkOptions {
  /** Bytes of lines that wait for a slow reader. */
  readonly limit: number;
  /** Told once when lines begin to be lost, and why. */
  readonly told: (trouble: string) => void;
}

/** Milliseconds for which lines are gathered into one write. */
const gather = 10;
/** Bytes that are written at once without gathering more. */
const batch = 64 * 1024;
/** Milliseconds until a disk that was full is tried again. */
const retry = 1000;

/** Opens a sink on a file that is appended to, or on a file descriptor such as 1. */
export function openLogSink(target: string | number, options: LogSinkOptions): LogSink {
  const descriptor = typeof target === 'string' ? openSync(target, 'a') : target;
  return new QueueSink(writerOf(descriptor), options);
}

/** Writes bytes and calls back with an error, or with how many were written. */
type Writer = (bytes: Buffer, done: (error: Error | null, written: number) => void) => void;

/**
 * A pipe is written without a thread: a write to one whose reader is stuck would hold a thread of the pool for ever, and
 * with it the end of the process. Files and terminals have no other way.
 */
function writerOf(descriptor: number): Writer {
  const kind = fstatSync(descriptor);
  if (!kind.isFIFO() && !kind.isSocket()) {
    return (bytes, done) => write(descriptor, bytes, 0, bytes.length, null, done);
  }
  const socket = new Socket({ fd: descriptor, readable: false, writable: true });
  socket.on('error', () => {});
  socket.unref();
  return (bytes, done) => {
    socket.write(bytes, (error) => done(error ?? null, bytes.length));
  };
}

class QueueSink implements LogSink {
  dropped = 0;
  private readonly writer: Writer;
  private readonly options: LogSinkOptions;
  private lines: string[] = [];
  private size = 0;
  private writing = false;
  private troubled = false;
  private ended = false;
  private timer: NodeJS.Timeout | undefined = undefined;
  private waiting: (() => void)[] = [];

  constructor(writer: Writer, options: LogSinkOptions) {
    this.writer = writer;
    this.options = options;
  }

  write(line: string): void {
    if (this.ended || this.size + line.length > this.options.limit) {
      this.lose(1, 'the reader of the log is too slow');
      return;
    }
    this.lines.push(line);
    this.size += line.length;
    if (this.writing) return;
    if (this.size >= batch) this.next();
    else this.timer ??= setTimeout(writeNext, gather, this);
  }

  flush(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, milliseconds);
      this.waiting.push(() => {
        clearTimeout(deadline);
        resolve();
      });
      this.next();
    });
  }

  /** Writes what there is. */
  next(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.writing) return;
    if (this.lines.length === 0) {
      for (const done of this.waiting.splice(0)) done();
      return;
    }
    const count = this.lines.length;
    const bytes = Buffer.from(this.lines.join(''), 'utf8');
    this.lines = [];
    this.size = 0;
    this.writing = true;
    this.put(bytes, count);
  }

  private put(bytes: Buffer, count: number): void {
    this.writer(bytes, (error, written) => {
      if (error === null && written < bytes.length) {
        this.put(bytes.subarray(written), count);
        return;
      }
      const code = error !== null && 'code' in error ? String(error.code) : '';
      if (code === 'EAGAIN' || code === 'EINTR') {
        setTimeout(() => this.put(bytes, count), gather);
        return;
      }
      this.writing = false;
      if (error === null) {
        this.troubled = false;
        this.next();
        return;
      }
      this.fail(code, count);
    });
  }

  private fail(code: string, count: number): void {
    // Nobody will ever read a broken pipe again; a full disk may have room later.
    this.ended =
      code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_DESTROYED' || code === 'EBADF';
    this.lose(count, this.ended ? 'the reader of the log is gone' : `the log cannot be written (${code})`);
    if (this.ended) {
      this.lose(this.lines.length, '');
      this.lines = [];
      this.size = 0;
    }
    for (const done of this.waiting.splice(0)) done();
    if (this.lines.length > 0) this.timer ??= setTimeout(writeNext, retry, this);
  }

  private lose(count: number, why: string): void {
    this.dropped += count;
    if (this.troubled || count === 0) return;
    this.troubled = true;
    this.options.told(`${why}; lines are dropped, and counted`);
  }
}

function writeNext(sink: QueueSink): void {
  sink.next();
}
