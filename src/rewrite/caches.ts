import type { Tape } from '../json/tape.ts';
import type { Records } from './records.ts';

/** Maximum nodes of all cached shapes together; when it is exceeded, all are removed. */
const MAX_TOTAL_NODES = 32_768;

/** Number of remembered hashes; a shape is cached when it occurs again, so that bodies that all differ in shape use no memory. */
const REMEMBERED_HASHES = 1024;

/** Maximum number of cached steps; for further steps, records are created for each request. */
const MAX_STEPS = 4096;

/**
 * Caches the result for each shape of body: old clients send few shapes. Rules depend on names and containers only, except maps, which
 * read values. So without maps, all bodies of one shape have the same result.
 */
export class ShapeCache<T> {
  private readonly maxNodes: number;
  private nodes = 0;
  private readonly cached = new Map<number, { readonly shape: Int32Array; readonly value: T }>();
  /** By the last bits of a hash: the last hash with these bits. */
  private readonly seenHashes = new Int32Array(REMEMBERED_HASHES);

  /** Shapes of more than `maxNodes` nodes are not cached: hashing them costs more than the cache saves. */
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

interface Step {
  readonly next: Map<number, Step>;
  records: Records | undefined;
}

/** Caches the records for a list of step codes, of which old clients cause few. */
export class RecordCache {
  private readonly root: Step = { next: new Map(), records: undefined };
  private size = 0;
  private latest: readonly number[] = [];
  private latestRecords: Records | undefined;

  /** Returns the cached records for `codes`; keeps a reference to the list for comparison with the next one. */
  get(codes: readonly number[]): Records | undefined {
    if (this.latestRecords !== undefined && isSameList(codes, this.latest)) return this.latestRecords;
    const records = this.find(codes);
    if (records === undefined) return undefined;
    this.latest = codes;
    this.latestRecords = records;
    return records;
  }

  private find(codes: readonly number[]): Records | undefined {
    let step: Step | undefined = this.root;
    for (let k = 0; k < codes.length && step !== undefined; k += 1) step = step.next.get(codes[k] ?? 0);
    return step?.records;
  }

  /** Caches `records` for `codes`, unless the cache is full. */
  set(codes: readonly number[], records: Records): void {
    if (this.size + codes.length > MAX_STEPS) return;
    let step = this.root;
    for (const code of codes) {
      let next = step.next.get(code);
      if (next === undefined) {
        next = { next: new Map(), records: undefined };
        step.next.set(code, next);
        this.size += 1;
      }
      step = next;
    }
    step.records = records;
  }
}

/** True for lists with the same elements. */
export function isSameList<Element>(one: ArrayLike<Element>, other: ArrayLike<Element>): boolean {
  if (one.length !== other.length) return false;
  for (let k = 0; k < one.length; k += 1) {
    if (one[k] !== other[k]) return false;
  }
  return true;
}
