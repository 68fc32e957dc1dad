/** Returns the median of `values`. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns the value that the share `share` of `values` does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const ordered = values.toSorted((a, b) => a - b);
  return ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * share))] ?? Number.NaN;
}

/** Prints a Markdown table. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => '---'), ...rows];
  console.log(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
}
