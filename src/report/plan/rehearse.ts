import { NO_KEY } from '../../rewrite-log/entry.ts';
import { LEARNING_MS } from '../../rollout/known-clients.ts';
import {
  brownoutRefusal,
  endedRefusal,
  isPreflight,
  mayBeNew,
  type Newcomer,
  newcomerOf,
  newcomerRefusal,
  type RetirementRefusal,
  takesKey,
} from '../../rollout/retirement.ts';
import type { Brownout, Rollout } from '../../rules/rollout.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import type { TallyEntry } from '../tally/tally-entry.ts';
import { DAY_MS } from '../tally/time-slots.ts';
import type { LogGap } from '../log-gaps.ts';
import { count, counted } from '../../rules/words.ts';
import { clockText, dayText, type Zone } from './zone.ts';

/** Maximum consecutive hours of a run, and minimum hours from one start to the next: less than a day, because times vary. */
const RUN_HOURS = 2;
const LEAST_HOURS_BETWEEN_RUNS = 18;

/** Minimum runs of a client that counts as a job. */
const LEAST_RUNS = 3;

const HOUR_MS = 3_600_000;

/** Refusals that take precedence over a brownout: the gateway could not serve the request of any client. */
const EARLIER_REFUSALS: ReadonlySet<string> = new Set(['overloaded', 'loop-detected', 'internal']);

/** Whether V1's retirement applies to a logged request: a client sent it to V1, with a head that the gateway accepted. */
export function isDecided(entry: Pick<TallyEntry, 'route' | 'failure' | 'method'>): boolean {
  const { route, failure } = entry;
  return (
    route === 'migrate' && !isPreflight(entry) && (failure === undefined || !EARLIER_REFUSALS.has(failure))
  );
}

/** The clients that a gateway with the traffic of a log would know from before the day that closes V1 to newcomers. */
export interface ClientsOfLog {
  readonly clients: ReadonlySet<string>;
  /** When their list would have begun, in milliseconds since 1970. */
  readonly since: number;
}

/**
 * The refusal that a logged request would have got under a rollout, by the functions that the gateway calls. `random` decides whether a
 * brownout of a share refuses it, as in the gateway; without `known`, no client is a newcomer.
 */
export function rehearsedRefusal(
  entry: TallyEntry,
  rollout: Rollout,
  book: Pick<RuleBook, 'to'>,
  random: number,
  known?: ClientsOfLog,
): RetirementRefusal | undefined {
  if (!isDecided(entry)) return undefined;
  const { client, operation, method } = entry;
  const time = Date.parse(entry.time);
  const rehearsed = { rollout, to: book.to };
  const request = { client, operation, method, time };
  return (
    endedRefusal(rehearsed, request) ??
    brownoutRefusal(rehearsed, request, random) ??
    newcomerRefusal(rehearsed, newcomerIn(entry, rollout, time, known))
  );
}

function newcomerIn(
  { client, method = '' }: TallyEntry,
  rollout: Rollout,
  time: number,
  known: ClientsOfLog | undefined,
): Newcomer | undefined {
  if (known === undefined || client === undefined || known.clients.has(client)) return undefined;
  const { since } = known;
  return mayBeNew(rollout, client, method)
    ? newcomerOf(rollout, 'new', { time, since }, undefined)
    : undefined;
}

/** Whether the gateway would have learned a client from a logged request. */
export function teachesClient(entry: TallyEntry, { newcomers }: Rollout): boolean {
  const isBefore = newcomers !== undefined && Date.parse(entry.time) < newcomers.from;
  return isBefore && isDecided(entry) && entry.verdict !== 'refused' && takesKey(entry.status);
}

/** The effect that one window would have had. */
export interface RehearsedWindow {
  readonly id: string;
  /** The time that was played, in milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
  /** The times in the rule book, if it was moved to other days. */
  readonly for?: { readonly from: number; readonly until?: number };
  /** Set for a permanent refusal, such as a sunset: it was played until the end of the logs. */
  readonly stays?: true;
  readonly refused: number;
  /** Refused requests by client, most first; `-` for requests without a key. */
  readonly clients: readonly RehearsedClient[];
  /** Percentage of requests that a brownout refuses; below 100, the numbers count all that it could refuse. */
  readonly share: number;
  /** False where the logs do not cover the whole window. */
  readonly isCovered: boolean;
}

