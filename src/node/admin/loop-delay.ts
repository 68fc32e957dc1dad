/** Milliseconds between two clock readings. */
const INTERVAL_MS = 50;
/** Seconds of history: more than the time between two scrapes. */
const WINDOW_SECONDS = 60;

/**
 * Measures the delay of the event loop; each call returns the longest delay of the last minute in seconds. A percentile since the
 * last call would hide one stall of eight seconds, and every further caller would see less. (Node's `monitorEventLoopDelay`
 * includes its own interval, and misses the stall that follows a `reset`.)
 */
export function watchLoopDelay(now: () => number = () => performance.now()): () => number {
  const longest = new Float64Array(WINDOW_SECONDS);
  let second = Math.floor(now() / 1000);
  let due = now() + INTERVAL_MS;
  const measure = (): void => {
    const at = now();
    const current = Math.floor(at / 1000);
    for (let next = Math.max(second + 1, current - WINDOW_SECONDS + 1); next <= current; next += 1)
      longest[next % WINDOW_SECONDS] = 0;
    second = current;
    const slot = second % WINDOW_SECONDS;
    longest[slot] = Math.max(longest[slot] ?? 0, at - due);
    due = at + INTERVAL_MS;
  };
  setInterval(measure, INTERVAL_MS).unref();
  return () => {
    if (now() > due) measure();
    return longest.reduce((one, other) => Math.max(one, other), 0) / 1000;
  };
}
