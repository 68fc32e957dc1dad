import { NO_KEY } from '../../rewrite-log/entry.ts';
import type { Brownout, Rollout, Scope } from '../../rules/rollout.ts';
import { isInScope } from '../../rollout/modes-in-force.ts';
import { type Ending, endingsOf, type MetByBrownout, metByBrownouts } from '../endings.ts';
import type { LogGap } from '../log-gaps.ts';
import type { Span } from '../tally/span.ts';
import { DAY_MS } from '../tally/time-slots.ts';
import { lengthWords } from '../text.ts';
import { counted, listed } from '../../rules/words.ts';
import { type ClientActivity, type PlanTally, WEEKS } from './activity.ts';
import {
  ClientSet,
  countIn,
  HOUR,
  isReached,
  LastWeeks,
  leastOf,
  nameOfDay,
  type ReachingSlot,
  reachingSlots,
  type Slot,
  slotsOf,
  weeksWords,
  weekdayAt,
  type WeekCount,
} from './slots.ts';
import { cellAt, CELLS_A_DAY, CELLS_A_WEEK, QUARTER_MS, slotOf, weekdayOf, type Zone } from './zone.ts';

/** Days between the announcement and the end of V1, unless the operator sets others. */
export const DEFAULT_LEAD_DAYS = 90;

/** Prefix of the ids of a plan's brownouts; a number follows. */
export const PLAN_PREFIX = 'plan-';

/** Lengths of the brownouts, round by round, in quarters of an hour: from 15 minutes to four hours. */
const ROUNDS = [1, 2, 4, 8, 16] as const;
const LONGEST = 16;

/** Maximum brownouts of a round. */
const MAX_A_ROUND = 3;

/** Quiet days before the sunset, in which owners who noticed late can still act, and their greatest share of the whole time. */
const QUIET_DAYS = 14;
const QUIET_SHARE = 0.2;

/** Brownouts are planned in the last days before the sunset: earlier ones would be forgotten. */
const BROWNOUT_DAYS = 400;

/** Days among which the sunset is looked for: more than an operator may avoid in one range. */
const SUNSET_DAYS = 800;

/** The part of the time before the sunset that passes without a brownout. */
const FIRST_SHARE = 0.25;

/** Maximum clients named in a sentence. */
const MAX_NAMED = 3;

/** An operator's choices for a plan. */
export interface PlanOptions {
  /** Milliseconds since 1970 at which the plan is made. */
  readonly now: number;
  /** Minimum days from the deprecation to the sunset. */
  readonly leadDays: number;
  /** Days at the end of the log without a request after which a client is left out. */
  readonly goneAfterDays: number;
  /** Display names by client hash. */
  readonly names: ReadonlyMap<string, string>;
  /** The rollout of the rule book. */
  readonly rollout: Rollout | undefined;
  readonly gaps: readonly LogGap[];
  /** Whether a day must have no brownout, such as a public holiday: days since 1970 in the zone. */
  readonly avoid: (day: number) => boolean;
}

/** One brownout of a plan, or one of the rule book that is not over. Times are milliseconds since 1970. */
export interface PlannedBrownout {
  readonly id: string;
  readonly from: number;
  readonly until: number;
  /** The clients that it applies to and those that it spares: of one that the plan proposes, as for the sunset. */
  readonly clients?: readonly string[];
  readonly except?: readonly string[];
  /** Percentage of the requests that it refuses, if the rule book declares it. */
  readonly declared?: number;
  /** Weeks that the log covers at this time, and the minimum of them in which a client must have been active to count as reached. */
  readonly weeks: number;
  readonly least: number;
  /** Clients that it reaches, and those of them that it reaches first; none are known if no week counts. */
  readonly reaches: number;
  readonly first: number;
  /** The reason in counts. */
  readonly because: string;
}

/** The first notice of a client: a refusal in the log, or a planned or declared brownout that reaches it. */
export type Notice =
  | { readonly by: string; readonly at: number; readonly refused: number }
  | ({ readonly by: string; readonly at: number; readonly isDeclared: boolean } & WeekCount);

