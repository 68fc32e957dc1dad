import { jsonFault, type JsonFault, type JsonFaultCode } from './json-fault.ts';
import type { NameTable } from './member-name.ts';
import { scanLiteral, scanNumber } from './scan-scalar.ts';
import { scanString } from './scan-string.ts';
import { ARRAY, OBJECT, SCALAR, STRING, Tape } from './tape.ts';
import type { WorkMemory } from './work-memory.ts';

/** Limits of a scanner, and the nodes that it records. */
export interface ScanLimits {
  /** Maximum levels of nesting; a container inside `depth` others is one too many. */
  readonly depth: number;
  /** Levels whose nodes are recorded on the tape: 0 is the value itself, 1 its members or elements, and so on. */
  readonly record: number;
  /** The names to match: the ids of matching members are recorded on the tape. */
  readonly names?: NameTable;
  /** The members whose contents are recorded; all when absent. Elements of an array follow their array, and a root array is closed. */
  readonly opened?: OpenedMembers;
}

/** The members whose contents are recorded, by the ids of their names. */
export interface OpenedMembers {
  /** Of members that are objects. */
  readonly objects: readonly boolean[];
  /** Of members that are arrays. */
  readonly arrays: readonly boolean[];
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
 * A string is read in words of four bytes. A byte that is not a plain character has the highest bit set in one of three differences:
 * a control character less a space, a quote or a backslash less itself and one, a byte from 0x80 on in two of them at least. A borrow
 * may set it in bytes behind the first such byte, which alone counts.
 */
const WORD_BYTES = 4;
const ONES = 0x01_01_01_01;
const SPACES = 0x20_20_20_20;
const QUOTES = 0x22_22_22_22;
const BACKSLASHES = 0x5c_5c_5c_5c;
const HIGHEST_BITS = 0x80_80_80_80;

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
   * Reads the text in `bytes` from `from` on (after a byte order mark, for example); returns a fault if the text is invalid. The
   * tape takes its memory from `memory`; where there is not enough, it is incomplete.
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
    // `| 0` declares an integer to V8; without it, every use in the loops is checked, a tenth of a scan.
    let i = skipSpace(bytes, from | 0, n);
    // The byte at `i`, or 0 at the end, where nothing starts. Reading it through a function costs 8 % of a scan.
    let byte = i < n ? (bytes[i] ?? 0) : 0;
    for (;;) {
      let keyStart = i;
      let keyEnd = i;
      let isEscaped = false;
      if (closer === CLOSE_OBJECT) {
        if (byte !== QUOTE) return fault('key', bytes, i);
        // Written out here and below: as a function of its own it costs a tenth of a scan.
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

/** Whether the contents of a container are recorded; `depth` is 1 for the root. */
function isOpened(
  { objects, arrays }: OpenedMembers,
  isObject: boolean,
  isElement: boolean,
  id: number,
  depth: number,
): boolean {
  if (isElement) return depth > 1 || isObject;
  return (isObject ? objects : arrays)[id] === true;
}

function skipSpace(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && isSpace(bytes[i] ?? 0)) i += 1;
  return i;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Describes a fault; anything missing at the end of the text is reported as an early end. */
function fault(code: JsonFaultCode, bytes: Uint8Array, offset: number): JsonFault {
  return jsonFault(offset >= bytes.length ? 'end' : code, bytes, offset);
}

function stringFault(bytes: Uint8Array, offset: number): JsonFault {
  if (offset >= bytes.length) return jsonFault('string', bytes, bytes.length);
  const byte = bytes[offset] ?? 0;
  if (byte === 0x5c) return jsonFault('escape', bytes, offset);
  return jsonFault(byte < 0x20 ? 'control' : 'utf-8', bytes, offset);
}
