import { clockAhead } from '../report/fleet/fleet-texts.ts';
import type { LastHour, OriginFailures, PastRequests, RequestSums } from '../rewrite-log/history.ts';
import { addNotices, type NoticeCounts } from '../rewrite-log/notices.ts';
import { PAUSE_MS } from '../rewrite-log/service-outages.ts';
import { type GatewayStats, type ServiceContact, sharedContact } from '../rewrite-log/metric-families.ts';
import type { FreshFailures } from './problems.ts';
import { type Past, evidenceOf, hasFailedSo, type OperationTrouble } from '../rewrite-log/health/trouble.ts';
import { type WatchedOperation } from '../rewrite-log/health/watched.ts';
import type { RollbackRule } from '../rules/rollout.ts';

/** The facts for the verdict that one replica counts. Times are milliseconds since 1970. */
export interface ReplicaFacts {
  readonly startedAt: number;
  readonly sums: Readonly<RequestSums>;
  /** The requests that notices of V1's end refused, and since when these are counted. */
  readonly notices: NoticeCounts;
  readonly countedFrom: number;
  readonly recent: OriginFailures;
  /** See `History.lastResponses`. */
  readonly lastResponses: Readonly<Partial<Record<'v1' | 'v2', number | undefined>>>;
  readonly lastHour: LastHour;
  /** See `OperationHealth.wellSince`. */
  readonly wellSince?: number | undefined;
  /** See `ProblemTally.fresh`; absent without any. */
  readonly fresh?: FreshFailures | undefined;
  readonly operations: readonly OperationTrouble[];
  /** Texts by which people recognise the clients that these hit, by client. */
  readonly agents: Readonly<Record<string, string>>;
  /** Its requests of operations that fail at other replicas. */
  readonly watched: readonly WatchedOperation[];
  readonly stats: Pick<
    GatewayStats,
    | 'breaker'
    | 'v1Breaker'
    | 'v2Contact'
    | 'v1Contact'
    | 'droppedLogLines'
    | 'lastDroppedLine'
    | 'certificates'
  >;
  /** Hash of the rule book in force, and since when. */
  readonly ruleBook: string;
  readonly ruleBookSince: number;
  /** Number of faults in the rule book that was refused last, and the time; absent after a valid one is read. */
  readonly refusal?: { readonly faults: number; readonly at: number } | undefined;
}

/** The facts of all replicas added up, and the facts in which they differ. */
export interface FleetFacts extends Omit<ReplicaFacts, 'watched'> {
  readonly replicas: number;
  /** Replicas whose circuit to a service is not closed. */
  readonly broken: Readonly<Record<'v1' | 'v2', number>>;
  /** Hashes of the rule books in force; normally only one. */
  readonly ruleBooks: readonly string[];
}

/** Version of the text; facts of replicas with another version are not counted. */
const FORMAT = 6;

/** Troubles of which other replicas need no more than the marks of charts. */
const MAX_MARKED = 50;

/**
 * The troubles that other replicas are told, some seconds apart: those that were not over before `old`, and the latest others, for the marks of
 * charts, which mark an outage of V2 once.
 */
export function toldTroubles(all: readonly OperationTrouble[], old: number): readonly OperationTrouble[] {
  const isPast = (one: OperationTrouble): boolean => untilOf(one) <= old;
  const past = all.filter(isPast);
  const outages = outagesOfV2(past);
  return [
    ...past.filter((one) => !outages.has(one)).slice(-MAX_MARKED),
    ...all.filter((one) => !isPast(one)),
  ];
}

/** Prints facts for other replicas; `now` is this one's clock. */
export function printFacts(facts: ReplicaFacts, now: number): string {
  return JSON.stringify({ format: FORMAT, now, facts });
}

/** Reads what another replica printed when the reader's clock was `at`; undefined for a text in another form. */
export function readFacts(text: string, at: number): ReplicaFacts | undefined {
  try {
    const read: Partial<{ format: number; now: number; facts: ReplicaFacts }> | null = JSON.parse(text);
    const { format, now, facts } = read ?? {};
    if (format !== FORMAT || now === undefined || facts === undefined) return undefined;
    // Reads each member, so that damaged facts are found here.
    return onClock(facts, clockAhead(at, now));
  } catch {
    return undefined;
  }
}