/** A client that still uses V1. */
export interface PlannedClient {
  readonly client: string;
  readonly name?: string;
  /** V1 requests in the log. */
  readonly requests: number;
  /** Absent if no notice reaches it. */
  readonly notice?: Notice;
  /** Planned and declared brownouts that reach it. */
  readonly brownouts: number;
  /** False if it was not active often enough at any time of the week, so that no brownout could reach it. */
  readonly isReachable: boolean;
  /** The reason in counts. */
  readonly because: string;
}

export interface HourOfWeek extends Pick<WeekCount, 'weeks'> {
  readonly weekday: string;
  readonly hour: number;
  /** Clients that a brownout of this hour would reach. */
  readonly clients: number;
}

/** A task of the operator on a day before the sunset. */
export interface Announcement {
  readonly at: number;
  readonly text: string;
}

/** A plan for the end of V1. Times are milliseconds since 1970. */
export interface Plan {
  readonly at: number;
  /** The zone of its hours and days. */
  readonly zone: string;
  /** Times of the first and the last entry of the log. */
  readonly log: { readonly since: number; readonly until: number };
  readonly leadDays: number;
  readonly deprecation: number;
  readonly sunset: number;
  /** Why the sunset is not earlier. */
  readonly sunsetBecause: string;
  /** That the sunset of the rule book is nearer to the deprecation than the lead time, in a sentence; absent where the time suffices. */
  readonly shortfall?: string;
  /** The requests that get 410 from the sunset on; absent if the rule book's sunset only announces the end. */
  readonly gone?: Scope;
  readonly announcements: readonly Announcement[];
  readonly brownouts: readonly PlannedBrownout[];
  /** Brownouts of the rule book that are not over; among them those of the plan, once it declares them. */
  readonly declared: readonly PlannedBrownout[];
  /** Brownouts that refused requests in the log, by the latest refusal. */
  readonly met: readonly MetByBrownout[];
  /** The hours of the week, Monday 00:00 first. */
  readonly hours: readonly HourOfWeek[];
  /** Clients that still use V1, those without a notice first, then by requests. */
  readonly clients: readonly PlannedClient[];
  /** Clients that use V1 beyond its sunset, by the rule book. */
  readonly spared: readonly Pick<PlannedClient, 'client' | 'name'>[];
  /** Operations and changes that end before V1 does, by the rule book. */
  readonly endings: readonly Ending[];
  /** The most important caveat: how little the log covers. Absent for a log of a quarter. */
  readonly caveat?: string;
  /** Other facts that the log does not show, in sentences. */
  readonly unknown: readonly string[];
}

/** Makes the plan from the counts of a log; undefined when V1 has ended, or no client with a key still uses it. */
export function makePlan(tally: PlanTally, options: PlanOptions): Plan | undefined {
  const { now, leadDays, rollout, names } = options;
  if ((rollout?.signals?.sunset ?? Infinity) <= now) return undefined;
  const { zone } = tally;
  const groups = groupsOf(tally, options);
  const { clients } = groups;
  if (clients.length === 0) return undefined;
  const deprecation = deprecationOf(zone, options);
  const { sunset, because, shortfall } = sunsetOf(deprecation, zone, options);
  const weeks = new LastWeeks(tally, options.gaps);
  const days = daysOfRounds(Math.max(deprecation, now), sunset, zone, options);
  const declared = declaredWindows(clients, weeks, zone, { now, sunset, rollout });
  // The plan's own brownouts are chosen anew.
  const others = declared.filter(({ id }) => !id.startsWith(PLAN_PREFIX));
  const chosen = chooseBrownouts(clients, { weeks, days, others, zone, gone: rollout?.gone });
  const brownouts = countedBrownouts([...others, ...chosen], clients);
  const windows = inOrder([...declared, ...chosen]);
  return {
    at: now,
    zone: zone.name,
    log: { since: tally.since, until: tally.until },
    leadDays,
    deprecation,
    sunset,
    sunsetBecause: because,
    ...(shortfall === undefined ? {} : { shortfall }),
    ...goneOf(rollout),
    announcements: announcements(Math.max(deprecation, now), sunset, brownouts),
    brownouts: brownouts.filter((one) => one.declared === undefined),
    declared: countedBrownouts(declared, clients),
    met: metByBrownouts(
      [...tally.clients.values(), { client: NO_KEY, ...tally.ofKeyless }].map((client) => ({
        ...namedClient(client, names),
        brownouts: usesOf(client.notices, 'brownout').map(([brownout, use]) => ({ brownout, ...use })),
      })),
      (time) => zone.text(Date.parse(time)),
    ),
    hours: hoursOf(clients, weeks),
    clients: clients
      .map((client, at) => plannedClient(client, at, { windows, weeks, names, zone }))
      .sort(
        (one, other) =>
          Number(one.notice !== undefined) - Number(other.notice !== undefined) ||
          Number(one.isReachable) - Number(other.isReachable) ||
          other.requests - one.requests,
      ),
    spared: groups.spared.map((client) => namedClient(client, names)),
    endings: endingsIn(groups, options),
    ...caveatOf(tally),
    unknown: unknownParts(tally, brownouts, groups, options),
  };
}

