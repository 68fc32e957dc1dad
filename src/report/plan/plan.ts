import type { Brownout, Rollout, Scope } from '../../rules/rollout.ts';
import type { ClientReport } from '../client-report.ts';
import { type Ending, type RotatedKey, rotatedKeys } from '../endings.ts';
import type { LogGap } from '../log-gaps.ts';
import { makeReport } from '../report.ts';
import type { TallyEntry } from '../tally/tally-entry.ts';
import { Tally } from '../tally/tally.ts';
import { DAY_MS } from '../tally/time-slots.ts';
import { counted, lengthWords, listed, NO_KEY, percentWords } from '../text.ts';
import { isOfV1 } from '../../rewrite-log/entry.ts';
import { isPreflight } from '../../rollout/retirement.ts';
import {
  Calendar,
  CELLS_A_DAY,
  ClientRhythm,
  type Forecast,
  Forecaster,
  isWorkday,
  observedTime,
  weekdayOf,
  type WindowCells,
} from './rhythm.ts';
import { QUARTER_MS, type Zone } from './zone.ts';

/** Days between the announcement and the end of V1, unless the operator sets others. */
export const DEFAULT_LEAD_DAYS = 90;

/** Begins the ids of a plan's brownouts; a number follows. */
export const PLAN_PREFIX = 'plan-';

/** Lengths of the brownouts, round by round, in quarters of an hour: from minutes to hours. */
const ROUNDS = [1, 2, 4, 8, 16] as const;

/** Maximum brownouts of a round. */
const MAX_A_ROUND = 3;

/** Quiet days before the sunset, in which owners who noticed late can still act, and their greatest share of the whole time. */
const QUIET_DAYS = 14;
const QUIET_SHARE = 0.2;

/** Brownouts come in the last days before the sunset: nobody acts years ahead, and each further day takes time to search. */
const BROWNOUT_DAYS = 400;

/** The part of the time before the sunset that passes without a brownout. */
const FIRST_SHARE = 0.25;

/** A brownout of a share surely meets a client that it refuses at least once with this chance. */
const SURE_CHANCE = 0.95;

/** A client that is silent for longer than ever before, and for more days than these, may have stopped. */
const LEAST_SILENCE_DAYS = 2;

/** Lengths of brownouts for single clients, in quarters of an hour. */
const OWN_LENGTHS = [4, 8, 16] as const;

/** The longest brownout for a client without a rhythm, in quarters of an hour: two days. */
const LONGEST_OWN = 2 * CELLS_A_DAY;

/** Least requests and days that show a client's rhythm. */
const LEAST = { requests: 5, days: 14 } as const;

/** Maximum clients whose rhythm is kept; requests of others count as left out. */
const MAX_CLIENTS = 20_000;

const HALF_HOUR = 2;

/** Maximum clients named in a sentence. */
const MAX_NAMED = 3;

/** Collects from a log what a plan needs: a tally for the report, and the rhythm of each client. */
export class PlanTally {
  readonly tally = new Tally();
  readonly rhythms = new Map<string, ClientRhythm>();
  /** V1 requests of clients beyond the limit. */
  omitted = 0;
  private readonly zone: Zone;

  constructor(zone: Zone) {
    this.zone = zone;
  }

  /** Adds an entry, in any order. */
  add(entry: TallyEntry): void {
    this.tally.add(entry);
    const time = Date.parse(entry.time);
    if (!isOfV1(entry) || Number.isNaN(time) || isPreflight(entry)) return;
    const client = entry.client ?? NO_KEY;
    let rhythm = this.rhythms.get(client);
    if (rhythm === undefined) {
      if (this.rhythms.size >= MAX_CLIENTS) {
        this.omitted += 1;
        return;
      }
      rhythm = new ClientRhythm();
      this.rhythms.set(client, rhythm);
    }
    rhythm.add(time, this.zone.local(time));
  }
}

