import type { Entry } from './entry.ts';

/** Recent entries, numbered from 1. Adding costs one store; readers continue from the last number they read. */
export class Ring {
  readonly capacity: number;
  private readonly entries: (Entry | undefined)[];
  private lastSeq = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.entries = Array.from({ length: capacity });
  }

  /** Number of the newest entry; 0 before the first. */
  get latest(): number {
    return this.lastSeq;
  }

  /** Number of the oldest stored entry; 0 when empty. */
  get oldest(): number {
    return this.lastSeq === 0 ? 0 : Math.max(1, this.lastSeq - this.capacity + 1);
  }

  /** Adds an entry, replacing the oldest when full; returns its number. */
  add(entry: Entry): number {
    this.lastSeq += 1;
    this.entries[this.lastSeq % this.capacity] = entry;
    return this.lastSeq;
  }

  /** Returns the entry numbered `seq`, unless it was replaced or does not exist yet. */
  at(seq: number): Entry | undefined {
    if (seq < 1 || seq < this.oldest || seq > this.lastSeq) return undefined;
    return this.entries[seq % this.capacity];
  }

  /** Returns up to `limit` entries older than `before` that `accepts` matches, newest first. */
  before(
    before: number,
    limit: number,
    accepts: (entry: Entry) => boolean,
  ): readonly { readonly seq: number; readonly entry: Entry }[] {
    const found: { seq: number; entry: Entry }[] = [];
    for (let seq = Math.min(before - 1, this.lastSeq); seq >= this.oldest && seq > 0; seq -= 1) {
      const entry = this.at(seq);
      if (entry === undefined || !accepts(entry)) continue;
      found.push({ seq, entry });
      if (found.length === limit) break;
    }
    return found;
  }
}
