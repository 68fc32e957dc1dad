import { setTimeout as delay } from 'node:timers/promises';
/** Bytes after which reading pauses, and for how many milliseconds. */
const PAUSE_AFTER_BYTES = 3_000_000;
const PAUSE_MS = 2000;

/** Reads a stream to its end, or until more than `most` bytes came, with one pause on the way; returns the number of bytes. */
export async function readWithPause(stream: AsyncIterable<Buffer>, most = Infinity): Promise<number> {
  let bytes = 0;
  let hasPaused = false;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > PAUSE_AFTER_BYTES && !hasPaused) {
      hasPaused = true;
      await delay(PAUSE_MS);
    }
    if (bytes > most) break;
  }
  return bytes;
}
