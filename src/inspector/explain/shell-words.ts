/**
 * One word of a command, as the program receives it. Each character of `bytes` is one byte, because escapes of shells denote bytes,
 * which need not be text.
 */
export interface ShellWord {
  readonly bytes: string;
  /** Parts that the shell would replace by values that are not known here, with their places in `bytes`, where they are as written. */
  readonly unknown: readonly { readonly name: string; readonly at: number }[];
  /** True where a brace is outside quotes, so that bash would expand the word to several. */
  readonly hasBrace: boolean;
  /** True where a part of it is in quotes, so that any value gives one word. */
  readonly isQuoted?: boolean;
}

/** One simple command: its words, and its standard input if the text gives it. */
export interface ShellCommand {
  readonly words: readonly ShellWord[];
  readonly stdin?: ShellWord;
  /** The operator after the command; empty at the end. */
  readonly operator: string;
}

/** Says in a sentence why a text is not a command. */
export interface ShellFault {
  readonly fault: string;
}

/** The bytes of a text in UTF-8, one character each. */
export function bytesOf(text: string): string {
  return binary(new TextEncoder().encode(text));
}

/** Bytes as a string with one character each. */
export function binary(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

/** The bytes of a string with one character each. */
export function fromBinary(bytes: string): Uint8Array {
  return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
}

/** The text of bytes; invalid UTF-8 is replaced. */
export function textOf(bytes: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(fromBinary(bytes));
}

/** A word without anything unknown. */
export function plainWord(bytes: string): ShellWord {
  return { bytes, unknown: [], hasBrace: false };
}

const UNCLOSED: ShellFault = { fault: 'The command has an unclosed quote.' };

const PLACELESS: ShellFault = {
  fault:
    'To a shell, < and > are followed by the name of a file, which is missing: write a value in place of <…>, or put it in quotes.',
};

const PROCESS: ShellFault = {
  fault: 'The command has <(…) or >(…), which is not run here: write its result into the command.',
};

/**
 * Reads the commands of a text as bash does: quotes, `$'…'` with its escapes, assignments, here-documents and redirections; nothing is
 * run. The package `shell-quote` does not suffice: it does not know `$'…'`, which browsers copy, expands unset variables to nothing,
 * and turns `?` and `*` in an address into objects.
 */
export function readBash(text: string, readFile: ReadFile): readonly ShellCommand[] | ShellFault {
  return new BashReader(bytesOf(text.replaceAll('\r\n', '\n')), readFile).read();
}

/** Matches curl as the program of a command. */
export const CURL = /(?:^|[/\\])curl(?:\.exe)?$/i;

/** Reads a file that a command names; throws if it cannot. */
export type ReadFile = (path: string) => Uint8Array;

/** Standard input that is not known here. */
function unknownInput(name: string): ShellWord {
  return { bytes: name, unknown: [{ name, at: 0 }], hasBrace: false };
}

function fileInput(path: ShellWord, readFile: ReadFile): ShellWord {
  if (path.unknown.length > 0) return path;
  try {
    return plainWord(binary(readFile(textOf(path.bytes))));
  } catch {
    return unknownInput(`< ${textOf(path.bytes)}`);
  }
}

/** The output of the last command, where it is known without running anything. */
export function outputOf(commands: readonly ShellCommand[], readFile: ReadFile): ShellWord {
  let piped: ShellWord | undefined;
  for (const [number, { words, stdin = piped, operator }] of commands.entries()) {
    const [program, ...args] = words;
    const output = program === undefined ? stdin : writtenBy(textOf(program.bytes), args, stdin, readFile);
    const isLast = number === commands.length - 1;
    if (output === undefined || (!isLast && operator !== '|'))
      return unknownInput(`| ${words.map(({ bytes }) => textOf(bytes)).join(' ')}`);
    piped = output;
  }
  return piped ?? unknownInput('|');
}

function writtenBy(
  program: string,
  args: readonly ShellWord[],
  stdin: ShellWord | undefined,
  readFile: ReadFile,
): ShellWord | undefined {
  const [first, ...others] = args;
  const unknown = args.flatMap((word) => word.unknown);
  const isOption = first?.bytes.startsWith('-') === true && first.bytes !== '-';
  switch (program) {
    case 'cat': {
      if (first === undefined) return stdin;
      const read = args.map((path) => (path.bytes === '-' ? stdin : fileInput(path, readFile)));
      if (isOption || read.some((word) => word === undefined || word.unknown.length > 0)) return undefined;
      return plainWord(read.map((word) => word?.bytes ?? '').join(''));
    }
    case 'tee':
      return isOption && first.bytes !== '-a' ? undefined : stdin;
    case 'base64': {
      const isWhole = first?.bytes === '-w0' || (first?.bytes === '-w' && others[0]?.bytes === '0');
      if (stdin === undefined || stdin.unknown.length > 0 || (first !== undefined && !isWhole))
        return undefined;
      const coded = btoa(stdin.bytes);
      return plainWord(isWhole ? coded : coded.replaceAll(/.{1,76}/g, '$&\n'));
    }
    case 'echo': {
      const isBare = first?.bytes === '-n';
      if (isOption && !isBare) return undefined;
      const bytes = (isBare ? others : args).map((word) => word.bytes).join(' ');
      return { bytes: bytes + (isBare ? '' : '\n'), unknown, hasBrace: false };
    }
    case 'printf': {
      if (first === undefined || isOption) return undefined;
      const bytes = printed(
        first.bytes,
        others.map((word) => word.bytes),
      );
      return bytes === undefined ? undefined : { bytes, unknown, hasBrace: false };
    }
    default:
      return undefined;
  }
}

/** The output of `printf` for a format with `%s`, `%d`, `%%` and escapes, repeated while arguments are left; undefined for other forms. */
function printed(format: string, values: readonly string[]): string | undefined {
  const left = [...values];
  let bytes = '';
  let isKnown = true;
  do {
    const before = left.length;
    bytes += format.replaceAll(/%(.?)|\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)/gs, (whole, form?: string) => {
      if (form === undefined) return /^\\[cuU]/.test(whole) ? ((isKnown = false), '') : unescapeAnsi(whole);
      if (form === '%') return '%';
      if (form === 's') return left.shift() ?? '';
      const number = left.shift() ?? '0';
      isKnown &&= form === 'd' && /^-?(?:0|[1-9]\d*)$/.test(number);
      return number;
    });
    if (left.length === before) break;
  } while (left.length > 0);
  return isKnown ? bytes : undefined;
}