/** An operator's choices for a plan. */
export interface PlanOptions {
  /** Milliseconds since 1970 at which the plan is made. */
  readonly now: number;
  readonly zone: Zone;
  /** Least days from the deprecation to the sunset. */
  readonly leadDays: number;
  readonly goneAfterDays: number;
  /** Display names by client hash. */
  readonly names: ReadonlyMap<string, string>;
  /** The rollout of the rule book. */
  readonly rollout: Rollout | undefined;
  readonly gaps: readonly LogGap[];
  /** Days without a brownout, such as public holidays: days since 1970 in the zone. */
  readonly avoid: ReadonlySet<number>;
}

/** One brownout of a plan. Times are milliseconds since 1970. */
export interface PlannedBrownout {
  readonly id: string;
  readonly from: number;
  readonly until: number;
  /** The clients that it is for; every client when absent. */
  readonly clients?: readonly string[];
  /** Clients that it spares: it would be their first one, in their busiest hour. */
  readonly except?: readonly string[];
  /** Clients that are awake in it. */
  readonly meets: number;
}

/** The brownout at which a client will notice. */
export interface Notice {
  /** The id of the brownout. */
  readonly brownout: string;
  readonly at: number;
  /** The evidence: `it comes on Tuesdays, and was awake at that time on 8 of the last 8`. */
  readonly because: string;
}

/** A client that still uses V1, with the brownouts that will meet it. */
export interface PlannedClient {
  readonly client: string;
  readonly name?: string;
  readonly requests: number;
  /** When it is awake, in words; absent where that is not known. */
  readonly rhythm?: string;
  /** Usual longest pause in milliseconds; absent where it is not known. */
  readonly usualPause?: number;
  /** The first brownout in which it is surely awake; absent where none is known to be. */
  readonly notices?: Notice;
  /** Number of brownouts in which it is surely awake. */
  readonly brownouts: number;
  /** Why that is not known, and special cases, in sentences. */
  readonly remarks: readonly string[];
}

/** A task of the operator on a day before the sunset. */
export interface Announcement {
  readonly at: number;
  readonly text: string;
}

/** A plan for the end of V1. Times are milliseconds since 1970. */
export interface Plan {
  readonly at: number;
  readonly zone: string;
  readonly leadDays: number;
  readonly deprecation: number;
  readonly sunset: number;
  /** Why the sunset is not earlier. */
  readonly sunsetBecause: string;
  /** The requests that get 410 from the sunset on; absent where the rule book declares a sunset that only announces the end. */
  readonly gone?: Scope;
  readonly announcements: readonly Announcement[];
  readonly brownouts: readonly PlannedBrownout[];
  /** Clients that still use V1, those that no brownout meets first, then by requests. */
  readonly clients: readonly PlannedClient[];
  readonly rotated: readonly RotatedKey[];
  /** Operations and changes that end before V1 does, by the rule book. */
  readonly endings: readonly Ending[];
  /** What the plan cannot know, in sentences. */
  readonly unknown: readonly string[];
}

/** A client while the plan is made. */
interface Planning {
  readonly report: ClientReport;
  readonly rhythm: ClientRhythm;
  readonly forecaster: Forecaster;
  /** Its busiest hour, which its first window spares; undefined when it is awake in no other. */
  readonly spareHour: number | undefined;
  readonly isKnown: boolean;
  readonly replaced: string | undefined;
}

