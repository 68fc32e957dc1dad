import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';

/** Whether output has colour codes, and its width. */
export interface Terminal {
  readonly hasColour: boolean;
  /** Characters in a line; undefined for a pipe or a file, where lines may have any length. */
  readonly columns: number | undefined;
}

/** Output without colour and of any width. */
export const PLAIN: Terminal = { hasColour: false, columns: undefined };

/** Names of styles, such as `bold`. */
export type Style = Parameters<typeof styleText>[0];

/** Returns the capabilities of the terminal at `stream`, which may also be a pipe or a file. */
export function terminalOf(stream: WriteStream): Terminal {
  return {
    hasColour: hasColour(stream),
    // A terminal of unknown size reports 0.
    columns: (stream.isTTY && stream.columns) || undefined,
  };
}

/** Values of FORCE_COLOR that turn colour on, as Node reads them; every other one turns it off. */
const FORCED: ReadonlySet<string> = new Set(['', '1', '2', '3', 'true']);

/**
 * True if output to `stream` has colour codes: FORCE_COLOR decides, even in a pipe; then a non-empty NO_COLOR; then the terminal's
 * capabilities.
 */
export function hasColour(stream: WriteStream): boolean {
  const { FORCE_COLOR, NO_COLOR, ...rest } = process.env;
  if (FORCE_COLOR !== undefined) return FORCED.has(FORCE_COLOR);
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return stream.isTTY && stream.hasColors(rest);
}

/** Returns a function that adds colour codes, if the terminal shows them. */
export function painter({
  hasColour: isOn,
}: Pick<Terminal, 'hasColour'>): (style: Style, text: string) => string {
  return (style, text) => (isOn ? styleText(style, text, { validateStream: false }) : text);
}

/** Returns the number of characters that a text takes on a terminal, without colour codes. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

const ESCAPE = '\u001B';
/** Colour codes around a text that has none inside. */
const PAINTED = new RegExp(`^((?:${ESCAPE}\\[\\d+m)*)(?:([^${ESCAPE}]+)((?:${ESCAPE}\\[\\d+m)*))?$`);

/** Breaks a line between words into lines of `columns` characters; longer words stay whole. It repeats colour codes on every line. */
export function wrapText(text: string, columns: number): readonly string[] {
  if (widthOf(text) <= columns) return [text];
  const painted = PAINTED.exec(text);
  const [, start = '', inner = painted === null ? text : '', end = ''] = painted ?? [];
  const lines: string[] = [];
  let line = '';
  let isBegun = false;
  for (const word of inner.split(' ')) {
    if (isBegun && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line.trimEnd());
      line = word;
      continue;
    }
    line = isBegun ? `${line} ${word}` : word;
    isBegun = true;
  }
  return [...lines, line].map((each) => `${start}${each}${end}`);
}

/**
 * Fits each line of a text to `columns`; after a break it indents the rest like the line, plus `hanging` characters. Without `columns` it
 * returns the text unchanged.
 */
export function wrapLines(text: string, columns: number | undefined, hanging = 2): string {
  if (columns === undefined) return text;
  return text
    .split('\n')
    .flatMap((line) => {
      if (widthOf(line) <= columns) return [line];
      const indent = /^ */.exec(line)?.[0] ?? '';
      const [first = '', ...others] = wrapText(line.slice(indent.length), columns - indent.length - hanging);
      return [`${indent}${first}`, ...others.map((each) => `${indent}${' '.repeat(hanging)}${each}`)];
    })
    .join('\n');
}

/** Breaks a cell into lines of `columns` characters; it also breaks at line feeds. */
function cellLines(cell: string, columns: number): readonly string[] {
  return cell.split('\n').flatMap((line) => wrapText(line, columns));
}

/** A table's layout. */
interface Layout {
  /** Columns that contain numbers. */
  readonly right?: readonly number[];
  /** Characters in a line; undefined for the length of the widest row. */
  readonly columns?: number | undefined;
}

const GAP = '  ';

/**
 * Aligns rows under a header row; a line feed in a cell starts a new line of the cell. If the lines would be longer than `columns`, cells
 * wrap between words; if not even the longest words fit side by side, each row becomes a block with one cell per line. No word is cut.
 * Colour codes do not count as width.
 */