interface ClientGroups {
  /** Those that still use V1, and for which it ends. */
  readonly clients: readonly ClientActivity[];
  /** Clients that have been silent for a long time, and those that the sunset of the rule book spares. */
  readonly silent: readonly ClientActivity[];
  readonly spared: readonly ClientActivity[];
  /** Clients that call only addresses that no service has, as the report judges them: they lose nothing. */
  readonly unserved: readonly ClientActivity[];
}

function groupsOf({ clients: all, until }: PlanTally, { goneAfterDays, rollout }: PlanOptions): ClientGroups {
  const clients: ClientActivity[] = [];
  const silent: ClientActivity[] = [];
  const spared: ClientActivity[] = [];
  const unserved: ClientActivity[] = [];
  const { gone = {} } = rollout ?? {};
  const from = until - goneAfterDays * DAY_MS;
  for (const client of all.values())
    if (client.last < from) silent.push(client);
    else if (client.lastMissed >= from && client.lastServed < from) unserved.push(client);
    else (isInScope(gone, { ...client, operation: undefined }) ? clients : spared).push(client);
  return { clients, silent, spared, unserved };
}

/** Days in which the announcement must have its day; without a working day among them, it is the first. */
const ANNOUNCEMENT_DAYS = 31;

/** The begin of the first working day that is at least a day ahead: an announcement has to be written, and read. */
function nextWorkday(zone: Zone, { now, avoid }: PlanOptions): number {
  const first = Math.ceil(zone.local(now + DAY_MS) / DAY_MS);
  const days = Array.from({ length: ANNOUNCEMENT_DAYS }, (_, later) => first + later);
  const day = days.find((one) => weekdayOf(one) <= 4 && !avoid(one)) ?? first;
  return zone.utcFrom(day * DAY_MS);
}

/** The deprecation of the rule book, or the next working day; now, if the rule book's sunset is before that. */
function deprecationOf(zone: Zone, options: PlanOptions): number {
  const { since, sunset = Infinity } = options.rollout?.signals ?? {};
  const workday = nextWorkday(zone, options);
  return since ?? (workday < sunset ? workday : options.now - (options.now % 60_000));
}

