import { isFilterFault, parseFilter, printFilter } from '../../../rewrite-log/filter.ts';

const LOWEST = '0000-01-01T00:00:00';

/** Milliseconds in the last unit of a time, by the length of its text. */
const UNITS: Readonly<Record<number, number>> = { 10: 86_400_000, 13: 3_600_000, 16: 60_000, 19: 1000 };

/** A range of time in whole seconds since 1970, with both ends included; a missing end is open. */
export interface TimeRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Returns the range of the terms `time:` in a filter; undefined without such terms, or when they are not a single range. */
export function timeRangeOf(filter: string): TimeRange | undefined {
  const read = parseFilter(filter);
  if (isFilterFault(read)) return undefined;
  const terms = read.terms.filter(({ field }) => field === 'time');
  if (terms.length === 0 || terms.some(({ negated, values }) => negated || values.length > 1))
    return undefined;
  let [start, end] = [-Infinity, Infinity];
  for (const { values } of terms) {
    const [, sign = '', text = ''] = /^([<>]=?)?(.*)$/.exec(values[0] ?? '') ?? [];
    const [low = '', high = low] = text.split('..');
    const [from, to] = [secondOf(low, 'first'), secondOf(high, 'last')];
    if (from === undefined || to === undefined) return undefined;
    if (sign === '' || sign === '>=') start = Math.max(start, from);
    if (sign === '' || sign === '<=') end = Math.min(end, to);
    if (sign === '>') start = Math.max(start, to + 1);
    if (sign === '<') end = Math.min(end, from - 1);
  }
  return { ...(start === -Infinity ? {} : { from: start }), ...(end === Infinity ? {} : { to: end }) };
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

/** The first or last second of a UTC time that may be abbreviated: `2026-11-22T04` ends at 04:59:59. */
function secondOf(text: string, end: 'first' | 'last'): number | undefined {
  const given = text.toUpperCase().replace(/[TZ]$/, '').slice(0, LOWEST.length);
  const start = Date.parse(`${given}${LOWEST.slice(given.length)}Z`);
  if (Number.isNaN(start)) return undefined;
  if (end === 'first') return start / 1000;
  const date = new Date(start);
  if (given.length <= 4) date.setUTCFullYear(date.getUTCFullYear() + 1);
  else if (given.length <= 7) date.setUTCMonth(date.getUTCMonth() + 1);
  else date.setTime(start + (UNITS[given.length] ?? 1000));
  return date.getTime() / 1000 - 1;
}
