import { isZone, wallClock } from '../../rules/kinds/date-format.ts';
import { MONTHS, WEEKDAYS } from '../../rules/kinds/date-pattern.ts';
import { readInstant } from '../../rules/rollout.ts';
import { DAY_MS } from '../tally/time-slots.ts';

/** Length of a quarter of an hour in milliseconds: every zone's offset changes at such a time. */
export const QUARTER_MS = 900_000;

/** Quarters of an hour, called cells here, in a day and in a week. */
export const CELLS_A_DAY = 96;
export const CELLS_A_WEEK = 7 * CELLS_A_DAY;

/** Maximum offsets that are remembered: those of three years. */
const MAX_OFFSETS = 105_000;

/**
 * Wall-clock time of one zone. A *local* time is wall-clock time in milliseconds since 1970 as if the clock showed UTC, so its days and
 * hours are plain divisions, independent of daylight saving.
 */
export class Zone {
  /** IANA name, such as `Australia/Sydney`. */
  readonly name: string;
  private readonly format: Intl.DateTimeFormat;
  private readonly offsets = new Map<number, number>();

  /** Throws a RangeError for a name that the runtime does not know. */
  constructor(name: string) {
    this.format = wallClock(name);
    this.name = name;
  }

  /**
   * The zone of the machine or browser. It is UTC, and marked as unknown, if the runtime has no name for it: with an empty `TZ`,
   * `Etc/Unknown`, a path, or a POSIX rule, V8 reports `Etc/Unknown`, which it then refuses, or undefined.
   */
  static own(): { readonly zone: Zone; readonly isKnown: boolean } {
    const name: unknown = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const isKnown = typeof name === 'string' && isZone(name);
    // `TZ=GMT` is reported as an offset.
    return { zone: new Zone(isKnown && name !== '+00:00' ? name : 'UTC'), isKnown };
  }

  /** The local time at a time in milliseconds since 1970. */
  local(time: number): number {
    return time + this.offset(time);
  }

  /**
   * The time in milliseconds since 1970 at a local time: the earlier one in an hour that comes twice. Undefined in the hour that
   * daylight saving skips.
   */
  utc(local: number): number | undefined {
    const [before, after] = [this.offset(local - DAY_MS), this.offset(local + DAY_MS)];
    const earlier = local - Math.max(before, after);
    if (this.local(earlier) === local) return earlier;
    const later = local - Math.min(before, after);
    return this.local(later) === local ? later : undefined;
  }

  /** The first time at or after a local time that the clock shows. */
  utcFrom(local: number): number {
    for (let later = local; ; later += QUARTER_MS) {
      const time = this.utc(later);
      if (time !== undefined) return time;
    }
  }

  /** True in the hour that comes twice when daylight saving ends. */
  isTwice(local: number): boolean {
    const offsets = [this.offset(local - DAY_MS), this.offset(local + DAY_MS)];
    return offsets[0] !== offsets[1] && offsets.every((offset) => this.local(local - offset) === local);
  }

  /** Prints a time as `Tue 12 Jan 2027 09:00`. */
  text(time: number): string {
    const local = this.local(time);
    return `${dayText(local)} ${clockText(local)}`;
  }

  private offset(time: number): number {
    const slot = Math.floor(time / QUARTER_MS);
    const known = this.offsets.get(slot);
    if (known !== undefined) return known;
    if (this.offsets.size >= MAX_OFFSETS) this.offsets.clear();
    const at = slot * QUARTER_MS;
    const parts: Record<string, number> = {};
    for (const { type, value } of this.format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    const offset = Date.UTC(year, month - 1, day, hour, minute, second) - at;
    this.offsets.set(slot, offset);
    return offset;
  }
}

/** Prints the day of a local time as `Tue 12 Jan 2027`. */
export function dayText(local: number): string {
  const date = new Date(local);
  const weekday = weekdayName(weekdayOf(Math.floor(local / DAY_MS))).slice(0, 3);
  return `${weekday} ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]?.slice(0, 3)} ${date.getUTCFullYear()}`;
}

/** Prints the time of day of a local time as `09:00`, or `09:00:25`. */
export function clockText(local: number): string {
  return new Date(local).toISOString().slice(11, 19).replace(/:00$/, '');
}

/** The cell of a time in milliseconds since 1970: the number of quarters of an hour since 1970 by the clock of a zone. */
export function cellAt(time: number, zone: Zone): number {
  return Math.floor(zone.local(time) / QUARTER_MS);
}

/** The place of a cell in its week, from 0, Monday 00:00. */
export function slotOf(cell: number): number {
  // 1970 began on a Thursday.
  const slot = (cell + 3 * CELLS_A_DAY) % CELLS_A_WEEK;
  return slot < 0 ? slot + CELLS_A_WEEK : slot;
}

/** The weekday of a day since 1970, from 0, Monday. */
export function weekdayOf(day: number): number {
  return Math.floor(slotOf(day * CELLS_A_DAY) / CELLS_A_DAY);
}

/** The name of a weekday from 0, Monday. */
export function weekdayName(weekday: number): string {
  return WEEKDAYS[(weekday + 1) % 7] ?? '';
}

/**
 * Reads a window as people write it: `2026-11-24T09:00/10:00`, `2026-11-24T22:00/2026-11-25T02:00`, local to the zone, or with `Z` or
 * an offset, which also applies to an end without a day. Anything else is a fault, in a sentence.
 */
export function readWindow(
  text: string,
  zone: Zone,
): { readonly from: number; readonly until: number } | { readonly fault: string } {
  const fault = (why: string): { readonly fault: string } => ({
    fault: `${text} is not a window: ${why}. Write it as 2026-11-24T09:00/10:00, or with two dates.`,
  });
  const [begin = '', end = '', ...more] = text.split('/');
  if (begin === '' || end === '' || more.length > 0)
    return fault('it needs a begin and an end with / between');
  const from = readMoment(begin, zone);
  const isClock = /^\d{2}:\d{2}(?::\d{2})?$/.test(end);
  const [offset = ''] = isClock ? (/(?:Z|[+-]\d{2}:\d{2})$/.exec(begin.slice(10)) ?? []) : [];
  const until = readMoment(/^\d{2}:\d{2}/.test(end) ? `${begin.slice(0, 10)}T${end}${offset}` : end, zone);
  if (from === undefined) return fault(`${begin} is not a valid time in ${zone.name}`);
  if (until === undefined) return fault(`${end} is not a valid time in ${zone.name}`);
  return until > from ? { from, until } : fault('it ends before it begins');
}

/** Reads a local time, or a time with an offset; undefined for anything else, and for a time that daylight saving skips. */
function readMoment(text: string, zone: Zone): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(:\d{2})?(Z|[+-]\d{2}:\d{2})?$/.exec(text);
  if (match === null) return undefined;
  const [, clock = '', seconds = ':00', offset] = match;
  const time = readInstant(`${clock}${seconds}${offset ?? 'Z'}`);
  if (time === undefined) return undefined;
  return offset === undefined ? zone.utc(time) : time;
}