/** The sunset of the rule book, on which clients rely, or the first midnight of a Tuesday, Wednesday or Thursday that is late enough. */
function sunsetOf(
  deprecation: number,
  zone: Zone,
  { now, leadDays, avoid, rollout }: PlanOptions,
): { readonly sunset: number; readonly because: string; readonly shortfall?: string } {
  const begin = Math.max(deprecation, now);
  const first = dayOf(begin + leadDays * DAY_MS, zone) + 1;
  const days = Array.from({ length: SUNSET_DAYS }, (_, later) => first + later).filter((day) => !avoid(day));
  const day = days.find((one) => weekdayOf(one) >= 1 && weekdayOf(one) <= 3) ?? days[0] ?? first;
  const earliest = zone.utcFrom(day * DAY_MS);
  const since = deprecation < now ? 'from now' : 'after the deprecation';
  const declared = rollout?.signals?.sunset ?? earliest;
  if (declared === earliest)
    return { sunset: earliest, because: `at least ${counted(leadDays, 'day')} ${since}` };
  const left = `${lengthWords(declared - deprecation)} after the deprecation`;
  const because = `the time that the rule book declares, ${left}`;
  if (declared < deprecation + leadDays * DAY_MS)
    return {
      sunset: declared,
      because,
      shortfall: `The declared sunset, ${zone.text(declared)}, is ${left}: clients have less than the lead time of ${counted(leadDays, 'day')} to migrate. The first day that gives them so much is ${zone.text(earliest)}.`,
    };
  return {
    sunset: declared,
    because: earliest < declared ? `${because}; it could be ${zone.text(earliest)}` : because,
  };
}

/** Says why `makePlan` makes no plan: by the rule book V1 has ended, or no client with a key still uses it. */
export function noPlanSentence(
  { rollout, now, goneAfterDays }: Pick<PlanOptions, 'rollout' | 'now' | 'goneAfterDays'>,
  zone: Zone,
): string {
  const { signals: { sunset } = {}, gone } = rollout ?? {};
  if (sunset === undefined || sunset > now)
    return `There is nothing to plan: in the last ${counted(goneAfterDays, 'day')} of the log no client for which V1 ends sent a request with an API key to an address that a service has.`;
  const time = `${zone.text(sunset)} (${zone.name})`;
  return gone === undefined
    ? `There is nothing to plan: the sunset that the rule book announces, ${time}, is over, and V1 is still served (after: serve). Write after: gone to end V1, or another time.`
    : `There is nothing to plan: V1 ended on ${time}, as the rule book declares (after: gone).`;
}

/** A sunset that the rule book declares stays what it is, an end or an announcement; a new one ends V1. */
function goneOf(rollout: Rollout | undefined): { readonly gone?: Scope } {
  if (rollout?.signals?.sunset === undefined) return { gone: {} };
  return rollout.gone === undefined ? {} : { gone: rollout.gone };
}

/** The days on which a brownout of each round may be: equal parts of the days that are left. */
function daysOfRounds(
  start: number,
  sunset: number,
  zone: Zone,
  { avoid }: PlanOptions,
): readonly (readonly number[])[] {
  const quiet = Math.min(QUIET_DAYS, Math.floor(((sunset - start) / DAY_MS) * QUIET_SHARE));
  const last = dayOf(sunset, zone) - quiet;
  const first = Math.max(dayOf(start + (sunset - start) * FIRST_SHARE, zone), last - BROWNOUT_DAYS);
  const days: number[] = [];
  for (let day = first; day < last; day += 1) if (!avoid(day)) days.push(day);
  return ROUNDS.map((_, round) =>
    days.slice(
      Math.floor((days.length * round) / ROUNDS.length),
      Math.floor((days.length * (round + 1)) / ROUNDS.length),
    ),
  );
}

/** A time at which a brownout is proposed or declared, with the clients that it reaches by their place in the list. */
interface Window {
  readonly id: string;
  /** Milliseconds since 1970, as far as it is ahead. */
  readonly from: number;
  readonly until: number;
  readonly slot: Slot;
  readonly reached: ClientSet;
  readonly scope: Scope;
  /** Set if the rule book declares it. */
  readonly declared?: Brownout;
}

function inOrder(windows: readonly Window[]): readonly Window[] {
  return windows.toSorted((one, other) => one.from - other.from);
}

