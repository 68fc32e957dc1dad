import { NO_KEY } from '../rewrite-log/entry.ts';
import {
  CLASSES,
  CLASS_WORDS,
  type ClientClass,
  type ClientReport,
  isOnV2,
  noticesMet,
} from '../report/client-report.ts';
import type { Report } from '../report/report.ts';
import type { ClientTrend, FailedCount } from '../report/tally/client-trends.ts';
import { DAY_MS } from '../report/tally/time-slots.ts';
import type { ClientTrace } from '../rewrite-log/observer.ts';
import { type WouldFail, wouldFail } from '../rollout/body-checks.ts';

/** One client of V1 in a table. */
export interface ClientRow {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  readonly name?: string;
  readonly class: ClientClass;
  /** RFC 3339: the first and the last V1 request. */
  readonly firstSeen: string;
  readonly lastSeen: string;
  /** Requests to V1 and, by itself, to V2. */
  readonly v1: number;
  readonly v2: number;
  /** V1 requests that failed. */
  readonly failed: number;
  /** V1 requests of the last 14 days (UTC), and those of them that failed, oldest first. */
  readonly trend: readonly Readonly<FailedCount>[];
  /**
   * Number of its requests that would fail after a migration, and of all with a dry run's verdict; absent without such a verdict, and for a
   * client that is migrated: `failed` counts what happened.
   */
  readonly wouldFail?: WouldFail;
  /** Number of notices that it met: each brownout, and the end of V1. */
  readonly notices: number;
  /** `made` if its guide can be made; else what is missing: a key, an address of the rule book in its calls, or a kept or logged request. */
  readonly guide: 'made' | 'no key' | 'no operation' | 'no request';
}

/** A page of the clients that used V1. */
export interface ClientsTable {
  /** A sentence that says who counted, and since when. */
  readonly known: string;
  /** Number of clients, and of those that match. */
  readonly all: number;
  readonly matching: number;
  /** The matching ones from `offset` on. */
  readonly offset: number;
  readonly rows: readonly ClientRow[];
  /** True if a client called on two days, and if one has a dry run: of all clients, so that the columns stay as one searches. */
  readonly hasTrend: boolean;
  readonly hasChecks: boolean;
}

/** One client with its operations and traces. */
export interface ClientDetail extends ClientRow {
  /** The most frequent first. */
  readonly operations: readonly {
    readonly operation: string;
    readonly count: number;
    readonly failed: number;
    readonly firstSeen: string;
    readonly lastSeen: string;
  }[];
  readonly brownouts: ClientReport['brownouts'];
  readonly outcomes: ClientReport['outcomes'];
  readonly unknown: readonly string[];
  readonly refusals: readonly string[];
  /** The latest `User-Agent` fields and addresses, newest first, since the start of this run. */
  readonly userAgents: readonly string[];
  readonly addresses: readonly string[];
}

/** The columns by which a table can be sorted. */
export const CLIENT_SORTS = [
  'work',
  'name',
  'class',
  'lastSeen',
  'requests',
  'failed',
  'wouldFail',
  'notices',
] as const;
export type ClientSort = (typeof CLIENT_SORTS)[number];

/** The clients to show. */
export interface ClientsQuery {
  /** A part of a name, hash, class, operation, user agent or address. */
  readonly q: string;
  readonly sort: ClientSort;
  /** True for the reverse of a column's usual order. */
  readonly isReversed: boolean;
  readonly offset: number;
  readonly limit: number;
}

export interface ClientsFacts {
  readonly report: Report;
  readonly known: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly trendOf: (client: string) => ClientTrend | undefined;
  readonly traces: ReadonlyMap<string, ClientTrace>;
  /** RFC 3339: entries since then are kept; undefined while none is. */
  readonly keptSince: string | undefined;
  /** True if the gateway writes a log to a file. */
  readonly hasLog: boolean;
}

const TREND_DAYS = 14;
const NONE: ClientTrace = { userAgents: [], addresses: [] };

