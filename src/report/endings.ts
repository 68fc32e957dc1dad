import { NO_KEY } from '../rewrite-log/entry.ts';
import type { Ends } from '../rules/rollout.ts';
import { type ClientReport, dayBefore } from './client-report.ts';
import { countBelow } from './log-gaps.ts';
import { capital, countedClients, type KnownClient, knownClient, namedClients, nameIn } from './text.ts';
import { counted } from '../rules/words.ts';
import { DAY_MS, type DayRhythm } from './tally/time-slots.ts';

/** An operation or change that ends before the rest of V1, with the clients that still use it. */
export interface Ending {
  readonly kind: 'operation' | 'change';
  readonly id: string;
  /** RFC 3339; absent if it has no date of its own. */
  readonly deprecation?: string;
  readonly sunset?: string;
  /** True if its requests get 410 from the sunset on. */
  readonly isRefused: boolean;
  /** Clients that still use it, most requests first; without those that count as gone by their last use of it. */
  readonly clients: readonly EndingClient[];
  /** A summary in one sentence. */
  readonly sentence: string;
}

/** A client that still uses an ending operation or change, or that a brownout refused. */
export interface EndingClient {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  readonly name?: string;
  readonly agent?: string;
  readonly count: number;
  /** RFC 3339. */
  readonly lastSeen: string;
}

/** Clients named in a sentence, and those that called V1 after its end. */
const MAX_NAMED = 3;
const MAX_LATE = 5;

/** The ends of operations and changes in the order of the rule book, with the clients of a report made at `now` (RFC 3339). */
export function endingsOf(clients: readonly PartUser[], ends: Ends, now: string): readonly Ending[] {
  return (['operation', 'change'] as const).flatMap((kind) =>
    Object.entries(ends[`${kind}s`]).map(([id, { since, sunset, gone }]) => {
      const users = clients.flatMap((client) => {
        const uses = kind === 'operation' ? client.operations : client.changes;
        const use = uses.find((one) => (kind === 'operation' ? one.operation : one.change) === id);
        if (use === undefined || use.lastSeen < dayBefore(now, client.goneAfterDays)) return [];
        const { count, lastSeen } = use;
        return [{ ...knownClient(client), count, lastSeen }];
      });
      const ending = {
        kind,
        id,
        ...(since === undefined ? {} : { deprecation: new Date(since).toISOString() }),
        ...(sunset === undefined ? {} : { sunset: new Date(sunset).toISOString() }),
        isRefused: gone !== undefined,
        clients: users.sort((one, other) => other.count - one.count),
      };
      return { ...ending, sentence: endingSentence(ending, now) };
    }),
  );
}

/** Says who has called V1 since its end (milliseconds since 1970), with the time of the last call; undefined without such calls. */
export function callsAfterEnd(
  sunset: number,
  clients: readonly Pick<ClientReport, 'client' | 'name' | 'agent' | 'lastSeen' | 'outcomes'>[],
): { readonly sentence: string; readonly last: number } | undefined {
  const late = clients.filter(({ lastSeen }) => Date.parse(lastSeen) >= sunset);
  if (late.length === 0) return undefined;
  const last = Math.max(...late.map(({ lastSeen }) => Date.parse(lastSeen)));
  const hashes = late.map(({ client }) => client);
  const who = capital(countedClients(hashes, 'has', 'have'));
  // The gateway refuses some for another reason, which comes first.
  const got = late.filter(({ outcomes }) => outcomes.some(({ code }) => code === 'sunset')).length;
  const refused = got === late.length ? ' and got 410' : got > 0 ? ` (${got} of them got 410)` : '';
  const names = namedClients(late, MAX_LATE);
  return {
    last,
    sentence: `${who} called V1 after its end${refused}, the last at ${new Date(last).toISOString()}: ${names}.`,
  };
}

