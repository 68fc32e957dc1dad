import { latin1Bytes, latin1Text } from '../../http/byte-collector.ts';

/**
 * One word of a command, as the program receives it. Each character of `bytes` is one byte, because escapes of shells denote bytes,
 * which need not be text.
 */
export interface ShellWord {
  readonly bytes: string;
  /** Variables whose values are not known here, with their places in `bytes`, where they are as written. */
  readonly unknown: readonly { readonly name: string; readonly at: number }[];
  /** True if a brace is outside quotes, so that bash would expand the word to several. */
  readonly hasBrace: boolean;
  /** True if a part of it is in quotes, so that it is one word with any value of its variables. */
  readonly isQuoted?: boolean;
}

/** One simple command. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  /** The operator after the command; empty at the end. */
  readonly operator: string;
}

/** A sentence that says why a text cannot be read as a command. */
export interface ShellFault {
  readonly fault: string;
}

/** Reads a file that a command names; throws if it cannot. */
export type ReadFile = (path: string) => Uint8Array;

/** Matches curl as the program of a command. */
export const CURL = /(?:^|[/\\])curl(?:\.exe)?$/i;

/** The bytes of a text in UTF-8, one character each. */
export function bytesOf(text: string): string {
  return latin1Text(new TextEncoder().encode(text));
}

/** The text of bytes; invalid UTF-8 is replaced. */
export function textOf(bytes: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(latin1Bytes(bytes));
}

/** A word without anything unknown. */
export function plainWord(bytes: string): ShellWord {
  return { bytes, unknown: [], hasBrace: false };
}

/** Forms that bash would process before it starts curl: each sentence names the form, and its replacement. */
const NOT_READ = {
  unclosed: 'The command has an unclosed quote.',
  substitution: 'The command has $(…) or `…`, which is not run here: write its result into the command.',
  hereDocument:
    'The command has a here-document (<<), which is not read: put its text after -d, in single quotes.',
  input:
    'The command reads a file with <, which is not read: name the file after the option, as in -d @file.',
  parentheses:
    'The command has parentheses outside quotes (a subshell, a function or an array), which are not read: paste each curl command by itself.',
  placeholder:
    'To a shell, < and > are followed by the name of a file, which is missing: write a value in place of <…>, or put it in quotes.',
} as const;

const OPERATORS = ['&&', '||', '|&', ';', '&', '|', '\n'] as const;

/** Maximum length of a variable's name. */
const MAX_NAME = 256;

/**
 * Reads the commands of a text in the quoting of bash: `'…'`, `"…"`, `$'…'`, a backslash, and variables that the text sets itself. What
 * bash would run or read first is a fault that names it. The package `shell-quote` does not suffice: it does not know `$'…'`, which
 * browsers copy, expands unset variables to nothing, and turns `?` and `*` in an address into objects.
 */
export function readBash(text: string): readonly ShellCommand[] | ShellFault {
  return new BashReader(bytesOf(text.replaceAll('\r\n', '\n'))).read();
}

class BashReader {
  private readonly text: string;
  private at = 0;
  /** Undefined for a variable whose value is not known here. */
  private readonly variables = new Map<string, string | undefined>();
  private readonly commands: ShellCommand[] = [];
  private words: WordInWork[] = [];
  private fault: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  read(): readonly ShellCommand[] | ShellFault {
    while (this.at < this.text.length && this.fault === undefined) this.readNext();
    this.endCommand('');
    return this.fault === undefined ? this.commands : { fault: this.fault };
  }

  private readNext(): void {
    const text = this.text;
    const character = text[this.at] ?? '';
    const operator = OPERATORS.find((known) => text.startsWith(known, this.at));
    if (character === ' ' || character === '\t') this.at += 1;
    else if (text.startsWith('\\\n', this.at)) this.at += 2;
    // The text was copied with a mark of continuation, but without the next line.
    else if (character === '\\' && this.at === text.length - 1) this.at += 1;
    else if (character === '#') this.at = endOfLine(text, this.at);
    else if (character === '(' || character === ')') this.fault = NOT_READ.parentheses;
    else if (this.readRedirection()) return;
    else if (operator === undefined) this.words.push(this.readWord());
    else {
      this.at += operator.length;
      this.endCommand(operator);
    }
  }

