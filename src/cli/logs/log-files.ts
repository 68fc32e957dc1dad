import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress, type Gunzip, ZstdDecompress } from 'node:zlib';
import type { LogPiece } from './log-piece.ts';
import { unwrapLog } from './wrapped-log.ts';

/** Bytes per read by default. Two chunks are in memory at a time, however large the file is. */
const CHUNK_BYTES = 1024 * 1024;
/** Maximum line length in bytes; longer lines are cut, because no entry is that long. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Reads a log file chunk by chunk and decompresses gzip and Zstandard, which it detects by their first bytes. `-` is stdin, packed or
 * not. Lines are taken out of the records in which Cloudflare keeps them.
 */
export function readLogFile(path: string, chunkBytes = CHUNK_BYTES): AsyncGenerator<LogPiece> {
  return unwrapLog(readPacked(path, chunkBytes));
}

async function* readPacked(path: string, chunkBytes: number): AsyncGenerator<LogPiece> {
  if (path === '-') {
    yield* ofStdin(chunkBytes);
    return;
  }
  const unpack = unpacker(await firstBytes(path), chunkBytes);
  if (unpack === undefined) {
    yield* ofPlainFile(path, chunkBytes);
    return;
  }
  const file = createReadStream(path, { highWaterMark: chunkBytes });
  try {
    yield* unpacked(file, unpack);
  } finally {
    file.destroy();
  }
}

/** Total size of files in bytes, for progress; an input without a size counts as 0. */
export async function sizeOfFiles(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (path === '-' ? 0 : (await stat(path)).size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** An incomplete line stays in the buffer and the next bytes are read behind it, so nothing is concatenated. */
async function* ofPlainFile(path: string, chunkBytes: number): AsyncGenerator<LogPiece> {
  const handle = await open(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(chunkBytes);
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

/** The first chunk tells whether stdin is packed. */
async function* ofStdin(chunkBytes: number): AsyncGenerator<LogPiece> {
  await once(process.stdin, 'readable');
  const first: unknown = process.stdin.read();
  if (!Buffer.isBuffer(first)) return;
  process.stdin.unshift(first);
  const unpack = unpacker(first, chunkBytes);
  yield* unpack === undefined ? ofStream(process.stdin, () => 0) : unpacked(process.stdin, unpack);
}

/**
 * Decompresses a stream. Node unpacks every member of a gzip stream, but only the first frame of a Zstandard stream, and drops the
 * rest of the chunk: several frames are an error rather than a part of the log.
 */
async function* unpacked(
  packed: Readable & { readonly bytesRead: number },
  unpack: Gunzip | ZstdDecompress,
): AsyncGenerator<LogPiece> {
  packed.on('error', (error) => unpack.destroy(error)).pipe(unpack);
  try {
    yield* ofStream(unpack, () => packed.bytesRead);
  } catch (error) {
    if (error instanceof Error && error.message === 'Unknown frame descriptor')
      throw new Error(FRAMES, { cause: error });
    throw error;
  }
  if (unpack instanceof ZstdDecompress && unpack.bytesWritten < packed.bytesRead) throw new Error(FRAMES);
}

const FRAMES = 'there is more behind the first Zstandard frame; unpack it with zstd -dc';

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

/** The decompressor for data that begins with these bytes; undefined for plain text. */
function unpacker(first: Uint8Array, chunkSize: number): Gunzip | ZstdDecompress | undefined {
  if (startsWith(first, GZIP)) return createGunzip({ chunkSize });
  return startsWith(first, ZSTANDARD) ? createZstdDecompress({ chunkSize }) : undefined;
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