/** Says which clients a brownout refused before V1 ended, and which not. */
export function noticeSentence(
  clients: readonly Pick<ClientReport, 'client' | 'name' | 'agent' | 'brownouts'>[],
): string {
  const [met, unmet] = [true, false].map((isMet) =>
    clients.filter(({ brownouts }) => brownouts.length > 0 === isMet),
  );
  const who = (some: typeof clients = []): string => countedClients(some.map(({ client }) => client));
  if (met === undefined || met.length === 0) return 'No client met a brownout before V1 ended.';
  if (unmet === undefined || unmet.length === 0)
    return `Before V1 ended, ${who(met)} met a brownout: each of them.`;
  return `Before V1 ended, ${who(met)} met a brownout, and ${who(unmet)} did not: ${namedClients(unmet, MAX_LATE)}.`;
}

/** The clients that a brownout refused. */
export interface MetByBrownout {
  readonly brownout: string;
  /** Most refusals first. */
  readonly clients: readonly EndingClient[];
  /** A summary in one sentence. */
  readonly sentence: string;
}

interface RefusedBy {
  readonly brownout: string;
  readonly count: number;
  readonly lastSeen: string;
}

/** The clients that each brownout refused, by its id in the rule book or in the log; the latest brownout first. */
export function metByBrownouts(
  clients: readonly (KnownClient & { readonly brownouts: readonly RefusedBy[] })[],
  timeText: (time: string) => string = (time) => time,
): readonly MetByBrownout[] {
  const all = clients.flatMap((client) =>
    client.brownouts.map(({ brownout, count: times, lastSeen }) => ({
      brownout,
      met: { ...knownClient(client), count: times, lastSeen },
    })),
  );
  return [...Map.groupBy(all, ({ brownout }) => brownout)]
    .map(([brownout, rows]) => {
      const met = rows.map((row) => row.met).toSorted((one, other) => other.count - one.count);
      return { brownout, clients: met, sentence: metSentence(brownout, met, timeText) };
    })
    .toSorted((one, other) => (latestOf(one.clients) < latestOf(other.clients) ? 1 : -1));
}

function latestOf(clients: readonly EndingClient[]): string {
  return clients.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
}

function metSentence(
  brownout: string,
  clients: readonly EndingClient[],
  timeText: (time: string) => string,
): string {
  const refused = clients.reduce((sum, one) => sum + one.count, 0);
  return `Brownout ${brownout} refused ${counted(refused, 'request')} from ${countedClients(clients.map(({ client }) => client))}, the last one at ${timeText(latestOf(clients))}: ${namedClients(clients, MAX_NAMED)}.`;
}

/** The parts of a client that `endingsOf` uses. */
interface PartUser extends Pick<ClientReport, 'client' | 'name' | 'agent' | 'goneAfterDays'> {
  readonly operations: readonly EndingUse[];
  readonly changes: readonly EndingUse[];
}

interface EndingUse {
  readonly operation?: string;
  readonly change?: string;
  readonly count: number;
  readonly lastSeen: string;
}

/**
 * Says what ends and when, such as `Operation create_order ends on 2027-01-01T00:00:00Z; 2 clients still use it: acme, globex.`
 * `timeText` formats a time in RFC 3339: unchanged, for a page that shows it in the reader's zone, or in the zone of a plan.
 */
export function endingSentence(
  { kind, id, sunset, deprecation, clients }: Omit<Ending, 'sentence'>,
  now: string,
  timeText: (time: string) => string = (time) => time.replace('.000Z', 'Z'),
): string {
  const dates = [
    ...(deprecation === undefined
      ? []
      : [
          `${deprecation > now ? 'is deprecated from' : 'has been deprecated since'} ${timeText(deprecation)}`,
        ]),
    ...(sunset === undefined ? [] : [`${sunset > now ? 'ends' : 'ended'} on ${timeText(sunset)}`]),
  ];
  const who =
    clients.length === 0
      ? 'no client uses it any more'
      : `${countedClients(
          clients.map(({ client }) => client),
          'still uses',
          'still use',
        )} it: ${namedClients(clients, MAX_NAMED)}`;
  return `${endingName(kind, id)} ${dates.length === 0 ? 'has pages about its end' : dates.join(' and ')}; ${who}.`;
}

/** Names an operation, or the part of V1 that a change translates, at the start of a sentence. */
export function endingName(kind: Ending['kind'], id: string): string {
  return kind === 'operation' ? `Operation ${id}` : `The V1 form that change ${id} translates`;
}

