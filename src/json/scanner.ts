import { jsonFault, type JsonFault, type JsonFaultCode } from './json-fault.ts';
import { scanLiteral, scanNumber } from './scan-scalar.ts';
import { scanString, skipPlain } from './scan-string.ts';
import {
  ARRAY,
  DELIMITER,
  END,
  ESCAPED_KEY,
  KEY_END,
  KEY_START,
  KIND,
  LEAD,
  NEXT,
  NODE_SIZE,
  OBJECT,
  SCALAR,
  START,
  STRING,
} from './tape.ts';

/** What a scanner may do with a text. */
export interface ScanLimits {
  /** Levels of nesting that are still read; a container in `depth` others is one too many. */
  readonly depth: number;
  /** Levels whose nodes go on the tape: 0 is the value itself, 1 its members or elements, and so on. */
  readonly record: number;
  /** Tells whether what is in the member at `node` goes on the tape; elements of an array follow their array. */
  readonly isOpened?: (bytes: Uint8Array, tape: Int32Array, node: number) => boolean;
}

/**
 * Reads JSON texts strictly (RFC 8259, UTF-8 checked) in one pass and without recursion, and keeps the spans of the
 * upper levels on a tape. The tape is reused: what it says holds until the next `scan`.
 */
export class Scanner {
  readonly #limits: ScanLimits;
  /** For each level: whether its container is an object or an array; where that has its node, or -1; its last child so far. */
  readonly #kinds: Uint8Array;
  readonly #nodes: Int32Array;
  readonly #lasts: Int32Array;
  #tape = new Int32Array(64 * NODE_SIZE);
  #length = 0;

  constructor(limits: ScanLimits) {
    this.#limits = limits;
    this.#kinds = new Uint8Array(limits.depth + 1);
    this.#nodes = new Int32Array(limits.depth + 1);
    this.#lasts = new Int32Array(limits.depth + 1);
  }

  /** The nodes of the last text (`tape.ts`); the value itself is at 0. */
  get tape(): Int32Array {
    return this.#tape;
  }

  /** How many integers of the tape are in use. */
  get length(): number {
    return this.#length;
  }

