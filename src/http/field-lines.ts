import type { HeaderList } from './header-list.ts';

/** Fields with the text that they were read from, so that their lines can be written again without a second check. */
export interface FieldLines {
  readonly fields: HeaderList;
  /** In latin1. */
  readonly text: string;
  /** Offset of the line of each field; -1 for a line that is not written as `Name: value`. */
  readonly offsets: readonly number[];
  /** True when all lines are written so: together they are the text from the first offset on. */
  readonly arePlain: boolean;
}

/**
 * Reads field lines (RFC 9112 §5), each ended by CRLF, from an offset of a latin1 text to its end: names and values exactly as
 * sent, without the white space around values. `bytes` have the text from `start` on: V8 reads them several times as fast as
 * characters. Undefined when a line is ambiguous: no folding, no space before the colon, no bare CR or LF, no control character.
 */
export function readFieldLines(
  text: string,
  from: number,
  bytes: Uint8Array,
  start = 0,
): FieldLines | undefined {
  const fields: string[] = [];
  const offsets: number[] = [];
  let arePlain = true;
  const last = start + text.length;
  for (let at = start + from; at < last;) {
    let colon = at;
    while (hasClass(bytes[colon], TOKEN_CHARACTER)) colon += 1;
    if (bytes[colon] !== COLON || colon === at) return undefined;
    let begin = colon + 1;
    while (isSpace(bytes[begin])) begin += 1;
    let end = begin;
    while (hasClass(bytes[end], VALUE_CHARACTER)) end += 1;
    const next = end + 2;
    if (bytes[end] !== CR || bytes[end + 1] !== LF || next > last) return undefined;
    while (end > begin && isSpace(bytes[end - 1])) end -= 1;
    const isPlain = begin === colon + 2 && bytes[colon + 1] === SPACE && end + 2 === next;
    arePlain &&= isPlain;
    offsets.push(isPlain ? at - start : -1);
    fields.push(text.slice(at - start, colon - start), text.slice(begin - start, end - start));
    at = next;
  }
  return { fields, text, offsets, arePlain };
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
  if (fields === received.fields && received.arePlain)
    return source.slice(received.offsets[0] ?? source.length);
  let text = '';
  // The lines of this part of the source are still to be copied.
  let runStart = 0;
  let runEnd = 0;
  let next = 0;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    const found = findField(received.fields, name, value, next);
    const offset = received.offsets[found / 2] ?? -1;
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

const NO_LINES: FieldLines = { fields: [], text: '', offsets: [], arePlain: true };

/** Position of a field in a list, from `from` on; the length of the list where there is none. */
function findField(fields: HeaderList, name: string, value: string, from: number): number {
  let at = from;
  while (at < fields.length && !(fields[at] === name && fields[at + 1] === value)) at += 2;
  return at;
}

/** True for a valid field name: a token (RFC 9110 §5.6.2). */
export function isFieldName(text: string): boolean {
  return text !== '' && consistsOf(text, TOKEN_CHARACTER);
}

/** True for a valid field value or reason phrase: each character is one byte, and none is a control character except the tab. */
export function isFieldValue(text: string): boolean {
  return consistsOf(text, VALUE_CHARACTER);
}

/** True for the code of a character that a token may contain (RFC 9110 §5.6.2). */
export function isTokenCharacter(code: number): boolean {
  return hasClass(code, TOKEN_CHARACTER);
}

/** True for the code of a character that a field value may contain (RFC 9110 §5.5). */
export function isValueCharacter(code: number): boolean {
  return hasClass(code, VALUE_CHARACTER);
}

const TOKEN_CHARACTER = 1;
const VALUE_CHARACTER = 2;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

/** The character classes of each byte. */
const characterClasses = new Uint8Array(256);
for (let code = 0x20; code < 0x100; code += 1) {
  if (code !== 0x7f) characterClasses[code] = VALUE_CHARACTER;
}
characterClasses[0x09] = VALUE_CHARACTER;
for (const character of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") {
  characterClasses[character.charCodeAt(0)] = TOKEN_CHARACTER | VALUE_CHARACTER;
}

function consistsOf(text: string, characterClass: number): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (!hasClass(text.charCodeAt(at), characterClass)) return false;
  }
  return true;
}

/** False beyond latin1, and beyond the end of a text or of bytes. */
function hasClass(code: number | undefined, characterClass: number): boolean {
  return ((characterClasses[code ?? 0] ?? 0) & characterClass) !== 0;
}

function isSpace(code: number | undefined): boolean {
  return code === SPACE || code === TAB;
}
