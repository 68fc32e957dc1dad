import type { Tape } from '../json/tape.ts';
import type { MappedValues } from './mapped-values.ts';

/** A value of a body that a map looked up. */
export interface Lookup {
  readonly values: MappedValues;
  /** The node of the member, which every body of the same shape has. */
  readonly node: number;
}

/**
 * Returns the positions of the values in the maps that look them up, in order: bodies of one shape with equal positions are
 * rewritten alike. A value that a map replaced is looked up as what it was replaced by.
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
