import { isNotable } from './entry-outcome.ts';
import type { Entry } from './entry.ts';

/** Share of the capacity that failures have in addition, once newer entries took their place. */
const NOTABLE_SHARE = 0.25;

/**
 * Recent entries, numbered from 1. Adding costs one store; readers continue from the last number they read. Beyond the capacity
 * the oldest are replaced; those of exchanges that failed stay for longer, up to a quarter of the capacity.
 */
export class Ring {
  readonly capacity: number;
  private readonly entries: (Entry | undefined)[];
  /** Older failures by number, oldest first. */
  private readonly failures = new Map<number, Entry>();
  private readonly maxFailures: number;
  private lastSeq = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.entries = Array.from({ length: capacity });
    this.maxFailures = Math.floor(capacity * NOTABLE_SHARE);
  }

  /** Number of the newest entry; 0 before the first. */
  get latest(): number {
    return this.lastSeq;
  }

  /** Number of the oldest entry from which on all are stored; 0 when empty. */
  get oldest(): number {
    return this.lastSeq === 0 ? 0 : Math.max(1, this.lastSeq - this.capacity + 1);
  }

  /** Number of the oldest stored entry; those before `oldest` are failures only. */
  get oldestFailure(): number {
    const [first = this.oldest] = this.failures.keys();
    return first;
  }

  /** Adds an entry, replacing the oldest when full; returns its number. */
  add(entry: Entry): number {
    this.lastSeq += 1;
    const slot = this.lastSeq % this.capacity;
    const replaced = this.entries[slot];
    if (replaced !== undefined && isNotable(replaced))
      this.keepFailure(this.lastSeq - this.capacity, replaced);
    this.entries[slot] = entry;
    return this.lastSeq;
  }

  /** Returns the entry numbered `seq`, unless it was replaced or does not exist yet. */
  at(seq: number): Entry | undefined {
    if (seq < 1 || seq > this.lastSeq) return undefined;
    return seq < this.oldest ? this.failures.get(seq) : this.entries[seq % this.capacity];
  }

  /** Returns up to `limit` entries older than `before` that `accepts` matches, newest first. */
  before(
    before: number,
    limit: number,
    accepts: (entry: Entry, seq: number) => boolean,
  ): readonly { readonly seq: number; readonly entry: Entry }[] {
    const found: { seq: number; entry: Entry }[] = [];
    for (const seq of this.numbersBefore(before)) {
      const entry = this.at(seq);
      if (entry === undefined || !accepts(entry, seq)) continue;
      found.push({ seq, entry });
      if (found.length === limit) break;
    }
    return found;
  }

  /** Yields the numbers of the stored entries older than `before`, newest first. */
  *numbersBefore(before: number): Generator<number> {
    const { oldest } = this;
    for (let seq = Math.min(before - 1, this.lastSeq); seq >= oldest && seq > 0; seq -= 1) yield seq;
    for (const seq of [...this.failures.keys()].reverse()) if (seq < before) yield seq;
  }

  private keepFailure(seq: number, entry: Entry): void {
    this.failures.set(seq, entry);
    const [first] = this.failures.keys();
    if (this.failures.size > this.maxFailures && first !== undefined) this.failures.delete(first);
  }
}