/** The brownouts of the rule book that are not over before the sunset; one of some operations reaches no client for certain. */
function declaredWindows(
  clients: readonly ClientActivity[],
  weeks: LastWeeks,
  zone: Zone,
  { now, sunset, rollout }: { readonly sunset: number } & Pick<PlanOptions, 'now' | 'rollout'>,
): readonly Window[] {
  const windows = (rollout?.brownouts ?? []).flatMap((brownout): readonly Window[] => {
    const from = Math.max(brownout.from ?? now, now);
    const until = Math.min(brownout.until ?? sunset, sunset);
    if (from >= until) return [];
    const begin = cellAt(from, zone);
    // Whole quarters of an hour count, and a week shows as much as a longer time.
    const length = Math.min(Math.max(1, cellAt(until - 1, zone) + 1 - begin), CELLS_A_WEEK);
    const start = slotOf(begin);
    const isOfAll = brownout.operations === undefined;
    const slot = { start, length, begins: isOfAll ? weeks.begins(start, length) : [] };
    const reached = new ClientSet(clients.length);
    for (const [at, client] of clients.entries())
      if (isInScope(brownout, { ...client, operation: undefined }) && isReached(countIn(client, slot, weeks)))
        reached.add(at);
    return [{ id: brownout.id, from, until, slot, reached, scope: brownout, declared: brownout }];
  });
  return inOrder(windows);
}

interface Choice {
  readonly weeks: LastWeeks;
  /** The days on which a brownout of each round may be. */
  readonly days: readonly (readonly number[])[];
  /** Brownouts that the operator declared. */
  readonly others: readonly Window[];
  readonly zone: Zone;
  readonly gone: Scope | undefined;
}

/**
 * Chooses the brownouts, in order of time. Each round has the slot that reaches most clients for the first time, and further ones while
 * they reach a client for the first time; at least one, because the reminders get longer.
 */
function chooseBrownouts(
  clients: readonly ClientActivity[],
  { weeks, days, others, zone, gone: scope = {} }: Choice,
): readonly Window[] {
  const chosen: { readonly slot: ReachingSlot; readonly day: number }[] = [];
  const unmet = unmetIn(clients);
  for (const { reached } of others) unmet.remove(reached);
  for (const [round, length] of ROUNDS.entries()) {
    const free = new Set(days[round]);
    const dayFor = ({ start }: Slot): number | undefined =>
      [...free].find(
        (day) => weekdayOf(day) === weekdayAt(start) && isOnClock(cellOn(day, start), length, zone),
      );
    const slots = reachingSlots(clients, weeks, length);
    for (let count = 0; count < MAX_A_ROUND; count += 1) {
      const best = bestOf(slots, unmet, (slot) => dayFor(slot) !== undefined);
      const day = best && dayFor(best.slot);
      if (best === undefined || day === undefined || (count > 0 && best.first === 0)) break;
      free.delete(day);
      unmet.remove(best.slot.reached);
      chosen.push({ slot: best.slot, day });
    }
  }
  const windows = chosen.map(({ slot, day }): Omit<Window, 'id'> => {
    const begin = cellOn(day, slot.start) * QUARTER_MS;
    const until = zone.utcFrom(begin + slot.length * QUARTER_MS);
    return { from: zone.utcFrom(begin), until, slot, reached: slot.reached, scope };
  });
  return windows
    .sort((one, other) => one.from - other.from)
    .map((window, at) => ({ ...window, id: `${PLAN_PREFIX}${at + 1}` }));
}

/**
 * The slot that reaches most clients for the first time; among equals the one that reaches most clients, then with most active weeks of
 * all clients, then within office hours, so that complaints are noticed, then the first one of the week.
 */
function bestOf(
  slots: readonly ReachingSlot[],
  unmet: ClientSet,
  isPossible: (slot: Slot) => boolean,
): { readonly slot: ReachingSlot; readonly first: number } | undefined {
  return slots
    .filter(({ active }) => active > 0)
    .map((slot) => {
      const first = slot.reached.countIn(unmet);
      return { slot, first, rank: [first, slot.reached.size, slot.active, Number(isOfficeTime(slot))] };
    })
    .sort((one, other) => other.rank.map((value, at) => value - (one.rank[at] ?? 0)).find(Boolean) ?? 0)
    .find(({ slot }) => isPossible(slot));
}

