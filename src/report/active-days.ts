const DAY_MS = 86_400_000;
const WORD_BITS = 32;

/** The days (UTC) on which a client was seen, in any order; as many bits as days lie between the first and the last. */
export class ActiveDays {
  private base = 0;
  private bits = new Uint32Array(0);

  /** `day` is a number of days since 1970. */
  add(day: number): void {
    const word = Math.floor(day / WORD_BITS);
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
    this.bits[word - this.base] = (this.bits[word - this.base] ?? 0) | (1 << (day % WORD_BITS));
  }

  /** Days from the first to the last one, and the longest time in days between two neighbouring ones; 0 for a single day. */
  get rhythm(): { readonly span: number; readonly longestPause: number } {
    let first = -1;
    let last = -1;
    let longestPause = 0;
    for (let index = 0; index < this.bits.length * WORD_BITS; index += 1) {
      const word = this.bits[Math.floor(index / WORD_BITS)] ?? 0;
      if ((word & (1 << (index % WORD_BITS))) === 0) continue;
      if (first === -1) first = index;
      else longestPause = Math.max(longestPause, index - last);
      last = index;
    }
    return { span: last - first, longestPause };
  }
}

/** Eleven years: a log with invented times needs no more memory than that. */
const MAX_WORDS = 128;

/** The number of days since 1970 of a time in RFC 3339, UTC; undefined for text that is no time. */
export function dayNumber(time: string): number | undefined {
  const day = Math.floor(Date.parse(time.slice(0, 10)) / DAY_MS);
  return Number.isNaN(day) || day < 0 ? undefined : day;
}
