import type { NameTable } from './names.ts';
import { ARRAY, OBJECT, SCALAR, STRING, Tape, type WorkMemory } from './tape.ts';

/** The members whose contents are recorded, by the ids of their names. */
export interface OpenedMembers {
  /** Of members that are objects. */
  readonly objects: readonly boolean[];
  /** Of members that are arrays. */
  readonly arrays: readonly boolean[];
  /** Whether the elements of a top-level array are recorded. */
  readonly list: boolean;
}

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * A string is read in words of four bytes. For a byte that is not a plain character, at least one of three subtractions sets the highest
 * bit: of a space for a control character, of the character and one for a quote or a backslash, and at least two of them for a byte from
 * 0x80 on. A borrow may also set it in later bytes, but only the first one counts.
 */
const WORD_BYTES = 4;
const ONES = 0x01_01_01_01;
const SPACES = 0x20_20_20_20;
const QUOTES = 0x22_22_22_22;
const BACKSLASHES = 0x5c_5c_5c_5c;
const HIGHEST_BITS = 0x80_80_80_80;

const PLAIN = 0;
const QUOTE_CLASS = 1;
const BACKSLASH_CLASS = 2;
const CONTROL = 3;
const TWO = 4;
const THREE = 5;
const FOUR = 6;
const NEVER = 7;

/** The class of each byte inside a string: plain, a delimiter, or the first of a UTF-8 sequence (RFC 3629 section 4). */
const CLASS = new Uint8Array(256).map((_, byte) => {
  if (byte === 0x22) return QUOTE_CLASS;
  if (byte === 0x5c) return BACKSLASH_CLASS;
  if (byte < 0x20) return CONTROL;
  if (byte < 0x80) return PLAIN;
  if (byte >= 0xc2 && byte <= 0xdf) return TWO;
  if (byte >= 0xe0 && byte <= 0xef) return THREE;
  if (byte >= 0xf0 && byte <= 0xf4) return FOUR;
  return NEVER;
});

const BACKSLASH = 0x5c;

/** Limits of a scanner, and the nodes that it records. */
interface ScanLimits {
  /** Maximum levels of nesting. */
  readonly depth: number;
  /** Levels whose nodes are recorded on the tape: 0 is the value itself, 1 its members or elements, and so on. */
  readonly record: number;
  /** The names to match: the ids of matching members are recorded on the tape. */
  readonly names?: NameTable;
  /** The members whose contents are recorded; all if absent. Elements of an array are recorded with it. */
  readonly opened?: OpenedMembers | undefined;
}

/** Why a text is refused, and where: byte offset from 0, line and column (in characters) from 1. */
export interface JsonFault {
  readonly code: JsonFaultCode;
  /** A sentence for people; it contains nothing of the text. */
  readonly message: string;
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

/** The reason why a text is not JSON, or is nested too deep. */
type JsonFaultCode =
  | 'end'
  | 'value'
  | 'number'
  | 'literal'
  | 'string'
  | 'control'
  | 'escape'
  | 'utf-8'
  | 'key'
  | 'colon'
  | 'comma'
  | 'trailing'
  | 'depth';

/**
 * Reads JSON texts strictly (RFC 8259, UTF-8 checked) in one pass and without recursion, and records the spans of the upper
 * levels on a tape. The tape is reused: its contents are valid until the next `scan`.
 */
export class Scanner {
  /** The nodes of the last text; node 0 is the value itself. */
  readonly tape = new Tape();
  private readonly limits: ScanLimits;
  /** For each level: the closing bracket of its container, the node of that container or -1, and its last node so far. */
  private readonly closers: Uint8Array;
  private readonly nodes: Int32Array;
  private readonly lasts: Int32Array;

  constructor(limits: ScanLimits) {
    this.limits = limits;
    this.closers = new Uint8Array(limits.depth + 1);
    this.nodes = new Int32Array(limits.depth + 1);
    this.lasts = new Int32Array(limits.depth + 1);
  }

