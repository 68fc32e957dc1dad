import { open, stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** Milliseconds between two checks of a growing file. */
const POLL_INTERVAL_MS = 200;

/**
 * Yields the lines of a file as they are appended, from its end or its beginning; a truncated or replaced file is read from its
 * start.
 */
export async function* followFile(path: string, fromStart: boolean): AsyncGenerator<string> {
  let { size, ino } = fromStart ? { size: 0, ino: (await stat(path)).ino } : await stat(path);
  let rest = '';
  const decoder = new TextDecoder();
  for (;;) {
    const now = await stat(path).catch(() => undefined);
    if (now !== undefined && (now.ino !== ino || now.size < size)) {
      size = 0;
      ino = now.ino;
      rest = '';
    }
    if (now !== undefined && now.size > size) {
      const bytes = await readFrom(path, size, now.size);
      size += bytes.length;
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
      continue;
    }
    await wait(POLL_INTERVAL_MS);
  }
}

async function readFrom(path: string, from: number, to: number): Promise<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    const length = Math.min(to - from, 1024 * 1024);
    const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