/** Makes the plan from the counts of a log; undefined when no client with a key still uses V1. */
export function makePlan(counts: PlanTally, options: PlanOptions): Plan | undefined {
  const { now, zone, leadDays, rollout } = options;
  const planned = planningOf(counts, options);
  if (planned.clients.length === 0) return undefined;
  const { clients, rotated, endings, observedDays } = planned;
  const deprecation =
    rollout?.signals?.since ?? zone.utcFrom((Math.floor(zone.local(now) / DAY_MS) + 1) * DAY_MS);
  const pause = longestUsualPause(clients);
  const { sunset, because } = sunsetOf(deprecation, pause, options);
  const windows = chooseWindows(clients, deprecation, sunset, options);
  const brownouts = windows.map(({ window, meets, ...rest }, at) => {
    const { from, until } = timesOf(window, zone);
    return { id: `${PLAN_PREFIX}${at + 1}`, from, until, ...rest, meets };
  });
  return {
    at: now,
    zone: zone.name,
    leadDays,
    deprecation,
    sunset,
    sunsetBecause: because,
    ...goneOf(rollout),
    announcements: announcements(Math.max(deprecation, now), sunset, brownouts),
    brownouts,
    clients: clients
      .map((client) => plannedClient(client, windows, brownouts, rollout))
      .sort(
        (one, other) =>
          Math.min(one.brownouts, 1) - Math.min(other.brownouts, 1) || other.requests - one.requests,
      ),
    rotated,
    endings,
    unknown: unknownParts(counts, options, observedDays),
  };
}

/** Clients that still use V1, each with its forecast; both keys of a rotation are one client. */
function planningOf(
  counts: PlanTally,
  options: PlanOptions,
): {
  readonly clients: readonly Planning[];
  readonly rotated: readonly RotatedKey[];
  readonly endings: readonly Ending[];
  readonly observedDays: number;
} {
  const { now, goneAfterDays, names, gaps, zone, rollout } = options;
  const report = makeReport(counts.tally, {
    now: new Date(now).toISOString(),
    goneAfterDays,
    names,
    ends: rollout?.ends,
  });
  const since = Date.parse(report.since ?? '');
  const until = Date.parse(report.until ?? '');
  if (Number.isNaN(since) || Number.isNaN(until))
    return { clients: [], rotated: [], endings: [], observedDays: 0 };
  const calendar = new Calendar(observedTime(since, until, gaps, zone));
  // A key that may only pause is still somebody's.
  const pairs = rotatedKeys(report.clients, {
    rhythmOf: (client) => counts.tally.clients.get(client)?.days.rhythm,
    hoursOf: (client) => counts.rhythms.get(client)?.hours,
  });
  const rotated = pairs.filter(({ isSettled }) => isSettled);
  const before = new Map(rotated.map(({ old, young }) => [young, old]));
  const replaced = new Set(rotated.map(({ old }) => old));
  const clients = report.clients.flatMap((client): Planning[] => {
    const own = counts.rhythms.get(client.client);
    if (own === undefined || client.client === NO_KEY || client.class === 'gone') return [];
    if (replaced.has(client.client)) return [];
    const old = before.get(client.client);
    const past = old === undefined ? undefined : counts.rhythms.get(old);
    const rhythm = past === undefined ? own : ClientRhythm.of(past, own);
    const forecaster = new Forecaster(rhythm, calendar);
    const isKnown = rhythm.requests >= LEAST.requests && rhythm.last - rhythm.first >= LEAST.days * DAY_MS;
    const spareHour = rhythm.hasOneHour ? undefined : rhythm.busiestHour;
    return [{ report: client, rhythm, forecaster, spareHour, isKnown, replaced: old }];
  });
  const { endings = [] } = report;
  return { clients, rotated, endings, observedDays: Math.floor((until - since) / DAY_MS) };
}

function longestUsualPause(clients: readonly Planning[]): number {
  return clients.reduce(
    (longest, { forecaster, isKnown }) => Math.max(longest, isKnown ? forecaster.usualPause : 0),
    0,
  );
}

