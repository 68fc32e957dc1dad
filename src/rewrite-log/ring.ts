import { PackedEntries, type PackedEntry, quoted, unpacked } from './entry-line.ts';
import { isNotable } from './entry-outcome.ts';
import type { Entry } from './entry.ts';

/** Share of the capacity that failures have in addition, once newer entries took their place. */
const NOTABLE_SHARE = 0.25;

/**
 * Recent entries, numbered from 1; readers continue from the last number they read. Beyond the capacity the oldest are replaced;
 * those of exchanges that failed stay for longer, up to a quarter of the capacity. Each time an entry is read it is made again from
 * its text, in some microseconds.
 */
export class Ring {
  readonly capacity: number;
  private readonly entries: PackedEntries;
  /** 1 in the slot of a failure. */
  private readonly notable: Uint8Array;
  /** Older failures by number, oldest first. */
  private readonly failures = new Map<number, PackedEntry>();
  private readonly maxFailures: number;
  private lastSeq = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.entries = new PackedEntries(capacity);
    this.notable = new Uint8Array(capacity);
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
    if (this.notable[slot] === 1) this.keepFailure(this.lastSeq - this.capacity, this.entries.at(slot));
    this.entries.put(slot, entry);
    this.notable[slot] = isNotable(entry) ? 1 : 0;
    return this.lastSeq;
  }

  /** Returns the entry numbered `seq`, unless it was replaced or does not exist yet. */
  at(seq: number): Entry | undefined {
    const packed = this.packedAt(seq);
    return packed && unpacked(packed);
  }

  /** Returns the entries of a request with a number beyond `after`, newest first. */
  withRequestId(requestId: string, after = 0): readonly { readonly seq: number; readonly entry: Entry }[] {
    const found: { seq: number; entry: Entry }[] = [];
    const sign = `"requestId":${quoted(requestId)}`;
    for (const seq of this.numbersBefore(this.lastSeq + 1)) {
      if (seq <= after) break;
      const packed = this.packedAt(seq);
      if (packed?.text.includes(sign) !== true) continue;
      const entry = unpacked(packed);
      if (entry.requestId === requestId) found.push({ seq, entry });
    }
    return found;
  }

  /** Yields the numbers of the stored entries older than `before`, newest first. */
  *numbersBefore(before: number): Generator<number> {
    const { oldest } = this;
    for (let seq = Math.min(before - 1, this.lastSeq); seq >= oldest && seq > 0; seq -= 1) yield seq;
    for (const seq of [...this.failures.keys()].reverse()) if (seq < before) yield seq;
  }

  private packedAt(seq: number): PackedEntry | undefined {
    if (seq < 1 || seq > this.lastSeq) return undefined;
    return seq < this.oldest ? this.failures.get(seq) : this.entries.at(seq % this.capacity);
  }

  private keepFailure(seq: number, entry: PackedEntry | undefined): void {
    if (entry !== undefined) this.failures.set(seq, entry);
    const [first] = this.failures.keys();
    if (this.failures.size > this.maxFailures && first !== undefined) this.failures.delete(first);
  }
}
