import { median } from './statistics.ts';

/** The median of figures, with the least and the most in brackets: `98.1 (96.0–104.2)`. */
export function spread(values: readonly number[], digits: number): string {
  if (values.length === 0) return '–';
  const shown = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  );
  return `${shown[0]} (${shown[1]}–${shown[2]})`;
}

/** A whole number with commas: `8,640,000`. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** Prints a Markdown table. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => '---'), ...rows];
  console.log(lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
}
