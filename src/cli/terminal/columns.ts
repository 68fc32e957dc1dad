import { widthOf, wrapText } from './wrap-text.ts';

/** How a table is laid out. */
export interface Layout {
  /** Columns that hold numbers. */
  readonly right?: readonly number[];
  /** Characters in a line; undefined for as many as the widest row needs. */
  readonly columns?: number | undefined;
}

const GAP = '  ';

/**
 * Aligns rows under a header row. Where the lines would be longer than `columns`, cells wrap between words; where not even the longest
 * words fit beside each other, each row becomes a block with one cell in a line. No word is cut. Colour codes do not count as width.
 */
export function printColumns(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [], columns }: Layout = {},
): string {
  const all = [head, ...rows];
  const natural = head.map((_, at) => greatest(all, (row) => widthOf(row[at] ?? '')));
  const least = head.map((_, at) => greatest(all, (row) => longestWord(row[at] ?? '')));
  const widths =
    columns === undefined ? natural : fit(natural, least, columns - GAP.length * (head.length - 1));
  if (widths === undefined) return rows.map((row) => printBlock(head, row, columns ?? 0)).join('\n');
  return all.map((row) => printRow(row, widths, right)).join('\n');
}

/** Pads a cell to `size` characters. */
export function pad(cell: string, size: number, right: boolean): string {
  const fill = ' '.repeat(Math.max(0, size - widthOf(cell)));
  return right ? fill + cell : cell + fill;
}

function longestWord(cell: string): number {
  return greatest(cell.split(' '), widthOf);
}

/** A report has more rows than a call may have arguments. */
function greatest<Item>(items: readonly Item[], sizeOf: (item: Item) => number): number {
  return items.reduce((most, item) => Math.max(most, sizeOf(item)), 0);
}

/** Widths between the least and the natural ones that add up to `room`; undefined when the least ones do not fit. */
function fit(
  natural: readonly number[],
  least: readonly number[],
  room: number,
): readonly number[] | undefined {
  const sum = (widths: readonly number[]): number => widths.reduce((total, width) => total + width, 0);
  if (sum(natural) <= room) return natural;
  if (sum(least) > room) return undefined;
  const widths = [...least];
  let rest = room - sum(least);
  // Columns that lack little get all that they lack; those with long sentences share what remains.
  const byLack = natural
    .map((width, at) => ({ at, lack: width - (least[at] ?? 0) }))
    .toSorted((one, other) => one.lack - other.lack);
  for (const [done, { at, lack }] of byLack.entries()) {
    const share = Math.min(lack, Math.floor(rest / (byLack.length - done)));
    widths[at] = (widths[at] ?? 0) + share;
    rest -= share;
  }
  return widths;
}

function printRow(row: readonly string[], widths: readonly number[], right: readonly number[]): string {
  const cells = widths.map((width, at) => wrapText(row[at] ?? '', width));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, at) => pad(lines[line] ?? '', widths[at] ?? 0, right.includes(at)))
      .join(GAP)
      .trimEnd(),
  ).join('\n');
}

/** The first cell is the title of the block; empty cells are left out. */
function printBlock(head: readonly string[], row: readonly string[], columns: number): string {
  const [title = '', ...cells] = row;
  return [
    ...wrapText(title, columns),
    ...cells.flatMap((cell, at) => {
      if (cell === '') return [];
      const name = head[at + 1] ?? '';
      return wrapText(name === '' ? cell : `${name}: ${cell}`, columns - 4).map(
        (line, n) => `${n === 0 ? '  ' : '    '}${line}`,
      );
    }),
  ].join('\n');
}
