import type { Tape } from '../json/tape.ts';

/** Maximum nodes of all cached shapes together; when it is exceeded, all are removed. */
const MAX_TOTAL_NODES = 32_768;

/** Number of remembered hashes; a shape is cached when it occurs again, so that bodies of ever new shapes use no memory. */
const REMEMBERED_HASHES = 1024;

/**
 * Caches the result for a shape of bodies. Old clients send few shapes, again and again, and rules read names and containers,
 * never values: their effect on one body of a shape is the same for all.
 */
export class ShapeCache<T> {
  private readonly maxNodes: number;
  private nodes = 0;
  private readonly cached = new Map<number, { readonly shape: Int32Array; readonly value: T }>();
  /** By the last bits of a hash: the last hash with these bits. */
  private readonly seenHashes = new Int32Array(REMEMBERED_HASHES);

  /** Shapes of more than `maxNodes` nodes are not cached: whether they occur again costs more than it saves. */
  constructor(maxNodes: number) {
    this.maxNodes = maxNodes;
  }

  /** Returns the cached value for the shape of the text on the tape. */
  get(tape: Tape): T | undefined {
    if (tape.size > this.maxNodes) return undefined;
    const cached = this.cached.get(tape.hash());
    return cached !== undefined && tape.hasShape(cached.shape) ? cached.value : undefined;
  }

  /** Caches `value` for the shape on the tape, unless the shape is large or occurs for the first time. */
  set(tape: Tape, value: T): void {
    if (tape.size > this.maxNodes) return;
    const hash = tape.hash();
    const slot = hash & (REMEMBERED_HASHES - 1);
    if (this.seenHashes[slot] !== hash) {
      this.seenHashes[slot] = hash;
      return;
    }
    this.nodes += tape.size;
    if (this.nodes > MAX_TOTAL_NODES) {
      this.cached.clear();
      this.nodes = tape.size;
    }
    this.cached.set(hash, { shape: tape.shape(), value });
  }
}