/** The effect of one window on one client. */
export interface RehearsedClient {
  readonly client: string;
  readonly name?: string;
  readonly refused: number;
  /** True for a client that runs at most once a day, and would have lost a whole run. */
  readonly losesRun: boolean;
}

/** Plays windows over entries of a log, in any order. */
export class Rehearsal {
  private readonly book: Pick<RuleBook, 'to'>;
  private readonly zone: Zone;
  private readonly windows: readonly PlayedWindow[];
  /** The wall-clock hours in which each client sent requests. */
  private readonly hours = new Map<string, Set<number>>();
  /** The times of the first and the last entry. */
  since = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;

  /** Each window is played separately, as if there were no others. */
  constructor(
    windows: readonly (RehearsedBrownout | RehearsedDay)[],
    book: Pick<RuleBook, 'to' | 'rollout'>,
    zone: Zone,
  ) {
    this.book = book;
    this.zone = zone;
    const {
      gone: _gone,
      ends: _ends,
      newcomers: _newcomers,
      ...base
    } = book.rollout ?? { clients: {}, brownouts: [], pins: [] };
    this.windows = windows.map((window) => {
      const counts = {
        refused: new Map<string, number>(),
        learned: new Set<string>(),
        // A run may begin before the window, or go on after it.
        passed: new Map<string, Set<number>>(),
        lost: new Map<string, Set<number>>(),
      };
      if ('day' in window)
        return { ...window, ...counts, rollout: { ...base, brownouts: [], ...window.rollout } };
      const { brownout, original } = window;
      // A share refuses at random: all requests that it could refuse are counted.
      const rollout = { ...base, brownouts: [{ ...brownout, share: 100 }] };
      return { ...brownout, ...counts, rollout, ...(original === undefined ? {} : { original }) };
    });
  }

  add(entry: TallyEntry): void {
    const time = Date.parse(entry.time);
    if (Number.isNaN(time)) return;
    this.since = Math.min(this.since, time);
    this.until = Math.max(this.until, time);
    if (!isDecided(entry)) return;
    const client = entry.client ?? NO_KEY;
    const hour = Math.floor(this.zone.local(time) / HOUR_MS);
    addTo(this.hours, client, hour);
    for (const window of this.windows) {
      const { rollout, refused, learned, known, passed, lost } = window;
      if (teachesClient(entry, rollout)) learned.add(client);
      else if (rehearsedRefusal(entry, rollout, this.book, 0, known) !== undefined) {
        refused.set(client, (refused.get(client) ?? 0) + 1);
        if (window.day === undefined) addTo(lost, client, hour);
      } else if (window.day === undefined && isNear(window, time)) addTo(passed, client, hour);
    }
  }

  /** The effects of the windows, in the given order; `gaps` are times that the logs lack. */
  result(names: ReadonlyMap<string, string>, gaps: readonly LogGap[] = []): readonly RehearsedWindow[] {
    const lacking = gaps.map((gap) => [Date.parse(gap.from), Date.parse(gap.until)] as const);
    return this.windows.map((window) => {
      const { id, day, share, original, refused, learned } = window;
      const { from = this.since, until = this.until } = window;
      // The gateway does not refuse clients that it learned before the day; logs need no order.
      const clients = [...refused].flatMap(([client, requests]) => {
        if (learned.has(client)) return [];
        const name = names.get(client);
        return {
          client,
          ...(name === undefined ? {} : { name }),
          refused: requests,
          losesRun: client !== NO_KEY && this.losesRun(client, window),
        };
      });
      return {
        id,
        from,
        until,
        ...(original === undefined ? {} : { for: original }),
        ...(day === undefined ? {} : { stays: day }),
        refused: clients.reduce((sum, one) => sum + one.refused, 0),
        clients: clients.sort((one, other) => other.refused - one.refused),
        share,
        isCovered:
          from >= this.since &&
          until <= this.until &&
          !lacking.some(([begin, end]) => begin < until && end > from),
      };
    });
  }

