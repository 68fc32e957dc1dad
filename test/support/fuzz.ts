/** `FUZZ=100 npm test -- <file>` makes this many times the usual cases at random, within this many times the usual time. */
const FACTOR = Number(process.env['FUZZ'] ?? 1);

/** Milliseconds that a test may take with the usual number of cases. */
const USUAL_TIMEOUT_MS = 600_000;

/** The options of a test that makes cases at random. */
export function fuzzTime(): { readonly timeout: number } {
  return { timeout: USUAL_TIMEOUT_MS * Math.max(1, FACTOR) };
}

/**
 * The number of cases, of which there are usually so many. A test that demands how many of them are of a kind names the least: so
 * many that 40 are expected to be of it, of which it demands a quarter at most. Chance then misses that less than once in a million runs.
 */
export function fuzzRuns(usual: number, least = 1): number {
  return Math.ceil(Math.max(least, usual * FACTOR));
}