/** Converts facts to a clock that is `ahead` by so many milliseconds. */
function onClock(facts: ReplicaFacts, ahead: number): ReplicaFacts {
  const { startedAt, countedFrom, recent, lastHour, wellSince, fresh, operations, watched, refusal } = facts;
  const { stats, ruleBookSince, lastResponses } = facts;
  const contact = (one: ServiceContact | undefined): ServiceContact | undefined =>
    one && { ...one, since: one.since + ahead };
  const span = <T extends Pick<OperationTrouble, 'since' | 'last'>>(one: T): T => ({
    ...one,
    since: one.since + ahead,
    last: one.last + ahead,
  });
  const row = ({ inARow, past, outage, ...counts }: OriginFailures['v1']): OriginFailures['v1'] => ({
    ...counts,
    inARow: span(inARow),
    ...(outage && { outage: span(outage) }),
    ...(past && {
      past: {
        last: past.last + ahead,
        ...(past.spell && {
          spell: {
            ...past.spell,
            since: past.spell.since + ahead,
            lastFailed: past.spell.lastFailed + ahead,
          },
        }),
      },
    }),
  });
  return {
    ...facts,
    startedAt: startedAt + ahead,
    countedFrom: countedFrom && countedFrom + ahead,
    recent: { v1: row(recent.v1), v2: row(recent.v2) },
    lastHour: { ...lastHour, ...(lastHour.lastFailed && { lastFailed: lastHour.lastFailed + ahead }) },
    wellSince: wellSince && wellSince + ahead,
    fresh: fresh && { ...fresh, since: fresh.since + ahead },
    operations: operations.map((one) => ({
      ...span(one),
      until: one.until && one.until + ahead,
      ...(one.whole && { whole: { ...one.whole, since: one.whole.since + ahead } }),
    })),
    watched: watched.map((one) => ({ ...one, since: one.since + ahead, last: one.last && one.last + ahead })),
    lastResponses: {
      v1: lastResponses.v1 && lastResponses.v1 + ahead,
      v2: lastResponses.v2 && lastResponses.v2 + ahead,
    },
    stats: {
      ...stats,
      v2Contact: contact(stats.v2Contact),
      v1Contact: contact(stats.v1Contact),
      lastDroppedLine: stats.lastDroppedLine && stats.lastDroppedLine + ahead,
    },
    ruleBookSince: ruleBookSince + ahead,
    refusal: refusal && { ...refusal, at: refusal.at + ahead },
  };
}

/** Adds the facts of replicas, at least one; their order does not matter. */
export function addFacts(
  first: ReplicaFacts,
  others: readonly ReplicaFacts[],
  rule: RollbackRule,
): FleetFacts {
  const all = [first, ...others];
  const wellSince = all.flatMap((one) => one.wellSince ?? []);
  const fresh = all.flatMap((one) => one.fresh ?? []);
  const lastFailures = all.flatMap(({ lastHour }) => lastHour.lastFailed ?? []);
  const drops = all.flatMap(({ stats }) => stats.lastDroppedLine ?? []);
  const refusals = all.flatMap(({ refusal }) => refusal ?? []);
  const ruleBooks = [...new Set(all.map(({ ruleBook }) => ruleBook))].sort();
  return {
    replicas: all.length,
    startedAt: Math.min(...all.map(({ startedAt }) => startedAt)),
    notices: addNotices(all.map(({ notices }) => notices)),
    // What has happened since, each of them has counted.
    countedFrom: Math.max(...all.map(({ countedFrom }) => countedFrom)),
    sums: all.map(({ sums }) => sums).reduce(addSums),
    recent: { v1: originOf(all, 'v1'), v2: originOf(all, 'v2') },
    lastHour: {
      failed: sumOf(all, ({ lastHour }) => lastHour.failed),
      asV2SentIt: sumOf(all, ({ lastHour }) => lastHour.asV2SentIt),
      ...(lastFailures.length === 0 ? {} : { lastFailed: Math.max(...lastFailures) }),
    },
    lastResponses: { v1: lastResponse(all, 'v1'), v2: lastResponse(all, 'v2') },
    ...(wellSince.length === 0 ? {} : { wellSince: Math.max(...wellSince) }),
    ...(fresh.length === 0
      ? {}
      : {
          fresh: {
            requests: sumOf(all, (one) => one.fresh?.requests ?? 0),
            calls: [...new Set(fresh.flatMap(({ calls }) => calls))].sort(),
            since: Math.min(...fresh.map(({ since }) => since)),
          },
        }),
    agents: agentsOf(all),
    operations: [
      ...Map.groupBy(
        all.flatMap((one) => one.operations),
        // Clients that always fail stay apart from their operation, and so does an outage, which lasts until V2 has served it again.
        ({ operation, clients, isOutage, isEarlier = false }) =>
          [operation, clients === undefined, isOutage, isEarlier].join(' '),
      ).values(),
    ]
      .flatMap(incidentsOf)
      .map((troubles) => troubleOf(troubles, all, rule))
      .sort((one, other) => one.since - other.since || (one.operation < other.operation ? -1 : 1)),
    stats: {
      breaker: worstOf(all.map(({ stats }) => stats.breaker)),
      v1Breaker: worstOf(all.map(({ stats }) => stats.v1Breaker ?? 'closed')),
      v2Contact: sharedContact(all.map(({ stats }) => stats.v2Contact)),
      v1Contact: sharedContact(all.map(({ stats }) => stats.v1Contact)),
      droppedLogLines: sumOf(all, ({ stats }) => stats.droppedLogLines),
      ...(drops.length === 0 ? {} : { lastDroppedLine: Math.max(...drops) }),
      certificates: firstToEnd(all.flatMap(({ stats }) => stats.certificates ?? [])),
    },
    broken: {
      v1: sumOf(all, ({ stats }) => ((stats.v1Breaker ?? 'closed') === 'closed' ? 0 : 1)),
      v2: sumOf(all, ({ stats }) => (stats.breaker === 'closed' ? 0 : 1)),
    },
    ruleBook: ruleBooks[0] ?? first.ruleBook,
    ruleBookSince: Math.max(...all.map(({ ruleBookSince }) => ruleBookSince)),
    ruleBooks,
    ...(refusals.length === 0
      ? {}
      : {
          refusal: {
            faults: Math.max(...refusals.map(({ faults }) => faults)),
            at: Math.min(...refusals.map(({ at }) => at)),
          },
        }),
  };
}