  /**
   * Reads the text in `bytes` from `from` on (after a byte order mark, for example); returns a fault if the text is invalid. The tape
   * takes its memory from `memory`; if there is not enough, it is incomplete.
   */
  scan(bytes: Uint8Array, from: number, memory?: WorkMemory): JsonFault | undefined {
    const { tape } = this;
    const { depth: deepest, record, names, opened } = this.limits;
    const closers = this.closers;
    const nodes = this.nodes;
    const lasts = this.lasts;
    const n = bytes.length;
    const view = new DataView(bytes.buffer, bytes.byteOffset, n);
    const wordsEnd = n - WORD_BYTES + 1;
    tape.clear(memory);
    let depth = 0;
    let closer = 0;
    // Whether the children of the current container are recorded, and the last of them so far.
    let isKept = true;
    let last = -1;
    let lead = from;
    // `| 0` declares an integer to V8; without it, every use in the loops is checked, which takes a tenth of a scan.
    let i = skipSpace(bytes, from | 0, n);
    // The byte at `i`, or 0 at the end, where no value starts. Reading it through a function takes 8 % of a scan.
    let byte = i < n ? (bytes[i] ?? 0) : 0;
    for (;;) {
      let keyStart = i;
      let keyEnd = i;
      let isEscaped = false;
      if (closer === CLOSE_OBJECT) {
        if (byte !== QUOTE) return fault('key', bytes, i);
        // Inlined here and below: as a separate function it takes a tenth of a scan.
        i += 1;
        while (i < wordsEnd) {
          const word = view.getInt32(i, true);
          const differences = (word - SPACES) | ((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES);
          const special = differences & HIGHEST_BITS;
          if (special !== 0) {
            i += (31 - Math.clz32(special & -special)) >> 3;
            break;
          }
          i += WORD_BYTES;
        }
        if (i < n && bytes[i] === QUOTE) {
          i += 1;
        } else {
          const end = scanString(bytes, i);
          if (end < 0) return stringFault(bytes, -end - 1);
          isEscaped = (end & 1) !== 0;
          i = end >> 1;
        }
        keyEnd = i;
        byte = i < n ? (bytes[i] ?? 0) : 0;
        if (byte <= SPACE) {
          i = skipSpace(bytes, i, n);
          byte = i < n ? (bytes[i] ?? 0) : 0;
        }
        if (byte !== COLON) return fault('colon', bytes, i);
        i += 1;
        byte = i < n ? (bytes[i] ?? 0) : 0;
        if (byte <= SPACE) {
          i = skipSpace(bytes, i, n);
          byte = i < n ? (bytes[i] ?? 0) : 0;
        }
      }
      const start = i;
      let node = -1;
      if (isKept) {
        if (closer !== CLOSE_OBJECT) keyStart = keyEnd = start;
        last = node = tape.push(last, lead, keyStart, keyEnd, start);
      }
      const first = byte;
      if (first === QUOTE) {
        i += 1;
        while (i < wordsEnd) {
          const word = view.getInt32(i, true);
          const differences = (word - SPACES) | ((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES);
          const special = differences & HIGHEST_BITS;
          if (special !== 0) {
            i += (31 - Math.clz32(special & -special)) >> 3;
            break;
          }
          i += WORD_BYTES;
        }
        if (i < n && bytes[i] === QUOTE) {
          i += 1;
        } else {
          const end = scanString(bytes, i);
          if (end < 0) return stringFault(bytes, -end - 1);
          i = end >> 1;
        }
      } else if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
        if (depth >= deepest) return fault('depth', bytes, i);
        i += 1;
        lasts[depth] = last;
        depth += 1;
        if (node >= 0) {
          const id =
            keyStart === start || names === undefined ? 0 : names.find(bytes, keyStart, keyEnd, isEscaped);
          tape.name(node, first === OPEN_OBJECT ? OBJECT : ARRAY, id, isEscaped);
          isKept =
            depth <= record &&
            (opened === undefined || isOpened(opened, first === OPEN_OBJECT, keyStart === start, id, depth));
        }
        closer = first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY;
        closers[depth] = closer;
        nodes[depth] = node;
        last = -1;
        lead = i;
        byte = i < n ? (bytes[i] ?? 0) : 0;
        if (byte <= SPACE) {
          i = skipSpace(bytes, i, n);
          byte = i < n ? (bytes[i] ?? 0) : 0;
        }
        if (byte !== closer) continue;
        // The container is empty: the loop below sees its closing bracket first.
        node = -1;
      } else {
        const isNumber = first === MINUS || (first >= 0x30 && first <= 0x39);
        i = isNumber ? scanNumber(bytes, i, n) : scanLiteral(bytes, i, n);
        if (i < 0) return fault(isNumber ? 'number' : -i - 1 === start ? 'value' : 'literal', bytes, -i - 1);
      }
      if (node >= 0) {
        const id =
          keyStart === start || names === undefined ? 0 : names.find(bytes, keyStart, keyEnd, isEscaped);
        tape.name(node, first === QUOTE ? STRING : SCALAR, id, isEscaped);
        tape.close(node, i);
      }
      // A value is followed by closing brackets, then by a comma or the end.
      for (;;) {
        byte = i < n ? (bytes[i] ?? 0) : 0;
        if (byte <= SPACE) {
          i = skipSpace(bytes, i, n);
          byte = i < n ? (bytes[i] ?? 0) : 0;
        }
        if (byte === COMMA) break;
        if (depth === 0) return i < n ? fault('trailing', bytes, i) : undefined;
        if (byte !== closer) return fault('comma', bytes, i);
        i += 1;
        const closed = nodes[depth] ?? -1;
        if (closed >= 0) {
          tape.close(closed, i);
          isKept = true;
        }
        depth -= 1;
        closer = closers[depth] ?? 0;
        last = lasts[depth] ?? 0;
      }
      if (depth === 0) return fault('trailing', bytes, i);
      i += 1;
      lead = i;
      byte = i < n ? (bytes[i] ?? 0) : 0;
      if (byte <= SPACE) {
        i = skipSpace(bytes, i, n);
        byte = i < n ? (bytes[i] ?? 0) : 0;
      }
    }
  }
}

/** The offset of the first byte from `from` on that is not white space; `n` if there is none. */
export function skipSpace(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && isSpace(bytes[i] ?? 0)) i += 1;
  return i;
}

/** Whether a byte is white space between the tokens of a JSON text (RFC 8259 §2). */
export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Describes a fault; anything missing at the end of the text is reported as an early end. */
function fault(code: JsonFaultCode, bytes: Uint8Array, offset: number): JsonFault {
  return jsonFault(offset >= bytes.length ? 'end' : code, bytes, offset);
}

/** Describes the fault `code` at byte `offset` of `bytes`. Lines are counted only here, on the error path. */
function jsonFault(code: JsonFaultCode, bytes: Uint8Array, offset: number): JsonFault {
  let line = 1;
  let column = 1;
  for (let i = 0; i < offset; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x0a) {
      line += 1;
      column = 1;
    } else if ((byte & 0xc0) !== 0x80) {
      column += 1;
    }
  }
  return { code, message: MESSAGES[code], offset, line, column };
}