export function printColumns(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { right = [], columns }: Layout = {},
): string {
  const all = [head, ...rows];
  const natural = head.map((_, at) => greatest(all, (row) => greatest((row[at] ?? '').split('\n'), widthOf)));
  const least = head.map((_, at) =>
    greatest(all, (row) => greatest((row[at] ?? '').split(/[ \n]/), widthOf)),
  );
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

/** Unlike `Math.max` with many arguments, it also works for long reports. */
function greatest<Item>(items: readonly Item[], sizeOf: (item: Item) => number): number {
  return items.reduce((most, item) => Math.max(most, sizeOf(item)), 0);
}

/** Widths between the least and the natural ones that fit into `room`; undefined if the least ones do not fit. */
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
  // Columns that lack little get all of it; those with long sentences share the rest.
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
  const cells = widths.map((width, at) => cellLines(row[at] ?? '', width));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, at) => pad(lines[line] ?? '', widths[at] ?? 0, right.includes(at)))
      .join(GAP)
      .trimEnd(),
  ).join('\n');
}

/** Prints a row as a block with its first cell as title, without empty cells. */
function printBlock(head: readonly string[], row: readonly string[], columns: number): string {
  const [title = '', ...cells] = row;
  return [
    ...wrapText(title, columns),
    ...cells.flatMap((cell, at) => {
      if (cell === '') return [];
      const name = head[at + 1] ?? '';
      return cellLines(name === '' ? cell : `${name}: ${cell}`, columns - 4).map(
        (line, n) => `${n === 0 ? '  ' : '    '}${line}`,
      );
    }),
  ].join('\n');
}

/** A name and a text about it; an empty name continues the previous fact. */
export type Fact = readonly [name: string, text: string];

/** Prints facts under each other, the names in a column of `width` characters. Long texts wrap within their column. */
export function factLines(
  facts: readonly Fact[],
  width: number,
  columns: number | undefined,
): readonly string[] {
  return facts.map(([name, text]) =>
    wrapLines(`  ${name.padEnd(width)}${text}`, columns, name === '' ? 0 : width),
  );
}

/** The output for a progress bar, such as stderr. */
interface BarOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows a long task's progress on a terminal; prints nothing elsewhere. */
export class ProgressBar {
  private readonly output: BarOutput;
  private readonly total: number;
  private readonly now: () => number;
  private readonly began: number;
  private drawn = Number.NEGATIVE_INFINITY;

  /** `total` is in bytes, or 0 if unknown. `now` is a clock in milliseconds. */
  constructor(output: BarOutput, total: number, now: () => number) {
    this.output = output;
    this.total = total;
    this.now = now;
    this.began = now();
  }

  /** Draws the bar at `done` bytes, at most ten times a second. */
  show(done: number): void {
    const now = this.now();
    if (this.output.isTTY !== true || now - this.drawn < 100) return;
    this.drawn = now;
    const seconds = Math.max(0.001, (now - this.began) / 1000);
    const speed = `${(done / 1e6 / seconds).toFixed(0)} MB/s`;
    const share = this.total === 0 ? undefined : Math.min(1, done / this.total);
    if (share === undefined) {
      this.output.write(`\r\u001B[K${(done / 1e6).toFixed(0)} MB  ${speed}`);
      return;
    }
    const width = Math.max(10, Math.min(40, (this.output.columns ?? 80) - 40));
    const full = Math.round(share * width);
    const left = share === 0 ? '' : `  ${Math.ceil((seconds / share) * (1 - share))} s left`;
    const bar = `${'█'.repeat(full)}${'░'.repeat(width - full)}`;
    this.output.write(`\r\u001B[K${bar} ${String(Math.round(share * 100)).padStart(3)} %  ${speed}${left}`);
  }

  /** Clears the bar. */
  clear(): void {
    if (this.output.isTTY === true) this.output.write('\r\u001B[K');
  }
}

/** The command that starts this program, as a person writes it. */
export function program(): string {
  if (import.meta.url.endsWith('.ts')) return 'npm run -s gateway --';
  return process.env['npm_command'] === 'exec' ? 'npx capture-gateway' : 'capture-gateway';
}

/** An address of this machine at which a server that listens at `origin` responds: `http://[::]:8080` is every address. */
export function reachable(origin: string): string {
  return origin.replace('//[::]', '//127.0.0.1').replace('//0.0.0.0', '//127.0.0.1');
}

/** The address at which a server listens, as people read it. */
export function addressWords(origin: string): string {
  const own = reachable(origin);
  return own === origin ? origin : `${own}, and every other address of this machine`;
}

/** Milliseconds after which a command says that it waits. */
const WAIT_MS = 2000;

/** Says once that a command waits for a log on stdin, if nothing has come for a while; call the result when all is read. */
export function tellOfWaiting(
  files: readonly string[],
  input: object = process.stdin,
  say: (text: string) => unknown = (text) => process.stderr.write(text),
): () => void {
  if (!files.includes('-')) return () => {};
  const timer = setTimeout(() => {
    if ('bytesRead' in input && input.bytesRead === 0)
      say('Waiting for a rewrite log on stdin; name a file to read that instead.\n');
  }, WAIT_MS);
  timer.unref();
  return () => clearTimeout(timer);
}