/** The texts of all replicas; of two for one client the first in order. */
function agentsOf(all: readonly ReplicaFacts[]): Readonly<Record<string, string>> {
  const pairs = all.flatMap(({ agents }) => Object.entries(agents));
  return Object.fromEntries(pairs.toSorted(([, one], [, other]) => (one < other ? 1 : -1)));
}

function lastResponse(all: readonly ReplicaFacts[], about: 'v1' | 'v2'): number | undefined {
  const times = all.flatMap(({ lastResponses }) => lastResponses[about] ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function sumOf(all: readonly ReplicaFacts[], number: (one: ReplicaFacts) => number): number {
  return all.reduce((sum, one) => sum + number(one), 0);
}

/** Adds sums of requests; dry runs under another rule book are not counted. */
function addSums(one: Readonly<RequestSums>, other: Readonly<RequestSums>): RequestSums {
  const [would, added] =
    one.would.ruleBook < other.would.ruleBook ? [other.would, one.would] : [one.would, other.would];
  const isSame = would.ruleBook === added.ruleBook;
  return {
    all: one.all + other.all,
    migrated: one.migrated + other.migrated,
    onV1: one.onV1 + other.onV1,
    passed: one.passed + other.passed,
    outside: one.outside + other.outside,
    refusedByV2: one.refusedByV2 + other.refusedByV2,
    refusedByV1: one.refusedByV1 + other.refusedByV1,
    refusedByGateway: one.refusedByGateway + other.refusedByGateway,
    onPurpose: one.onPurpose + other.onPurpose,
    failed: one.failed + other.failed,
    would: {
      ruleBook: would.ruleBook,
      rewritten: would.rewritten + (isSame ? added.rewritten : 0),
      unchanged: would.unchanged + (isSame ? added.unchanged : 0),
      refused: would.refused + (isSame ? added.refused : 0),
      refusedByBoth: would.refusedByBoth + (isSame ? added.refusedByBoth : 0),
    },
  };
}

/** A service's requests at all replicas; the latest ones in a row are known only if all replicas had the same result. */
function originOf(all: readonly ReplicaFacts[], about: 'v1' | 'v2'): OriginFailures['v1'] {
  const rows = all.map(({ recent }) => recent[about].inARow).filter(({ requests }) => requests > 0);
  const last = Math.max(0, ...rows.map((row) => row.last));
  const isAlike = rows.every(({ failed }) => failed === rows[0]?.failed);
  const past = all.flatMap(({ recent }) => recent[about].past ?? []);
  // What one of them saw long before is another outage.
  const outages =
    byTime(
      all.flatMap(({ recent }) => recent[about].outage ?? []),
      (outage) => outage.last,
    ).at(-1) ?? [];
  return {
    ...(outages.length === 0
      ? {}
      : {
          outage: {
            requests: outages.reduce((sum, { requests }) => sum + requests, 0),
            kept: outages.reduce((sum, { kept }) => sum + kept, 0),
            since: Math.min(...outages.map(({ since }) => since)),
            last: Math.max(...outages.map((one) => one.last)),
            responded: Math.min(...outages.map(({ responded }) => responded)),
          },
        }),
    ...(past.length === 0
      ? {}
      : {
          past: pastOf(past),
        }),
    requests: sumOf(all, ({ recent }) => recent[about].requests),
    failed: sumOf(all, ({ recent }) => recent[about].failed),
    refused: sumOf(all, ({ recent }) => recent[about].refused),
    kept: sumOf(all, ({ recent }) => recent[about].kept),
    inARow:
      rows.length === 0 || !isAlike
        ? { failed: false, requests: 0, since: 0, last }
        : {
            failed: rows[0]?.failed === true,
            requests: rows.reduce((sum, { requests }) => sum + requests, 0),
            since: Math.min(...rows.map(({ since }) => since)),
            last,
          },
  };
}

/** Adds up the requests of a service that no replica asks any more. */
function pastOf(all: readonly PastRequests[]): PastRequests {
  const spells = all.flatMap(({ spell }) => spell ?? []);
  const sum = (name: 'requests' | 'failed' | 'upToLast' | 'unanswered'): number =>
    spells.reduce((total, spell) => total + spell[name], 0);
  return {
    last: Math.max(...all.map((one) => one.last)),
    ...(spells.length > 0 && {
      spell: {
        requests: sum('requests'),
        failed: sum('failed'),
        upToLast: sum('upToLast'),
        unanswered: sum('unanswered'),
        since: Math.min(...spells.map(({ since }) => since)),
        lastFailed: Math.max(...spells.map(({ lastFailed }) => lastFailed)),
      },
    }),
  };
}

/** Adds up the trouble of one operation at several replicas, with its requests at the replicas where it is not in trouble. */
function troubleOf(
  troubles: readonly OperationTrouble[],
  all: readonly ReplicaFacts[],
  rule: RollbackRule,
): OperationTrouble {
  const lasting = troubles.filter(({ until }) => until === undefined);
  const reported = lasting.length === 0 ? troubles : lasting;
  const [first] = reported;
  if (first === undefined) throw new RangeError('there is one');
  const { operation, isOutage } = first;
  const isOfClients = reported.every(({ clients }) => clients !== undefined);
  const isEarlier = reported.some((one) => one.isEarlier === true);
  const watched = all
    // Requests of other clients say nothing about the clients that always fail.
    .filter(
      ({ operations }) => !isOfClients && !isEarlier && !operations.some((one) => reported.includes(one)),
    )
    .flatMap((one) =>
      one.watched.filter((other) => other.operation === operation && other.isOutage === isOutage),
    );
  const add = (number: (one: OperationTrouble | WatchedOperation) => number): number =>
    [...reported, ...watched].reduce((sum, one) => sum + number(one), 0);
  const requests = add((one) => one.requests);
  const upToLast = add((one) => ('upToLast' in one ? one.upToLast : one.requests));
  const failed = add((one) => one.failed);
  const before = { requests: add((one) => one.before.requests), failed: add((one) => one.before.failed) };
  const comparedOf = (one: OperationTrouble | WatchedOperation): Past =>
    'compared' in one ? one.compared : one.before;
  const compared = {
    requests: add((one) => comparedOf(one).requests),
    failed: add((one) => comparedOf(one).failed),
    onV2: add((one) => comparedOf(one).onV2 ?? comparedOf(one).requests),
  };
  const clients = [...new Set(reported.flatMap((one) => one.clients ?? []))].sort();
  // Watched requests have no clients.
  const isKnown = watched.every((one) => one.failed === 0);
  const hit = isKnown ? [...new Set(reported.flatMap((one) => one.hit))].sort() : [];
  const isOneAnswer = reported.every(
    ({ answer }) => answer?.by === first.answer?.by && answer?.status === first.answer?.status,
  );
  const evidence = evidenceOf({ before, compared }, { requests, failed }, rule);
  const until = lasting.length === 0 ? Math.max(...reported.map((one) => one.until ?? one.last)) : undefined;
  return {
    operation,
    kind: reported.every(({ kind }) => kind === 'always') && failed === requests ? 'always' : 'more',
    requests,
    upToLast,
    failed,
    isSevere:
      evidence.isHarm ||
      hasFailedSo({ requests, failed }) ||
      (reported.every(({ isSevere }) => isSevere) && watched.every((one) => one.requests === 0)),
    isRefusal: reported.every(({ isRefusal }) => isRefusal) && watched.every(({ isRefusal }) => isRefusal),
    isOutage,
    hit,
    ...(isKnown && isOneAnswer && first.answer !== undefined ? { answer: first.answer } : {}),
    ...(reported.some(({ inCanary }) => inCanary === true) ? { inCanary: true } : {}),
    ...(isEarlier ? { isEarlier } : {}),
    ...(reported.some(({ isMoved }) => isMoved === true) ? { isMoved: true } : {}),
    ...(isOfClients ? { clients } : {}),
    ...(reported.some(({ whole }) => whole !== undefined) ? { whole: wholeOf(reported) } : {}),
    since: Math.min(
      ...reported.map(({ since }) => since),
      ...watched.flatMap((one) => (one.failed > 0 ? one.since : [])),
    ),
    last: Math.max(...reported.map(({ last }) => last), ...watched.flatMap(({ last }) => last ?? [])),
    until,
    recovered: reported.reduce((sum, one) => sum + one.recovered, 0),
    before,
    compared,
    evidence,
  };
}

function wholeOf(troubles: readonly OperationTrouble[]): NonNullable<OperationTrouble['whole']> {
  const all = troubles.map((one) => one.whole ?? one);
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
    hit: [...new Set(all.flatMap(({ hit }) => hit))].sort(),
    since: Math.min(...all.map(({ since }) => since)),
  };
}

/** The troubles of one operation by incident: what one replica saw long before another is another incident. */
function incidentsOf(troubles: readonly OperationTrouble[]): readonly (readonly OperationTrouble[])[] {
  // One replica may have seen two of them soon after each other.
  const pause = troubles.some(({ isEarlier }) => isEarlier === true) ? 0 : PAUSE_MS;
  return byTime(troubles, untilOf, pause);
}

/** The troubles that are an outage of V2: it responded to none of several operations, or its circuit is open. */
export function outagesOfV2<Trouble extends OperationTrouble>(
  troubles: readonly Trouble[],
  isOpen = false,
): ReadonlySet<Trouble> {
  const outages = byTime(
    troubles.filter(({ isOutage }) => isOutage),
    untilOf,
  );
  const isOfV2 = (all: readonly Trouble[]): boolean =>
    all.some(({ operation }) => operation !== all[0]?.operation) || (isOpen && all === outages.at(-1));
  return new Set(outages.filter(isOfV2).flat());
}

function untilOf({ until = Number.POSITIVE_INFINITY }: OperationTrouble): number {
  return until;
}

/** What happened at one time, or with short pauses, together; the latest last. */
function byTime<Seen extends { readonly since: number }>(
  all: readonly Seen[],
  endOf: (one: Seen) => number,
  pause = PAUSE_MS,
): readonly (readonly Seen[])[] {
  const groups: Seen[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const one of all.toSorted((first, other) => first.since - other.since)) {
    if (one.since > end + pause) groups.push([]);
    groups.at(-1)?.push(one);
    end = Math.max(end, endOf(one));
  }
  return groups;
}

const CIRCUITS = ['open', 'probing', 'closed'] as const;

function worstOf(states: readonly GatewayStats['breaker'][]): GatewayStats['breaker'] {
  return CIRCUITS.find((state) => states.includes(state)) ?? 'closed';
}

/** Returns for each use the certificate that expires first. */
function firstToEnd(
  certificates: NonNullable<GatewayStats['certificates']>,
): NonNullable<GatewayStats['certificates']> {
  const first = new Map<string, (typeof certificates)[number]>();
  for (const one of certificates) {
    const known = first.get(one.use);
    if (known === undefined || one.notAfter < known.notAfter) first.set(one.use, one);
  }
  return [...first.values()].sort((one, other) => (one.use < other.use ? -1 : 1));
}
