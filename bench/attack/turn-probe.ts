/**
 * Preloaded into the attacked gateway: tells the bench of long turns of the event loop, by the processor time that its thread took. A
 * clock would also count the time in which a busy machine ran something else.
 */
import { isMainThread } from 'node:worker_threads';

const INTERVAL_MS = 5;
/** Milliseconds from which a turn is reported. */
const LONG_MS = 10;

if (isMainThread && process.send !== undefined) {
  let last = threadMilliseconds();
  setInterval(() => {
    const turn = threadMilliseconds() - last;
    if (turn > LONG_MS) process.send?.(turn);
    last = threadMilliseconds();
  }, INTERVAL_MS).unref();
}

function threadMilliseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
