import { hasByteOrderMark } from '../../json/byte-order-mark.ts';
import { copyBytes } from '../../json/edit.ts';
import { scanLiteral, scanNumber } from '../../json/scan-scalar.ts';
import { scanString } from '../../json/scan-string.ts';

/** Maximum values of one body; the structure of a larger body is not kept. */
const MAX_VALUES = 1000;

/** Maximum bytes of a body. */
const MAX_BYTES = 64 * 1024;

/** Maximum nesting: the default limit for bodies that the gateway rewrites. */
const MAX_LEVELS = 512;

const ascii = new TextEncoder();

/**
 * Placeholder of a value: its type as a JSON string, so that it cannot be mistaken for the value. `null` is its own type and
 * stays.
 */
const STRING_TYPE = ascii.encode('"‹string›"');
const NUMBER_TYPE = ascii.encode('"‹number›"');
const BOOLEAN_TYPE = ascii.encode('"‹boolean›"');
const NULL = ascii.encode('null');

/** Maximum bytes by which a value may grow: the longest type in place of one digit. */
const MAX_GROWTH = BOOLEAN_TYPE.length;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/**
 * Returns the structure of a JSON body: names, order, nesting and white space are unchanged, every value except `null` is
 * replaced by its type. Only maps read scalar values; every other rule applies to the structure as it does to the body. Reads each byte
 * once. `not-json` also for a body that is nested too deeply.
 */
export function bodyStructure(body: Uint8Array): Uint8Array | 'not-json' | 'too-large' {
  if (body.length > MAX_BYTES) return 'too-large';
  const printer = new StructurePrinter(body);
  const fault = printer.print();
  return fault ?? printer.structure;
}

/** Copies a body and replaces values by their types. */
class StructurePrinter {
  private readonly body: Uint8Array;
  private readonly out: Uint8Array;
  private readonly closers = new Uint8Array(MAX_LEVELS + 1);
  private depth = 0;
  private at: number;
  /** End of the copied part of the body, and bytes printed. */
  private copied = 0;
  private printed = 0;
  private values = 0;

  constructor(body: Uint8Array) {
    this.body = body;
    this.out = new Uint8Array(body.length + MAX_GROWTH * Math.min(body.length, MAX_VALUES));
    this.at = hasByteOrderMark(body) ? 3 : 0;
  }

  /** Copy of the printed bytes. */
  get structure(): Uint8Array {
    return this.out.slice(0, this.printed);
  }

  print(): 'not-json' | 'too-large' | undefined {
    this.skipSpace();
    for (;;) {
      if (this.closers[this.depth] === CLOSE_OBJECT && !this.key()) return 'not-json';
      const opened = this.open();
      if (opened === undefined) return 'not-json';
      if (opened) continue;
      if (this.values > MAX_VALUES) return 'too-large';
      this.close();
      if (this.depth === 0) break;
      if (this.body[this.at] !== COMMA) return 'not-json';
      this.at += 1;
      this.skipSpace();
    }
    if (this.at < this.body.length) return 'not-json';
    this.copyTo(this.at);
    return undefined;
  }

  /** Reads a value; true when it opened a non-empty container, undefined when there is no value. */
  private open(): boolean | undefined {
    const byte = this.body[this.at];
    if (byte !== OPEN_OBJECT && byte !== OPEN_ARRAY) return this.scalar() ? false : undefined;
    if (this.depth === MAX_LEVELS) return undefined;
    this.depth += 1;
    const closer = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
    this.closers[this.depth] = closer;
    this.at += 1;
    this.skipSpace();
    return this.body[this.at] !== closer;
  }

  /** Skips closing brackets after a value, and the white space after them. */
  private close(): void {
    this.skipSpace();
    while (this.depth > 0 && this.body[this.at] === this.closers[this.depth]) {
      this.depth -= 1;
      this.at += 1;
      this.skipSpace();
    }
  }

  private key(): boolean {
    if (this.body[this.at] !== QUOTE) return false;
    const end = scanString(this.body, this.at + 1);
    if (end < 0) return false;
    this.at = end >> 1;
    this.skipSpace();
    if (this.body[this.at] !== COLON) return false;
    this.at += 1;
    this.skipSpace();
    return true;
  }

  private scalar(): boolean {
    const { body, at } = this;
    const first = body[at] ?? 0;
    const end = endOfScalar(body, at, first);
    if (end < 0) return false;
    this.values += 1;
    this.copyTo(at);
    const type = typeOf(first);
    if (this.values <= MAX_VALUES) this.printed = copyBytes(type, 0, type.length, this.out, this.printed);
    this.copied = end;
    this.at = end;
    return true;
  }

  private copyTo(end: number): void {
    this.printed = copyBytes(this.body, this.copied, end, this.out, this.printed);
    this.copied = end;
  }

  private skipSpace(): void {
    const { body } = this;
    let i = this.at;
    while (isSpace(body[i])) i += 1;
    this.at = i;
  }
}

/** Returns the offset after a string, number or literal; negative when there is none. */
function endOfScalar(body: Uint8Array, at: number, first: number): number {
  if (first === QUOTE) return endOfString(body, at);
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  return isNumber ? scanNumber(body, at, body.length) : scanLiteral(body, at, body.length);
}

/**
 * Bytes of a string that are read one by one; in longer strings `indexOf` searches for the next quote, which is several times as
 * fast.
 */
const SHORT_STRING_BYTES = 24;

/** Returns the offset after the string at `at`, without validating its content, which is not part of the structure. */
function endOfString(body: Uint8Array, at: number): number {
  let i = at + 1;
  const short = Math.min(body.length, i + SHORT_STRING_BYTES);
  while (i < short) {
    const byte = body[i];
    if (byte === QUOTE) return i + 1;
    i += byte === BACKSLASH ? 2 : 1;
  }
  for (;;) {
    const quote = body.indexOf(QUOTE, i);
    if (quote === -1) return -1;
    let slashes = quote;
    while (slashes > i && body[slashes - 1] === BACKSLASH) slashes -= 1;
    i = quote + 1;
    if ((quote - slashes) % 2 === 0) return i;
  }
}

function typeOf(first: number): Uint8Array {
  if (first === QUOTE) return STRING_TYPE;
  if (first === 0x6e) return NULL;
  return first === 0x74 || first === 0x66 ? BOOLEAN_TYPE : NUMBER_TYPE;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
