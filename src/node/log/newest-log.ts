import { stat } from 'node:fs/promises';
import type { LineTally } from '../../report/tally/tally-lines.ts';
import { rotatedLogs } from './find-entry.ts';
import { readLogFile } from './log-files.ts';

/** Maximum bytes of a log that are read for operators, the newest ones: about 2 s of work. */
export const LOG_BYTES = 256 * 1024 * 1024;

/** Assumed ratio of a packed file's unpacked size to its own. One that may exceed the rest of the limit is unpacked to find its size. */
const PACKING = 10;
/** Multiple of the limit beyond which a file is not even unpacked. */
const UNPACKED = 4;

/** Reads the newest lines of a log file and the rotated ones beside it, at most `most` bytes of them, the oldest first. */
export async function readNewest(
  logFile: string,
  most: number,
  lines: Pick<LineTally, 'begin' | 'add'>,
): Promise<{ readonly bytesRead: number; readonly isWhole: boolean }> {
  const { parts, bytesRead, isWhole } = await newestParts([logFile, ...(await rotatedLogs(logFile))], most);
  for (const { file, start } of parts) {
    lines.begin(file);
    // A packed file has no positions, so its beginning is unpacked and left out.
    let left = isPacked(file) ? start : 0;
    for await (const { bytes } of readLogFile(file, undefined, start)) {
      left -= bytes.length;
      if (left < 0) lines.add(bytes, file);
    }
  }
  return { bytesRead, isWhole };
}

/** Returns the newest files that fit into `most` bytes, the oldest first, and the end of the next one. */
async function newestParts(
  files: readonly string[],
  most: number,
): Promise<{
  readonly parts: readonly { readonly file: string; readonly start: number }[];
  /** Bytes of these parts as stored. */
  readonly bytesRead: number;
  readonly isWhole: boolean;
}> {
  const parts: { readonly file: string; readonly start: number }[] = [];
  let left = most;
  let bytesRead = 0;
  for (const file of files) {
    const size = await stat(file).then(
      (one) => one.size,
      () => 0,
    );
    if (size === 0) continue;
    const bytes = isPacked(file) ? await unpackedSize(file, size * PACKING, left, most) : size;
    if (left === 0 || bytes === undefined) return { parts, bytesRead, isWhole: false };
    const start = Math.max(0, bytes - left);
    parts.unshift({ file, start });
    bytesRead += Math.ceil(size * (1 - start / bytes));
    if (start > 0) return { parts, bytesRead, isWhole: false };
    left -= bytes;
  }
  return { parts, bytesRead, isWhole: true };
}

function isPacked(file: string): boolean {
  return /\.(?:gz|zst)$/.test(file);
}

/** Returns a packed file's unpacked size: `about` if that fits, else the real one; undefined if it is certainly too large. */
async function unpackedSize(
  file: string,
  about: number,
  left: number,
  most: number,
): Promise<number | undefined> {
  if (about <= left) return about;
  if (left === 0 || about > UNPACKED * most) return undefined;
  let size = 0;
  for await (const { bytes } of readLogFile(file)) size += bytes.length;
  return size;
}
