import { briefTime, clockOf, dayBy, ownClock } from '../../report/clock.ts';
import { count, counted } from '../../rules/words.ts';
import { isFilterFault, parseFilter } from '../../rewrite-log/filter.ts';
import { isZone } from '../../rules/kinds/date-format.ts';
import type { DiffMark, State } from '../api.ts';
import type { Problem } from '../problems.ts';

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

/** The dates of V1's end in the rule book, in milliseconds since 1970, and the clock of its zone. */
export interface Ending {
  readonly times: ReadonlySet<number>;
  readonly clock: typeof ownClock;
}

const utcDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

export { count, counted };

const HUES = 6;

/** Local time to the second, with date and zone for any other day than today: `09:30:00`, `2026-11-22 09:30:00 UTC`. */
export function dayTime(time: string): string {
  return clockTime(time).replace(/\.\d{3}/, '');
}

/** As `dayTime`, with milliseconds. */
export function clockTime(time: string): string {
  const date = new Date(time);
  const of = clock.format(date);
  return isToday(date) ? of : `${date.toLocaleDateString('en-CA')} ${of} ${zoneOf(date)}`;
}

/** Local time to the second, always with date and zone: `2026-11-22 09:30:00 GMT+1`. */
export function fullTime(time: string): string {
  const date = new Date(time);
  return `${date.toLocaleDateString('en-CA')} ${clock.format(date).slice(0, 8)} ${zoneOf(date)}`;
}

/** As `clockTime`, but short enough for a row; for another day, with month and day and without milliseconds: `11-22 09:30:00`. */
export function rowTime(time: string): string {
  return isToday(new Date(time))
    ? clockTime(time)
    : dayTime(time).slice('2026-'.length, '2026-11-22 09:30:00'.length);
}

/** What the page shows of the end of V1; the reader's clock applies without a zone, or with one that this browser does not know. */
export function endingOf({ zone, times = [] }: NonNullable<State['end']> = {}): Ending {
  return {
    times: new Set(times.map((time) => Date.parse(time))),
    clock: zone !== undefined && isZone(zone) ? clockOf(zone) : ownClock,
  };
}

/** The ending of a rule book without a date. */
export const NO_ENDING: Ending = endingOf();

/**
 * Local time as short as it is clear: `10:41` today, `Tue 10:41` within six days, otherwise `22 Nov 10:41`, with its year if it is
 * another. A date of V1's end is shown as by `endTime`.
 */
export function shortTime(time: string, ending = NO_ENDING, now: number = Date.now()): string {
  return isDeclared(time, ending) ? endTime(time, ending, now) : briefTime(time, now);
}

/**
 * A declared or planned date of V1's end, by the clock of the rule book's zone: `1 Dec 00:00 GMT+11`, with its year if it is another, and
 * its seconds if it has any. It is copied into mails and calendars, so it always has its day and its zone.
 */
export function endTime(time: string, { clock: theirs }: Ending, now: number = Date.now()): string {
  const clock = Date.parse(time) % 60_000 === 0 ? theirs.minute : theirs.second;
  return `${dayBy(theirs, time, now, clock)} ${zoneOf(new Date(time), theirs)}`;
}

/** Whether the rule book declares that time: a date of V1's end, or a begin or end of a brownout. */
function isDeclared(time: string, { times }: Ending): boolean {
  return times.has(Date.parse(time));
}

/** The zone of a clock at that time: `UTC`, `GMT+1`. */
export function zoneOf(date: Date, { zone } = ownClock): string {
  return zone.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

function isToday(date: Date): boolean {
  return date.toDateString() === new Date().toDateString();
}

/** Hour and minute, local. */
export function minuteTime(time: string): string {
  return ownClock.minute.format(new Date(time));
}

/** The UTC day of a second since 1970: `22 Nov`. */
export function dayText(second: number): string {
  return utcDay.format(new Date(second * 1000));
}

/** The age of a time in words: `just now`, `4 min ago`, `3 days ago`. */
export function ago(time: string | undefined, now: number = Date.now()): string {
  if (time === undefined) return 'never';
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 60) return 'just now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${counted(Math.floor(seconds / 86_400), 'day')} ago`;
}

/** Milliseconds with a useful number of digits: `0.4`, `12`, `1,204`. */
export function milliseconds(value: number): string {
  return value < 10 ? value.toFixed(1) : count(Math.round(value));
}

/** Names the replica whose exchanges a view shows; undefined without other replicas. */
export function whoseWords(replica: State['replica']): string | undefined {
  if (replica === undefined) return undefined;
  const { name, replicas } = replica;
  return `Exchanges of the replica ${name}; the other ${replicas === 2 ? 'keeps its' : `${count(replicas - 1)} keep their`} own.`;
}

/** Says in how many exchanges a value is searched for, if the filter has one and not all exchanges were captured. */
export function searchedWords(
  state: Pick<State, 'capture' | 'latest' | 'structurePerSecond'> | undefined,
  filter: string,
): string | undefined {
  if (state?.capture.mode !== 'bodies' || state.capture.entries >= state.latest) return undefined;
  const read = parseFilter(filter);
  if (isFilterFault(read) || read.terms.every(({ field }) => field !== undefined && field !== 'has'))
    return undefined;
  return `Values are searched for in ${counted(state.capture.entries, 'exchange')} of ${count(state.latest)}: the gateway keeps the bodies of failures, and of ${count(state.structurePerSecond)} others a second.`;
}

/** The heading of problems: whether some of them last. */
export function failedHeading(problems: readonly Pick<Problem, 'until'>[]): string {
  return problems.some(({ until }) => until === undefined) ? 'What fails' : 'What failed';
}

/** Bytes in a readable unit. */
export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${(value / 1024).toFixed(1)} KiB`;
  return `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

/** Returns the colour of a change, 1 to 6, the same everywhere on the page. */
export type HueOf = (change: string) => number;

/** The class of a mark, by the colour of its change or for a refusal. */
export function markClass(mark: DiffMark, hueOf: HueOf): string {
  return mark.index < 0 ? 'hue-refused' : `hue-${hueOf(mark.change)}`;
}

/** Assigns colours in the order of the rule book; changes of an older one, which entries may still name, get theirs by name. */
export function huesOf(changes: readonly string[]): HueOf {
  const order = new Map(changes.map((change, index) => [change, (index % HUES) + 1]));
  return (change) => order.get(change) ?? (hash(change) % HUES) + 1;
}

function hash(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum;
}