/** A client that is new to V1, as the gateway judged it. */
export interface NewClient {
  /** The keyed hash. */
  readonly client: string;
  readonly name?: string;
  /** RFC 3339. */
  readonly firstSeen: string;
  readonly refused: number;
  readonly warned: number;
  /** Requests that were served before the day that closes V1 to newcomers, or because it was unknown whether the client is new. */
  readonly would: number;
  readonly notKnown: number;
  /** The key that this one seems to replace, because a client rotated it; absent if there is none. */
  readonly replaces?: string;
  /** A summary in one sentence. */
  readonly sentence: string;
}

/** The clients that are new to V1, the latest first, with the keys that theirs replace. */
export function newClientsOf(
  clients: readonly ClientReport[],
  rotated: readonly RotatedKey[],
): readonly NewClient[] {
  const pairs = new Map(rotated.map((pair) => [pair.young, pair]));
  const names = new Map(clients.map(({ client, name = client }) => [client, name]));
  return clients
    .filter(({ newcomer }) => newcomer !== undefined)
    .map((client) => newClient(client, pairs.get(client.client), names))
    .sort((one, other) => (one.firstSeen < other.firstSeen ? 1 : -1));
}

function newClient(
  client: ClientReport,
  rotated: RotatedKey | undefined,
  names: ReadonlyMap<string, string>,
): NewClient {
  const { name, newcomer = [], firstSeen } = client;
  const countOf = (note: string): number => newcomer.find((one) => one.note === note)?.count ?? 0;
  const [refused, warned, would, notKnown] = [
    countOf('refused'),
    countOf('warned'),
    countOf('would'),
    countOf('not-known'),
  ];
  const done = [
    ...(refused === 0 ? [] : [`${counted(refused, 'request')} refused`]),
    ...(warned === 0 ? [] : [`${counted(warned, 'request')} served with a warning`]),
    ...(would === 0 ? [] : [`${counted(would, 'request')} served before V1 closed to new clients`]),
    ...(notKnown === 0 ? [] : [`${counted(notKnown, 'request')} served because the gateway did not know`]),
  ].join(', ');
  const pair =
    rotated === undefined
      ? ''
      : `; its key ${rotated.isSettled ? 'seems to' : 'may'} be the rotated one of ${nameIn(names, rotated.old)}: add it under clients, or to except`;
  return {
    client: client.client,
    ...(name === undefined ? {} : { name }),
    firstSeen,
    refused,
    warned,
    would,
    notKnown,
    ...(rotated === undefined ? {} : { replaces: rotated.old }),
    sentence: `${name ?? client.client} first came at ${firstSeen}: ${done}${pair}.`,
  };
}

/** A key that seems to replace another. */
export interface RotatedKey {
  /** Client hash of the key that is no longer used. */
  readonly old: string;
  /** Client hash of the key that is used instead. */
  readonly young: string;
  /** Last use of the old key and first use of the young one, milliseconds since 1970. */
  readonly last: number;
  readonly first: number;
  /** False if the old key may only pause, or either key is hardly known: they may belong to two clients. */
  readonly isSettled: boolean;
}

/** Time for which both keys may be in use: a client's instances are deployed one after the other. */
const OVERLAP_MS = 2 * DAY_MS;

/** The longest time between both keys, for a client that comes often; a rare one may take its longest pause. */
const LEAST_GAP_MS = 2 * DAY_MS;

/** Minimum share of operations in common. */
const LEAST_OPERATIONS = 0.75;

/** How much more often one key may come than the other, how much more it may send on a day, and the days below which neither is known. */
const RARER = 3;
const BUSIER = 5;
const LEAST_DAYS = 4;

/** The rhythm of a key without a day. */
const ONCE: DayRhythm = { count: 0, span: 0, longestPause: 0 };

/** Requests of a key below which it is hardly known. */
const LEAST_REQUESTS = 5;

/** Maximum keys that may begin when another one ends: among more, a replacement cannot be identified. Attack: invented keys. */
const MAX_CANDIDATES = 200;