const MESSAGES: Readonly<Record<JsonFaultCode, string>> = {
  end: 'the text ends in the middle of a value',
  value: 'a value is expected here',
  number: 'the number is not valid (RFC 8259 section 6)',
  literal: 'only true, false and null are literals',
  string: 'the string is not closed',
  control: 'a control character in a string must be escaped',
  escape: 'the escape is not one of RFC 8259 section 7',
  'utf-8': 'the bytes are not UTF-8',
  key: 'a member name in double quotes is expected here',
  colon: 'a colon is expected between a member name and its value',
  comma: 'a comma or a closing bracket is expected here',
  trailing: 'nothing but white space may follow the value',
  depth: 'the nesting is deeper than the limit',
};

function stringFault(bytes: Uint8Array, offset: number): JsonFault {
  if (offset >= bytes.length) return jsonFault('string', bytes, bytes.length);
  const byte = bytes[offset] ?? 0;
  if (byte === 0x5c) return jsonFault('escape', bytes, offset);
  return jsonFault(byte < 0x20 ? 'control' : 'utf-8', bytes, offset);
}

/** Whether the contents of a container are recorded; `depth` is 1 for the root. */
function isOpened(
  { objects, arrays, list }: OpenedMembers,
  isObject: boolean,
  isElement: boolean,
  id: number,
  depth: number,
): boolean {
  if (isElement) return depth > 1 || isObject || list;
  return (isObject ? objects : arrays)[id] === true;
}

/**
 * Reads the rest of a string, starting inside it at `from`. Returns twice the offset after the closing quote, plus one if it
 * contains an escape; for a fault, minus the offset of the offending byte minus one.
 */
