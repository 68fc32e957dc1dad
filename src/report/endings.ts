import type { Ends } from '../rules/rollout.ts';
import { type ClientReport, dayBefore } from './client-report.ts';
import { counted } from './text.ts';
import { DAY_MS } from './tally/time-slots.ts';

/** An operation or change that ends before V1 as a whole does, and who still uses it. */
export interface Ending {
  readonly kind: 'operation' | 'change';
  readonly id: string;
  /** RFC 3339; absent where it has no date of its own. */
  readonly deprecation?: string;
  readonly sunset?: string;
  /** True where its requests get 410 from the sunset on. */
  readonly isRefused: boolean;
  /** Clients that still use it, most requests first; a client that used it last before its usual silence is none. */
  readonly clients: readonly EndingClient[];
  /** The whole, in a sentence. */
  readonly sentence: string;
}

/** A client that uses what ends. */
export interface EndingClient {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  readonly name?: string;
  readonly count: number;
  /** RFC 3339. */
  readonly lastSeen: string;
}

/** Clients named in a sentence. */
const MAX_NAMED = 3;

/** The ends of operations and changes in the order of the rule book, with the clients of a report made at `now` (RFC 3339). */
export function endingsOf(clients: readonly ClientReport[], ends: Ends, now: string): readonly Ending[] {
  return (['operation', 'change'] as const).flatMap((kind) =>
    Object.entries(ends[`${kind}s`]).map(([id, { since, sunset, gone }]) => {
      const users = clients.flatMap((client) => {
        const uses: readonly EndingUse[] = kind === 'operation' ? client.operations : client.changes;
        const use = uses.find((one) => (kind === 'operation' ? one.operation : one.change) === id);
        if (use === undefined || use.lastSeen < dayBefore(now, client.goneAfterDays)) return [];
        const { name } = client;
        const { count, lastSeen } = use;
        return [{ client: client.client, ...(name === undefined ? {} : { name }), count, lastSeen }];
      });
      const ending = {
        kind,
        id,
        ...(since === undefined ? {} : { deprecation: new Date(since).toISOString() }),
        ...(sunset === undefined ? {} : { sunset: new Date(sunset).toISOString() }),
        isRefused: gone !== undefined,
        clients: users.sort((one, other) => other.count - one.count),
      };
      return { ...ending, sentence: sentenceOf(ending, now) };
    }),
  );
}

/** The clients that a brownout refused. */
export interface MetByBrownout {
  readonly brownout: string;
  /** Those it refused most first. */
  readonly clients: readonly EndingClient[];
  /** The whole, in a sentence. */
  readonly sentence: string;
}

/** Whom each brownout met, by its id in the rule book or in the log; the latest first. */
export function metByBrownouts(clients: readonly ClientReport[]): readonly MetByBrownout[] {
  const all = clients.flatMap(({ client, name, brownouts }) =>
    brownouts.map(({ brownout, count: times, lastSeen }) => ({
      brownout,
      met: { client, ...(name === undefined ? {} : { name }), count: times, lastSeen },
    })),
  );
  return [...Map.groupBy(all, ({ brownout }) => brownout)]
    .map(([brownout, rows]) => {
      const met = rows.map((row) => row.met).toSorted((one, other) => other.count - one.count);
      return { brownout, clients: met, sentence: metSentence(brownout, met) };
    })
    .toSorted((one, other) => (latestOf(one.clients) < latestOf(other.clients) ? 1 : -1));
}

function latestOf(clients: readonly EndingClient[]): string {
  return clients.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
}

function metSentence(brownout: string, clients: readonly EndingClient[]): string {
  const refused = clients.reduce((sum, one) => sum + one.count, 0);
  return `Brownout ${brownout} met ${counted(clients.length, 'client')} and refused ${counted(refused, 'request')}, the last one at ${latestOf(clients)}: ${namesOf(clients)}.`;
}