  /** Reads the text in `bytes` from `from` on (behind a byte order mark, say); returns what is wrong with it, if anything. */
  scan(bytes: Uint8Array, from: number): JsonFault | undefined {
    const n = bytes.length;
    const deepest = this.#limits.depth;
    const kinds = this.#kinds;
    let depth = 0;
    // Whether the children of the container that is open now go on the tape.
    let isKept = true;
    let isInObject = false;
    let i = from;
    let delimiter = -1;
    let lead = from;
    this.#length = 0;
    for (;;) {
      let keyStart = -1;
      let keyEnd = 0;
      let kind = 0;
      if (isInObject) {
        i = skipSpace(bytes, i, n);
        if (i >= n) return jsonFault('end', bytes, n);
        if (bytes[i] !== 0x22) return jsonFault('key', bytes, i);
        keyStart = i;
        i = skipPlain(bytes, i + 1, n);
        if (i < n && bytes[i] === 0x22) {
          i += 1;
        } else {
          const end = scanString(bytes, i);
          if (end < 0) return stringFault(bytes, -end - 1);
          kind = (end & 1) * ESCAPED_KEY;
          i = end >> 1;
        }
        keyEnd = i;
        i = skipSpace(bytes, i, n);
        if (i >= n) return jsonFault('end', bytes, n);
        if (bytes[i] !== 0x3a) return jsonFault('colon', bytes, i);
        i += 1;
      }
      i = skipSpace(bytes, i, n);
      if (i >= n) return jsonFault('end', bytes, n);
      const byte = bytes[i] ?? 0;
      const start = i;
      if (byte === 0x22) {
        kind |= STRING;
        i = skipPlain(bytes, i + 1, n);
        if (i < n && bytes[i] === 0x22) {
          i += 1;
        } else {
          const end = scanString(bytes, i);
          if (end < 0) return stringFault(bytes, -end - 1);
          i = end >> 1;
        }
      } else if (byte === 0x7b || byte === 0x5b) {
        if (depth >= deepest) return jsonFault('depth', bytes, i);
        isInObject = byte === 0x7b;
        kind |= isInObject ? OBJECT : ARRAY;
        i += 1;
        depth += 1;
        kinds[depth] = isInObject ? OBJECT : ARRAY;
        if (isKept) {
          const hasKey = keyStart >= 0;
          this.#push(
            depth - 1,
            kind,
            delimiter,
            lead,
            hasKey ? keyStart : start,
            hasKey ? keyEnd : start,
            start,
            i,
          );
          isKept = this.#open(bytes, depth, hasKey);
        } else {
          this.#nodes[depth] = -1;
        }
        delimiter = -1;
        lead = i;
        i = skipSpace(bytes, i, n);
        if (i >= n) return jsonFault('end', bytes, n);
        if (bytes[i] !== (isInObject ? 0x7d : 0x5d)) continue;
        // It is empty: what follows sees its closing bracket first.
      } else {
        kind |= SCALAR;
        const isNumber = byte === 0x2d || (byte >= 0x30 && byte <= 0x39);
        if (!isNumber && byte !== 0x74 && byte !== 0x66 && byte !== 0x6e) return jsonFault('value', bytes, i);
        const end = isNumber ? scanNumber(bytes, i, n) : scanLiteral(bytes, i);
        if (end < 0) return scalarFault(isNumber ? 'number' : 'literal', bytes, -end - 1);
        i = end;
      }
      if (isKept && (kind & 7) > ARRAY) {
        const hasKey = keyStart >= 0;
        this.#push(
          depth,
          kind,
          delimiter,
          lead,
          hasKey ? keyStart : start,
          hasKey ? keyEnd : start,
          start,
          i,
        );
      }
      // What follows a value: closing brackets, then a comma, or the end.
      for (;;) {
        const end = i;
        i = skipSpace(bytes, i, n);
        if (depth === 0) return i < n ? jsonFault('trailing', bytes, i) : undefined;
        if (i >= n) return jsonFault('end', bytes, n);
        const next = bytes[i] ?? 0;
        i += 1;
        if (next === 0x2c) {
          delimiter = end;
          lead = i;
          break;
        }
        if (next !== (kinds[depth] === OBJECT ? 0x7d : 0x5d)) return jsonFault('comma', bytes, i - 1);
        const node = this.#nodes[depth] ?? -1;
        if (node >= 0) {
          this.#tape[node + END] = i;
          isKept = true;
        }
        depth -= 1;
      }
      isInObject = kinds[depth] === OBJECT;
    }
  }

  #push(
    depth: number,
    kind: number,
    delimiter: number,
    lead: number,
    keyStart: number,
    keyEnd: number,
    start: number,
    end: number,
  ): void {
    const at = this.#length;
    if (at + NODE_SIZE > this.#tape.length) this.#grow();
    const tape = this.#tape;
    tape[at + KIND] = kind;
    tape[at + DELIMITER] = delimiter;
    tape[at + LEAD] = lead;
    tape[at + KEY_START] = keyStart;
    tape[at + KEY_END] = keyEnd;
    tape[at + START] = start;
    tape[at + END] = end;
    tape[at + NEXT] = 0;
    if (delimiter >= 0) tape[(this.#lasts[depth] ?? 0) + NEXT] = at;
    this.#lasts[depth] = at;
    this.#length = at + NODE_SIZE;
  }

  /** Notes the container that was pushed last as the one of level `depth`; returns whether its children are pushed too. */
  #open(bytes: Uint8Array, depth: number, hasKey: boolean): boolean {
    const node = this.#length - NODE_SIZE;
    this.#nodes[depth] = node;
    if (depth > this.#limits.record) return false;
    return !hasKey || this.#limits.isOpened === undefined || this.#limits.isOpened(bytes, this.#tape, node);
  }

  #grow(): void {
    const tape = new Int32Array(this.#tape.length * 2);
    tape.set(this.#tape);
    this.#tape = tape;
  }
}

function skipSpace(bytes: Uint8Array, from: number, n: number): number {
  let i = from;
  while (i < n && (bytes[i] ?? 0) <= 0x20 && isSpace(bytes[i] ?? 0)) i += 1;
  return i;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function stringFault(bytes: Uint8Array, offset: number): JsonFault {
  if (offset >= bytes.length) return jsonFault('string', bytes, bytes.length);
  const byte = bytes[offset] ?? 0;
  if (byte === 0x5c) return jsonFault('escape', bytes, offset);
  return jsonFault(byte < 0x20 ? 'control' : 'utf-8', bytes, offset);
}

function scalarFault(code: JsonFaultCode, bytes: Uint8Array, offset: number): JsonFault {
  return jsonFault(offset >= bytes.length ? 'end' : code, bytes, offset);
}
