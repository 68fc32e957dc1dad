import { type FieldUse, useOfBytes, useOfName } from './fields.ts';
import {
  type HeaderList,
  isFieldName,
  isFieldValue,
  isTokenCharacter,
  isValueCharacter,
} from './header-list.ts';

/** Positions of each line in `marks`: where its name starts and ends, and where its value starts and ends. */
const MARKS = 4;

/** Field lines as received, checked. Names are known by their uses; texts of names and values are cut where they are asked for. */
export class FieldLines {
  /** In latin1; the lines are its end. */
  readonly text: string;
  /** The use of each field. */
  readonly uses: readonly FieldUse[];
  private readonly marks: readonly number[];
  /** True when all lines are written as `Name: value`. */
  readonly arePlain: boolean;
  private list: HeaderList | undefined;

  constructor(
    text: string,
    uses: readonly FieldUse[],
    marks: readonly number[],
    arePlain: boolean,
    list?: HeaderList,
  ) {
    this.text = text;
    this.uses = uses;
    this.marks = marks;
    this.arePlain = arePlain;
    this.list = list;
  }

  /** Names and values exactly as sent, without the white space around values. */
  get fields(): HeaderList {
    this.list ??= this.cut();
    return this.list;
  }

  name(index: number): string {
    return this.list?.[index * 2] ?? this.text.slice(this.mark(index, 0), this.mark(index, 1));
  }

  value(index: number): string {
    return this.list?.[index * 2 + 1] ?? this.text.slice(this.mark(index, 2), this.mark(index, 3));
  }

  /** The first field with a use, as a list of it alone. */
  first(use: FieldUse): HeaderList {
    const index = this.uses.indexOf(use);
    return index === -1 ? [] : [this.name(index), this.value(index)];
  }

  /** Bytes of the name and the value of a field. */
  bytes(index: number): number {
    return this.mark(index, 1) - this.mark(index, 0) + this.mark(index, 3) - this.mark(index, 2);
  }

  /** Offset of a line that is written as `Name: value`; -1 for any other. */
  offset(index: number): number {
    return this.arePlain || this.isPlain(index) ? this.mark(index, 0) : -1;
  }

  /** The lines of the fields that are kept; undefined where a line is not written as `Name: value`. */
  kept(isKept: (use: FieldUse) => boolean): string | undefined {
    if (!this.arePlain) return undefined;
    const { text, uses } = this;
    let kept = '';
    let runStart = uses.length === 0 ? text.length : this.mark(0, 0);
    for (let index = 0; index < uses.length; index += 1) {
      if (isKept(uses[index] ?? 'other')) continue;
      kept += text.slice(runStart, this.mark(index, 0));
      runStart = this.mark(index, 3) + LINE_END;
    }
    return kept + text.slice(runStart);
  }

  private cut(): HeaderList {
    const fields: string[] = [];
    for (let index = 0; index < this.uses.length; index += 1)
      fields.push(this.name(index), this.value(index));
    return fields;
  }

  private isPlain(index: number): boolean {
    const nameEnd = this.mark(index, 1);
    const next = index + 1 < this.uses.length ? this.mark(index + 1, 0) : this.text.length;
    return (
      this.mark(index, 2) === nameEnd + 2 &&
      this.text.charCodeAt(nameEnd + 1) === SPACE &&
      this.mark(index, 3) + LINE_END === next
    );
  }

  private mark(index: number, which: number): number {
    return this.marks[index * MARKS + which] ?? 0;
  }
}

/**
 * Reads field lines (RFC 9112 §5), each ended by CRLF, from an offset of a latin1 text to its end. `bytes` have the text from `start`
 * on: V8 reads them several times as fast as characters. Undefined when a line is ambiguous: no folding, no space before the colon, no
 * bare CR or LF, no control character.
 */
