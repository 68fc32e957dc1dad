/** Counts one request of `key` and returns the seconds that it must wait: 0 when it may proceed. */
export type RateLimit = (key: string) => number;

/**
 * Allows `perMinute` requests per key in a window of one minute that the key's first request opens. Zero allows all. `now`
 * returns milliseconds.
 */
export function createRateLimit(perMinute: number, now: () => number): RateLimit {
  if (perMinute === 0) return () => 0;
  const windows = new Map<string, { readonly end: number; used: number }>();
  return (key) => {
    const time = now();
    forget(windows, time);
    const window = windows.get(key);
    if (window === undefined) {
      windows.set(key, { end: time + 60_000, used: 1 });
      return 0;
    }
    window.used += 1;
    return window.used <= perMinute ? 0 : Math.ceil((window.end - time) / 1000);
  };
}

/**
 * Windows are ordered by their end. Every key is accepted, so the number of windows is limited too, against a flood of invented
 * keys.
 */
function forget(windows: Map<string, { readonly end: number }>, time: number): void {
  for (const [key, window] of windows) {
    if (window.end > time && windows.size < MAX_KEYS) return;
    windows.delete(key);
  }
}

const MAX_KEYS = 10_000;