  /** Whether the client is a job that runs at most once a day, and one of its runs would have lost every request. */
  private losesRun(client: string, { lost, passed }: PlayedWindow): boolean {
    const hours = lost.get(client);
    if (hours === undefined) return false;
    const runs = runsOf(this.hours.get(client) ?? []);
    if (runs.length < LEAST_RUNS || runs.some((run) => run.length > RUN_HOURS)) return false;
    const begins = runs.map(([begin = 0]) => begin);
    if (begins.some((begin, at) => begin - (begins[at - 1] ?? -Infinity) < LEAST_HOURS_BETWEEN_RUNS))
      return false;
    const served = passed.get(client);
    return runs.some((run) => run.some((hour) => hours.has(hour)) && !run.some((hour) => served?.has(hour)));
  }
}

/** The runs of consecutive hours, in order. */
function runsOf(hours: Iterable<number>): readonly (readonly number[])[] {
  const runs: number[][] = [];
  for (const hour of [...hours].toSorted((one, other) => one - other)) {
    const run = runs.at(-1);
    if (run !== undefined && run.at(-1) === hour - 1) run.push(hour);
    else runs.push([hour]);
  }
  return runs;
}

/** Whether a time may belong to a run that the window meets. */
function isNear({ from, until }: PlayedWindow, time: number): boolean {
  const around = RUN_HOURS * HOUR_MS;
  return (from === undefined || time >= from - around) && (until === undefined || time < until + around);
}

function addTo(sets: Map<string, Set<number>>, client: string, hour: number): void {
  const own = sets.get(client);
  if (own === undefined) sets.set(client, new Set([hour]));
  else own.add(hour);
}

/** A brownout to play; `original` are its times in the rule book, if it was moved. */
export interface RehearsedBrownout {
  readonly brownout: Brownout;
  readonly original?: { readonly from: number; readonly until: number };
}

/** A permanent refusal to play from a day on: the sunset of V1 or of an operation, or `newcomers`. */
export interface RehearsedDay {
  readonly day: true;
  readonly id: string;
  readonly from: number;
  readonly share: 100;
  /** The part of the rule book that is played. */
  readonly rollout: Pick<Rollout, 'signals' | 'gone' | 'ends' | 'newcomers'>;
  /** Its day in the rule book, if it was moved. */
  readonly original?: { readonly from: number };
  /** For `newcomers`: when the list of known clients begins, still empty. */
  readonly known?: ClientsOfLog;
}

interface PlayedWindow {
  readonly id: string;
  readonly day?: true;
  readonly from?: number;
  readonly until?: number;
  readonly share: number;
  readonly rollout: Rollout;
  readonly original?: { readonly from: number; readonly until?: number };
  readonly known?: ClientsOfLog;
  /** Requests that would have been refused, by client. */
  readonly refused: Map<string, number>;
  /** For a brownout, the hours in which it refuses a client, and those near the window in which one of its requests passes. */
  readonly lost: Map<string, Set<number>>;
  readonly passed: Map<string, Set<number>>;
  /** Clients that the gateway would have learned before the day that closes V1 to newcomers. */
  readonly learned: Set<string>;
}

/**
 * The days in a rule book from which requests are permanently refused, each to be played separately. One outside the logs is played from
 * their beginning; `newcomers` from the end of the fortnight in which the gateway learns clients, or not at all in shorter logs.
 */