  /** Ends a command; one that only sets variables sets them for later commands. */
  private endCommand(operator: string): void {
    const words = this.words[0]?.bytes === 'export' ? this.words.slice(1) : this.words;
    const isSetting = words.length > 0 && words.every(({ assigned }) => assigned !== undefined);
    if (isSetting)
      for (const { assigned = '', isAdded, bytes, unknown } of words)
        this.variables.set(
          assigned,
          isAdded || unknown.length > 0 ? undefined : bytes.slice(assigned.length + 1),
        );
    else if (words.length > 0) this.commands.push({ words, operator });
    this.words = [];
  }

  /** Skips the target of a redirection. */
  private readRedirection(): boolean {
    const found = /^\d*(?:<<|<>|<|>>|>&|>\||>)|^&>>?/.exec(this.text.slice(this.at, this.at + 8))?.[0];
    if (found === undefined) return false;
    this.at += found.length;
    while (this.text[this.at] === ' ' || this.text[this.at] === '\t') this.at += 1;
    if (found.endsWith('<<')) this.fault = NOT_READ.hereDocument;
    else if (found.endsWith('<'))
      this.fault = /^[\w .-]{1,64}>/.test(this.text.slice(this.at, this.at + 65))
        ? NOT_READ.placeholder
        : NOT_READ.input;
    else {
      const from = this.at;
      this.readWord();
      if (this.at === from) this.fault ??= NOT_READ.placeholder;
    }
    return true;
  }

  private readWord(): WordInWork {
    const text = this.text;
    const word = new WordInWork();
    while (this.at < text.length && this.fault === undefined) {
      const character = text[this.at] ?? '';
      if (' \t\n;&|<>'.includes(character)) break;
      if ('()'.includes(character)) this.fault = NOT_READ.parentheses;
      else if (character === "'") this.readSingle(word);
      else if (character === '"') this.readDouble(word);
      else if (text.startsWith("$'", this.at)) this.readAnsi(word);
      else if (text.startsWith('$"', this.at)) {
        this.at += 1;
        this.readDouble(word);
      } else if (character === '\\') {
        if (text[this.at + 1] !== '\n') {
          word.bytes += text[this.at + 1] ?? '';
          word.isQuoted = true;
        }
        this.at += 2;
      } else if (character === '$' || character === '`')
        this.readExpansion(word, word.assigned !== undefined);
      else this.readPlain(word, character);
    }
    return word;
  }

  private readPlain(word: WordInWork, character: string): void {
    const begun = word.isQuoted || word.bytes.length > MAX_NAME ? ' ' : word.bytes;
    const name = character === '=' ? /^([A-Za-z_]\w*)(\+?)$/.exec(begun) : null;
    if (name !== null) {
      word.assigned ??= name[1];
      word.isAdded ||= name[2] === '+';
    }
    if (character === '{') word.hasBrace = true;
    const isHome = HOME.test(this.text.slice(this.at, this.at + 2)) && /^(?:[A-Za-z_]\w*=)?$/.test(begun);
    if (isHome) word.unknown.push({ name: '~', at: word.bytes.length });
    word.bytes += character;
    this.at += 1;
  }

  private readSingle(word: WordInWork): void {
    const end = this.text.indexOf("'", this.at + 1);
    if (end === -1) this.fault = NOT_READ.unclosed;
    word.bytes += this.text.slice(this.at + 1, end);
    word.isQuoted = true;
    this.at = end + 1;
  }