/** The first midnight of a Tuesday, Wednesday or Thursday that is late enough, or the rule book's sunset if that is later. */
function sunsetOf(
  deprecation: number,
  pause: number,
  { now, zone, leadDays, avoid, rollout }: PlanOptions,
): { readonly sunset: number; readonly because: string } {
  const byLead = Math.max(deprecation, now) + leadDays * DAY_MS;
  const byPause = now + 2 * pause;
  let day = Math.floor(zone.local(Math.max(byLead, byPause)) / DAY_MS) + 1;
  while (weekdayOf(day) < 2 || weekdayOf(day) > 4 || avoid.has(day)) day += 1;
  const earliest = zone.utcFrom(day * DAY_MS);
  const declared = rollout?.signals?.sunset;
  // Clients that know the day rely on it.
  if (declared !== undefined && declared > earliest)
    return {
      sunset: declared,
      because: `the day that the rule book declares; it could be ${zone.text(earliest)}`,
    };
  const since = deprecation < now ? 'from now' : 'after the deprecation';
  const because =
    byPause > byLead
      ? `later than twice the longest usual pause of a client, which is ${lengthWords(pause)}`
      : `at least ${counted(leadDays, 'day')} ${since}${pause === 0 ? '' : `, and later than twice the longest usual pause, which is ${lengthWords(pause)}`}`;
  return { sunset: earliest, because };
}

/** A sunset that the rule book declares stays what it is, an end or an announcement; a new one ends V1. */
function goneOf(rollout: Rollout | undefined): { readonly gone?: Scope } {
  if (rollout?.signals?.sunset === undefined) return { gone: {} };
  return rollout.gone === undefined ? {} : { gone: rollout.gone };
}

interface ChosenWindow {
  readonly window: WindowCells;
  readonly clients?: readonly string[];
  readonly except?: readonly string[];
  readonly meets: number;
}

/** Chooses the brownouts: rounds of growing length for everybody, then windows for single clients that none of them meets. */
function chooseWindows(
  all: readonly Planning[],
  deprecation: number,
  sunset: number,
  { now, zone, avoid }: PlanOptions,
): readonly ChosenWindow[] {
  const clients = all.filter(({ isKnown }) => isKnown);
  const start = Math.max(deprecation, now);
  const quiet = Math.min(QUIET_DAYS, Math.floor(((sunset - start) / DAY_MS) * QUIET_SHARE));
  const last = dayOf(sunset, zone) - quiet;
  const first = Math.max(dayOf(start + (sunset - start) * FIRST_SHARE, zone), last - BROWNOUT_DAYS);
  const days: number[] = [];
  for (let day = first; day < last; day += 1) if (!avoid.has(day)) days.push(day);
  const chooser = new WindowChooser(clients, zone);
  for (const [round, length] of ROUNDS.entries()) {
    const from = Math.floor((days.length * round) / ROUNDS.length);
    const until = Math.floor((days.length * (round + 1)) / ROUNDS.length);
    chooser.addRound(days.slice(from, until), length);
  }
  chooser.addForSingle(days);
  return chooser.chosen();
}

function dayOf(time: number, zone: Zone): number {
  return Math.floor(zone.local(time) / DAY_MS);
}

/** Chooses windows greedily: each time the one that meets the most clients for the first time. */
class WindowChooser {
  private readonly clients: readonly Planning[];
  private readonly zone: Zone;
  private readonly windows: ChosenWindow[] = [];
  /** The begin, in cells since 1970, of the first window that surely meets each client. */
  private readonly met = new Map<Planning, number>();
  private readonly busyDays = new Set<number>();

  constructor(clients: readonly Planning[], zone: Zone) {
    this.clients = clients;
    this.zone = zone;
  }

  /** The windows in order of time. */
  chosen(): readonly ChosenWindow[] {
    return this.windows.toSorted((one, other) => beginOf(one.window) - beginOf(other.window));
  }

  /** Adds the windows of one length. Each round has one at least, even if all clients were met before: reminders get longer. */
  addRound(days: readonly number[], length: number): void {
    const inRound = new Set<Planning>();
    for (let count = 0; count < MAX_A_ROUND; count += 1) {
      let best: { readonly window: WindowCells; readonly score: number } | undefined;
      for (const day of days) {
        if (this.busyDays.has(day)) continue;
        for (let start = 0; start + length <= CELLS_A_DAY; start += stepOf(length)) {
          const window = { day, start, length };
          const score = this.score(window, inRound, best?.score ?? 0);
          if (score > (best?.score ?? 0) && isOnClock(window, this.zone)) best = { window, score };
        }
      }
      if (best === undefined) return;
      this.take(best.window, inRound);
    }
  }

