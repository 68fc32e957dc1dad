import type { HeaderList } from './header-list.ts';

/**
 * Reads field lines (RFC 9112 §5), each ended by CRLF, from an offset of a latin1 text to its end: names and values exactly as
 * sent, without the white space around values. Undefined when a line is ambiguous: no folding, no space before the colon, no bare
 * CR or LF, no control character.
 */
export function readFieldLines(text: string, from: number): string[] | undefined {
  const list: string[] = [];
  for (let at = from; at < text.length;) {
    let colon = at;
    let code = text.charCodeAt(colon);
    while (hasClass(code, TOKEN_CHARACTER)) code = text.charCodeAt((colon += 1));
    if (code !== 0x3a || colon === at) return undefined;
    let start = colon + 1;
    while (isSpace(text.charCodeAt(start))) start += 1;
    let end = start;
    code = text.charCodeAt(end);
    while (hasClass(code, VALUE_CHARACTER)) code = text.charCodeAt((end += 1));
    if (code !== 0x0d || text.charCodeAt(end + 1) !== 0x0a) return undefined;
    const next = end + 2;
    while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
    list.push(text.slice(at, colon), text.slice(start, end));
    at = next;
  }
  return list;
}

/** True when every field can be written as one unambiguous line. */
export function areFieldLines(fields: HeaderList): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    if (!isFieldName(fields[at] ?? '') || !isFieldValue(fields[at + 1] ?? '')) return false;
  }
  return true;
}

/** Writes field lines; undefined when a name or a value cannot be written as one unambiguous line. */
export function writeFieldLines(fields: HeaderList): string | undefined {
  let text = '';
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    if (!isFieldName(name) || !isFieldValue(value)) return undefined;
    text += `${name}: ${value}\r\n`;
  }
  return text;
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

/** False beyond latin1, and beyond the end of a text, where the code is `NaN`. */
function hasClass(code: number, characterClass: number): boolean {
  return ((characterClasses[code] ?? 0) & characterClass) !== 0;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
