import { readInstant } from '../../rules/rollout.ts';
import { DAY_MS } from '../tally/time-slots.ts';
import { weekdayName, weekdayOf } from './zone.ts';

/** Maximum days of one range to avoid. */
const MAX_AVOIDED = 366;

/** The days of a week, from Monday. */
const DAYS = [0, 1, 2, 3, 4, 5, 6];

/** How days to avoid are written. */
export const AVOIDED_FORM = 'write 2026-12-25, 2026-12-24..2027-01-02 or a weekday such as Friday';

/** A text that is no day to avoid: its index, and why. */
export interface AvoidedFault {
  readonly at: number;
  readonly fault: string;
}

/** Reads days, ranges of days and weekdays on which there is no brownout; returns whether a day since 1970 is one. */
export function avoidedDays(texts: readonly string[]): ((day: number) => boolean) | AvoidedFault {
  const [days, weekdays] = [new Set<number>(), new Set<number>()];
  for (const [at, text] of texts.entries()) {
    const weekday = DAYS.find((day) => weekdayName(day).toLowerCase() === text.trim().toLowerCase());
    if (weekday !== undefined) {
      weekdays.add(weekday);
      continue;
    }
    const range = rangeOf(text);
    if ('fault' in range) return { at, fault: `${text}: ${range.fault}; ${AVOIDED_FORM}.` };
    for (let day = range.first; day <= range.last; day += 1) days.add(day);
  }
  return (day) => days.has(day) || weekdays.has(weekdayOf(day));
}

/** The days of a list in one text, separated by commas or spaces. */
export function listedDays(text: string): readonly string[] {
  return text.split(/[\s,;]+/).filter((day) => day !== '');
}

/** Reads `2026-12-25` and `2026-12-24..2027-01-02` as days since 1970. */
function rangeOf(
  text: string,
): { readonly first: number; readonly last: number } | { readonly fault: string } {
  const [from = '', until = from, ...more] = text.split('..').map((day) => day.trim());
  if (more.length > 0) return { fault: 'a range has two days' };
  if (from === '' && until === '') return { fault: 'it is empty' };
  // Without a last day there would be none for the sunset either.
  if (until === '') return { fault: 'the range has no last day' };
  if (from === '') return { fault: 'the range has no first day' };
  const [first, last] = [dayIn(from), dayIn(until)];
  if (first === undefined) return { fault: `${from} is not a day` };
  if (last === undefined) return { fault: `${until} is not a day` };
  if (last < first) return { fault: 'the range ends before it begins' };
  return last - first < MAX_AVOIDED
    ? { first, last }
    : { fault: `the range has ${last - first + 1} days, and ${MAX_AVOIDED} at most can be avoided` };
}

/** Reads a day, without a time, as days since 1970. */
function dayIn(text: string): number | undefined {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? readInstant(text) : undefined;
  return time === undefined ? undefined : time / DAY_MS;
}
