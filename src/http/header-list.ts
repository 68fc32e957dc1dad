import { latin1Bytes, latin1Text } from './byte-collector.ts';

/**
 * A header section exactly as on the wire: name, value, name, value, … with order, repetition and spelling preserved. Values are
 * latin1: one character per byte.
 */
export type HeaderList = readonly string[];

/** The value of the first field named `name`, which must be in lower case. */
export function headerValue(headers: HeaderList, name: string): string | undefined {
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) return headers[at + 1];
  }
  return undefined;
}

/** Every value of the fields named `name` (lower case), in order. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) values.push(headers[at + 1] ?? '');
  }
  return values;
}

/** True when `name` is the field name `lower`, which must be in lower case. Most names already differ in length. */
export function isNamed(name: string | undefined, lower: string): boolean {
  return name !== undefined && name.length === lower.length && name.toLowerCase() === lower;
}

/** A set of field names, given in lower case, and matched in any case. */
export class FieldNames {
  private readonly names: ReadonlySet<string>;
  /** True at the length of each name: a fast check that excludes most other names. */
  private readonly lengths: boolean[] = [];

  constructor(names: readonly string[]) {
    this.names = new Set(names);
    for (const { length } of names) this.lengths[length] = true;
  }

  has(name: string): boolean {
    return this.lengths[name.length] === true && this.names.has(name.toLowerCase());
  }
}

/** Returns a new list without the fields whose names are in `names`. */
export function withoutFields(headers: HeaderList, names: Pick<FieldNames, 'has'>): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!names.has(name)) kept.push(name, headers[at + 1] ?? '');
  }
  return kept;
}

/** Sets the value of a field, in its place or at the end, and removes its further lines. */
export function setField(headers: string[], name: string, value: string): void {
  let found = false;
  for (let at = 0; at < headers.length; at += 2) {
    if (!isNamed(headers[at], name)) continue;
    if (found) {
      headers.splice(at, 2);
      at -= 2;
      continue;
    }
    headers[at + 1] = value;
    found = true;
  }
  if (!found) headers.push(name, value);
}

/** True for a valid field name: a token (RFC 9110 §5.6.2). */
export function isFieldName(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (!isTokenCharacter(text.charCodeAt(at))) return false;
  return text !== '';
}

/** True for a valid field value or reason phrase: each character is one byte, and none is a control character except the tab. */
export function isFieldValue(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (!isValueCharacter(text.charCodeAt(at))) return false;
  return true;
}

/**
 * True for a field value that cannot break out of its line: it contains no NUL, CR or LF (RFC 9110 §5.5, RFC 9113 §8.2.1). Other control
 * characters come from old servers, and clients accept them.
 */
export function isWritableValue(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0 || code === LF || code === CR || code > LATIN1) return false;
  }
  return true;
}

/** True for the code of a character that a token may contain (RFC 9110 §5.6.2). */
export function isTokenCharacter(code: number): boolean {
  return tokenCharacters[code] === 1;
}

/** True for the code of a character that a field value may contain (RFC 9110 §5.5). */
export function isValueCharacter(code: number): boolean {
  return (code >= SPACE && code !== DELETE && code <= LATIN1) || code === TAB;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;
const LATIN1 = 0xff;

/** 1 for each character of a token. */
// Marked as pure, so that a bundle which checks no names does not contain it.
const tokenCharacters = /* @__PURE__ */ tableOf(
  "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
);

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

/** True for a request target that cannot break out of its line; the origin interprets bytes beyond ASCII, as without a gateway. */
export function isWritableTarget(target: string): boolean {
  for (let at = 0; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    if (code <= SPACE || code === DELETE || code > LATIN1) return false;
  }
  return target !== '';
}

const ZERO = 0x30;
/** Any number with so many digits is exact as a double. */
const MAX_DIGITS = 15;

/** Reads 1 to 15 decimal digits, as in `Content-Length` (RFC 9110 §8.6); undefined for any other text. */
export function readDecimal(text: string): number | undefined {
  if (text.length === 0 || text.length > MAX_DIGITS) return undefined;
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return value;
}

/**
 * The header section of a `Request` as a raw list. The platform lower-cases names, sorts them and joins lines with the same name; fields
 * that must not be repeated are split again, so that a second `Authorization` is refused here as well. Fields about the client that the
 * platform adds are left out.
 */
export function requestHeaders(headers: Headers, acceptEncoding: string | undefined): HeaderList {
  const list: string[] = [];
  const onPlatform = headers.has('cf-ray');
  // An iterator takes twice as long in workerd.
  headers.forEach((value, name) => {
    if (onPlatform && isPlatformField(name)) return;
    const original = name === 'accept-encoding' && acceptEncoding !== undefined ? acceptEncoding : value;
    const lines = linesOf(name, original);
    if (typeof lines === 'string') list.push(name, asBytes(lines));
    else for (const line of lines) list.push(name, asBytes(line));
  });
  return list;
}

/** The header section of a response as a raw list; each `Set-Cookie` stays a separate line. */
export function responseHeaders(headers: Headers): string[] {
  const list: string[] = [];
  headers.forEach((value, name) => {
    if (name !== 'set-cookie') list.push(name, asBytes(value));
  });
  for (const cookie of headers.getSetCookie()) list.push('set-cookie', asBytes(cookie));
  return list;
}

/** Converts a raw list to `Headers`, with repeated fields as separate lines. */
export function toHeaders(list: HeaderList): Headers {
  const headers = new Headers();
  for (let at = 0; at < list.length; at += 2) headers.append(list[at] ?? '', asText(list[at + 1] ?? ''));
  return headers;
}

/**
 * True for the fields with which Cloudflare describes the client; V2 receives only the fields that the setting `forwarded`
 * selects.
 */
function isPlatformField(name: string): boolean {
  return name.startsWith('cf-') || name === 'true-client-ip';
}

/** The boundary between two joined lines, found by the start of the second: a scheme, a media type, a length, a date. */
const LINE_BOUNDARIES: ReadonlyMap<string, RegExp> = new Map([
  ['authorization', /, (?=[A-Za-z][\w-]* )/],
  ['content-type', /, (?=[\w.+-]+\/[\w.+-]+)/],
  ['content-length', /, /],
  ['transfer-encoding', /, /],
  ['x-api-version', /, /],
]);

/** The boundary between two joined lines of cookies: a comma followed by the name of the next cookie (RFC 6265 §4.1.1). */
const COOKIE_BOUNDARY = /, (?=[\w!#$%&'*+.^`|~-]+=)/g;

/** The lines that were joined to a value; the value itself if it is only one. */
function linesOf(name: string, value: string): string | readonly string[] {
  // RFC 9113 §8.2.3: joined with a comma, they would become part of the previous cookie.
  if (name === 'cookie') return value.replaceAll(COOKIE_BOUNDARY, '; ');
  const boundary = LINE_BOUNDARIES.get(name);
  return boundary === undefined || !value.includes(', ') ? value : value.split(boundary);
}

const ASCII = /^[\t\x20-\x7e]*$/;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The platform decodes the bytes of a value as UTF-8; the gateway expects one character per byte. */
function asBytes(text: string): string {
  // Bytes that are not valid UTF-8 are lost: U+FFFD stays in the value, and header validation refuses it.
  if (ASCII.test(text) || text.includes('\ufffd')) return text;
  return latin1Text(encoder.encode(text));
}

function asText(value: string): string {
  if (ASCII.test(value)) return value;
  return decoder.decode(latin1Bytes(value));
}
