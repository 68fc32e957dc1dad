import {
  isFilterFault,
  parseFilter,
  printFilter,
  type TimeValue,
  timeValue,
} from '../../../rewrite-log/filter.ts';

const LOWEST = '0000-01-01T00:00:00';

const DAY_MS = 86_400_000;

/** Milliseconds in the last unit of a time, by the length of its text. */
const UNITS: Readonly<Record<number, number>> = { 10: DAY_MS, 13: 3_600_000, 16: 60_000, 19: 1000 };

/** A range of time in whole seconds since 1970, with both ends included; a missing end is open. */
export interface TimeRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Whether a filter has terms `time:`. */
export function hasTimes(filter: string): boolean {
  return termsOf(filter).length > 0;
}

/** Says why the range of a filter is not the whole of its terms `time:`; empty where it is. */
export function timesNote(filter: string): string {
  if (!hasTimes(filter)) return '';
  if (timeRangeOf(filter) === undefined) return 'The times of the filter are not one range.';
  return termsOf(filter).some(({ values }) => timeValue(values[0] ?? '')?.isOfAnyDay)
    ? 'The filter matches this time on every day; these fields show the latest day.'
    : '';
}

/**
 * Returns the range of the terms `time:` in a filter; undefined without such terms, or when they are not a single range. A time of any
 * day is that of the last day: before `now`, and before the end of the other terms.
 */
export function timeRangeOf(filter: string, now: number = Date.now()): TimeRange | undefined {
  const terms = termsOf(filter);
  if (terms.length === 0 || terms.some(({ negated, values }) => negated || values.length > 1))
    return undefined;
  let [start, end] = [-Infinity, Infinity];
  const values = terms.flatMap((term) => timeValue(term.values[0] ?? '') ?? []);
  // A time of any day depends on the days of the others, and one without a start on those with one.
  for (const value of values.toSorted((one, other) => orderOf(one) - orderOf(other))) {
    const { sign, low, high } = value;
    const day = value.isOfAnyDay ? lastDay(value, Math.min(end * 1000, now)) : undefined;
    const [from, to] = [secondOf(low, 'first', day), secondOf(high, 'last', day)];
    if (from === undefined || to === undefined) return undefined;
    if (sign === '' || sign === '>=') start = Math.max(start, from);
    if (sign === '' || sign === '<=') end = Math.min(end, to);
    if (sign === '>') start = Math.max(start, to + 1);
    if (sign === '<') end = Math.min(end, from - 1);
    if (day === undefined) continue;
    start = Math.max(start, secondOf(day, 'first') ?? start);
    end = Math.min(end, secondOf(day, 'last') ?? end);
  }
  return { ...(start === -Infinity ? {} : { from: start }), ...(end === Infinity ? {} : { to: end }) };
}

function termsOf(
  filter: string,
): readonly { readonly negated: boolean; readonly values: readonly string[] }[] {
  const read = parseFilter(filter);
  return isFilterFault(read) ? [] : read.terms.filter(({ field }) => field === 'time');
}

function orderOf({ sign, isOfAnyDay }: TimeValue): number {
  return isOfAnyDay ? (sign.startsWith('<') ? 2 : 1) : 0;
}

/** The last UTC day on which a value had begun to match by `now`, in milliseconds since 1970. */
function lastDay({ sign, low }: TimeValue, now: number): string {
  const day = (time: number): string => new Date(time).toISOString().slice(0, 10);
  const today = day(now);
  const begins = secondOf(sign.startsWith('<') ? '00:00' : low, 'first', today) ?? 0;
  return begins * 1000 > now ? day(now - DAY_MS) : today;
}

/** Replaces the terms `time:` of a filter by a range; an empty range removes them. */
export function withTimeRange(filter: string, { from, to }: TimeRange): string {
  const read = parseFilter(filter);
  const others = isFilterFault(read) ? [] : read.terms.filter(({ field }) => field !== 'time');
  const value = rangeText(from, to);
  const time = value === undefined ? [] : [{ negated: false, field: 'time' as const, values: [value] }];
  return printFilter([...others, ...time]);
}

function rangeText(from: number | undefined, to: number | undefined): string | undefined {
  if (from === undefined) return to === undefined ? undefined : `<=${utc(to)}`;
  if (to === undefined) return `>=${utc(from)}`;
  return from === to ? utc(from) : `${utc(from)}..${utc(to)}`;
}

function utc(second: number): string {
  return new Date(second * 1000).toISOString().slice(0, 19);
}

/** The first or last second of a UTC time, or a clock time of a day, that may be abbreviated: `2026-11-22T04` ends at 04:59:59. */
function secondOf(text: string, end: 'first' | 'last', day?: string): number | undefined {
  const whole = day === undefined ? text : `${day}T${text}`;
  const given = whole.toUpperCase().replace(/[TZ]$/, '').slice(0, LOWEST.length);
  const start = Date.parse(`${given}${LOWEST.slice(given.length)}Z`);
  if (Number.isNaN(start)) return undefined;
  if (end === 'first') return start / 1000;
  const date = new Date(start);
  if (given.length <= 4) date.setUTCFullYear(date.getUTCFullYear() + 1);
  else if (given.length <= 7) date.setUTCMonth(date.getUTCMonth() + 1);
  else date.setTime(start + (UNITS[given.length] ?? 1000));
  return date.getTime() / 1000 - 1;
}

/** A second as its field shows it, by the reader's clock: `2026-11-22 09:30:00`. */
export function localText(second: number): string {
  const zone = new Date(second * 1000).getTimezoneOffset() * 60;
  return new Date((second - zone) * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

/** Reads what `localText` prints, also without seconds, and a time of today; undefined for other texts. */
export function secondOfLocal(text: string, now: Date = new Date()): number | undefined {
  const [, day, clock] = /^(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d:\d\d(?::\d\d)?)$/.exec(text.trim()) ?? [];
  if (clock === undefined) return undefined;
  const today = localText(Math.floor(now.getTime() / 1000)).slice(0, 10);
  const time = Date.parse(`${day ?? today}T${clock}`);
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
}