  /** Reads a text between double quotes, where a backslash escapes only a few characters and the end of a line. */
  private readDouble(word: WordInWork): void {
    word.isQuoted = true;
    this.at += 1;
    while (this.at < this.text.length && this.fault === undefined) {
      const character = this.text[this.at] ?? '';
      const next = this.text[this.at + 1] ?? '';
      if (character === '"') {
        this.at += 1;
        return;
      }
      if (character === '\\' && next !== '' && '$`\\"\n'.includes(next)) {
        word.bytes += next === '\n' ? '' : next;
        this.at += 2;
      } else if (character === '$' || character === '`') this.readExpansion(word, true);
      else {
        word.bytes += character;
        this.at += 1;
      }
    }
    this.fault ??= NOT_READ.unclosed;
  }

  private readAnsi(word: WordInWork): void {
    let end = this.at + 2;
    while (end < this.text.length && this.text[end] !== "'") end += this.text[end] === '\\' ? 2 : 1;
    if (end >= this.text.length) this.fault = NOT_READ.unclosed;
    word.bytes += unescapeAnsi(this.text.slice(this.at + 2, end));
    word.isQuoted = true;
    this.at = end + 1;
  }

  /** Reads `$NAME`, `${NAME}` or `${…}`; a value that bash would split to several words is taken as not known. */
  private readExpansion(word: WordInWork, isOneWord: boolean): void {
    const rest = this.text.slice(this.at, this.at + MAX_NAME);
    if (rest.startsWith('`') || rest.startsWith('$(')) {
      this.fault = NOT_READ.substitution;
      return;
    }
    const found = /^\$(?:([A-Za-z_]\w*|[0-9?$!#@*-])|\{([A-Za-z_]\w*)\}|\{[^{}]*\})/.exec(rest);
    const [written = '$', bare, braced] = found ?? [];
    const known = this.variables.get(bare ?? braced ?? '');
    const value = known !== undefined && (isOneWord || !/[ \t\n]/.test(known)) ? known : undefined;
    if (found !== null && value === undefined)
      word.unknown.push({ name: textOf(written), at: word.bytes.length });
    word.bytes += value ?? written;
    this.at += written.length;
  }
}

class WordInWork implements ShellWord {
  bytes = '';
  unknown: { readonly name: string; readonly at: number }[] = [];
  hasBrace = false;
  isQuoted = false;
  /** The variable that the word sets if it is before a command. */
  assigned: string | undefined;
  /** True for `name+=`, which adds to the variable. */
  isAdded = false;
}

/** A tilde that bash replaces, at the beginning of a word, by the home directory. */
const HOME = /^~(?:\/|[\s;&|()<>]|$)/;

function endOfLine(text: string, at: number): number {
  const feed = text.indexOf('\n', at);
  return feed === -1 ? text.length : feed;
}

const ANSI: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  e: '\u001B',
  E: '\u001B',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};

/** Reads the text between `$'` and `'`: escapes denote bytes or characters, unknown ones stay, and a NUL ends the string. */
function unescapeAnsi(inside: string): string {
  const read = inside.replaceAll(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))/gs,
    (whole, hex?: string, u?: string, U?: string, octal?: string, control?: string, plain?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
      const point = u ?? U;
      return point === undefined ? (ANSI[plain ?? ''] ?? whole) : utf8(Number.parseInt(point, 16));
    },
  );
  const end = read.indexOf('\0');
  return end === -1 ? read : read.slice(0, end);
}

/** UTF-8 as bash writes it: half of a surrogate pair becomes three bytes, which decoders refuse. */
function utf8(point: number): string {
  const tail = (shift: number): number => 0x80 | ((point >> shift) & 0x3f);
  if (point < 0x80) return String.fromCharCode(point);
  if (point < 0x800) return String.fromCharCode(0xc0 | (point >> 6), tail(0));
  if (point < 0x10000) return String.fromCharCode(0xe0 | (point >> 12), tail(6), tail(0));
  return String.fromCharCode(0xf0 | ((point >> 18) & 0x07), tail(12), tail(6), tail(0));
}