  /** Adds windows for the clients that no window surely meets, each for as many clients as possible. */
  addForSingle(days: readonly number[]): void {
    // Short windows before long ones, and days before the clocks change before others: some jobs go by UTC.
    const offset = (day: number): number => this.zone.local(day * DAY_MS);
    const [now = 0] = days;
    const ordered = days.toSorted(
      (one, other) =>
        Number(offset(one) - one * DAY_MS !== offset(now) - now * DAY_MS) -
          Number(offset(other) - other * DAY_MS !== offset(now) - now * DAY_MS) || one - other,
    );
    for (const length of OWN_LENGTHS) {
      for (;;) {
        const unmet = this.clients.filter((client) => !this.met.has(client));
        if (unmet.length === 0) return;
        const best = this.bestFor(unmet, ordered, length);
        if (best === undefined) break;
        this.takeFor(best.window, best.clients);
      }
    }
    for (const client of this.clients) {
      if (this.met.has(client)) continue;
      const { longestPause } = client.forecaster;
      const length = Math.ceil(longestPause / QUARTER_MS / 4 + 1) * 4;
      const day = ordered.find((one) => isWorkday(one));
      if (length > LONGEST_OWN || day === undefined) continue;
      const window = { day: day - Math.floor(length / CELLS_A_DAY), start: 8 * 4, length };
      if (this.isSure(client, window)) this.takeFor(window, [client]);
    }
  }

  private bestFor(
    unmet: readonly Planning[],
    days: readonly number[],
    length: number,
  ): { readonly window: WindowCells; readonly clients: readonly Planning[] } | undefined {
    let best: { readonly window: WindowCells; readonly clients: readonly Planning[] } | undefined;
    for (const day of days) {
      for (let start = 0; start + length <= CELLS_A_DAY; start += stepOf(length)) {
        const window = { day, start, length };
        const sure = unmet.filter((client) => this.isSure(client, window));
        if (sure.length === 0) continue;
        const spared = sure.filter((client) => !this.isFirstInBusiestHour(client, window));
        // A client that is awake in hardly any other hour is not spared.
        const clients = spared.length > 0 ? spared : sure;
        if (clients.length > (best?.clients.length ?? 0) && isOnClock(window, this.zone))
          best = { window, clients };
      }
    }
    return best;
  }

  private score(window: WindowCells, inRound: ReadonlySet<Planning>, beat: number): number {
    let score = 0;
    let left = this.clients.length;
    for (const client of this.clients) {
      left -= 1;
      // Even if it met all others for the first time, it would not be better.
      if (score + (left + 1) * 10 <= beat) return 0;
      if (inRound.has(client)) continue;
      const { sight } = client.forecaster.forecast(window);
      if (sight === 'never') continue;
      if (this.isFirstInBusiestHour(client, window)) score -= 0.5;
      else if (sight === 'sure') score += this.met.has(client) ? 1 : 10;
    }
    // Somebody should be there to see who complains.
    const isOfficeTime = window.start >= 8 * 4 && window.start + window.length <= 18 * 4;
    return score * (isWorkday(window.day) ? 1 : 0.9) * (isOfficeTime ? 1 : 0.95);
  }

  private take(window: WindowCells, inRound: Set<Planning>): void {
    const spared: string[] = [];
    const met: Planning[] = [];
    for (const client of this.clients) {
      const { sight } = client.forecaster.forecast(window);
      if (sight === 'never') continue;
      if (this.isFirstInBusiestHour(client, window)) spared.push(client.report.client);
      else if (sight === 'sure') met.push(client);
    }
    for (const client of met) {
      inRound.add(client);
      this.meet(client, window);
    }
    this.busyDays.add(window.day);
    this.windows.push({
      window,
      ...(spared.length === 0 ? {} : { except: spared }),
      meets: met.length,
    });
  }

