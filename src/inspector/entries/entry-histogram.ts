import { isNotable } from '../../rewrite-log/entry-outcome.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { FilterTest } from '../../rewrite-log/filter/filter-field.ts';
import type { EntryHistogram } from '../api.ts';
import { type SearchedStores, searchEntries } from './search-entries.ts';

/** The tests of a histogram. */
export interface HistogramTests {
  readonly accepts: FilterTest;
  /** Accepts the time that the histogram spans: everything, or the terms `time:` of the filter. */
  readonly inRange: FilterTest;
}

/** Widths of a bar in seconds: round in minutes, hours and days. */
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400];
const MAX_BARS = 60;

/** Counts the kept entries that a filter accepts by their time, over the whole time that is kept or that the filter names. */
export async function entryHistogram(
  stores: SearchedStores,
  { accepts, inRange }: HistogramTests,
  pause: () => Promise<void>,
): Promise<EntryHistogram> {
  const seconds = new Map<number, { count: number; notable: number }>();
  let [first, last] = [Infinity, -Infinity];
  const count = (entry: Entry, content?: () => string): boolean => {
    if (!inRange(entry)) return false;
    const second = Math.floor(Date.parse(entry.time) / 1000);
    [first, last] = [Math.min(first, second), Math.max(last, second)];
    if (!accepts(entry, content)) return false;
    const counted = seconds.get(second) ?? { count: 0, notable: 0 };
    counted.count += 1;
    if (isNotable(entry)) counted.notable += 1;
    seconds.set(second, counted);
    // Nothing is collected: the search only visits.
    return false;
  };
  const { ring } = stores;
  await searchEntries(stores, { before: ring.latest + 1, limit: Infinity, accepts: count }, pause);
  const whole = ring.at(ring.oldest);
  return {
    ...barsOf(seconds, first, last),
    ...(whole === undefined ? {} : { wholeSince: whole.time }),
  };
}

function barsOf(
  seconds: ReadonlyMap<number, { readonly count: number; readonly notable: number }>,
  first: number,
  last: number,
): Pick<EntryHistogram, 'step' | 'bars'> {
  if (first > last) return { step: 1, bars: [] };
  const step = stepFor(last - first + 1);
  const start = Math.floor(first / step) * step;
  const bars = Array.from({ length: Math.floor((last - start) / step) + 1 }, (_, index) => ({
    time: new Date((start + index * step) * 1000).toISOString(),
    count: 0,
    notable: 0,
  }));
  for (const [second, { count, notable }] of seconds) {
    const bar = bars[Math.floor((second - start) / step)];
    if (bar === undefined) continue;
    bar.count += count;
    bar.notable += notable;
  }
  return { step, bars };
}

/** One bar less than the most: the span need not begin where a bar does. */
function stepFor(span: number): number {
  const wanted = span / (MAX_BARS - 1);
  return STEPS.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
}
