import type { Tape } from '../json/tape.ts';

/** Most shapes that are kept: with one more, all are forgotten. */
const CAPACITY = 256;

/** Nodes of a shape that is kept; a larger body costs more to read than to work out. */
const MOST_NODES = 128;

/** Hashes of shapes that were met; a shape is kept when it is met again, so that bodies of ever new shapes cost no memory. */
const MET = 1024;

/**
 * Remembers what was worked out for a shape of bodies. Old clients send few shapes, again and again, and rules look at names
 * and containers, never at values: what they do to one body of a shape they do to all.
 */
export class ShapeCache<T> {
  private readonly known = new Map<number, { readonly shape: Int32Array; readonly value: T }>();
  /** By the last bits of a hash: the last one that ends so. */
  private readonly met = new Int32Array(MET);

  /** Returns what was kept for a text of the shape that is on the tape. */
  get(tape: Tape): T | undefined {
    if (tape.size > MOST_NODES) return undefined;
    const known = this.known.get(tape.hash());
    return known !== undefined && tape.hasShape(known.shape) ? known.value : undefined;
  }

  /** Keeps `value` for the shape that is on the tape, unless that is large or met for the first time. */
  set(tape: Tape, value: T): void {
    if (tape.size > MOST_NODES) return;
    const hash = tape.hash();
    const place = hash & (MET - 1);
    if (this.met[place] !== hash) {
      this.met[place] = hash;
      return;
    }
    if (this.known.size >= CAPACITY) this.known.clear();
    this.known.set(hash, { shape: tape.shape(), value });
  }
}
