import { stripVTControlCharacters } from 'node:util';

/** Returns the number of characters that a text takes on a terminal; colour codes take none. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

const ESCAPE = '\u001B';
/** Colour codes around a text that has none inside. */
const PAINTED = new RegExp(`^((?:${ESCAPE}\\[\\d+m)*)(?:([^${ESCAPE}]+)((?:${ESCAPE}\\[\\d+m)*))?$`);

/** Breaks one line between words into lines of `columns` characters; a longer word stays whole. Colour is repeated on every line. */
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
 * Fits each line of a text to `columns`; what follows a break is indented like the line, by `hanging` characters more. Without
 * `columns` the text stays as it is.
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
