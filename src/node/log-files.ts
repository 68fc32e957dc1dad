import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A piece of a log: whole lines, one character a byte. */
export interface LogPiece {
  readonly text: string;
  /** Bytes of the file, packed or not, read so far. */
  readonly read: number;
}

/** Bytes read at once. Two pieces are in memory at a time, however large the file is. */
const PIECE = 1024 * 1024;
/** Bytes of a line beyond which it is cut: no entry is so long. */
const LONGEST = 16 * 1024 * 1024;

/** Reads a log file piece by piece; one that begins like gzip is unpacked. `-` is stdin. */
export async function* readLogFile(path: string): AsyncGenerator<LogPiece> {
  if (path === '-') {
    yield* ofStream(process.stdin, () => 0);
    return;
  }
  if (await isGzip(path)) {
    const file = createReadStream(path, { highWaterMark: PIECE });
    const unpacked = createGunzip({ chunkSize: PIECE });
    file.on('error', (error) => unpacked.destroy(error)).pipe(unpacked);
    yield* ofStream(unpacked, () => file.bytesRead);
    return;
  }
  yield* ofPlainFile(path);
}

/** Bytes of files, for progress; what has no size counts as nothing. */
export async function sizeOfFiles(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (path === '-' ? 0 : (await stat(path)).size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The rest of a line stays in the buffer and the next bytes are read behind it: nothing is joined. */
async function* ofPlainFile(path: string): AsyncGenerator<LogPiece> {
  const handle = await open(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(PIECE);
    let kept = 0;
    let read = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, kept, buffer.length - kept, null);
      read += bytesRead;
      const end = kept + bytesRead;
      if (bytesRead === 0) {
        if (end > 0) yield { text: buffer.toString('latin1', 0, end), read };
        return;
      }
      const line = buffer.subarray(0, end).lastIndexOf(0x0a) + 1;
      if (line > 0) yield { text: buffer.toString('latin1', 0, line), read };
      kept = end - line;
      buffer.copyWithin(0, line, end);
      if (kept < buffer.length) continue;
      if (kept >= LONGEST) {
        kept = 0;
        continue;
      }
      const larger = Buffer.allocUnsafe(buffer.length * 2);
      buffer.copy(larger, 0, 0, kept);
      buffer = larger;
    }
  } finally {
    await handle.close();
  }
}

async function* ofStream(stream: Readable, read: () => number): AsyncGenerator<LogPiece> {
  let rest = '';
  for await (const chunk of stream) {
    const text: string =
      rest +
      (Buffer.isBuffer(chunk) ? chunk.toString('latin1') : Buffer.from(String(chunk)).toString('latin1'));
    const line = text.lastIndexOf('\n') + 1;
    if (line > 0) yield { text: text.slice(0, line), read: read() };
    rest = text.length - line > LONGEST ? '' : text.slice(line);
  }
  if (rest !== '') yield { text: rest, read: read() };
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