/** The use of one key. Times are milliseconds since 1970. */
interface KeyUse {
  readonly client: string;
  readonly first: number;
  readonly last: number;
  readonly requests: number;
  readonly operations: ReadonlySet<string>;
  readonly days: DayRhythm;
  /** Silence after which the key counts as no longer used. */
  readonly gap: number;
}

/**
 * Pairs of keys where one begins as the other ends, with the same operations and as often. A key that fits several others is in no
 * pair. `rhythmOf` says how often a client came.
 */
export function rotatedKeys(
  clients: readonly ClientReport[],
  rhythmOf: (client: string) => DayRhythm | undefined,
): readonly RotatedKey[] {
  const all = clients
    .filter(({ client }) => client !== NO_KEY)
    .map((client) => keyUse(client, rhythmOf(client.client) ?? ONCE));
  const byFirst = all.toSorted((one, other) => one.first - other.first);
  const firsts = byFirst.map(({ first }) => first);
  const end = all.reduce((latest, { last }) => Math.max(latest, last), 0);
  const pairs = all.flatMap((old) => {
    const isOver = end - old.last >= old.gap;
    const from = countBelow(firsts, old.last - OVERLAP_MS);
    const until = countBelow(firsts, old.last + (isOver ? old.gap : LEAST_GAP_MS) + 1);
    if (until - from > MAX_CANDIDATES) return [];
    return byFirst.slice(from, until).flatMap((young): RotatedKey | [] => {
      if (!seemsRotated(old, young)) return [];
      const isKnown = Math.min(old.requests, young.requests) >= LEAST_REQUESTS;
      const isSettled = isOver && isKnown;
      return { old: old.client, young: young.client, last: old.last, first: young.first, isSettled };
    });
  });
  const olds = timesNamed(pairs.map(({ old }) => old));
  const youngs = timesNamed(pairs.map(({ young }) => young));
  return pairs.filter(({ old, young }) => olds.get(old) === 1 && youngs.get(young) === 1);
}

function keyUse({ client, firstSeen, lastSeen, v1, operations }: ClientReport, days: DayRhythm): KeyUse {
  return {
    client,
    first: Date.parse(firstSeen),
    last: Date.parse(lastSeen),
    requests: v1,
    operations: new Set(operations.map(({ operation }) => operation)),
    days,
    gap: Math.max(LEAST_GAP_MS, 1.5 * days.longestPause * DAY_MS),
  };
}

function seemsRotated(old: KeyUse, young: KeyUse): boolean {
  if (young.first <= old.first) return false;
  // The old key is still in use, or the new one was hardly used since: it belongs to another client.
  if (young.last <= old.last || young.last - old.last < old.last - young.first) return false;
  if (operationsInCommon(old, young) < LEAST_OPERATIONS) return false;
  if (!comesAsOften(old.days, young.days) || !comesAsOften(young.days, old.days)) return false;
  return sendsAsMuch(old, young);
}

/** Whether a client with the days of one key may call as often as the other; true for a key with few days. */
function comesAsOften({ count, span }: DayRhythm, other: DayRhythm): boolean {
  if (count < LEAST_DAYS) return true;
  const expected = ((count - 1) / span) * (other.span + 1);
  const isMore = other.count > RARER * Math.max(1, expected);
  const isLess = RARER * (other.count + 1) < expected;
  return !isMore && !isLess;
}

/** Whether both keys send about as many requests on each of their days; true if one is hardly known. */
function sendsAsMuch(...keys: readonly [KeyUse, KeyUse]): boolean {
  if (keys.some(({ days }) => days.count < LEAST_DAYS)) return true;
  const [one, other] = keys.map(({ requests, days }) => requests / days.count);
  return Math.max(one ?? 0, other ?? 0) <= BUSIER * Math.min(one ?? 0, other ?? 0);
}

function timesNamed(names: readonly string[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  return times;
}

function operationsInCommon({ operations: one }: KeyUse, { operations: other }: KeyUse): number {
  const common = [...one].filter((operation) => other.has(operation)).length;
  return common / (one.size + other.size - common);
}
