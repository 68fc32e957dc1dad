/** `FUZZ=100 npm test -- <file>` makes this many times the usual cases at random, within this many times the usual time. */
const FACTOR = Number(process.env['FUZZ'] ?? 1);

/** Milliseconds that a test may take with the usual number of cases. */
const USUAL_TIMEOUT_MS = 600_000;

/** The options of a test that makes cases at random. */
export function fuzzTime(): { readonly timeout: number } {
  return { timeout: USUAL_TIMEOUT_MS * Math.max(1, FACTOR) };
}

/** The number of cases, of which there are usually so many. */
export function fuzzRuns(usual: number): number {
  return Math.ceil(usual * FACTOR);
}
