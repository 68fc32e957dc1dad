import { type Silence, SLOT_MS, type TimeSlots } from '../tally/time-slots.ts';

/** A week in slots. */
const WEEK = (7 * 86_400_000) / SLOT_MS;
/** Weeks on each side of a slot that tell whether it would have entries, and how many of them there have to be. */
const MAX_WEEKS = 4;
const MIN_WEEKS = 2;

/** The rhythm of one log: at which times of the week it has entries. */
export class LogRhythm {
  private readonly seen: ReadonlySet<number>;
  private readonly first: number;
  private readonly last: number;

  constructor(slots: TimeSlots) {
    const seen = [...slots.seen()];
    this.seen = new Set(seen);
    this.first = seen[0] ?? 0;
    this.last = seen.at(-1) ?? -1;
  }

  /**
   * Number of slots between two times, in milliseconds since 1970, that would have entries as in the weeks before and after `silence`.
   * Where the weeks on one side have fewer, those count, and where the next one has none, none is expected: traffic that comes or goes
   * is no gap.
   */
  expected(from: number, until: number, silence: Silence): number {
    let sum = 0;
    for (let slot = Math.ceil(from / SLOT_MS); slot < Math.floor(until / SLOT_MS); slot += 1)
      sum += this.shareOf(slot, silence);
    return sum;
  }

  private shareOf(slot: number, silence: Silence): number {
    const before = this.weeks(slot, -WEEK, silence);
    const after = this.weeks(slot, WEEK, silence);
    if (before.length + after.length < MIN_WEEKS) return 0;
    return Math.min(...[before, after].filter(({ length }) => length > 0).map(shareOfSeen));
  }

  /** Whether the same slot of the nearest weeks on one side has entries. */
  private weeks(slot: number, step: number, { from, until }: Silence): readonly boolean[] {
    const weeks: boolean[] = [];
    for (let at = slot + step; at >= this.first && at <= this.last && weeks.length < MAX_WEEKS; at += step)
      if (at < from || at >= until) weeks.push(this.seen.has(at));
    return weeks;
  }
}

/** The share of the weeks with entries; 0 when the nearest has none. */
function shareOfSeen(all: readonly boolean[]): number {
  if (all[0] !== true) return 0;
  return all.filter(Boolean).length / all.length;
}