function namesOf(clients: readonly EndingClient[]): string {
  const names = clients.map(
    ({ name, client }) => name ?? (client === '-' ? 'requests without a key' : client),
  );
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${counted(more, 'other')}` : '');
}

interface EndingUse {
  readonly operation?: string;
  readonly change?: string;
  readonly count: number;
  readonly lastSeen: string;
}

/** Says what ends and when, such as `Operation create_order ends on 2027-01-01: 2 clients still use it, acme and globex.` */
function sentenceOf(
  { kind, id, sunset, deprecation, clients }: Omit<Ending, 'sentence'>,
  now: string,
): string {
  const dates = [
    ...(deprecation === undefined
      ? []
      : [`${deprecation > now ? 'is deprecated from' : 'has been deprecated since'} ${dayOf(deprecation)}`]),
    ...(sunset === undefined ? [] : [`${sunset > now ? 'ends' : 'ended'} on ${dayOf(sunset)}`]),
  ];
  const who =
    clients.length === 0
      ? 'nobody uses it any more'
      : `${counted(clients.length, 'client')} still ${clients.length === 1 ? 'uses' : 'use'} it: ${namesOf(clients)}`;
  const what = kind === 'operation' ? 'Operation' : 'What change';
  const rest = kind === 'operation' ? '' : ' translates';
  return `${what} ${id}${rest} ${dates.length === 0 ? 'has an end of its own' : dates.join(' and ')}; ${who}.`;
}

function dayOf(time: string): string {
  return time.slice(0, 10);
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
  /** Requests before the day that closes V1 to newcomers, and those whose client nobody could judge. */
  readonly would: number;
  readonly notKnown: number;
  /** The key whose place this one seems to have taken: a client whose key was rotated; absent where none seems to be. */
  readonly replaces?: string;
  /** The whole, in a sentence. */
  readonly sentence: string;
}

/** Time for which both keys of a client may be in use, and the longest time between both, in milliseconds. */
const OVERLAP_MS = 2 * DAY_MS;
const GAP_MS = 7 * DAY_MS;

/** Least share of operations that both keys have in common. */
const LEAST_OPERATIONS = 0.75;

/** The clients that are new to V1, the latest first. A key that could be paired with several old ones is paired with none. */
export function newClientsOf(clients: readonly ClientReport[]): readonly NewClient[] {
  const fresh = clients.filter(({ newcomer }) => newcomer !== undefined);
  const pairs = fresh.flatMap((young) =>
    clients.filter((old) => seemsRotated(old, young)).map((old) => ({ old, young })),
  );
  const isOnly = ({ old, young }: (typeof pairs)[number]): boolean =>
    pairs.filter((pair) => pair.old === old || pair.young === young).length === 1;
  const olds = new Map(pairs.filter(isOnly).map(({ old, young }) => [young, old]));
  return fresh
    .map((client) => newClient(client, olds.get(client)))
    .sort((one, other) => (one.firstSeen < other.firstSeen ? 1 : -1));
}

/** True where one key ends about when the other begins, with the same operations. */
function seemsRotated(old: ClientReport, young: ClientReport): boolean {
  if (old === young || old.client === '-' || young.client === '-' || old.firstSeen >= young.firstSeen)
    return false;
  const gap = Date.parse(young.firstSeen) - Date.parse(old.lastSeen);
  if (!(gap >= -OVERLAP_MS && gap <= GAP_MS)) return false;
  // Still in use beside it: somebody else's.
  if (Date.parse(young.lastSeen) - Date.parse(old.lastSeen) < Math.max(0, -gap)) return false;
  const [one, other] = [old, young].map(
    ({ operations }) => new Set(operations.map(({ operation }) => operation)),
  );
  if (one === undefined || other === undefined) return false;
  const common = [...one].filter((operation) => other.has(operation)).length;
  return common / (one.size + other.size - common) >= LEAST_OPERATIONS;
}

function newClient(client: ClientReport, old: ClientReport | undefined): NewClient {
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
    ...(warned === 0 ? [] : [`${counted(warned, 'request')} warned`]),
    ...(would === 0 ? [] : [`${counted(would, 'request')} would be refused`]),
    ...(notKnown === 0 ? [] : [`${counted(notKnown, 'request')} served, since nobody could say`]),
  ].join(', ');
  const pair =
    old === undefined
      ? ''
      : `; its key seems to be the rotated one of ${old.name ?? old.client}: name it under clients, or in except`;
  return {
    client: client.client,
    ...(name === undefined ? {} : { name }),
    firstSeen,
    refused,
    warned,
    would,
    notKnown,
    ...(old === undefined ? {} : { replaces: old.client }),
    sentence: `${name ?? client.client} came first on ${firstSeen.slice(0, 10)}: ${done}${pair}.`,
  };
}