function isOfficeTime({ start, length }: Slot): boolean {
  const begin = start % CELLS_A_DAY;
  return weekdayAt(start) < 5 && begin >= 8 * HOUR && begin + length <= 18 * HOUR;
}

/** The brownouts in order of time, with the number of clients that each reaches. */
function countedBrownouts(
  windows: readonly Window[],
  clients: readonly ClientActivity[],
): readonly PlannedBrownout[] {
  const unmet = unmetIn(clients);
  return inOrder(windows).map(({ id, from, until, slot, reached, scope, declared }) => {
    const first = reached.countIn(unmet);
    const reaches = reached.size;
    unmet.remove(reached);
    const weeks = slot.begins.length;
    const least = leastOf(weeks);
    const many = least < weeks ? `${least} or more` : String(least);
    return {
      id,
      from,
      until,
      ...(scope.clients === undefined ? {} : { clients: scope.clients }),
      ...(scope.except === undefined ? {} : { except: scope.except }),
      ...(declared === undefined ? {} : { declared: declared.share }),
      weeks,
      least,
      reaches,
      first,
      because:
        declared?.operations !== undefined
          ? `only for ${listed(declared.operations, MAX_NAMED)}, and the plan counts calls of all operations`
          : weeks === 0
            ? 'the log does not cover this time of the week'
            : `${reaches} of ${counted(clients.length, 'client')} ${reaches === 1 ? 'was' : 'were'} active ${weeksWords(many, slot)}`,
    };
  });
}

function hoursOf(clients: readonly ClientActivity[], weeks: LastWeeks): readonly HourOfWeek[] {
  const reaching = new Map(
    reachingSlots(clients, weeks, HOUR).map(({ start, reached }) => [start, reached.size]),
  );
  return Array.from({ length: CELLS_A_WEEK / HOUR }, (_, at) => ({
    weekday: nameOfDay(at * HOUR),
    hour: at % 24,
    weeks: weeks.begins(at * HOUR, HOUR).length,
    clients: reaching.get(at * HOUR) ?? 0,
  }));
}

/** The facts about a client: the notices, past and planned, and the counts. */
interface ClientFacts {
  /** In order of time. */
  readonly windows: readonly Window[];
  readonly weeks: LastWeeks;
  readonly names: ReadonlyMap<string, string>;
  readonly zone: Zone;
}

function plannedClient(client: ClientActivity, at: number, facts: ClientFacts): PlannedClient {
  return {
    ...namedClient(client, facts.names),
    requests: client.requests,
    brownouts: facts.windows.filter(({ reached }) => reached.has(at)).length,
    ...noticeOf(client, at, facts),
  };
}

function namedClient(
  { client }: Pick<ClientActivity, 'client'>,
  names: ReadonlyMap<string, string>,
): Pick<PlannedClient, 'client' | 'name'> {
  const name = names.get(client);
  return name === undefined ? { client } : { client, name };
}

function noticeOf(
  client: ClientActivity,
  at: number,
  { windows, weeks, zone }: ClientFacts,
): Pick<PlannedClient, 'notice' | 'isReachable' | 'because'> {
  const [met] = [...(client.notices ?? [])].toSorted(([, one], [, other]) =>
    one.first < other.first ? -1 : 1,
  );
  if (met !== undefined) {
    const [by, { count: refused, first, last }] = met;
    const because = `${by} refused ${counted(refused, 'request')}, ${refused === 1 ? '' : 'the last '}on ${zone.text(Date.parse(last))}`;
    return { notice: { by, at: Date.parse(first), refused }, isReachable: true, because };
  }
  const first = windows.find(({ reached }) => reached.has(at));
  if (first !== undefined) {
    const { id: by, from, slot, declared } = first;
    const count = countIn(client, slot, weeks);
    return {
      notice: { by, at: from, isDeclared: declared !== undefined, ...count },
      isReachable: true,
      because: `active ${weeksWords(count.active, slot)}`,
    };
  }
  return { ...bestTimeOf(client, weeks) };
}

