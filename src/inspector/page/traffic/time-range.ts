import {
  type FilterTerm,
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
    // A clock time that is past midnight is of the next day.
    if (sign === '' || sign === '<=') end = Math.min(end, from > to ? to + DAY_MS / 1000 : to);
    if (sign === '>') start = Math.max(start, to + 1);
    if (sign === '<') end = Math.min(end, from - 1);
    if (day === undefined || from > to) continue;
    start = Math.max(start, secondOf(day, 'first') ?? start);
    end = Math.min(end, secondOf(day, 'last') ?? end);
  }
  return { ...(start === -Infinity ? {} : { from: start }), ...(end === Infinity ? {} : { to: end }) };
}

function termsOf(filter: string): readonly FilterTerm[] {
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

/** Minutes by which a clock is ahead of UTC at a time, in milliseconds since 1970. */
type Ahead = (time: number) => number;

/** The clock of the reader, which the page shows. */
const readersClock: Ahead = (time) => -new Date(time).getTimezoneOffset();

/** The filter as it is kept in addresses: a text with times of the reader's clock, in UTC. A time with `Z` is UTC already. */
export function filterInUtc(text: string, ahead: Ahead = readersClock): string {
  return withTimes(text, (value) =>
    /z$/i.test(value) ? value : shifted(value, (time) => -ahead(time - ahead(time) * 60_000)),
  );
}

/** The filter as the page shows it: a text with times in UTC, by the reader's clock. */
export function filterByClock(text: string, ahead: Ahead = readersClock): string {
  return withTimes(text, (value) => shifted(value, ahead));
}

/** Replaces the values of the terms `time:`, and nothing else. */
function withTimes(text: string, change: (value: string) => string): string {
  return termsOf(text).reduceRight((whole, { start, end, ...term }) => {
    const values = term.values.map(change);
    const isSame = values.every((value, index) => value === term.values[index]);
    return isSame
      ? whole
      : `${whole.slice(0, start)}${printFilter([{ ...term, values }])}${whole.slice(end)}`;
  }, text);
}

/** Moves a value of `time:` by minutes that may depend on the time. */
function shifted(value: string, by: Ahead): string {
  const read = timeValue(value);
  if (read === undefined) return value;
  return read.isOfAnyDay ? shiftedClock(value, read, by(Date.now())) : shiftedTime(value, read, by);
}

/** A day becomes the hours that it has by the other clock; 24 hours that are a day become that day. */
function shiftedTime(value: string, { sign, low, high }: TimeValue, by: Ahead): string {
  const [first, last] = [secondOf(low, 'first'), secondOf(high, 'last')];
  if (first === undefined || last === undefined) return value;
  const [from, to] = [first, last].map((second) => second + by(second * 1000) * 60);
  if (from === undefined || to === undefined || (from === first && to === last)) return value;
  const length = [DAY_MS, 3_600_000, 60_000].findIndex(
    (unit) => from % (unit / 1000) === 0 && (to + 1) % (unit / 1000) === 0,
  );
  const text = (second: number): string => utc(second).slice(0, [10, 13, 16][length] ?? LOWEST.length);
  if (sign !== '') return `${sign}${text(sign === '>=' || sign === '<' ? from : to)}`;
  return text(from) === text(to) ? text(from) : `${text(from)}..${text(to)}`;
}

/** What begins or ends at midnight by one clock is a range by the other. */
function shiftedClock(value: string, { sign, low, high }: TimeValue, minutes: number): string {
  if (minutes === 0) return value;
  const [first, last] = [secondOf(low, 'first', SOME_DAY), secondOf(high, 'last', SOME_DAY)];
  if (first === undefined || last === undefined) return value;
  const midnight = Date.parse(SOME_DAY) / 1000;
  const from = sign === '' || sign === '>=' ? first : sign === '>' ? last + 1 : midnight;
  const to = sign === '' || sign === '<=' ? last : sign === '<' ? first - 1 : midnight + DAY_MS / 1000 - 1;
  const isWhole = from % 60 === 0 && (to + 1) % 60 === 0;
  const text = (second: number): string =>
    utc(second + minutes * 60).slice(SOME_DAY.length + 1, isWhole ? 16 : LOWEST.length);
  return text(from) === text(to) ? text(from) : `${text(from)}..${text(to)}`;
}

/** A day with the hours of any other. */
const SOME_DAY = '2001-01-02';