/** Makes a page of the clients. */
export function clientsTable(facts: ClientsFacts, query: ClientsQuery): ClientsTable {
  const { clients } = facts.report;
  const wanted = query.q.trim().toLowerCase();
  const all = clients.map((client) => [client, rowOf(client, facts)] as const);
  const rows = all.flatMap(([client, row]) => (wanted === '' || isMatch(client, facts, wanted) ? [row] : []));
  if (query.sort !== 'work') rows.sort(ORDER[query.sort]);
  if (query.isReversed) rows.reverse();
  return {
    known: facts.known,
    all: clients.length,
    matching: rows.length,
    offset: query.offset,
    rows: rows.slice(query.offset, query.offset + query.limit),
    hasTrend: all.some(([, { trend }]) => trend.filter(({ requests }) => requests > 0).length > 1),
    hasChecks: all.some(([, { wouldFail: checked }]) => checked !== undefined),
  };
}

/** One client; undefined if it did not use V1. */
export function clientDetail(facts: ClientsFacts, client: string): ClientDetail | undefined {
  const found = facts.report.clients.find((one) => one.client === client);
  if (found === undefined) return undefined;
  const { brownouts, outcomes, unknown, refusals } = found;
  const failedCalls = facts.trendOf(client)?.failedCalls;
  const { userAgents, addresses } = facts.traces.get(client) ?? NONE;
  return {
    ...rowOf(found, facts),
    operations: found.operations.map(({ operation, count, firstSeen, lastSeen }) => ({
      operation,
      count,
      failed: failedCalls?.get(operation) ?? 0,
      firstSeen,
      lastSeen,
    })),
    brownouts,
    outcomes,
    unknown,
    refusals,
    userAgents,
    addresses,
  };
}

function rowOf(report: ClientReport, { trendOf, now, keptSince, hasLog }: ClientsFacts): ClientRow {
  const { client, name, firstSeen, lastSeen, v1, v2, failed, bodyChecks } = report;
  const trend = trendOf(client);
  const today = Math.floor(now / DAY_MS);
  const checked = wouldFail(bodyChecks);
  return {
    client,
    ...(name === undefined ? {} : { name }),
    class: report.class,
    firstSeen,
    lastSeen,
    v1,
    v2,
    failed,
    trend: Array.from(
      { length: TREND_DAYS },
      (_, at) => trend?.days.get(today - TREND_DAYS + 1 + at) ?? { requests: 0, failed: 0 },
    ),
    ...(checked.judged === 0 || isOnV2(report) ? {} : { wouldFail: checked }),
    notices: noticesMet(report),
    guide:
      client === NO_KEY
        ? 'no key'
        : report.outcomes.length > 0 && report.outcomes.every(({ code }) => code === 'not-found')
          ? 'no operation'
          : hasLog || (keptSince !== undefined && lastSeen >= keptSince)
            ? 'made'
            : 'no request',
  };
}

function isMatch(
  { client, name, class: kind, operations }: ClientReport,
  { traces }: ClientsFacts,
  wanted: string,
): boolean {
  const { userAgents, addresses } = traces.get(client) ?? NONE;
  const texts = [
    client,
    name ?? '',
    CLASS_WORDS[kind],
    ...operations.map(({ operation }) => operation),
    ...userAgents,
    ...addresses,
  ];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

type Order = (one: ClientRow, other: ClientRow) => number;

/** Names from A to Z in English, on every replica, clients without one last; times and numbers in descending order. */
const ORDER: Readonly<Record<Exclude<ClientSort, 'work'>, Order>> = {
  name: (one, other) =>
    Number(one.name === undefined) - Number(other.name === undefined) ||
    (one.name ?? one.client).localeCompare(other.name ?? other.client, 'en'),
  class: (one, other) => CLASSES.indexOf(one.class) - CLASSES.indexOf(other.class) || other.v1 - one.v1,
  lastSeen: (one, other) => (one.lastSeen < other.lastSeen ? 1 : one.lastSeen > other.lastSeen ? -1 : 0),
  requests: (one, other) => other.v1 - one.v1,
  failed: (one, other) => other.failed - one.failed || other.v1 - one.v1,
  wouldFail: (one, other) =>
    (other.wouldFail?.failing ?? -1) - (one.wouldFail?.failing ?? -1) || other.v1 - one.v1,
  notices: (one, other) => other.notices - one.notices || other.v1 - one.v1,
};
