import { MarkedNumbers } from '../text/marked-numbers.ts';

const DAY_MS = 86_400_000;
/** Days of eleven years. */
const MAX_DAYS = 4096;

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

  /** Days from the first to the last one, and the longest time in days between two neighbouring ones; 0 for a single day. */
  get rhythm(): { readonly span: number; readonly longestPause: number } {
    let first: number | undefined;
    let last = 0;
    let longestPause = 0;
    for (const day of this.marked.values()) {
      if (first === undefined) first = day;
      else longestPause = Math.max(longestPause, day - last);
      last = day;
    }
    return { span: last - (first ?? last), longestPause };
  }
}

/** The number of days since 1970 of a time in RFC 3339, UTC; undefined for text that is no time. */
export function dayNumber(time: string): number | undefined {
  const day = Math.floor(Date.parse(time.slice(0, 10)) / DAY_MS);
  return Number.isNaN(day) || day < 0 ? undefined : day;
}
