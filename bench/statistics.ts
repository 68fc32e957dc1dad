/** Returns the median of `values`. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns the value that the share `share` of `values` does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const ordered = values.toSorted((a, b) => a - b);
  return ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? Number.NaN;
}

/** The interval in which the median of a figure is with 95 % confidence. */
export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** The chance with which an interval misses the median. */
const MISS = 0.05;

/**
 * Returns the bounds of the median of a series, whatever its noise: the values between which it is by the sign test. With fewer than six
 * values they are the least and the most, and the confidence is less.
 */
export function boundsOfMedian(values: readonly number[]): Bounds {
  const ordered = values.toSorted((a, b) => a - b);
  const cut = ranksToCut(ordered.length);
  return { least: ordered[cut] ?? Number.NaN, most: ordered[ordered.length - 1 - cut] ?? Number.NaN };
}

/** The number of values to leave out at each end, so that the rest holds the median as often as wanted (sign test). */
function ranksToCut(count: number): number {
  let chance = 0.5 ** count;
  let below = chance;
  let cut = 0;
  while (2 * (below + (chance * (count - cut)) / (cut + 1)) <= MISS) {
    chance *= (count - cut) / (cut + 1);
    below += chance;
    cut += 1;
  }
  return cut;
}

/** Prints a Markdown table. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => '---'), ...rows];
  console.log(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
}
