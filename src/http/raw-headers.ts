import { latin1Bytes } from './byte-collector.ts';
import { type HeaderKind, kindOfName, USUAL_NAMES } from './fields.ts';
import {
  type HeaderList,
  isFieldName,
  isTokenCharacter,
  isValueCharacter,
  isWritableValue,
} from './header-list.ts';

/** Offsets of each line: where its name starts and ends, and where its value starts and ends. */
const OFFSETS_PER_LINE = 4;

/** Checked field lines, as received. Each name has a kind; texts of names and values are created on demand. */
export class RawHeaders {
  /** In latin1; the lines are at its end. */
  readonly text: string;
  /** The kind of each field. */
  readonly kinds: readonly HeaderKind[];
  private readonly offsets: readonly number[];
  /** True when all lines are written as `Name: value`. */
  readonly arePlain: boolean;
  private list: HeaderList | undefined;

  constructor(
    text: string,
    kinds: readonly HeaderKind[],
    offsets: readonly number[],
    arePlain: boolean,
    list?: HeaderList,
  ) {
    this.text = text;
    this.kinds = kinds;
    this.offsets = offsets;
    this.arePlain = arePlain;
    this.list = list;
  }

  /** Names and values exactly as sent, without the white space around values. */
  get fields(): HeaderList {
    this.list ??= this.toList();
    return this.list;
  }

  name(index: number): string {
    return this.list?.[index * 2] ?? this.text.slice(this.offset(index, 0), this.offset(index, 1));
  }

  value(index: number): string {
    return this.list?.[index * 2 + 1] ?? this.text.slice(this.offset(index, 2), this.offset(index, 3));
  }

  /** The first field of a kind, as a list. */
  first(kind: HeaderKind): HeaderList {
    const index = this.kinds.indexOf(kind);
    return index === -1 ? [] : [this.name(index), this.value(index)];
  }

  /** Bytes of the name and the value of a field. */
  bytes(index: number): number {
    return this.offset(index, 1) - this.offset(index, 0) + this.offset(index, 3) - this.offset(index, 2);
  }

  /** Offset of a line in the form `Name: value`; -1 for any other. */
  plainOffset(index: number): number {
    return this.arePlain || this.isPlain(index) ? this.offset(index, 0) : -1;
  }

  /** The lines of the fields that are kept; undefined if a line is not in the form `Name: value`. */
  filter(isKept: (kind: HeaderKind) => boolean): string | undefined {
    if (!this.arePlain) return undefined;
    const { text, kinds } = this;
    let kept = '';
    let runStart = kinds.length === 0 ? text.length : this.offset(0, 0);
    for (let index = 0; index < kinds.length; index += 1) {
      if (isKept(kinds[index] ?? 'other')) continue;
      kept += text.slice(runStart, this.offset(index, 0));
      runStart = this.offset(index, 3) + LINE_END;
    }
    return kept + text.slice(runStart);
  }

  private toList(): HeaderList {
    const fields: string[] = [];
    for (let index = 0; index < this.kinds.length; index += 1)
      fields.push(this.name(index), this.value(index));
    return fields;
  }

  private isPlain(index: number): boolean {
    const nameEnd = this.offset(index, 1);
    const next = index + 1 < this.kinds.length ? this.offset(index + 1, 0) : this.text.length;
    return (
      this.offset(index, 2) === nameEnd + 2 &&
      this.text.charCodeAt(nameEnd + 1) === SPACE &&
      this.offset(index, 3) + LINE_END === next
    );
  }

  private offset(index: number, which: number): number {
    return this.offsets[index * OFFSETS_PER_LINE + which] ?? 0;
  }
}

/**
 * Reads field lines (RFC 9112 §5), each ended by CRLF, from an offset of a latin1 text to its end. `bytes` have the text from `start`
 * on: V8 reads them several times as fast as characters. Undefined for folding, a space before the colon, a bare CR or LF, or a control
 * character.
 */
export function readFieldLines(
  text: string,
  from: number,
  bytes: Uint8Array,
  start = 0,
): RawHeaders | undefined {
  const kinds: HeaderKind[] = [];
  const offsets: number[] = [];
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
    kinds.push(kindOfBytes(bytes, at, colon) ?? kindOfName(text.slice(at - start, colon - start)));
    offsets.push(at - start, colon - start, begin - start, end - start);
    at = next;
  }
  return new RawHeaders(text, kinds, offsets, arePlain);
}