  private takeFor(window: WindowCells, clients: readonly Planning[]): void {
    for (const client of clients) this.meet(client, window);
    const hashes = clients.flatMap(({ report, replaced }) =>
      replaced === undefined ? [report.client] : [report.client, replaced],
    );
    this.windows.push({ window, clients: hashes, meets: clients.length });
  }

  private meet(client: Planning, window: WindowCells): void {
    const begin = beginOf(window);
    const before = this.met.get(client);
    if (before === undefined || begin < before) this.met.set(client, begin);
  }

  private isSure({ forecaster }: Planning, window: WindowCells): boolean {
    return forecaster.forecast(window).sight === 'sure';
  }

  /** Whether the window would be the client's first one, in its busiest hour, although it has other hours. */
  private isFirstInBusiestHour(client: Planning, window: WindowCells): boolean {
    const { spareHour } = client;
    if (spareHour === undefined || !coversHour(window, spareHour)) return false;
    const before = this.met.get(client);
    return before === undefined || before >= beginOf(window);
  }
}

/** Windows begin at full hours, short ones at half hours as well. */
function stepOf(length: number): number {
  return Math.max(HALF_HOUR, Math.min(4, length));
}

function beginOf({ day, start }: WindowCells): number {
  return day * CELLS_A_DAY + start;
}

/** Whether a window overlaps an hour of the day. */
export function coversHour({ start, length }: Omit<WindowCells, 'day'>, hour: number): boolean {
  if (length >= CELLS_A_DAY) return true;
  const begins = (from: number): boolean => start < from + 4 && start + length > from;
  return begins(hour * 4) || begins(hour * 4 + CELLS_A_DAY);
}

/** Whether daylight saving neither skips nor repeats an end of a window, nor changes its length. */
function isOnClock(window: WindowCells, zone: Zone): boolean {
  const [begin, end] = [beginOf(window), beginOf(window) + window.length].map((cell) => cell * QUARTER_MS);
  if (begin === undefined || end === undefined) return false;
  const [from, until] = [zone.utc(begin), zone.utc(end)];
  return (
    from !== undefined &&
    until !== undefined &&
    until - from === end - begin &&
    !zone.isTwice(begin) &&
    !zone.isTwice(end)
  );
}

function timesOf(window: WindowCells, zone: Zone): { readonly from: number; readonly until: number } {
  const begin = beginOf(window) * QUARTER_MS;
  return { from: zone.utcFrom(begin), until: zone.utcFrom(begin + window.length * QUARTER_MS) };
}

function plannedClient(
  client: Planning,
  windows: readonly ChosenWindow[],
  brownouts: readonly PlannedBrownout[],
  rollout: Rollout | undefined,
): PlannedClient {
  const { report, rhythm, forecaster, isKnown, replaced } = client;
  const remarks: string[] = [];
  const days = Math.floor((rhythm.last - rhythm.first) / DAY_MS);
  if (!isKnown)
    remarks.push(
      `Its rhythm is not known: it was seen with ${counted(rhythm.requests, 'request')} in ${daysWords(days)}.`,
    );
  if (replaced !== undefined)
    remarks.push(`Its key seems to be the rotated one of ${replaced}; both are taken as one client.`);
  let notices: Notice | undefined;
  let met = 0;
  let missing = 1;
  for (const [at, chosen] of windows.entries()) {
    const brownout = brownouts[at];
    if (brownout === undefined || !isKnown || !isFor(chosen, report.client)) continue;
    const forecast = forecaster.forecast(chosen.window);
    missing *= 1 - (forecast.trials === 0 ? 0 : forecast.hits / forecast.trials);
    if (forecast.sight !== 'sure') continue;
    met += 1;
    if (notices !== undefined) continue;
    notices = { brownout: brownout.id, at: brownout.from, because: because(forecast) };
    if (rhythm.hasOneHour && coversHour(chosen.window, rhythm.busiestHour))
      remarks.push('It is awake in only one hour of the day, so the brownout falls into that hour.');
  }
  if (isKnown && met === 0)
    remarks.push(
      `When it will notice is not known: no brownout could be chosen in which it is surely awake${missing < 0.999 ? `; it is awake in one of them with a chance of about ${percentWords(Math.round((1 - missing) * 100) / 100)}` : ''}.`,
    );
  if (isKnown && forecaster.longestPause > 2 * forecaster.usualPause)
    remarks.push(`It paused for ${lengthWords(forecaster.longestPause)} once, as in a holiday.`);
  const { silence, longestPause } = forecaster;
  if (isKnown && silence > Math.max(longestPause, LEAST_SILENCE_DAYS * DAY_MS))
    remarks.push(
      `It has been silent for ${lengthWords(silence)}, longer than ever before in the logs: it may be gone.`,
    );
  if (rollout?.gone !== undefined && !isFor(rollout.gone, report.client))
    remarks.push("The rule book's sunset spares it.");
  return {
    client: report.client,
    ...(report.name === undefined ? {} : { name: report.name }),
    requests: rhythm.requests,
    ...(isKnown ? { rhythm: forecaster.words(rhythm), usualPause: forecaster.usualPause } : {}),
    ...(notices === undefined ? {} : { notices }),
    brownouts: met,
    remarks,
  };
}

