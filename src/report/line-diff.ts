/** Lines of context around a difference, as in `diff -u`. */
const CONTEXT = 3;

/** Marks a last line without a line feed, so that it differs from one with it. The character occurs in no text file. */
const UNENDED = '\u0000';

const NO_LINES = `${UNENDED}${UNENDED}`;

/** Maximum lines of a text to compare, because the table of lengths grows with the product of both. */
const MAX_LINES = 2000;

/** Prints the differences of two texts as a unified diff for `patch` and `git apply`; empty when they are equal. */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return '';
  const lines = numbered(lineDiff(linesOf(before), linesOf(after)).filter(({ text }) => text !== NO_LINES));
  return `--- a/${file}\n+++ b/${file}\n${hunksOf(lines).map(printHunk).join('')}`;
}

function linesOf(text: string): string {
  if (text === '') return NO_LINES;
  return text.endsWith('\n') ? text.slice(0, -1) : `${text}${UNENDED}`;
}

interface NumberedLine extends DiffLine {
  /** Numbers of the line in both texts, from 1; in a text without it, that of the next line. */
  readonly old: number;
  readonly now: number;
}

function numbered(lines: readonly DiffLine[]): readonly NumberedLine[] {
  let [old, now] = [1, 1];
  return lines.map((line) => {
    const at = { ...line, old, now };
    if (line.sign !== '+') old += 1;
    if (line.sign !== '-') now += 1;
    return at;
  });
}

function hunksOf(lines: readonly NumberedLine[]): readonly (readonly NumberedLine[])[] {
  const hunks: { from: number; to: number }[] = [];
  for (const [at, { sign }] of lines.entries()) {
    if (sign === ' ') continue;
    const [from, to] = [Math.max(0, at - CONTEXT), Math.min(lines.length, at + CONTEXT + 1)];
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks.map(({ from, to }) => lines.slice(from, to));
}

function printHunk(lines: readonly NumberedLine[]): string {
  const [first] = lines;
  const old = range(first?.old ?? 1, lines.filter(({ sign }) => sign !== '+').length);
  const now = range(first?.now ?? 1, lines.filter(({ sign }) => sign !== '-').length);
  const printed = lines.map(({ sign, text }) =>
    text.endsWith(UNENDED)
      ? `${sign}${text.slice(0, -1)}\n\\ No newline at end of file\n`
      : `${sign}${text}\n`,
  );
  return `@@ -${old} +${now} @@\n${printed.join('')}`;
}

/** An empty range is named by the line before it. */
function range(start: number, length: number): string {
  return `${length === 0 ? start - 1 : start},${length}`;
}

/** A line of a diff, which is in both texts or only in the old or the new one. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

type SameLine = (one: string | undefined, other: string | undefined) => boolean;

/** Compares two lines of JSON regardless of a comma at the end, which depends on the next line. */
export function isSameJsonLine(one: string | undefined, other: string | undefined): boolean {
  return one === other || one?.replace(/,$/, '') === other?.replace(/,$/, '');
}

/** Compares two texts line by line (longest common subsequence); lines are the same if `isSame` says so. */
export function lineDiff(
  before: string,
  after: string,
  isSame: SameLine = (one, other) => one === other,
): readonly DiffLine[] {
  const old = before.split('\n');
  const now = after.split('\n');
  if (old.length > MAX_LINES || now.length > MAX_LINES) {
    return [
      ...old.map((text) => ({ sign: '-' as const, text })),
      ...now.map((text) => ({ sign: '+' as const, text })),
    ];
  }
  const lengths = table(old, now, isSame);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && isSame(old[i], now[j])) {
      lines.push({ sign: ' ', text: now[j] ?? '' });
      i += 1;
      j += 1;
    } else if (
      j >= now.length ||
      (i < old.length && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))
    ) {
      lines.push({ sign: '-', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ sign: '+', text: now[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

function table(old: readonly string[], now: readonly string[], isSame: SameLine): Uint16Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] ?? new Uint16Array();
    const below = lengths[i + 1];
    for (let j = now.length - 1; j >= 0; j -= 1) {
      row[j] = isSame(old[i], now[j])
        ? (below?.[j + 1] ?? 0) + 1
        : Math.max(below?.[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return lengths;
}

export function lineAfter(text: string, offset: number): number {
  const feed = text.indexOf('\n', offset);
  return feed === -1 ? text.length : feed + 1;
}
