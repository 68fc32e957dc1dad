import type { Tape } from '../json/tape.ts';

/** Maximum number of cached shapes; when it is exceeded, all are removed. */
const CAPACITY = 256;

/** Maximum nodes of a cached shape; a larger body costs more to read than to compute. */
const MOST_NODES = 128;

/** Number of remembered hashes; a shape is cached when it occurs again, so that bodies of ever new shapes use no memory. */
const MET = 1024;

/**
 * Caches the result for a shape of bodies. Old clients send few shapes, again and again, and rules read names and containers,
 * never values: their effect on one body of a shape is the same for all.
 */
export class ShapeCache<T> {
  private readonly known = new Map<number, { readonly shape: Int32Array; readonly value: T }>();
  /** By the last bits of a hash: the last hash with these bits. */
  private readonly met = new Int32Array(MET);

  /** Returns the cached value for the shape of the text on the tape. */
  get(tape: Tape): T | undefined {
    if (tape.size > MOST_NODES) return undefined;
    const known = this.known.get(tape.hash());
    return known !== undefined && tape.hasShape(known.shape) ? known.value : undefined;
  }

  /** Caches `value` for the shape on the tape, unless the shape is large or occurs for the first time. */
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
