/** Milliseconds between two looks at the clock. */
const INTERVAL_MS = 50;
/** Seconds that are looked back on: more than is between two scrapes. */
const WINDOW_SECONDS = 60;

/**
 * Watches how late the event loop is; each call gives the longest delay of the last minute in seconds. A percentile since the last
 * call would hide one stall of eight seconds, and every further caller would see less. (`monitorEventLoopDelay` of Node counts its
 * own interval in, and misses the stall behind a `reset`.)
 */
export function watchLoopDelay(now: () => number = () => performance.now()): () => number {
  const longest = new Float64Array(WINDOW_SECONDS);
  let second = Math.floor(now() / 1000);
  let due = now() + INTERVAL_MS;
  const look = (): void => {
    const at = now();
    const current = Math.floor(at / 1000);
    for (let next = Math.max(second + 1, current - WINDOW_SECONDS + 1); next <= current; next += 1)
      longest[next % WINDOW_SECONDS] = 0;
    second = current;
    const slot = second % WINDOW_SECONDS;
    longest[slot] = Math.max(longest[slot] ?? 0, at - due);
    due = at + INTERVAL_MS;
  };
  setInterval(look, INTERVAL_MS).unref();
  return () => {
    if (now() > due) look();
    return longest.reduce((one, other) => Math.max(one, other), 0) / 1000;
  };
}
