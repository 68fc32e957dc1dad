import type { LogGap } from '../log-gaps.ts';
import { DAY_MS, MarkedNumbers } from '../tally/time-slots.ts';
import { clockText, QUARTER_MS, weekdayName, type Zone } from './zone.ts';

/** Quarters of an hour in a day. */
export const CELLS_A_DAY = 96;

/** Cells of eleven years. */
const MAX_CELLS = 400_000;

/** A pause is exceptional, such as a holiday, when it is longer than this many usual ones. */
const EXCEPTIONAL_PAUSES = 2;

/** No pause of fewer days is exceptional: it may be a weekend. */
const LEAST_EXCEPTION_DAYS = 4;

/** Share of the earlier days of a kind on which a client came that makes the next one sure. */
const SURE_SHARE = 0.85;

/** Share of a client's days that makes a time of the day sure, and the least and most days that are judged. */
const SURE_CLOCK_SHARE = 0.93;
const LEAST_DAYS = 3;
const MAX_CLOCK_DAYS = 28;

/** Least share of a client's days that a rare rhythm has to explain. */
const EXPLAINED_SHARE = 0.8;

/** When one client sends V1 requests: the quarters of an hour of wall-clock time in which it sent any, and its requests by hour of the day. */
export class ClientRhythm {
  readonly cells = new MarkedNumbers(MAX_CELLS);
  readonly hours = new Float64Array(24);
  requests = 0;
  /** Milliseconds since 1970. */
  first = Number.POSITIVE_INFINITY;
  last = Number.NEGATIVE_INFINITY;

  /** Adds a request; `local` is its wall-clock time. */
  add(time: number, local: number): void {
    this.cells.add(Math.floor(local / QUARTER_MS));
    const hour = Math.floor(local / 3_600_000) % 24;
    this.hours[hour] = (this.hours[hour] ?? 0) + 1;
    this.requests += 1;
    if (time < this.first) this.first = time;
    if (time > this.last) this.last = time;
  }

  /** The rhythm of two keys of one client. */
  static of(one: ClientRhythm, other: ClientRhythm): ClientRhythm {
    const both = new ClientRhythm();
    for (const rhythm of [one, other]) {
      for (const cell of rhythm.cells.values()) both.cells.add(cell);
      for (const [hour, requests] of rhythm.hours.entries())
        both.hours[hour] = (both.hours[hour] ?? 0) + requests;
      both.requests += rhythm.requests;
      both.first = Math.min(both.first, rhythm.first);
      both.last = Math.max(both.last, rhythm.last);
    }
    return both;
  }

  /** The hour of the day, from 0, with the most requests. */
  get busiestHour(): number {
    return this.hours.indexOf(Math.max(...this.hours));
  }

  /** True when it is awake in only one hour of the day, which no window can spare. */
  get hasOneHour(): boolean {
    return this.hours.filter((requests) => requests > 0).length === 1;
  }
}

/** The time that the logs cover, in cells: from `from` up to `until`, without the gaps. */
export interface ObservedTime {
  readonly from: number;
  readonly until: number;
  readonly gaps: readonly (readonly [from: number, until: number])[];
}

/** Returns the observed time in wall-clock cells; times are milliseconds since 1970. */
export function observedTime(
  since: number,
  until: number,
  gaps: readonly LogGap[],
  zone: Zone,
): ObservedTime {
  const cell = (time: number): number => Math.floor(zone.local(time) / QUARTER_MS);
  return {
    from: cell(since),
    until: cell(until) + 1,
    gaps: gaps.flatMap(({ from: begin, until: end }) => {
      const [from, to] = [Date.parse(begin), Date.parse(end)];
      return Number.isNaN(from) || Number.isNaN(to) ? [] : [[cell(from), cell(to) + 1] as const];
    }),
  };
}

/** A window in cells of wall-clock time: `day` is days since 1970, `start` a cell of the day, and `length` at least 1. */
export interface WindowCells {
  readonly day: number;
  readonly start: number;
  readonly length: number;
}

/** Whether a client will be awake in a window, judged by its past. */
export interface Forecast {
  /** `sure` when it was awake in nearly all windows like it, `possible` when in some, `never` when in none. */
  readonly sight: 'sure' | 'possible' | 'never';
  /** Days on which the client came, and those on which it was awake at that time; the expected number where `possible`. */
  readonly trials: number;
  readonly hits: number;
  /** The kind of day on which it comes, for people: `working days`, `Tuesdays`. */
  readonly like: string;
  /** True where only the length makes it sure: the client was never silent for as long. */
  readonly isLonger?: true;
}

/** A kind of days, with the least and the most that a judgement takes. */
interface Likeness {
  readonly key: (day: number) => number | undefined;
  readonly words: (day: number) => string;
  readonly least: number;
  readonly most: number;
  /** A rare rhythm has to explain when the client comes: two hits in two trials could be chance. */
  readonly isRare: boolean;
}

