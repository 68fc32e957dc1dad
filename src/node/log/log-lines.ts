import { replicaOfPrefix } from '../../report/log-gaps.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import {
  beginsYaml,
  continuesYaml,
  cutObject,
  type CutLines,
  linesInText,
  linesWithin,
  plainText,
  sourceOf,
  timeOf,
  yamlValue,
} from './wrapped-lines.ts';

/** Maximum characters of a record that is printed over many lines; a longer one is passed on, and counts as unreadable. */
const MAX_RECORD = 64 * 1024 * 1024;

/** Maximum characters of a record in YAML, whose parser is slow; a longer one is read line by line. */
const MAX_YAML = 1024 * 1024;

/** Maximum characters of a line that a collector split, and maximum lines that wait for their next piece. */
const MAX_CUT = 1024 * 1024;
const MAX_WAITING = 64;

const FEED = 0x0a;
const HEAD = Buffer.from('{"time":"');
const LEVEL = Buffer.from('","level":"');
const TAIL = Buffer.from('"ruleBook":"');
/** Characters of a time, and those from the name of the last member to the end of a line. */
const TIME = 24;
const LAST = TAIL.length + 16 + 2;

/**
 * Converts the output of collectors, containers and export commands to the gateway's own lines, for all readers of logs. Each line is
 * examined separately, because one file may have lines in several forms. A text before an entry stays if it names a replica. A line
 * without an entry is passed on, and counts as unreadable; records of other programs are left out.
 */
export class LogLines {
  /** Lines of a record that is printed over several, and the indent of the first. */
  private record: string[] = [];
  private indent = '';
  private length = 0;
  /** Lines of a record in YAML. */
  private yaml: string[] = [];
  /** The last line that was extracted from another form: a collector may have written it under several names. */
  private latest = '';
  /** Beginnings of lines whose next piece has not arrived, by the text before them. */
  private readonly waiting = new Map<string, string>();