function isFor({ clients, except }: Pick<Brownout, 'clients' | 'except'>, client: string): boolean {
  return (clients === undefined || clients.includes(client)) && except?.includes(client) !== true;
}

function because({ hits, trials, like, isLonger }: Forecast): string {
  if (isLonger === true) return 'the brownout is longer than any of its pauses';
  return `it comes ${like === 'every day' ? like : `on ${like}`}, and was awake at that time on ${Math.round(hits)} of the last ${trials}`;
}

/** What to tell the clients: at `start`, which is the deprecation or now, before the first brownout, and twice before the end. */
function announcements(
  start: number,
  sunset: number,
  brownouts: readonly PlannedBrownout[],
): readonly Announcement[] {
  const all = [
    { at: start, text: 'Announce the end of V1 and its date; send each client its guide.' },
    ...brownouts.slice(0, 1).map(({ from }) => ({
      at: Math.max(start, from - 7 * DAY_MS),
      text: 'Announce the brownouts with their times.',
    })),
    {
      at: sunset - 30 * DAY_MS,
      text: 'Remind the clients that still use V1; report --digest has a text for each.',
    },
    { at: sunset - 7 * DAY_MS, text: 'Call the owners of the clients that still use V1.' },
  ];
  return all.filter(({ at }) => at >= start).sort((one, other) => one.at - other.at);
}

function daysWords(days: number): string {
  return days === 0 ? 'less than a day' : counted(days, 'day');
}

function unknownParts(
  { tally, rhythms, omitted }: PlanTally,
  { gaps }: PlanOptions,
  observedDays: number,
): readonly string[] {
  const keyless = rhythms.get(NO_KEY);
  return [
    ...(observedDays < 92
      ? [
          `The logs cover ${daysWords(observedDays)}: a client that comes once in a ${observedDays < 28 ? 'month' : 'quarter'} or more rarely may not be in them.`,
        ]
      : []),
    ...(keyless === undefined
      ? []
      : [
          `${counted(keyless.requests, 'request')} had no API key, so the log does not show which clients sent them.`,
        ]),
    ...(omitted + tally.omittedClients === 0
      ? []
      : [
          `The plan leaves out ${counted(omitted + tally.omittedClients, 'request')} from clients beyond its limit.`,
        ]),
    ...(gaps.length === 0
      ? []
      : [
          `The logs lack ${counted(gaps.length, 'part')} of the time, so they do not show which clients were awake then.`,
        ]),
  ];
}