interface HereDocument {
  /** The line that ends it. */
  readonly end: string;
  /** True when tabs at the beginning of its lines are removed. */
  readonly hasTabs: boolean;
  readonly isQuoted: boolean;
  /** The index of the command that reads it. */
  readonly command: number;
}

const OPERATORS = ['&&', '||', '|&', ';;', ';', '&', '|', '(', ')', '\n'] as const;

/** Maximum nested substitutions; deeper ones are unknown values. */
const MAX_DEPTH = 16;

/** Maximum length of a variable's name. */
const MAX_NAME = 256;

class BashReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  /** Undefined for a variable whose value is not known here. */
  readonly #variables = new Map<string, string | undefined>();
  readonly #arrays = new Map<string, readonly WordInWork[]>();
  readonly #commands: ShellCommand[] = [];
  #words: WordInWork[] = [];
  #stdin: ShellWord | undefined;
  #isUnclosed = false;
  /** True where a redirection names no file. */
  #isPlaceless = false;
  /** True where `<(…)` takes the output of other commands. */
  #isProcess = false;
  /** Here-documents whose lines begin after the next line feed. */
  readonly #documents: HereDocument[] = [];

  readonly #readFile: ReadFile;
  /** The ends of all brackets, found in one pass: a search from each would take too long for a text that only opens them. */
  #ends: ReadonlyMap<number, number> | undefined;

  constructor(text: string, readFile: ReadFile) {
    this.#text = text;
    this.#readFile = readFile;
  }

  read(): readonly ShellCommand[] | ShellFault {
    while (this.#at < this.#text.length && !this.#isUnclosed) this.#readNext();
    this.#endCommand('');
    if (this.#isUnclosed) return UNCLOSED;
    if (this.#isProcess) return PROCESS;
    return this.#isPlaceless ? PLACELESS : this.#commands;
  }

  #readNext(): void {
    const text = this.#text;
    const character = text[this.#at] ?? '';
    if (character === ' ' || character === '\t') this.#at += 1;
    else if (text.startsWith('\\\n', this.#at)) this.#at += 2;
    // The text was copied with a mark of continuation, but without the next line.
    else if (character === '\\' && this.#at === text.length - 1) this.#at += 1;
    else if (character === '#') this.#at = endOfLine(text, this.#at);
    else if (this.#readRedirection()) return;
    else {
      const operator = OPERATORS.find((known) => text.startsWith(known, this.#at));
      if (operator === undefined) this.#words.push(...this.#readWords());
      else {
        this.#at += operator.length;
        this.#endLine(operator);
      }
    }
  }

  #endLine(operator: string): void {
    if (operator === '\n') for (const document of this.#documents.splice(0)) this.#readDocument(document);
    this.#endCommand(operator);
  }

  /** Ends a command; one that only sets variables sets them for later commands. */
  #endCommand(operator: string): void {
    const isBuiltin = DECLARING.has(this.#words[0]?.bytes ?? '');
    const words = isBuiltin
      ? this.#words.filter(({ bytes }, number) => number > 0 && !bytes.startsWith('-'))
      : this.#words;
    const isSetting = words.length > 0 && words.every(({ assigned }) => assigned !== undefined);
    for (const { assigned, isAdded, bytes, unknown } of isSetting ? words : []) {
      if (assigned === undefined) continue;
      const before = isAdded ? (this.#variables.get(assigned) ?? '') : '';
      const value = before + bytes.slice(bytes.indexOf('=') + 1);
      this.#variables.set(assigned, unknown.length > 0 ? undefined : value);
    }
    if (this.#stdin !== undefined || (this.#words.length > 0 && !isSetting)) {
      const stdin = this.#stdin;
      this.#commands.push({ words: this.#words, operator, ...(stdin === undefined ? {} : { stdin }) });
    }
    this.#words = [];
    this.#stdin = undefined;
  }

  #readRedirection(): boolean {
    const found = /^(?:\d*(?:<<<|<<-?|<>|<&|>>|>&|>\||<|>)|&>>?)/.exec(
      this.#text.slice(this.#at, this.#at + 8),
    )?.[0];
    if (found === undefined) return false;
    this.#at += found.length;
    while (this.#text[this.#at] === ' ' || this.#text[this.#at] === '\t') this.#at += 1;
    const from = this.#at;
    const [word = new WordInWork()] = this.#readWords();
    this.#isProcess ||= /^[<>]\(/.test(this.#text.slice(from - 1, from + 1));
    this.#isPlaceless ||= this.#at === from;
    const kind = found.replace(/^\d+/, '');
    if (kind === '<<<') {
      word.bytes += '\n';
      this.#stdin = word;
    }
    if (kind === '<' && !/^[1-9]/.test(found) && this.#at !== from)
      this.#stdin = fileInput(word, this.#readFile);
    if (kind === '<<' || kind === '<<-')
      this.#documents.push({
        end: word.bytes,
        hasTabs: kind === '<<-',
        isQuoted: word.isQuoted,
        command: this.#commands.length,
      });
    return true;
  }

  #readDocument({ end, hasTabs, isQuoted, command }: HereDocument): void {
    const lines: string[] = [];
    while (this.#at < this.#text.length) {
      const to = endOfLine(this.#text, this.#at);
      const whole = this.#text.slice(this.#at, to);
      const line = hasTabs ? whole.replace(/^\t+/, '') : whole;
      this.#at = to + 1;
      if (line === end) break;
      lines.push(`${line}\n`);
    }
    const word = new WordInWork();
    if (isQuoted) word.bytes = lines.join('');
    else this.#expandDocument(lines.join(''), word);
    const ended = this.#commands[command];
    if (ended === undefined) this.#stdin = word;
    else this.#commands[command] = { ...ended, stdin: word };
  }

  #expandDocument(document: string, word: WordInWork): void {
    const inside = this.#inside(document);
    while (inside.#at < document.length) inside.#readInDouble(word, '$`\\');
  }

  #inside(text: string): BashReader {
    const inside = new BashReader(text, this.#readFile);
    inside.#depth = this.#depth + 1;
    for (const [name, value] of this.#variables) inside.#variables.set(name, value);
    for (const [name, elements] of this.#arrays) inside.#arrays.set(name, elements);
    return inside;
  }

  /** The elements of an array that is a whole word, `"${name[@]}"`; undefined for any other word. */
  #readArray(): WordInWork[] | undefined {
    const found = /^("?)\$\{([A-Za-z_]\w*)\[([@*])\]\}\1(?![^ \t\n;&|()<>])/.exec(
      this.#text.slice(this.#at, this.#at + 256),
    );
    const [whole = '', quote = '', name = '', kind = ''] = found ?? [];
    const elements = this.#arrays.get(name);
    if (elements === undefined) return undefined;
    this.#at += whole.length;
    if (quote === '') return elements.flatMap((element) => element.split());
    if (kind === '@') return elements.map((element) => element.copy());
    const joined = new WordInWork();
    joined.isQuoted = true;
    for (const [number, element] of elements.entries()) {
      if (number > 0) joined.bytes += ' ';
      joined.add(element);
    }
    return [joined];
  }

  /** Reads the elements after `name=(`, up to the parenthesis; the first one is the value of the variable. */
  #readElements(word: WordInWork): void {
    const elements: WordInWork[] = [];
    this.#at += 1;
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) this.#isUnclosed = true;
      if (character === ')') this.#at += 1;
      if (this.#isUnclosed || character === ')') break;
      if (character === '#') this.#at = endOfLine(this.#text, this.#at);
      else if (this.#text.startsWith('\\\n', this.#at)) this.#at += 2;
      else if (' \t\n;&|(<>'.includes(character ?? '')) this.#at += 1;
      else elements.push(...this.#readWords());
    }
    const name = word.assigned ?? '';
    const before = word.isAdded ? (this.#arrays.get(name) ?? []) : [];
    this.#arrays.set(name, [...before, ...elements]);
    const [first] = elements;
    if (first !== undefined && !word.isAdded) word.add(first);
  }

  /** Reads one word, or several where the value of a variable outside quotes is split. */
  #readWords(): WordInWork[] {
    const listed = this.#readArray();
    if (listed !== undefined) return listed;
    const words: WordInWork[] = [];
    let word = new WordInWork();
    const expand = (): void => {
      const value = new WordInWork();
      this.#readExpansion(value);
      if (word.assigned !== undefined || value.unknown.length > 0 || !/[ \t\n]/.test(value.bytes)) {
        word.add(value);
        return;
      }
      const [head = '', ...parts] = value.bytes.split(/[ \t\n]+/);
      word.bytes += head;
      for (const part of parts) {
        if (word.bytes !== '' || word.isQuoted) words.push(word);
        word = new WordInWork();
        word.bytes = part;
      }
    };
    const text = this.#text;
    while (this.#at < text.length && !this.#isUnclosed) {
      const character = text[this.#at] ?? '';
      if (' \t\n;&|()<>'.includes(character)) break;
      if (character === "'") this.#readSingle(word);
      else if (character === '"') this.#readDouble(word);
      else if (text.startsWith("$'", this.#at)) this.#readAnsi(word);
      else if (text.startsWith('$"', this.#at)) {
        this.#at += 1;
        this.#readDouble(word);
      } else if (character === '\\') {
        if (text[this.#at + 1] !== '\n') {
          word.bytes += text[this.#at + 1] ?? '';
          word.isQuoted = true;
        }
        this.#at += 2;
      } else if (character === '$' || character === '`') expand();
      else {
        const begun = word.isQuoted || word.bytes.length > MAX_NAME ? ' ' : word.bytes;
        const name = character === '=' ? /^([A-Za-z_]\w*)(\+?)$/.exec(begun) : null;
        if (name !== null) {
          word.assigned ??= name[1];
          word.isAdded ||= name[2] === '+';
        }
        if (character === '{') word.hasBrace = true;
        if (
          character === '~' &&
          /^(?:[A-Za-z_]\w*=)?$/.test(begun) &&
          HOME.test(text.slice(this.#at, this.#at + 2))
        )
          word.unknown.push({ name: '~', at: word.bytes.length });
        word.bytes += character;
        this.#at += 1;
        if (name !== null && text[this.#at] === '(') this.#readElements(word);
      }
    }
    return words.length > 0 && word.bytes === '' && !word.isQuoted ? words : [...words, word];
  }

  #readSingle(word: WordInWork): void {
    const end = this.#text.indexOf("'", this.#at + 1);
    if (end === -1) this.#isUnclosed = true;
    word.bytes += this.#text.slice(this.#at + 1, end);
    word.isQuoted = true;
    this.#at = end + 1;
  }

  #readDouble(word: WordInWork): void {
    word.isQuoted = true;
    this.#at += 1;
    while (this.#at < this.#text.length) {
      if (this.#text[this.#at] === '"') {
        this.#at += 1;
        return;
      }
      this.#readInDouble(word, '$`\\"');
    }
    this.#isUnclosed = true;
  }

  /** Reads one character between double quotes, where a backslash escapes only the characters in `special` and the end of a line. */
  #readInDouble(word: WordInWork, special: string): void {
    const character = this.#text[this.#at] ?? '';
    const next = this.#text[this.#at + 1] ?? '';
    if (character === '\\' && next === '\n') this.#at += 2;
    else if (character === '\\' && next !== '' && special.includes(next)) {
      word.bytes += next;
      this.#at += 2;
    } else if (character === '$' || character === '`') this.#readExpansion(word);
    else {
      word.bytes += character;
      this.#at += 1;
    }
  }

  #readAnsi(word: WordInWork): void {
    let end = this.#at + 2;
    while (end < this.#text.length && this.#text[end] !== "'") end += this.#text[end] === '\\' ? 2 : 1;
    if (end >= this.#text.length) this.#isUnclosed = true;
    word.bytes += unescapeAnsi(this.#text.slice(this.#at + 2, end));
    word.isQuoted = true;
    this.#at = end + 1;
  }

  #readExpansion(word: WordInWork): void {
    const from = this.#at;
    const text = this.#text;
    const name = /^\$(?:([A-Za-z_]\w*|[0-9?$!#@*-])|\{([A-Za-z_]\w*)\})/.exec(text.slice(from, from + 256));
    if (name !== null) {
      this.#at += name[0].length;
      this.#expand(word, name[1] ?? name[2] ?? '', name[0]);
      return;
    }
    const given = /^\$\{([A-Za-z_]\w*)(:?)([-=+])([^{}$`"'\\]*)\}/.exec(text.slice(from, from + 1024));
    if (given !== null) {
      this.#at += given[0].length;
      this.#substitute(word, given);
      return;
    }
    const element = /^\$\{([A-Za-z_]\w*)\[(\d{1,6})\]\}/.exec(text.slice(from, from + 256));
    const elements = this.#arrays.get(element?.[1] ?? '');
    if (element !== null && elements !== undefined) {
      this.#at += element[0].length;
      const one = elements[Number(element[2])];
      if (one !== undefined) word.add(one);
      return;
    }
    const end = this.#endOfSubstitution(from);
    if (end === undefined) {
      word.bytes += text[from] ?? '';
      this.#at += 1;
      return;
    }
    this.#at = end;
    const written = text.slice(from, end);
    const output = this.#substituted(written);
    if (output === undefined) this.#expand(word, '', written);
    else word.bytes += output;
  }

  /** The end of `$(…)`, `${…}` or backquotes that begin at `from`; undefined for a plain dollar. */
  #endOfSubstitution(from: number): number | undefined {
    if (this.#text[from] !== '`') {
      this.#ends ??= bracketEnds(this.#text);
      return this.#ends.get(from + 1);
    }
    const end = this.#text.indexOf('`', from + 1);
    return end === -1 ? undefined : end + 1;
  }

  /** Expands `${name:-text}` and its like: to the text where the variable is not set or, with a colon, where it is empty. */
  #substitute(word: WordInWork, [written, name = '', colon, operator, text = '']: readonly string[]): void {
    const value = this.#variables.get(name);
    if (value === undefined && this.#variables.has(name)) {
      this.#expand(word, '', written ?? '');
      return;
    }
    const isSet = colon === ':' ? value !== undefined && value !== '' : value !== undefined;
    if (operator === '+') word.bytes += isSet ? text : '';
    else word.bytes += isSet ? (value ?? '') : text;
    if (operator === '=' && !isSet) this.#variables.set(name, text);
  }

  /** The value of `$(…)` or backquotes, if the commands only write a text or a file; undefined for others. */
  #substituted(written: string): string | undefined {
    const isOld = written.startsWith('`');
    if (!isOld && (!written.startsWith('$(') || written.startsWith('$(('))) return undefined;
    if (this.#depth >= MAX_DEPTH) return undefined;
    const commands = this.#inside(written.slice(isOld ? 1 : 2, -1)).read();
    if ('fault' in commands || commands.length === 0) return undefined;
    // A request inside is made before the command that uses its response.
    if (commands.some(({ words }) => words.some((word) => CURL.test(word.bytes)))) {
      this.#commands.push(...commands);
      return undefined;
    }
    const { bytes, unknown } = outputOf(commands, this.#readFile);
    let end = bytes.length;
    while (bytes[end - 1] === '\n') end -= 1;
    return unknown.length > 0 ? undefined : bytes.slice(0, end).replaceAll('\0', '');
  }

  #expand(word: WordInWork, name: string, written: string): void {
    const value = name === '' ? undefined : this.#variables.get(name);
    if (value === undefined) word.unknown.push({ name: textOf(written), at: word.bytes.length });
    word.bytes += value ?? written;
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

  /** Adds the text of another word as if in quotes. */
  add({ bytes, unknown }: WordInWork): void {
    const from = this.bytes.length;
    this.unknown.push(...unknown.map(({ name, at }) => ({ name, at: from + at })));
    this.bytes += bytes;
  }

  /** Splits it into words, as outside quotes. */
  split(): WordInWork[] {
    if (this.unknown.length > 0 || !/[ \t\n]/.test(this.bytes)) return [this.copy()];
    return this.bytes
      .split(/[ \t\n]+/)
      .filter((part) => part !== '')
      .map((part) => {
        const word = new WordInWork();
        word.bytes = part;
        return word;
      });
  }

  /** A copy for another command, where it sets no variable. */
  copy(): WordInWork {
    const word = new WordInWork();
    word.add(this);
    word.isQuoted = true;
    return word;
  }
}

/** A tilde that bash replaces, at the beginning of a word, by the home directory. */
const HOME = /^~(?:\/|[\s;&|()<>]|$)/;

/** Builtins of bash whose words set variables. */
const DECLARING: ReadonlySet<string> = new Set('export declare typeset readonly local'.split(' '));

/** The place after the counterpart of each closed `(` and `{`; the two kinds are matched separately. */
function bracketEnds(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const [round, curly]: [number[], number[]] = [[], []];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '(') round.push(at);
    if (character === '{') curly.push(at);
    const begin = character === ')' ? round.pop() : character === '}' ? curly.pop() : undefined;
    if (begin !== undefined) ends.set(begin, at + 1);
  }
  return ends;
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

function endOfLine(text: string, at: number): number {
  const feed = text.indexOf('\n', at);
  return feed === -1 ? text.length : feed;
}

/**
 * Reads a command that browsers copy for Windows: first as cmd.exe does (a caret escapes the next character, also a line feed), then as
 * C programs split their command line (doubled and escaped quotes). Browsers add carets and backslashes also where cmd.exe and C would
 * keep them; a copied command is read as the request that the browser sent.
 */
export function readCmd(text: string): readonly ShellCommand[] | ShellFault {
  const isCopied = /\^(?:["&]|\\\^"|%\^)/.test(text);
  const commands: ShellCommand[] = [];
  const paired = text.replaceAll(/([\ud800-\udbff])\^([\udc00-\udfff])/g, '$1$2');
  // A line feed with nothing between it and the quotes around it belongs to the body.
  const source = bytesOf(paired.replaceAll('\r\n', '\n').replaceAll(/"\^\n(?=")/g, '"^\n\n'));
  let line = '';
  let isQuoted = false;
  const end = (operator: string): boolean => {
    const words = splitAsC(line, isCopied || /[^"\s]""[^"\s]/.test(line));
    if (words === undefined) return false;
    if (words.length > 0) commands.push({ words, operator });
    line = '';
    isQuoted = false;
    return true;
  };
  const toggle = (): void => {
    let backslashes = 0;
    while (line[line.length - 1 - backslashes] === '\\') backslashes += 1;
    if (!isCopied || backslashes % 2 === 0) isQuoted = !isQuoted;
  };
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at] ?? '';
    if (character === '^' && (isCopied || !isQuoted)) {
      at += source[at + 1] === '\n' ? 2 : 1;
      if (isCopied && source[at] === '"') toggle();
      line += source[at] ?? '';
    } else if ((character === '\n' && !(isCopied && isQuoted)) || (!isQuoted && '&|<>'.includes(character))) {
      if (!end(character)) return UNCLOSED;
    } else {
      if (character === '"') toggle();
      line += character;
    }
  }
  return end('') ? commands : UNCLOSED;
}

/** Splits a command line as the C runtime of Windows does; undefined when a quote is not closed. */
function splitAsC(line: string, isCopied: boolean): readonly ShellWord[] | undefined {
  const words: ShellWord[] = [];
  let word: string | undefined;
  let isQuoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? '';
    if (!isQuoted && (character === ' ' || character === '\t')) {
      if (word !== undefined) words.push(cmdWord(word));
      word = undefined;
      continue;
    }
    word ??= '';
    let backslashes = 0;
    while (line[at + backslashes] === '\\') backslashes += 1;
    if (backslashes > 0) {
      const next = line[at + backslashes] ?? '';
      // Firefox escapes these as well.
      const isEscape = next === '"' || (isCopied && (next === '$' || next === '`'));
      word += '\\'.repeat(isEscape || isCopied ? (backslashes + (isEscape ? 0 : 1)) >> 1 : backslashes);
      at += backslashes - 1;
      if (isEscape && backslashes % 2 === 1) {
        word += next;
        at += 1;
      }
    } else if (character !== '"') word += character;
    else if (isQuoted && line[at + 1] === '"') {
      word += '"';
      at += 1;
    } else isQuoted = !isQuoted;
  }
  if (isQuoted) return undefined;
  return word === undefined ? words : [...words, cmdWord(word)];
}

/** `%NAME%` is surely a variable only at the beginning: elsewhere `%20b%` may be one that is not set, which cmd.exe leaves as it is. */
function cmdWord(bytes: string): ShellWord {
  const name = /^%[A-Za-z_]\w*%/.exec(bytes)?.[0];
  return name === undefined ? plainWord(bytes) : { ...plainWord(bytes), unknown: [{ name, at: 0 }] };
}

/**
 * Reads a command for PowerShell, where a backquote escapes a character or joins lines. Windows PowerShell passes `\"` on to a program,
 * whose runtime removes the backslash.
 */
export function readPowerShell(text: string): readonly ShellCommand[] | ShellFault {
  const source = bytesOf(text.replaceAll('\r\n', '\n'));
  const commands: ShellCommand[] = [];
  let words: ShellWord[] = [];
  let at = 0;
  while (at < source.length) {
    const character = source[at] ?? '';
    if (character === '\n' || character === ';' || character === '|') {
      if (words.length > 0) commands.push({ words, operator: character });
      words = [];
      at += 1;
    } else if (character === ' ' || character === '\t') at += 1;
    else if (source.startsWith('`\n', at)) at += 2;
    else {
      const read = powerShellWord(source, at);
      if (read === undefined) return UNCLOSED;
      words.push({ ...read.word, bytes: read.word.bytes.replaceAll('\\"', '"') });
      at = read.end;
    }
  }
  if (words.length > 0) commands.push({ words, operator: '' });
  return commands;
}

function powerShellWord(source: string, from: number): { word: ShellWord; end: number } | undefined {
  let [bytes, at] = ['', from];
  const unknown: { name: string; at: number }[] = [];
  while (at < source.length && !/[\s;|]/.test(source[at] ?? '')) {
    const text = powerShellString(source, at);
    if (text === 'unclosed') return undefined;
    if (text !== undefined) {
      for (const place of text.unknown) unknown.push({ ...place, at: bytes.length + place.at });
      bytes += text.bytes;
      at = text.end;
      continue;
    }
    const name = /^\$(?:env:)?[A-Za-z_]\w*/.exec(source.slice(at, at + 256))?.[0];
    if (name !== undefined) unknown.push({ name, at: bytes.length });
    const isEscape = source[at] === '`';
    bytes += name ?? source[at + (isEscape ? 1 : 0)] ?? '';
    at += name?.length ?? (isEscape ? 2 : 1);
  }
  return { word: { bytes, unknown, hasBrace: false }, end: at };
}

const BACKQUOTED: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\u0007',
  b: '\b',
  e: '\u001B',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Reads a string of PowerShell: `'…'`, `"…"`, or a here-string of either kind. Undefined where none begins. */
export function powerShellString(
  source: string,
  from: number,
): (Pick<ShellWord, 'bytes' | 'unknown'> & { readonly end: number }) | 'unclosed' | undefined {
  const here = /^@(["'])[ \t]*\n/.exec(source.slice(from, from + 80));
  const quote = here?.[1] ?? source[from] ?? '';
  if (quote !== '"' && quote !== "'") return undefined;
  const begin = from + (here?.[0].length ?? 1);
  const close = here === null ? quote : `\n${quote}@`;
  const unknown: { name: string; at: number }[] = [];
  let [bytes, at] = ['', begin];
  while (at < source.length) {
    if (source.startsWith(close, at) && (here !== null || source[at + 1] !== quote))
      return { bytes, unknown, end: at + close.length };
    if (here === null && source.startsWith(quote + quote, at)) {
      bytes += quote;
      at += 2;
    } else if (quote === '"' && source[at] === '`') {
      bytes += BACKQUOTED[source[at + 1] ?? ''] ?? source[at + 1] ?? '';
      at += 2;
    } else if (quote === '"' && source[at] === '$') {
      const character = /^\$\(\[char\]\s*(\d+|0x[0-9a-fA-F]+)\)/i.exec(source.slice(at, at + 24));
      const name = /^\$(?:[A-Za-z_][\w:]*|\{[^}]*\})/.exec(source.slice(at, at + 256))?.[0];
      // Chrome writes one UTF-16 unit at a time; `joinedPairs` joins the halves of a pair.
      if (character !== null) bytes += utf8(Number(character[1]));
      else if (name !== undefined) unknown.push({ name: textOf(name), at: bytes.length });
      bytes += character === null ? (name ?? '$') : '';
      at += character?.[0].length ?? name?.length ?? 1;
    } else {
      bytes += source[at] ?? '';
      at += 1;
    }
  }
  return 'unclosed';
}

/** Joins two surrogate halves of three bytes each to the character of four bytes that they encode. */
export function joinedPairs(bytes: string): string {
  return bytes.replaceAll(
    /\u00ED([\u00A0-\u00AF])([\u0080-\u00BF])\u00ED([\u00B0-\u00BF])([\u0080-\u00BF])/g,
    (_, a: string, b: string, c: string, d: string) => {
      const unit = (one: string, two: string): number =>
        0xd000 | ((one.charCodeAt(0) & 0x3f) << 6) | (two.charCodeAt(0) & 0x3f);
      return utf8(0x10000 + ((unit(a, b) - 0xd800) << 10) + (unit(c, d) - 0xdc00));
    },
  );
}
