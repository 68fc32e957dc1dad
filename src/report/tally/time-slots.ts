/** Slots of eleven years. */
const MAX_SLOTS = 640_000;

/** Length of a slot in milliseconds: ten minutes. */
export const SLOT_MS = 600_000;

/** Slots without an entry, as numbers of slots since 1970: from the first one up to the next with an entry. */
export interface Silence {
  readonly from: number;
  readonly until: number;
}

/** Length of a day in milliseconds. */
export const DAY_MS = 86_400_000;

/** Days of eleven years. */
const MAX_DAYS = 4096;

const WORD_BITS = 32;

/** The slots of time in which something was seen, in any order. */
export class TimeSlots {
  private readonly marked = new MarkedNumbers(MAX_SLOTS);

  /** Marks the slot of a time in milliseconds since 1970. */
  add(time: number): void {
    this.marked.add(Math.floor(time / SLOT_MS));
  }

  /** The marked slots, as numbers of slots since 1970, in order. */
  seen(): Generator<number, void, undefined> {
    return this.marked.values();
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

/** How often a client came, in days. */
export interface DayRhythm {
  /** Days with a request. */
  readonly count: number;
  /** Days from the first to the last one, and most days from one to the next; 0 for a single day. */
  readonly span: number;
  readonly longestPause: number;
}

/** The days (UTC) on which a client was seen, in any order. */
export class ActiveDays {
  private readonly marked = new MarkedNumbers(MAX_DAYS);

  /** `day` is a number of days since 1970. */
  add(day: number): void {
    this.marked.add(day);
  }

  /** The days in order. */
  all(): Generator<number, void, undefined> {
    return this.marked.values();
  }

  /** How often it came. */
  get rhythm(): DayRhythm {
    let first: number | undefined;
    let last = 0;
    let longestPause = 0;
    let count = 0;
    for (const day of this.marked.values()) {
      count += 1;
      if (first === undefined) first = day;
      else longestPause = Math.max(longestPause, day - last);
      last = day;
    }
    return { count, span: last - (first ?? last), longestPause };
  }
}

/** The number of days since 1970 of a time in RFC 3339, UTC; undefined for text that is no time. */
export function dayNumber(time: string): number | undefined {
  const day = Math.floor(Date.parse(time.slice(0, 10)) / DAY_MS);
  return Number.isNaN(day) || day < 0 ? undefined : day;
}

/** A set of small non-negative integers. */
export class BitSet {
  size = 0;
  private bits = new Uint32Array(8);

  add(index: number): void {
    const word = index >>> 5;
    if (word >= this.bits.length) {
      const bits = new Uint32Array(Math.max(this.bits.length * 2, word + 1));
      bits.set(this.bits);
      this.bits = bits;
    }
    const before = this.bits[word] ?? 0;
    const after = before | (1 << (index & 31));
    if (after >>> 0 === before) return;
    this.bits[word] = after;
    this.size += 1;
  }
}

/** A set of integers, with a bit for each between the least and the greatest: numbers of days, or of other steps of time. */
export class MarkedNumbers {
  private readonly maxWords: number;
  private base = 0;
  private bits = new Uint32Array(0);

  /** `span` is the greatest difference between two marked numbers, which bounds memory: times in a log may be invented. */
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
