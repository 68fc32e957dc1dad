import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A chunk of a log. */
export interface LogPiece {
  /** Whole lines. Valid only until the next chunk is requested, because the buffer is reused. */
  readonly bytes: Buffer;
  /** Bytes of the file read so far, before decompression. */
  readonly read: number;
}

/** Bytes per read. Two chunks are in memory at a time, however large the file is. */
const CHUNK_BYTES = 1024 * 1024;
/** Maximum line length in bytes; longer lines are cut, because no entry is that long. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Reads a log file chunk by chunk and decompresses gzip, which it detects by its first bytes. `-` is stdin. */
export async function* readLogFile(path: string): AsyncGenerator<LogPiece> {
  if (path === '-') {
    yield* ofStream(process.stdin, () => 0);
    return;
  }
  if (await isGzip(path)) {
    const file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
    const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
    file.on('error', (error) => gunzip.destroy(error)).pipe(gunzip);
    yield* ofStream(gunzip, () => file.bytesRead);
    return;
  }
  yield* ofPlainFile(path);
}

/** Total size of files in bytes, for progress; an input without a size counts as 0. */
export async function sizeOfFiles(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (path === '-' ? 0 : (await stat(path)).size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** An incomplete line stays in the buffer and the next bytes are read behind it, so nothing is concatenated. */
async function* ofPlainFile(path: string): AsyncGenerator<LogPiece> {
  const handle = await open(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let carried = 0;
    let read = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, carried, buffer.length - carried, null);
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

async function isGzip(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}
