import { stripVTControlCharacters } from 'node:util';

/** Aligns rows under a header row; columns in `right` hold numbers. Colour codes do not count as width. */
export function printColumns(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => width(row[at] ?? ''))));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, at) => pad(cell, widths[at] ?? 0, right.includes(at)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Pads a cell to `size` characters. */
export function pad(cell: string, size: number, right: boolean): string {
  const fill = ' '.repeat(Math.max(0, size - width(cell)));
  return right ? fill + cell : cell + fill;
}

function width(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
