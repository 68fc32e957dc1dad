import { afterReads, throwLater } from './fair-turns.ts';
import { IS_NODE } from '../runtime.ts';
import { fill, SMALL_WRITE_BYTES } from '../small-writes.ts';

/** A response that is complete, and not written yet. */
export interface QueuedResponse {
  /** True over TLS, which goes on reading what is written. */
  readonly secure: boolean;
  /** Writes its bytes; false when the socket goes on reading them. */
  writeQueued(bytes: Buffer): boolean;
  /** Called after all responses of the turn are written. */
  endQueued(): void;
}

interface Queued {
  readonly response: QueuedResponse;
  readonly bytes: Buffer;
}

/** Room for the responses of one turn; further ones are written at once. */
const ROOM_BYTES = 64 * 1024;

let room = Buffer.allocUnsafeSlow(ROOM_BYTES);
let used = 0;
let queue: Queued[] = [];

/**
 * Queues a small response of texts in latin1 and the bytes between them, all of which are copied. Those that become complete in one turn
 * of the event loop are written one after the other: for all but the first, the code is in the processor's caches. False when there is no
 * room.
 */
export function queueResponse(
  response: QueuedResponse,
  before: string,
  bytes: Uint8Array,
  after: string,
): boolean {
  const length = before.length + bytes.length + after.length;
  if (!IS_NODE || length > SMALL_WRITE_BYTES) return false;
  if (!response.secure && used + length > ROOM_BYTES) return false;
  const target = response.secure ? Buffer.allocUnsafe(length) : room.subarray(used, used + length);
  fill(target, before, bytes, after);
  if (!response.secure) used += length;
  if (queue.length === 0) afterReads(writeAll);
  queue.push({ response, bytes: target });
  return true;
}

function writeAll(): void {
  const all = queue;
  queue = [];
  let isTaken = true;
  for (const { response, bytes } of all) {
    try {
      isTaken = (response.writeQueued(bytes) || response.secure) && isTaken;
    } catch (error) {
      // The others are still to be written, and what became of these bytes is not known.
      isTaken = false;
      throwLater(error);
    }
  }
  if (!isTaken) room = Buffer.allocUnsafeSlow(ROOM_BYTES);
  used = 0;
  for (const { response } of all) {
    try {
      response.endQueued();
    } catch (error) {
      throwLater(error);
    }
  }
}
