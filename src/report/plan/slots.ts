import type { LogGap } from '../log-gaps.ts';
import { type ClientActivity, KEPT_DAYS, type PlanTally, WEEKS } from './activity.ts';
import { counted } from '../../rules/words.ts';
import { cellAt, CELLS_A_DAY, CELLS_A_WEEK, clockText, QUARTER_MS, slotOf, weekdayName } from './zone.ts';

/** A window reaches a client that was active in at least this share of the weeks: three of four, or all if there are fewer. */
const LEAST_SHARE = 0.75;

/** An hour in cells. */
export const HOUR = 4;

/** In how many of the last four weeks there was activity at a time of the week. */
export interface WeekCount {
  readonly active: number;
  /** Weeks that the log covers at this time; it does not cover the rest of the four. */
  readonly weeks: number;
}

/** A time of the week, and its weeks that count. */
export interface Slot {
  /** Cells from Monday 00:00, and its length in cells. */
  readonly start: number;
  readonly length: number;
  /** The cells at which it began in the weeks that the log covers. */
  readonly begins: readonly number[];
}

export interface ReachingSlot extends Slot {
  readonly reached: ClientSet;
  /** Active weeks of all clients together. */
  active: number;
}

/** The last weeks of a log: which of them it covers at each time of the week, and in how many of these a client was active. */
export class LastWeeks {
  private readonly tally: PlanTally;
  /** A byte for each cell from `base` on: 1 if the log covers it. */
  private readonly covered = new Uint8Array(KEPT_DAYS * CELLS_A_DAY);
  private readonly base: number;
  /** The cell after the last one of the log. */
  private readonly end: number;

  constructor(tally: PlanTally, gaps: readonly LogGap[]) {
    this.tally = tally;
    const { since, until, zone } = tally;
    const isEmpty = since > until;
    const last = isEmpty ? -1 : Math.floor(until / QUARTER_MS);
    const first = isEmpty
      ? 0
      : Math.max(Math.floor(since / QUARTER_MS), last - (KEPT_DAYS + 1) * CELLS_A_DAY);
    const cells: number[] = [];
    for (let quarter = first; quarter <= last; quarter += 1) cells.push(cellAt(quarter * QUARTER_MS, zone));
    // In the hour that comes twice, the clock of the last entry is not the latest.
    this.end = cells.reduce((latest, cell) => Math.max(latest, cell + 1), 0);
    this.base = (Math.floor((this.end - 1) / CELLS_A_DAY) - KEPT_DAYS + 1) * CELLS_A_DAY;
    for (const cell of cells) this.covered[cell - this.base] = 1;
    for (const gap of gaps) {
      const from = Math.max(first, Math.floor(Date.parse(gap.from) / QUARTER_MS));
      const to = Math.min(last + 1, Math.ceil(Date.parse(gap.until) / QUARTER_MS));
      for (let quarter = from; quarter < to; quarter += 1)
        this.covered[(cells[quarter - first] ?? 0) - this.base] = 0;
    }
  }

  /**
   * The cells at which a window of the week began in the last four weeks, the latest first, without those that the log does not cover as
   * a whole: before its begin, after its end, in a gap, or in an hour that daylight saving skipped.
   */
  begins(slot: number, length: number): readonly number[] {
    const latest = this.end - length;
    const first = latest - ((slotOf(latest) - slot + CELLS_A_WEEK) % CELLS_A_WEEK);
    return Array.from({ length: WEEKS }, (_, week) => first - week * CELLS_A_WEEK).filter((begin) =>
      this.covers(begin, length),
    );
  }

  /** The number of these windows in which a client was active. */
  activeIn(client: ClientActivity, begins: readonly number[], length: number): number {
    let active = 0;
    for (const begin of begins) if (this.tally.isActive(client, begin, begin + length)) active += 1;
    return active;
  }

  private covers(begin: number, length: number): boolean {
    if (begin < Math.max(0, this.base)) return false;
    for (let cell = begin; cell < begin + length; cell += 1)
      if (this.covered[cell - this.base] !== 1) return false;
    return true;
  }
}

/** The slots of one length: short ones begin at each quarter or half of an hour, the others at full hours; none goes over midnight. */
export function slotsOf(weeks: LastWeeks, length: number): readonly Slot[] {
  const slots: Slot[] = [];
  for (let start = 0; start < CELLS_A_WEEK; start += Math.min(HOUR, length)) {
    if ((start % CELLS_A_DAY) + length > CELLS_A_DAY) continue;
    const begins = weeks.begins(start, length);
    if (begins.length > 0) slots.push({ start, length, begins });
  }
  return slots;
}

