const WORD_BITS = 32;

/** A set of integers, a bit for each between the least and the greatest: numbers of days, or of other steps of time. */
export class MarkedNumbers {
  private readonly maxWords: number;
  private base = 0;
  private bits = new Uint32Array(0);

  /** `span` is the greatest difference between two marked numbers: times in a log may be invented, and memory is bounded. */
  constructor(span: number) {
    this.maxWords = Math.ceil(span / WORD_BITS);
  }

  /** Marks a number, unless it is too far from the others. */
  add(value: number): void {
    const word = Math.floor(value / WORD_BITS);
    if (this.bits.length === 0) {
      this.base = word;
      this.bits = new Uint32Array(1);
    }
    const first = Math.min(word, this.base);
    const end = Math.max(word + 1, this.base + this.bits.length);
    if (end - first > this.maxWords) return;
    if (end - first > this.bits.length) {
      const bits = new Uint32Array(end - first);
      bits.set(this.bits, this.base - first);
      this.base = first;
      this.bits = bits;
    }
    const at = word - this.base;
    this.bits[at] = (this.bits[at] ?? 0) | (1 << (value % WORD_BITS));
  }

  /** The marked numbers in order. */
  *values(): Generator<number, void, undefined> {
    for (let at = 0; at < this.bits.length; at += 1) {
      const word = this.bits[at] ?? 0;
      for (let bit = 0; bit < WORD_BITS && word >>> bit !== 0; bit += 1)
        if ((word & (1 << bit)) !== 0) yield (this.base + at) * WORD_BITS + bit;
    }
  }
}
