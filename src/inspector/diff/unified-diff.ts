import { type DiffLine, lineDiff } from './line-diff.ts';

/** Lines of context around a difference, as `diff -u` has them. */
const CONTEXT = 3;

/** Ends a last line without a line feed, which makes it another line than one with it. No text file has this character. */
const UNENDED = '\u0000';

/** Prints the difference of two texts as a unified diff of a file, which `patch` and `git apply` take; empty when they are equal. */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return '';
  const lines = numbered(lineDiff(linesOf(before), linesOf(after)).filter(({ text }) => text !== NO_LINES));
  return `--- a/${file}\n+++ b/${file}\n${hunksOf(lines).map(printHunk).join('')}`;
}

const NO_LINES = `${UNENDED}${UNENDED}`;

function linesOf(text: string): string {
  if (text === '') return NO_LINES;
  return text.endsWith('\n') ? text.slice(0, -1) : `${text}${UNENDED}`;
}

interface NumberedLine extends DiffLine {
  /** Numbers of the line in both texts, from 1; of the next line in the text that does not have it. */
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
