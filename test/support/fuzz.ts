/** `FUZZ=100 npm test -- <file>` makes this many times the usual cases at random, within this many times the usual time. */
const FACTOR = Number(process.env['FUZZ'] ?? 1);

/** The options of a test that makes cases at random; `milliseconds` is its usual timeout. */
export function fuzzTime(milliseconds: number): { readonly timeout: number } {
  return { timeout: milliseconds * FACTOR };
}

/** The number of cases, of which there are usually so many. */
export function fuzzRuns(usual: number): number {
  return Math.ceil(usual * FACTOR);
}