export function daysToRehearse(
  { signals, gone, ends, newcomers }: Rollout,
  log: { readonly since: number; readonly until: number },
): { readonly days: readonly RehearsedDay[]; readonly left: readonly string[] } {
  // Logs without an entry cover no day.
  if (log.since > log.until) return { days: [], left: ['sunset and newcomers'] };
  const days: RehearsedDay[] = [];
  const add = (
    id: string,
    at: number,
    rollout: (from: number) => RehearsedDay['rollout'],
    least = log.since,
    known?: ClientsOfLog,
  ): void => {
    const from = at > least && at <= log.until ? at : least;
    const moved = from === at ? {} : { original: { from: at } };
    days.push({
      day: true,
      id,
      from,
      share: 100,
      rollout: rollout(from),
      ...moved,
      ...(known === undefined ? {} : { known }),
    });
  };
  for (const [id, end] of Object.entries(ends?.operations ?? {}))
    if (end.gone !== undefined && end.sunset !== undefined)
      add(`sunset of ${id}`, end.sunset, (from) => ({
        ends: { operations: { [id]: { ...end, sunset: from } }, changes: {} },
      }));
  if (gone !== undefined && signals?.sunset !== undefined)
    add('sunset', signals.sunset, (from) => ({ gone, signals: { ...signals, sunset: from } }));
  if (newcomers?.answer !== 'refuse') return { days, left: [] };
  const least = log.since + LEARNING_MS;
  if (least > log.until) return { days, left: ['newcomers'] };
  const nobody = { clients: new Set<string>(), since: log.since };
  add('newcomers', newcomers.from, (from) => ({ newcomers: { ...newcomers, from } }), least, nobody);
  return { days, left: [] };
}

/**
 * Moves a future brownout to the latest such weekday in a log, at the same wall-clock time; undefined for one without begin and end, or
 * if the log covers no such day.
 */
export function movedToLog(
  brownout: Brownout,
  log: { readonly since: number; readonly until: number },
  zone: Zone,
): RehearsedBrownout | undefined {
  const { from, until } = brownout;
  if (from === undefined || until === undefined) return undefined;
  if (until <= log.until) return from >= log.since ? { brownout } : undefined;
  const [begin, end] = [zone.local(from), zone.local(until)];
  for (let weeks = Math.ceil((end - zone.local(log.until)) / (7 * DAY_MS)); ; weeks += 1) {
    const past = begin - weeks * 7 * DAY_MS;
    const moved = zone.utc(past);
    if (past < zone.local(log.since)) return undefined;
    // Daylight saving skipped this hour.
    if (moved === undefined) continue;
    const there = { ...brownout, from: moved, until: zone.utcFrom(end - weeks * 7 * DAY_MS) };
    return { brownout: there, original: { from, until } };
  }
}

/** Says what a window would have done: `Tue 24 Nov 2026, 09:00 to 10:00 would have refused 312 requests of 7 clients.` */
export function windowSentence(window: RehearsedWindow, zone: Zone): string {
  const { id, from, until, refused, clients, share, isCovered, stays } = window;
  const could = share === 100 ? 'would have refused' : `(${share} %) would have refused about`;
  const ofShare = (requests: number): string => counted(Math.round((requests * share) / 100), 'request');
  const times = stays ? `${id}, from ${instantText(from, zone)} on,` : windowText(from, until, zone);
  const when = `${times} ${could} ${ofShare(refused)}`;
  const known = clients.filter(({ client }) => client !== NO_KEY);
  const keyless = clients.find(({ client }) => client === NO_KEY);
  const losing = known.filter(({ losesRun }) => losesRun);
  const whose = known.length === 0 ? '' : ` of ${counted(known.length, 'client')}`;
  const runs =
    losing.length === 0
      ? ''
      : `, ${known.length === 1 ? '' : `${count(losing.length)} of them `}${losing.length === 1 ? 'a job that runs' : 'jobs that run'} once a day at most and would have lost a whole run (${losing.map(({ client, name }) => name ?? client).join(', ')})`;
  const others = keyless === undefined ? '' : `; ${ofShare(keyless.refused)} had no key`;
  return `${when}${whose}${runs}${others}.${isCovered ? '' : ' The logs do not cover all of it.'}`;
}

/** A wall-clock time: `Tue 24 Nov 2026, 09:00`. */
export function instantText(at: number, zone: Zone): string {
  const local = zone.local(at);
  return `${dayText(local)}, ${clockText(local)}`;
}

/** A window in wall-clock time: `Tue 24 Nov 2026, 09:00 to 10:00`. */
export function windowText(from: number, until: number, zone: Zone): string {
  const [begin, end] = [zone.local(from), zone.local(until)];
  const day = dayText(begin) === dayText(end) ? '' : `${dayText(end)} `;
  return `${dayText(begin)}, ${clockText(begin)} to ${day}${clockText(end)}`;
}