/** The slots of one length with the clients that each reaches, by their place in the list. */
export function reachingSlots(
  clients: readonly ClientActivity[],
  weeks: LastWeeks,
  length: number,
): readonly ReachingSlot[] {
  const slots = slotsOf(weeks, length).map((slot) => ({
    ...slot,
    reached: new ClientSet(clients.length),
    active: 0,
  }));
  // Most clients are active on few days, so whole days are looked at first.
  const days = [...Map.groupBy(slots, ({ start }) => weekdayAt(start)).values()].map((ofDay) => ({
    ofDay,
    begins: [...new Set(ofDay.flatMap(({ begins }) => begins.map((begin) => begin - (begin % CELLS_A_DAY))))],
  }));
  for (const [at, client] of clients.entries())
    for (const { ofDay, begins } of days) {
      if (weeks.activeIn(client, begins, CELLS_A_DAY) === 0) continue;
      for (const slot of ofDay) {
        const active = weeks.activeIn(client, slot.begins, length);
        slot.active += active;
        if (isReached({ active, weeks: slot.begins.length })) slot.reached.add(at);
      }
    }
  return slots;
}

/** Whether a client counts as reached at a time of the week. */
export function isReached({ active, weeks }: WeekCount): boolean {
  return active > 0 && active >= leastOf(weeks);
}

/** The minimum of so many weeks in which a client must have been active to count as reached. */
export function leastOf(weeks: number): number {
  return Math.ceil(weeks * LEAST_SHARE);
}

/** In how many weeks of a slot clients were active: `in 3 of 4 Tuesdays, 10:00 to 10:15`. A single week has no share. */
export function weeksWords(active: number | string, { start, length, begins }: Slot): string {
  const weeks = begins.length;
  const day = nameOfDay(start);
  if (length >= CELLS_A_WEEK) return `in ${active} of ${counted(weeks, 'week')}`;
  const until = start + length;
  const hours = `${cellText(start)} to ${length > CELLS_A_DAY ? `${nameOfDay(until % CELLS_A_WEEK)} ` : ''}${cellText(until)}`;
  if (weeks === 1) return `on the only ${day} that the log covers, ${hours}`;
  const partly = weeks === WEEKS ? '' : `; the log covers only ${weeks} of the last ${WEEKS} ${day}s`;
  return `in ${active} of ${counted(weeks, day)}, ${hours}${partly}`;
}

function cellText(cell: number): string {
  return clockText((cell % CELLS_A_DAY) * QUARTER_MS);
}

/** In how many weeks of a slot a client was active. */
export function countIn(client: ClientActivity, { begins, length }: Slot, weeks: LastWeeks): WeekCount {
  return { active: weeks.activeIn(client, begins, length), weeks: begins.length };
}

/** The weekday of a cell of the week, from 0, Monday. */
export function weekdayAt(start: number): number {
  return Math.floor(start / CELLS_A_DAY);
}

/** The name of the weekday of a cell of the week. */
export function nameOfDay(start: number): string {
  return weekdayName(weekdayAt(start));
}

/** A set of clients by their position in a list: one bit for each, because a plan has a set for each of hundreds of slots. */
export class ClientSet {
  private readonly words: Uint32Array;

  constructor(clients: number) {
    this.words = new Uint32Array(Math.ceil(clients / 32));
  }

  add(at: number): void {
    this.words[at >>> 5] = (this.words[at >>> 5] ?? 0) | (1 << (at & 31));
  }

  has(at: number): boolean {
    return ((this.words[at >>> 5] ?? 0) & (1 << (at & 31))) !== 0;
  }

  remove({ words }: ClientSet): void {
    for (let at = 0; at < words.length; at += 1) this.words[at] = (this.words[at] ?? 0) & ~(words[at] ?? 0);
  }

  /** The number of clients in it that are also in another one. */
  countIn({ words }: ClientSet): number {
    let count = 0;
    for (let at = 0; at < words.length; at += 1)
      for (let bits = (this.words[at] ?? 0) & (words[at] ?? 0); bits !== 0; bits &= bits - 1) count += 1;
    return count;
  }

  get size(): number {
    return this.countIn(this);
  }
}
