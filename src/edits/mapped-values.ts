import {
  bytesOfText,
  decodeString,
  type JsonScalar,
  printScalar,
  scalarValue,
  textOfBytes,
} from '../json/names.ts';
import { SCALAR, STRING, type Tape } from '../json/tape.ts';
import type { Draft, DraftMember } from './draft.ts';

const QUOTE = 0x22;

/** An escape has at most six bytes for one UTF-16 unit, and UTF-8 has fewer. */
const MAX_BYTES_OF_UNIT = 6;

/** One value of a map, and the value that takes its place. */
export interface MappedValue {
  readonly from: JsonScalar;
  readonly to: JsonScalar;
}

/** The values of a map, compiled: finds a value's position in the map, and returns its replacement. */
export class MappedValues {
  /** By position: the JSON text of the replacement. */
  private readonly texts: readonly Uint8Array[];
  /** By position: the decoded replacement, for a patch. */
  private readonly values: readonly (string | number | boolean | null)[];
  private readonly strings: ReadonlyMap<string, number>;
  private readonly tokens: ReadonlyMap<string, number>;
  /** Maximum bytes of a value that can be in the map. */
  private readonly maxBytes: number;

  constructor(values: readonly MappedValue[]) {
    this.texts = values.map(({ to }) => bytesOfText(printScalar(to)));
    this.values = values.map(({ to }) => scalarValue(to));
    this.strings = positions(values, true);
    this.tokens = positions(values, false);
    const longest = values.reduce((length, { from }) => Math.max(length, from.text.length), 0);
    this.maxBytes = MAX_BYTES_OF_UNIT * longest + 2;
  }

  /** Returns the position of the current value of `member` in the map; -1 if it is not in it, or an object or an array. */
  find({ bytes, tape }: Draft, { node, literal, value }: DraftMember): number {
    if (literal !== undefined) return this.positionOf(literal, 0, literal.length);
    // A rule may have replaced the node's value with a list or an object.
    return node < 0 || value !== undefined ? -1 : this.positionAt(bytes, tape, node);
  }

  /** Returns the position of the value of `node` in the map; -1 if it is not in it, or an object or an array. */
  positionAt(bytes: Uint8Array, tape: Tape, node: number): number {
    const kind = tape.kind(node);
    if (kind !== STRING && kind !== SCALAR) return -1;
    return this.positionOf(bytes, tape.start(node), tape.end(node));
  }

  /** Returns the JSON text that replaces the value at a position. */
  text(position: number): Uint8Array | undefined {
    return this.texts[position];
  }

  /** Returns the decoded value that replaces the value at a position. */
  value(position: number): string | number | boolean | null | undefined {
    return this.values[position];
  }

  /** Returns the position of the JSON text from `start` to `end`; -1 if it is not in the map. */
  positionOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.maxBytes) return -1;
    if (bytes[start] === QUOTE) return this.strings.get(decodeString(bytes, start, end)) ?? -1;
    return this.tokens.get(textOfBytes(bytes.subarray(start, end))) ?? -1;
  }
}

function positions(values: readonly MappedValue[], isString: boolean): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [position, { from }] of values.entries()) {
    if (from.isString === isString) found.set(from.text, position);
  }
  return found;
}

/** A value of a body that a map looked up. */
export interface Lookup {
  readonly values: MappedValues;
  /** The node of the member, which every body of the same shape has. */
  readonly node: number;
}

/**
 * Returns the positions of the values in the maps that look them up, in order: bodies with the same shape and positions are rewritten the
 * same way. A value that a map has replaced counts as its replacement.
 */
export function lookUp(lookups: readonly Lookup[], body: Uint8Array, tape: Tape): string {
  const replaced = new Map<number, Uint8Array>();
  let positions = '';
  for (const { values, node } of lookups) {
    const literal = replaced.get(node);
    const position =
      literal === undefined
        ? values.positionAt(body, tape, node)
        : values.positionOf(literal, 0, literal.length);
    const text = values.text(position);
    if (text !== undefined) replaced.set(node, text);
    positions += `${position} `;
  }
  return positions;
}