/** The time of the week at which a client without a notice was active in most weeks. */
function bestTimeOf(
  client: ClientActivity,
  weeks: LastWeeks,
): Pick<PlannedClient, 'isReachable' | 'because'> {
  let best: { readonly slot: Slot; readonly count: WeekCount } | undefined;
  // A short log covers shorter times only.
  const length = ROUNDS.findLast((one) => slotsOf(weeks, one).length > 0) ?? LONGEST;
  for (const slot of slotsOf(weeks, length)) {
    const count = countIn(client, slot, weeks);
    if (count.active / count.weeks > (best === undefined ? 0 : best.count.active / best.count.weeks))
      best = { slot, count };
  }
  if (best === undefined)
    return { isReachable: false, because: 'not active in the last weeks that the log covers' };
  const { slot, count } = best;
  const words = weeksWords(count.active, slot);
  return isReached(count)
    ? { isReachable: true, because: `active ${words}, but no brownout is planned then` }
    : { isReachable: false, because: `active ${words}, and in no more at any other time` };
}

/** The announcements to clients: at `start`, which is the deprecation or now, before the first brownout, and twice before the end. */
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
  return all.filter(({ at }) => at >= start && at < sunset).sort((one, other) => one.at - other.at);
}

function endingsIn(
  { clients, spared }: ClientGroups,
  { now, names, rollout, goneAfterDays }: PlanOptions,
): readonly Ending[] {
  if (rollout?.ends === undefined) return [];
  const users = [...clients, ...spared].map((client) => ({
    ...namedClient(client, names),
    goneAfterDays,
    operations: usesOf(client.uses, 'operation').map(([operation, use]) => ({ operation, ...use })),
    changes: usesOf(client.uses, 'change').map(([change, use]) => ({ change, ...use })),
  }));
  return endingsOf(users, rollout.ends, new Date(now).toISOString());
}

function usesOf(
  uses: ReadonlyMap<string, Span> | undefined,
  kind: Ending['kind'] | 'brownout',
): readonly (readonly [id: string, use: { readonly count: number; readonly lastSeen: string }])[] {
  return [...(uses ?? [])]
    .filter(([use]) => use.startsWith(`${kind} `))
    .map(([use, { count, last }]) => [use.slice(kind.length + 1), { count, lastSeen: last }]);
}

function caveatOf({ since, until }: PlanTally): Pick<Plan, 'caveat'> {
  const days = Math.floor((until - since) / DAY_MS);
  if (days >= 92) return {};
  const covers = `The log covers ${days < 1 ? 'less than a day' : counted(days, 'day')}`;
  return {
    caveat:
      days < 7
        ? `${covers}: it shows each time of the week once at most.`
        : `${covers}: a client that comes once in a ${days < 28 ? 'month' : 'quarter'} or more rarely may not be in it.`,
  };
}

function unknownParts(
  { keyless, omitted, until, zone }: PlanTally,
  brownouts: readonly PlannedBrownout[],
  { silent, spared, unserved }: ClientGroups,
  { now, gaps, goneAfterDays, names }: PlanOptions,
): readonly string[] {
  const moved = brownouts.find(({ from }) => zone.local(from) - from !== zone.local(until) - until);
  return [
    ...(now - until < DAY_MS
      ? []
      : [`The log ends on ${zone.text(until)}, ${lengthWords(now - until)} before this plan.`]),
    ...(silent.length === 0
      ? []
      : [
          `${counted(silent.length, 'client')} sent nothing in the last ${counted(goneAfterDays, 'day')} of the log and ${silent.length === 1 ? 'is' : 'are'} left out: ${namesIn(silent, names)}.`,
        ]),
    ...(unserved.length === 0
      ? []
      : [
          `${counted(unserved.length, 'client')} ${unserved.length === 1 ? 'calls' : 'call'} only addresses that no service has and ${unserved.length === 1 ? 'is' : 'are'} left out: ${namesIn(unserved, names)}.`,
        ]),
    ...(spared.length === 0
      ? []
      : [
          `The sunset of the rule book spares ${counted(spared.length, 'client')}, so the plan does: ${namesIn(spared, names)}.`,
        ]),
    ...(keyless === 0
      ? []
      : [
          `${counted(keyless, 'request')} had no API key, so the log does not show which clients sent ${keyless === 1 ? 'it' : 'them'}.`,
        ]),
    ...(omitted === 0
      ? []
      : [`The plan leaves out ${counted(omitted, 'request')} from clients beyond its limit.`]),
    ...(gaps.length === 0
      ? []
      : [
          `The log lacks ${counted(gaps.length, 'part')} of the time: weeks in which one falls do not count then.`,
        ]),
    ...(moved === undefined
      ? []
      : [
          `The clocks of ${zone.name} change before ${moved.id}: a client that goes by UTC then comes at another hour than in the log.`,
        ]),
  ];
}

