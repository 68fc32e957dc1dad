/**
 * Splits a command into words as a POSIX shell does, with bash's `$'…'`; variables are not expanded. Undefined when a quote is
 * not closed.
 */
export function shellWords(command: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < command.length) {
    const character = command[at] ?? '';
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at += 1;
      continue;
    }
    if (character === '#' && word === undefined) {
      at = endOfLine(command, at);
      continue;
    }
    const part = readPart(command, at);
    if (part === undefined) return undefined;
    // A backslash before a line break joins two lines and does not start a word.
    if (part.text !== '' || part.isQuoted) word = (word ?? '') + part.text;
    at = part.end;
  }
  return word === undefined ? words : [...words, word];
}

interface Part {
  readonly text: string;
  readonly end: number;
  readonly isQuoted: boolean;
}

function readPart(command: string, at: number): Part | undefined {
  const character = command[at] ?? '';
  if (character === "'") return quoted(command, at + 1, "'", (inside) => inside);
  if (character === '"') return quoted(command, at + 1, '"', unescapeDouble);
  if (command.startsWith("$'", at)) return quoted(command, at + 2, "'", unescapeAnsi, true);
  if (character !== '\\') return { text: character, end: at + 1, isQuoted: false };
  const next = /^\\\r?\n/.exec(command.slice(at, at + 3))?.[0];
  if (next !== undefined) return { text: '', end: at + next.length, isQuoted: false };
  return { text: command[at + 1] ?? '', end: at + 2, isQuoted: false };
}

function quoted(
  command: string,
  from: number,
  quote: string,
  read: (inside: string) => string,
  hasEscapes = quote === '"',
): Part | undefined {
  let at = from;
  while (at < command.length && command[at] !== quote) at += hasEscapes && command[at] === '\\' ? 2 : 1;
  if (at >= command.length) return undefined;
  return { text: read(command.slice(from, at)), end: at + 1, isQuoted: true };
}

function unescapeDouble(inside: string): string {
  return inside.replaceAll(/\\(?:\r?\n|(["\\$`]))/g, '$1');
}

const ANSI: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\u0007',
  e: '\u001B',
};

function unescapeAnsi(inside: string): string {
  return inside.replaceAll(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|([0-7]{1,3})|(.))/gis,
    (_, hex?: string, unicode?: string, octal?: string, plain?: string) => {
      const digits = hex ?? unicode;
      if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return ANSI[plain ?? ''] ?? plain ?? '';
    },
  );
}

function endOfLine(command: string, at: number): number {
  const feed = command.indexOf('\n', at);
  return feed === -1 ? command.length : feed;
}