export function readFieldLines(
  text: string,
  from: number,
  bytes: Uint8Array,
  start = 0,
): FieldLines | undefined {
  const uses: FieldUse[] = [];
  const marks: number[] = [];
  let arePlain = true;
  const last = start + text.length;
  for (let at = start + from; at < last;) {
    let colon = at;
    while (isTokenCharacter(bytes[colon] ?? 0)) colon += 1;
    if (bytes[colon] !== COLON || colon === at) return undefined;
    let begin = colon + 1;
    while (isSpace(bytes[begin])) begin += 1;
    let end = begin;
    while (isValueCharacter(bytes[end] ?? 0)) end += 1;
    const next = end + LINE_END;
    if (bytes[end] !== CR || bytes[end + 1] !== LF || next > last) return undefined;
    while (end > begin && isSpace(bytes[end - 1])) end -= 1;
    arePlain &&= begin === colon + 2 && bytes[colon + 1] === SPACE && end + LINE_END === next;
    uses.push(useOfBytes(bytes, at, colon) ?? useOfName(text.slice(at - start, colon - start)));
    marks.push(at - start, colon - start, begin - start, end - start);
    at = next;
  }
  return new FieldLines(text, uses, marks, arePlain);
}

/** The lines of fields that were checked. */
export function linesOf(fields: HeaderList): FieldLines {
  const uses: FieldUse[] = [];
  const marks: number[] = [];
  let text = '';
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    const start = text.length;
    const valueStart = start + name.length + 2;
    text += `${name}: ${value}\r\n`;
    uses.push(useOfName(name));
    marks.push(start, start + name.length, valueStart, valueStart + value.length);
  }
  return new FieldLines(text, uses, marks, true, fields);
}

/** True when every field can be written as one unambiguous line. */
export function areFieldLines(fields: HeaderList): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    if (!isFieldName(fields[at] ?? '') || !isFieldValue(fields[at + 1] ?? '')) return false;
  }
  return true;
}

/**
 * Writes field lines; undefined when a name or a value cannot be written as one unambiguous line. Runs of lines that were `received`
 * are copied whole: reading has checked them.
 */
export function writeFieldLines(fields: HeaderList, received = NO_LINES): string | undefined {
  const source = received.text;
  let text = '';
  // The lines of this part of the source are still to be copied.
  let runStart = 0;
  let runEnd = 0;
  let next = 0;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    const found = findField(received.fields, name, value, next);
    const offset = found < received.fields.length ? received.offset(found / 2) : -1;
    next = found + 2;
    if (offset === -1) {
      if (!isFieldName(name) || !isFieldValue(value)) return undefined;
      text += `${source.slice(runStart, runEnd)}${name}: ${value}\r\n`;
      runStart = 0;
      runEnd = 0;
      continue;
    }
    if (offset !== runEnd) {
      text += source.slice(runStart, runEnd);
      runStart = offset;
    }
    runEnd = offset + name.length + value.length + PUNCTUATION;
  }
  return text + source.slice(runStart, runEnd);
}

/** Characters of `: ` and CRLF. */
const PUNCTUATION = 4;
/** Characters of CRLF. */
const LINE_END = 2;

const NO_LINES = new FieldLines('', [], [], true);

/** Position of a field in a list, from `from` on; the length of the list where there is none. */
function findField(fields: HeaderList, name: string, value: string, from: number): number {
  let at = from;
  while (at < fields.length && !(fields[at] === name && fields[at + 1] === value)) at += 2;
  return at;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

function isSpace(code: number | undefined): boolean {
  return code === SPACE || code === TAB;
}

/**
 * Offset of the CRLF CRLF that ends a head (RFC 9112 §2.1), from an offset on; -1 where there is none. Most of the bytes are skipped: one
 * that is neither CR nor LF cannot be among the four.
 */
export function findHeadEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 3; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    if (byte > CR) at += 4;
    else if (byte === CR) at += 1;
    else if (byte !== LF) at += 4;
    else if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at - 3;
    else at += 2;
  }
  return -1;
}