function scanString(bytes: Uint8Array, from: number): number {
  const n = bytes.length;
  let escaped = 0;
  let i = from;
  for (;;) {
    i = skipPlain(bytes, i, n);
    if (i >= n) return -n - 1;
    const kind = CLASS[bytes[i] ?? 0] ?? NEVER;
    if (kind === QUOTE_CLASS) return (i + 1) * 2 + escaped;
    if (kind === BACKSLASH_CLASS) {
      escaped = 1;
      const next = scanEscape(bytes, i, n);
      if (next < 0) return next;
      i = next;
      continue;
    }
    const next = kind >= TWO ? scanSequence(bytes, i, n, kind) : 0;
    if (next === 0) return -i - 1;
    i = next;
  }
}

/** Returns the offset of the first byte at or after `from` that is not a plain ASCII character of a string. */
function skipPlain(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && CLASS[bytes[i] ?? 0] === PLAIN) i += 1;
  return i;
}

function scanEscape(bytes: Uint8Array, at: number, n: number): number {
  if (at + 1 >= n) return -n - 1;
  switch (bytes[at + 1] ?? 0) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at + 2;
    case 0x75:
      for (let i = at + 2; i < at + 6; i += 1) {
        if (i >= n) return -n - 1;
        if (!isHexDigit(bytes[i] ?? 0)) return -at - 1;
      }
      return at + 6;
    default:
      return -at - 1;
  }
}

function isHexDigit(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** Returns the offset after the well-formed UTF-8 sequence at `at`, or 0 (Unicode table 3-7). */
function scanSequence(bytes: Uint8Array, at: number, n: number, kind: number): number {
  const length = kind - 2;
  if (kind === NEVER || at + length > n) return 0;
  const lead = bytes[at] ?? 0;
  const second = bytes[at + 1] ?? 0;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let i = at + 2; i < at + length; i += 1) {
    if (((bytes[i] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return at + length;
}

/** Returns the offset after the closing quote of the string at `at`, or `end` if it has none. The contents are not checked. */
export function stringEnd(bytes: Uint8Array, at: number, end: number): number {
  let i = at + 1;
  while (i < end) {
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    i += byte === BACKSLASH ? 2 : 1;
  }
  return end;
}

/** Returns the offset after the number at `from`, or minus the offset of the offending byte minus one (RFC 8259 section 6). */
function scanNumber(bytes: Uint8Array, from: number, n: number): number {
  let i = bytes[from] === 0x2d ? from + 1 : from;
  const first = i < n ? (bytes[i] ?? 0) : 0;
  if (!isDigit(first)) return -i - 1;
  i = first === 0x30 ? i + 1 : digits(bytes, i, n);
  if (i < n && bytes[i] === 0x2e) {
    const end = digits(bytes, i + 1, n);
    if (end === i + 1) return -end - 1;
    i = end;
  }
  if (i < n && ((bytes[i] ?? 0) | 0x20) === 0x65) {
    i += 1;
    if (i < n && (bytes[i] === 0x2b || bytes[i] === 0x2d)) i += 1;
    const end = digits(bytes, i, n);
    if (end === i) return -i - 1;
    i = end;
  }
  return i;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function digits(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && isDigit(bytes[i] ?? 0)) i += 1;
  return i;
}

/** Returns the offset after the literal at `from`, or minus the offset of the offending byte minus one. */
function scanLiteral(bytes: Uint8Array, from: number, n: number): number {
  const first = from < n ? (bytes[from] ?? 0) : 0;
  if (first === 0x74) return expect4(bytes, from, n, 0x74, 0x72, 0x75, 0x65);
  if (first === 0x66) {
    const end = expect4(bytes, from, n, 0x66, 0x61, 0x6c, 0x73);
    if (end < 0) return end;
    return end < n && bytes[end] === 0x65 ? end + 1 : -end - 1;
  }
  return expect4(bytes, from, n, 0x6e, 0x75, 0x6c, 0x6c);
}

function expect4(
  bytes: Uint8Array,
  from: number,
  n: number,
  a: number,
  b: number,
  c: number,
  d: number,
): number {
  if (from >= n || bytes[from] !== a) return -from - 1;
  if (from + 1 >= n || bytes[from + 1] !== b) return -from - 2;
  if (from + 2 >= n || bytes[from + 2] !== c) return -from - 3;
  if (from + 3 >= n || bytes[from + 3] !== d) return -from - 4;
  return from + 4;
}