const LIKENESSES: readonly Likeness[] = [
  { key: () => 0, words: () => 'every day', least: 10, most: 28, isRare: false },
  {
    key: (day) => (isWorkday(day) ? 1 : 0),
    words: (day) => (isWorkday(day) ? 'working days' : 'weekend days'),
    least: 6,
    most: 20,
    isRare: false,
  },
  { key: weekdayOf, words: (day) => `${weekdayName(weekdayOf(day))}s`, least: 4, most: 8, isRare: false },
  {
    key: (day) => (Math.floor((day + 3) / 7) % 2) * 7 + weekdayOf(day),
    words: (day) => `every second ${weekdayName(weekdayOf(day))}`,
    least: 3,
    most: 6,
    isRare: true,
  },
  {
    key: (day) => dateOf(day),
    words: (day) => `the ${ordinal(dateOf(day))} of a month`,
    least: 3,
    most: 6,
    isRare: true,
  },
  {
    key: (day) => dateOf(day) - daysOfMonth(day),
    words: () => 'days before the end of a month',
    least: 3,
    most: 6,
    isRare: true,
  },
  {
    key: (day) => weekdayOf(day) * 8 + Math.ceil(dateOf(day) / 7),
    words: (day) => `the ${ordinal(Math.ceil(dateOf(day) / 7))} ${weekdayName(weekdayOf(day))} of a month`,
    least: 3,
    most: 6,
    isRare: true,
  },
  {
    key: (day) => workdayOfMonth(day),
    words: (day) => `the ${ordinal(workdayOfMonth(day) ?? 0)} working day of a month`,
    least: 3,
    most: 6,
    isRare: true,
  },
  {
    key: (day) => (new Date(day * DAY_MS).getUTCMonth() % 3) * 32 + dateOf(day),
    words: (day) => `the ${ordinal(dateOf(day))} of a month of each quarter`,
    least: 2,
    most: 4,
    isRare: true,
  },
];

/** The observed days by kind, the latest first: the same for every client. */
export class Calendar {
  readonly observed: ObservedTime;
  private readonly days: readonly ReadonlyMap<number, readonly number[]>[];
  private readonly lists: readonly Map<number, readonly number[]>[] = LIKENESSES.map(() => new Map());

  constructor(observed: ObservedTime) {
    this.observed = observed;
    const first = Math.floor(observed.from / CELLS_A_DAY);
    const last = Math.floor((observed.until - 1) / CELLS_A_DAY);
    this.days = LIKENESSES.map(({ key }) => {
      const byKey = new Map<number, number[]>();
      for (let day = last; day >= first; day -= 1) {
        const value = key(day);
        if (value === undefined) continue;
        const list = byKey.get(value) ?? [];
        list.push(day);
        byKey.set(value, list);
      }
      return byKey;
    });
  }

  /** The observed days like `day`, the latest first. */
  like(likeness: number, day: number): readonly number[] {
    const known = this.lists[likeness]?.get(day);
    if (known !== undefined) return known;
    const key = LIKENESSES[likeness]?.key(day);
    const list = key === undefined ? [] : (this.days[likeness]?.get(key) ?? []);
    this.lists[likeness]?.set(day, list);
    return list;
  }
}

interface Counted {
  readonly trials: number;
  readonly hits: number;
}

/** More than the cells of the longest window, a week. */
const MAX_LENGTH = 7 * CELLS_A_DAY + 1;

/** Forecasts when one client is awake, from its past. */
export class Forecaster {
  /** The second longest pause between requests, in milliseconds: a pause that came twice; the longest if there is only one, 0 without one. */
  readonly usualPause: number;
  readonly longestPause: number;
  /** Milliseconds from its last request to the end of the logs. */
  readonly silence: number;
  /** Days on which the client was awake. */
  readonly days: readonly number[];
  private readonly calendar: Calendar;
  /** The number of awake cells before each cell, from the first one observed. */
  private readonly sums: Uint32Array;
  private readonly base: number;
  private readonly firstCell: number;
  /** Holidays and gaps in the logs, which show nothing about other days. */
  private readonly left: readonly (readonly [from: number, until: number])[];
  /** Judgements so far, by day and by time of the day. */
  private readonly ofDays = new Map<number, Forecast>();
  private readonly ofClock = new Map<number, Counted>();
  private readonly explained: readonly Map<number, boolean>[] = LIKENESSES.map(() => new Map());