/** The warnings of `check` about the end of V1 in a rule book; empty if there are none. */
export function endWarnings(tally: PlanTally, options: PlanOptions): readonly string[] {
  const { rollout, now, leadDays, names, gaps } = options;
  const { zone } = tally;
  const sunset = rollout?.signals?.sunset;
  const isAhead = sunset !== undefined && sunset > now;
  if (rollout === undefined || (!isAhead && rollout.ends === undefined)) return [];
  const groups = groupsOf(tally, options);
  const { clients } = groups;
  const warnings = endingsIn(groups, options).flatMap((ending) => endingWarning(ending, options));
  if (clients.length === 0 || !isAhead) return warnings;
  if (sunset < now + leadDays * DAY_MS)
    warnings.push(
      `sunset: ${zone.text(sunset)} (${zone.name}) is in ${counted(Math.floor((sunset - now) / DAY_MS), 'day')}, nearer than the lead time of ${counted(leadDays, 'day')}, and ${counted(clients.length, 'client')} still ${clients.length === 1 ? 'calls' : 'call'}: ${namesIn(clients, names)}; choose a later day`,
    );
  const weeks = new LastWeeks(tally, gaps);
  const coming = declaredWindows(clients, weeks, zone, { now, sunset, rollout });
  const unmet = clients.filter(
    (client, at) => client.notices === undefined && !coming.some(({ reached }) => reached.has(at)),
  );
  if (unmet.length > 0)
    warnings.push(
      `brownouts: none for all operations before the sunset is at a time of the week at which ${counted(unmet.length, 'client')} ${unmet.length === 1 ? 'was' : 'were'} active in most of the last ${WEEKS} weeks: ${namesIn(unmet, names)}; capture-gateway plan chooses such times`,
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

function namesIn(clients: readonly ClientActivity[], names: ReadonlyMap<string, string>): string {
  return listed(
    clients.map(({ client }) => names.get(client) ?? client),
    MAX_NAMED,
  );
}

function dayOf(time: number, zone: Zone): number {
  return Math.floor(zone.local(time) / DAY_MS);
}

function cellOn(day: number, start: number): number {
  return day * CELLS_A_DAY + (start % CELLS_A_DAY);
}

/** Whether daylight saving neither skips nor repeats an end of a window, nor changes its length. */
function isOnClock(cell: number, length: number, zone: Zone): boolean {
  const [begin, end] = [cell * QUARTER_MS, (cell + length) * QUARTER_MS];
  const [from, until] = [zone.utc(begin), zone.utc(end)];
  return (
    from !== undefined &&
    until !== undefined &&
    until - from === end - begin &&
    !zone.isTwice(begin) &&
    !zone.isTwice(end)
  );
}

/** The clients that no notice in the log has reached. */
function unmetIn(clients: readonly ClientActivity[]): ClientSet {
  const unmet = new ClientSet(clients.length);
  for (const [at, { notices }] of clients.entries()) if (notices === undefined) unmet.add(at);
  return unmet;
}