  /** Returns the lines in whole lines of a file: the given bytes where all of them are entries. */
  add(bytes: Buffer): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length;) {
      const feed = bytes.indexOf(FEED, at);
      const end = feed === -1 ? bytes.length : feed;
      const next = feed === -1 ? end : feed + 1;
      if (!isOwn(bytes, at, end)) {
        const text = this.line(bytes.toString('utf8', at, end));
        parts.push(bytes.subarray(from, at), Buffer.from(text));
        from = next;
      } else if (this.record.length > 0 || this.yaml.length > 0) {
        parts.push(bytes.subarray(from, at), Buffer.from(this.endRecord() + this.endYaml()));
        from = at;
      }
      at = next;
    }
    return from === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(from)]);
  }

  /** Returns the remaining lines at the end of a file. */
  end(): Buffer {
    const cut = [...this.waiting].map(([key, text]) => `${key.includes('\0') ? '' : key}${text}\n`).join('');
    this.waiting.clear();
    return Buffer.from(this.endRecord() + this.endYaml() + cut);
  }

  private line(raw: string): string {
    const text = plainText(raw);
    if (this.record.length > 0) return this.inRecord(text);
    if (this.yaml.length > 0) {
      if (continuesYaml(this.yaml[0] ?? '', text) && this.length <= MAX_YAML) return this.inYaml(text);
      return this.endYaml() + this.line(raw);
    }
    return beginsYaml(text) ? this.inYaml(text) : this.whole(text);
  }

  /** Reads a line that is not part of a record in YAML. */
  private whole(text: string): string {
    if (text === '') return '\n';
    const opened = /^(\s*)([[{])$/.exec(text);
    if (opened !== null) {
      // The elements of a list are separate records.
      if (opened[2] === '[') return '';
      this.indent = opened[1] ?? '';
      return this.inRecord(text);
    }
    if (/^\s*\],?$/.test(text)) return '';
    const value = /^\s*[[{]/.test(text) ? parsedJson(text) : undefined;
    return value === undefined ? this.text(text) : this.value(value, text);
  }

  private inRecord(text: string): string {
    this.record.push(text);
    this.length += text.length;
    const { indent, length } = this;
    const isEnd = text.startsWith(`${indent}}`) && /^\},?$/.test(text.slice(indent.length));
    return isEnd || length > MAX_RECORD ? this.endRecord() : '';
  }

  private endRecord(): string {
    if (this.record.length === 0) return '';
    const text = this.record.join('\n');
    this.record = [];
    this.length = 0;
    const value = parsedJson(text.replace(/,$/, ''));
    return value === undefined ? `${text}\n` : this.value(value, text.replaceAll('\n', ' '));
  }

  private inYaml(text: string): string {
    this.yaml.push(text);
    this.length += text.length;
    return '';
  }

  private endYaml(): string {
    const lines = this.yaml;
    if (lines.length === 0) return '';
    this.yaml = [];
    this.length = 0;
    const value = yamlValue(lines.join('\n'));
    return value === undefined
      ? lines.map((line) => this.whole(line)).join('')
      : this.value(value, lines.join(' '));
  }

  private value(value: unknown, text: string): string {
    const cuts = new RecordCuts(this.waiting, value);
    const lines = linesWithin(value, undefined, cuts);
    if (lines.length > 0 || cuts.hasPiece) return this.taken(lines);
    return isOfOthers(value) ? '' : `${text}\n`;
  }

  private text(text: string): string {
    const lines = linesInText(text);
    const [only] = lines;
    if (only !== undefined) {
      const before = text.slice(0, text.indexOf('{'));
      const prefix = lines.length === 1 && replicaOfPrefix(before) !== undefined ? before : '';
      return this.taken(lines, prefix);
    }
    const continued = this.continued(text);
    if (continued !== undefined) return continued;
    const start = cutObject(text);
    if (start === undefined) return `${text}\n`;
    return wait(this.waiting, text.slice(0, start), text.slice(start));
  }

  /** Appends a text to the line that it continues, whose beginning had the same text before it, apart from numbers. */
  private continued(text: string): string | undefined {
    for (const [before, start] of [...this.waiting].reverse()) {
      const length = before.includes('\0') ? undefined : lengthLike(before, text);
      if (length === undefined) continue;
      this.waiting.delete(before);
      const whole = start + text.slice(length);
      const [line] = linesInText(whole);
      return line === undefined ? wait(this.waiting, before, whole) : this.taken([line]);
    }
    return undefined;
  }

  /** Returns extracted lines, each only once, even if a record contains its text under several names. */
  private taken(lines: readonly string[], prefix = ''): string {
    let text = '';
    for (const line of lines) {
      if (line !== this.latest) text += `${prefix}${line}\n`;
      this.latest = line;
    }
    return text;
  }
}

/** True for a collector's record of another program. journald omits long texts unless told to print all: those may be entries. */
function isOfOthers(record: unknown): boolean {
  if (typeof record !== 'object' || record === null || timeOf(record) === undefined) return false;
  return !('MESSAGE' in record && record.MESSAGE === null);
}

/** Keeps the beginning of a line; returns one that has waited for too long. */
function wait(waiting: Map<string, string>, key: string, text: string): string {
  const old = waiting.get(key);
  waiting.delete(key);
  if (text.length > MAX_CUT) return `${text.slice(0, MAX_CUT)}\n`;
  waiting.set(key, text);
  if (old !== undefined) return `${old}\n`;
  const [oldest] = waiting;
  if (oldest === undefined || waiting.size <= MAX_WAITING) return '';
  waiting.delete(oldest[0]);
  return `${oldest[1]}\n`;
}

/** Joins pieces of lines in a record's texts, by their place and their source. */
class RecordCuts implements CutLines {
  hasPiece = false;
  private readonly waiting: Map<string, string>;
  private readonly record: unknown;

  constructor(waiting: Map<string, string>, record: unknown) {
    this.waiting = waiting;
    this.record = record;
  }

  add(place: string, text: string): string | undefined {
    const isBeginning = /^\{\s{0,16}"/.test(text) && cutObject(text) === 0;
    if (!isBeginning && this.waiting.size === 0) return undefined;
    const key = `${place}\0${sourceOf(this.record)}`;
    if (isBeginning) {
      this.hasPiece = true;
      wait(this.waiting, key, text);
      return '';
    }
    const start = this.waiting.get(key);
    if (start === undefined || linesInText(text).length > 0) return undefined;
    this.hasPiece = true;
    this.waiting.delete(key);
    const whole = start + text;
    if (linesInText(whole).length > 0) return whole;
    wait(this.waiting, key, whole);
    return '';
  }
}

/** The length of the common beginning of `text` and `before`: numbers may differ, and CRI's mark of a last piece. */
function lengthLike(before: string, text: string): number | undefined {
  let at = 0;
  for (let index = 0; index < before.length; index += 1) {
    if (isDigit(before, index)) {
      if (!isDigit(text, at)) return undefined;
      while (isDigit(before, index + 1)) index += 1;
      while (isDigit(text, at)) at += 1;
      continue;
    }
    const isMark = before[index] === 'P' && text[at] === 'F' && before[index - 1] === ' ';
    if (before[index] !== text[at] && !isMark) return undefined;
    at += 1;
  }
  return at;
}

function isDigit(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0x30 && unit <= 0x39;
}

/** True for an entry as the gateway writes it, with nothing added. */
function isOwn(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < LAST + HEAD.length || bytes[end - 1] !== 0x7d) return false;
  if (!isAt(bytes, start, HEAD) || !isAt(bytes, start + HEAD.length + TIME, LEVEL)) return false;
  if (!isAt(bytes, end - LAST, TAIL)) return false;
  const next = bytes.indexOf(HEAD, start + 1);
  return next === -1 || next >= end;
}

function isAt(bytes: Buffer, at: number, word: Buffer): boolean {
  return bytes.compare(word, 0, word.length, at, at + word.length) === 0;
}