  constructor(rhythm: ClientRhythm, calendar: Calendar) {
    const { from, until, gaps } = calendar.observed;
    this.calendar = calendar;
    this.base = from;
    this.sums = new Uint32Array(Math.max(1, until - from) + 1);
    const pauses: (readonly [from: number, until: number])[] = [];
    const days: number[] = [];
    let before: number | undefined;
    let first = until;
    for (const cell of rhythm.cells.values()) {
      if (cell < from || cell >= until) continue;
      this.sums[cell - from + 1] = 1;
      first = Math.min(first, cell);
      const day = Math.floor(cell / CELLS_A_DAY);
      if (days.at(-1) !== day) days.push(day);
      if (before !== undefined && cell > before + 1 && !isWithin(gaps, before + 1, cell))
        pauses.push([before + 1, cell]);
      before = cell;
    }
    for (let at = 1; at < this.sums.length; at += 1)
      this.sums[at] = (this.sums[at] ?? 0) + (this.sums[at - 1] ?? 0);
    this.days = days;
    this.firstCell = first;
    const lengths = pauses.map(([begin, end]) => end - begin).sort((one, other) => other - one);
    const usual = lengths[1] ?? lengths[0] ?? 0;
    this.longestPause = (lengths[0] ?? 0) * QUARTER_MS;
    this.usualPause = usual * QUARTER_MS;
    const least = Math.max(EXCEPTIONAL_PAUSES * usual, LEAST_EXCEPTION_DAYS * CELLS_A_DAY);
    // The silence up to the end of the log is one that may still be going on.
    if (before !== undefined) pauses.push([before + 1, until]);
    this.silence = before === undefined ? 0 : (until - before - 1) * QUARTER_MS;
    this.left = [...pauses.filter(([begin, end]) => end - begin > least), ...gaps];
  }

  /**
   * Forecasts whether the client is awake in a window: whether it comes on such a day, and whether it is awake at that time on its days.
   * These are two judgements, since a single one rests on few windows, and would be right by chance for some of many.
   */
  forecast(window: WindowCells): Forecast {
    const { day, start, length } = window;
    if (length >= CELLS_A_DAY) {
      const first = start === 0 ? day : day + 1;
      const last = day + Math.floor((start + length) / CELLS_A_DAY) - 1;
      for (let whole = first; whole <= last; whole += 1) {
        const ofDay = this.forecastDay(whole);
        if (ofDay.sight === 'sure') return ofDay;
      }
    }
    const ofDay = this.forecastDay(day);
    const { trials, hits } = this.atClock(start, length);
    if (hits === 0 || ofDay.hits === 0) return { sight: 'never', trials, hits: 0, like: ofDay.like };
    const isSure = ofDay.sight === 'sure' && trials >= LEAST_DAYS && hits >= trials * SURE_CLOCK_SHARE;
    if (isSure) return { sight: 'sure', trials, hits, like: ofDay.like };
    // It was never silent for as long.
    const isLonger = this.usualPause > 0 && length * QUARTER_MS > this.longestPause;
    const chance = (hits / trials) * (ofDay.hits / Math.max(1, ofDay.trials));
    const some = { trials, hits: trials * chance, like: ofDay.like };
    return isLonger ? { sight: 'sure', isLonger, ...some } : { sight: 'possible', ...some };
  }

  /** Forecasts whether the client comes on a day. */
  private forecastDay(day: number): Forecast {
    const known = this.ofDays.get(day);
    if (known !== undefined) return known;
    const made = this.judgeDay(day);
    this.ofDays.set(day, made);
    return made;
  }

  private judgeDay(day: number): Forecast {
    let best: Forecast = { sight: 'never', trials: 0, hits: 0, like: 'every day' };
    for (const [index, likeness] of LIKENESSES.entries()) {
      const { trials, hits } = this.trialsOf(index, likeness, day);
      if (hits === 0) continue;
      const isSure =
        trials >= likeness.least &&
        hits >= trials * SURE_SHARE &&
        (!likeness.isRare || this.explains(index, day));
      if (isSure) return { sight: 'sure', trials, hits, like: likeness.words(day) };
      if (!likeness.isRare && hits / trials > share(best))
        best = { sight: 'possible', trials, hits, like: likeness.words(day) };
    }
    return best;
  }

  /** The latest days on which the client came, and those of them on which it was awake at a time of the day. */
  private atClock(start: number, length: number): Counted {
    const key = start * MAX_LENGTH + Math.min(length, MAX_LENGTH - 1);
    const known = this.ofClock.get(key);
    if (known !== undefined) return known;
    let trials = 0;
    let hits = 0;
    for (let at = this.days.length - 1; at >= 0 && trials < MAX_CLOCK_DAYS; at -= 1) {
      const from = (this.days[at] ?? 0) * CELLS_A_DAY + start;
      const until = from + length;
      // The first day may have begun late, and the last one may not be over.
      if (until > this.calendar.observed.until || until <= this.firstCell || from < this.base) continue;
      trials += 1;
      if (this.awake(from, until) > 0) hits += 1;
    }
    const counted = { trials, hits };
    this.ofClock.set(key, counted);
    return counted;
  }

