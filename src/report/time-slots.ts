const WORD_BITS = 32;
/** Slots of eleven years: a log with invented times needs no more memory than that. */
const MAX_WORDS = 20_000;

/** Length of a slot in milliseconds: ten minutes. */
export const SLOT_MS = 600_000;

/** Slots without any entry: from the first empty one up to the next full one, as numbers of slots since 1970. */
export interface Silence {
  readonly from: number;
  readonly until: number;
}

/** The slots of time in which something was seen, in any order; a bit each, between the first and the last. */
export class TimeSlots {
  private base = 0;
  private bits = new Uint32Array(0);

  /** Marks the slot of a time in milliseconds since 1970. */
  add(time: number): void {
    const slot = Math.floor(time / SLOT_MS);
    const word = Math.floor(slot / WORD_BITS);
    if (this.bits.length === 0) {
      this.base = word;
      this.bits = new Uint32Array(1);
    }
    const first = Math.min(word, this.base);
    const end = Math.max(word + 1, this.base + this.bits.length);
    if (end - first > MAX_WORDS) return;
    if (end - first > this.bits.length) {
      const bits = new Uint32Array(end - first);
      bits.set(this.bits, this.base - first);
      this.base = first;
      this.bits = bits;
    }
    const at = word - this.base;
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (slot % WORD_BITS));
  }

  /** The marked slots, as numbers of slots since 1970, in order. */
  *seen(): Generator<number, void, undefined> {
    for (let at = 0; at < this.bits.length; at += 1) {
      const word = this.bits[at] ?? 0;
      for (let bit = 0; word >>> bit !== 0 && bit < WORD_BITS; bit += 1)
        if ((word & (1 << bit)) !== 0) yield (this.base + at) * WORD_BITS + bit;
    }
  }

  /** Runs of slots without an entry between the first and the last marked one, in order. */
  *silences(): Generator<Silence, void, undefined> {
    let before: number | undefined;
    for (const slot of this.seen()) {
      if (before !== undefined && slot > before + 1) yield { from: before + 1, until: slot };
      before = slot;
    }
  }
}
