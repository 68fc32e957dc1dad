import type { ClientReport } from './client-report.ts';
import { DAY_MS } from './tally/time-slots.ts';
import { counted } from './text.ts';

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