/** The warnings of `check` about the end of V1 in a rule book; empty where it is sound, or there is none. */
export function endWarnings(counts: PlanTally, options: PlanOptions): readonly string[] {
  const { rollout, now, zone, leadDays } = options;
  const sunset = rollout?.signals?.sunset;
  const isAhead = sunset !== undefined && sunset > now;
  if (rollout === undefined || (!isAhead && rollout.ends === undefined)) return [];
  const { clients: all, endings } = planningOf(counts, options);
  const { gone } = rollout;
  const clients = all.filter(({ report }) => gone === undefined || isFor(gone, report.client));
  const warnings = endings.flatMap((ending) => endingWarning(ending, options));
  if (clients.length === 0 || !isAhead) return warnings;
  if (sunset < now + leadDays * DAY_MS)
    warnings.push(
      `sunset: ${zone.text(sunset)} (${zone.name}) is in ${counted(Math.floor((sunset - now) / DAY_MS), 'day')}, nearer than the lead time of ${counted(leadDays, 'day')}, and ${counted(clients.length, 'client')} still ${clients.length === 1 ? 'calls' : 'call'}: ${named(clients)}; choose a later day`,
    );
  const coming = rollout.brownouts.filter(({ from = now, until = sunset }) => until > now && from < sunset);
  const known = clients.filter(({ isKnown }) => isKnown);
  const unmet = known.filter((client) => !coming.some((brownout) => meets(client, brownout, options)));
  if (unmet.length > 0)
    warnings.push(
      `brownouts: none before the sunset is known to meet ${counted(unmet.length, 'client')}: ${named(unmet)}; capture-gateway plan chooses a window for each client whose rhythm has one`,
    );
  const unknown = clients.length - known.length;
  if (unknown > 0)
    warnings.push(
      `brownouts: whether one meets ${counted(unknown, 'more client')} is not known: the logs do not show their rhythm`,
    );
  return warnings;
}

/** The warning about a sunset of an operation or change that comes too soon for the clients that still use it. */
function endingWarning(
  { id, kind, sunset, clients }: Ending,
  { now, leadDays }: PlanOptions,
): readonly string[] {
  const time = Date.parse(sunset ?? '');
  if (clients.length === 0 || !(time > now && time < now + leadDays * DAY_MS)) return [];
  const names = clients.map(({ name, client }) => name ?? client);
  return [
    `${kind}s.${id}.sunset: it ends on ${(sunset ?? '').slice(0, 10)}, in ${counted(Math.floor((time - now) / DAY_MS), 'day')}, nearer than the lead time of ${counted(leadDays, 'day')}, and ${counted(clients.length, 'client')} still ${clients.length === 1 ? 'uses' : 'use'} it: ${listed(names, MAX_NAMED)}; choose a later day`,
  ];
}

/** Whether a brownout of a rule book surely refuses a request of a client before the sunset. */
function meets(
  { report, rhythm, forecaster }: Planning,
  { share, operations, ...brownout }: Brownout,
  { now, zone, rollout }: PlanOptions,
): boolean {
  const sunset = rollout?.signals?.sunset ?? now;
  const { from = now, until = sunset } = brownout;
  if (!isFor(brownout, report.client)) return false;
  // A rhythm does not say when the client calls which operation.
  if (operations !== undefined && !report.operations.every(({ operation }) => operations.includes(operation)))
    return false;
  const begin = Math.ceil(zone.local(Math.max(from, now)) / QUARTER_MS);
  const length = Math.floor(zone.local(Math.min(until, sunset)) / QUARTER_MS) - begin;
  if (length < 1) return false;
  const day = Math.floor(begin / CELLS_A_DAY);
  // A week shows as much as a longer window.
  const window = { day, start: begin - day * CELLS_A_DAY, length: Math.min(length, 7 * CELLS_A_DAY) };
  if (forecaster.forecast(window).sight !== 'sure') return false;
  if (share === 100) return true;
  const inHours = rhythm.hours.reduce(
    (sum, requests, hour) => sum + (coversHour(window, hour) ? requests : 0),
    0,
  );
  const expected = inHours / forecaster.days.length;
  return 1 - (1 - share / 100) ** expected >= SURE_CHANCE;
}

function named(clients: readonly Planning[]): string {
  return listed(
    clients.map(({ report }) => report.name ?? report.client),
    MAX_NAMED,
  );
}