/** The lines of fields that were checked. */
export function rawHeadersOf(fields: HeaderList): RawHeaders {
  const kinds: HeaderKind[] = [];
  const offsets: number[] = [];
  let text = '';
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    const start = text.length;
    const valueStart = start + name.length + 2;
    text += `${name}: ${value}\r\n`;
    kinds.push(kindOfName(name));
    offsets.push(start, start + name.length, valueStart, valueStart + value.length);
  }
  return new RawHeaders(text, kinds, offsets, true, fields);
}

/**
 * Writes field lines; undefined if a name or a value cannot be written as one unambiguous line. Runs of `received` lines are copied,
 * because they were checked when read.
 */
export function writeFieldLines(fields: HeaderList, received = NO_LINES): string | undefined {
  const source = received.text;
  let text = '';
  // The lines of this part of the source still have to be copied.
  let runStart = 0;
  let runEnd = 0;
  let next = 0;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    const value = fields[at + 1] ?? '';
    const found = findField(received.fields, name, value, next);
    const plainOffset = found < received.fields.length ? received.plainOffset(found / 2) : -1;
    next = found + 2;
    if (plainOffset === -1) {
      if (!isFieldName(name) || !isWritableValue(value)) return undefined;
      text += `${source.slice(runStart, runEnd)}${name}: ${value}\r\n`;
      runStart = 0;
      runEnd = 0;
      continue;
    }
    if (plainOffset !== runEnd) {
      text += source.slice(runStart, runEnd);
      runStart = plainOffset;
    }
    runEnd = plainOffset + name.length + value.length + PUNCTUATION;
  }
  return text + source.slice(runStart, runEnd);
}

/** Characters of `: ` and CRLF. */
const PUNCTUATION = 4;
/** Characters of CRLF. */
const LINE_END = 2;

const NO_LINES = new RawHeaders('', [], [], true);

/** Position of a field in a list, from `from` on; the length of the list if there is none. */
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
 * Offset of the CRLF CRLF that ends a head (RFC 9112 §2.1), from an offset on; -1 if there is none. Skips most bytes: one that is neither
 * CR nor LF cannot be among the four.
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

/** Common names, in lower case. */
const KNOWN_NAMES = [
  ...USUAL_NAMES,
  'access-control-allow-origin',
  'age',
  'cache-control',
  'content-language',
  'date',
  'etag',
  'expires',
  'forwarded',
  'if-none-match',
  'last-modified',
  'location',
  'pragma',
  'referer',
  'server',
  'set-cookie',
  'strict-transport-security',
  'te',
  'vary',
  'via',
  'x-content-type-options',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-frame-options',
  'x-powered-by',
  'x-real-ip',
];

/** A known name, and the next one in the same slot. */
interface KnownName {
  readonly codes: Uint8Array;
  readonly kind: HeaderKind;
  readonly next: KnownName | undefined;
}

const SLOTS = 512;
/** The bit that distinguishes lower from upper case; ignoring it, all characters of known names are distinct. */
const LOWER_CASE = 0x20;
const slots: (KnownName | undefined)[] = Array.from({ length: SLOTS }, () => undefined);

for (const name of KNOWN_NAMES) {
  const codes = latin1Bytes(name);
  const slot = slotOf(codes, 0, codes.length);
  slots[slot] = { codes, kind: kindOfName(name), next: slots[slot] };
}

/** The kind of a field by the bytes of its name, which must be a token; undefined for an unknown name. Creates no string. */
export function kindOfBytes(bytes: Uint8Array, from: number, to: number): HeaderKind | undefined {
  for (let known = slots[slotOf(bytes, from, to)]; known !== undefined; known = known.next)
    if (isName(known.codes, bytes, from, to)) return known.kind;
  return undefined;
}

function isName(codes: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (codes.length !== to - from) return false;
  for (let at = 0; at < codes.length; at += 1)
    if (((bytes[from + at] ?? 0) | LOWER_CASE) !== codes[at]) return false;
  return true;
}

/** Length, first, middle and last character distinguish nearly all known names. */
function slotOf(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from;
  const first = (bytes[from] ?? 0) | LOWER_CASE;
  const middle = (bytes[from + (length >> 1)] ?? 0) | LOWER_CASE;
  const last = (bytes[to - 1] ?? 0) | LOWER_CASE;
  return (length ^ (first << 1) ^ (middle << 4) ^ (last << 2)) & (SLOTS - 1);
}