  private trialsOf(index: number, { most }: Likeness, day: number): Counted {
    let trials = 0;
    let hits = 0;
    for (const past of this.calendar.like(index, day)) {
      if (trials >= most) break;
      const from = past * CELLS_A_DAY;
      const until = from + CELLS_A_DAY;
      if (until > this.calendar.observed.until || from < this.base || until <= this.firstCell) continue;
      const isAwake = this.awake(from, until) > 0;
      if (!isAwake && isWithin(this.left, from, until)) continue;
      trials += 1;
      if (isAwake) hits += 1;
    }
    return { trials, hits };
  }

  /** True when most days of the client are like `day`. */
  private explains(index: number, day: number): boolean {
    const like = this.calendar.like(index, day);
    const [key = -1] = like;
    const known = this.explained[index]?.get(key);
    if (known !== undefined) return known;
    const alike = new Set(like);
    const explained = this.days.filter((one) => alike.has(one)).length;
    const isExplained = explained >= this.days.length * EXPLAINED_SHARE;
    this.explained[index]?.set(key, isExplained);
    return isExplained;
  }

  private awake(from: number, until: number): number {
    return (this.sums[until - this.base] ?? 0) - (this.sums[from - this.base] ?? 0);
  }

  /** The rhythm for people: `working days, 08:00 to 18:00, most at 10:00`. */
  words({ hours, requests, busiestHour, hasOneHour }: ClientRhythm): string {
    const times = hasOneHour
      ? `${hourText(busiestHour)} to ${hourText(busiestHour + 1)}`
      : `${spanOfHours(hours, requests)}, most at ${hourText(busiestHour)}`;
    return `${this.dayWords()}, ${times}`;
  }

  private dayWords(): string {
    const last = this.days.at(-1);
    if (last === undefined) return 'no day';
    for (const [index, likeness] of LIKENESSES.entries()) {
      const { trials, hits } = this.trialsOf(index, likeness, last);
      if (trials < likeness.least || hits < trials * SURE_SHARE) continue;
      if (index === 0 || this.explains(index, last)) return likeness.words(last);
    }
    const weekdays = [1, 2, 3, 4, 5, 6, 0].filter((weekday) => {
      const day = last + ((weekday - weekdayOf(last) + 7) % 7);
      const likeness = LIKENESSES[2];
      if (likeness === undefined) return false;
      const { trials, hits } = this.trialsOf(2, likeness, day);
      return trials >= likeness.least && hits >= trials * SURE_SHARE;
    });
    if (weekdays.length > 0) return weekdays.map((weekday) => `${weekdayName(weekday)}s`).join(', ');
    return `irregular (${this.days.length} days)`;
  }
}

/** An ordinal number: `1st`, `22nd`, `13th`. */
function ordinal(value: number): string {
  const ending = Math.floor((value % 100) / 10) === 1 ? undefined : ['th', 'st', 'nd', 'rd'][value % 10];
  return `${value}${ending ?? 'th'}`;
}

/** The shortest run of hours of the day with nine tenths of the requests. */
function spanOfHours(hours: Float64Array, requests: number): string {
  for (let length = 1; length < 24; length += 1) {
    for (let start = 0; start < 24; start += 1) {
      let sum = 0;
      for (let at = start; at < start + length; at += 1) sum += hours[at % 24] ?? 0;
      if (sum >= requests * 0.9) return `${hourText(start)} to ${hourText(start + length)}`;
    }
  }
  return 'around the clock';
}

function hourText(hour: number): string {
  return clockText((hour % 24) * 3_600_000);
}

function share({ hits, trials }: Forecast): number {
  return trials === 0 ? 0 : hits / trials;
}

function isWithin(spans: ObservedTime['gaps'], from: number, until: number): boolean {
  return spans.some(([begin, end]) => begin < until && end > from);
}

/** The weekday of a day since 1970, from 0, Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** True from Monday to Friday. */
export function isWorkday(day: number): boolean {
  const weekday = weekdayOf(day);
  return weekday > 0 && weekday < 6;
}

function dateOf(day: number): number {
  return new Date(day * DAY_MS).getUTCDate();
}

function daysOfMonth(day: number): number {
  const date = new Date(day * DAY_MS);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
}

/** The place of a working day among those of its month, from 1; undefined on weekends. */
function workdayOfMonth(day: number): number | undefined {
  if (!isWorkday(day)) return undefined;
  let place = 0;
  for (let one = day - dateOf(day) + 1; one <= day; one += 1) if (isWorkday(one)) place += 1;
  return place;
}
