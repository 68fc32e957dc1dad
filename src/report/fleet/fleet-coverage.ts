import type { LogGap } from '../gaps/log-gaps.ts';
import type { ReplicaFigures } from './replica-record.ts';
import type { ReportCoverage } from '../report-totals.ts';

/** Facts of a replica about all that share its store. Times are milliseconds since 1970. */
export interface FleetFacts {
  readonly now: number;
  /** Time since which replicas count. */
  readonly first: number;
  /** This process: its own counts are always complete. */
  readonly own: Pick<ReplicaFigures, 'since' | 'lost'>;
  /** The other processes, as they were last known. */
  readonly others: readonly ReplicaFigures[];
  /** Since when and why the store is out of reach. */
  readonly lost?: { readonly at: number; readonly reason: string } | undefined;
  /** False until all records were read once. */
  readonly isComplete: boolean;
  /** Reason why a record cannot be read. */
  readonly damage?: string | undefined;
}

/** Time without news after which the counts of a replica are reported as missing. */
const SILENT_MS = 30_000;
/** Time without news after which a replica counts as ended, without its last counts. */
const ENDED_MS = 86_400_000;
/** Time without any replica from which on it is reported. */
const HOLE_MS = 3_600_000;

/** Says whom the totals of a replica cover, and what is lacking. */
export function fleetCoverage(facts: FleetFacts): ReportCoverage {
  const { now, first, others, lost, isComplete } = facts;
  const live = others.filter((one) => isLive(one, now));
  const base = { since: first, gaps: gapsOf(facts), replicas: live.length + 1 };
  const oldestMs = Math.max(0, ...live.map(({ at }) => now - at));
  if (!isComplete) {
    const reason = lost === undefined ? '' : ` (${lost.reason})`;
    return {
      ...base,
      kind: 'alone',
      oldestMs,
      sentence: `Counts of this replica alone: the store was not read since its start at ${text(facts.own.since)}${reason}.`,
    };
  }
  if (lost !== undefined) {
    const latest = Math.max(0, ...others.map(({ at }) => at));
    const known =
      latest === 0 ? 'others were not known.' : `the counts of the others are of ${text(latest)}.`;
    return {
      ...base,
      kind: 'alone',
      oldestMs: latest === 0 ? 0 : Math.max(0, now - latest),
      sentence: `This replica is alone since ${text(lost.at)} (${lost.reason}); ${known}`,
    };
  }
  const count = live.length + 1;
  const ended = others.length - live.length;
  const more = ended === 0 ? '' : ` and of ${ended} that ended`;
  return {
    ...base,
    kind: 'fleet',
    oldestMs,
    sentence: `Counts of ${count === 1 ? '1 replica' : `${count} replicas`}${more}, since ${text(first)}; the oldest is ${Math.ceil(oldestMs / 1000)} s old.`,
  };
}

function isLive({ at, hasStopped }: ReplicaFigures, now: number): boolean {
  return !hasStopped && now - at < SILENT_MS;
}

function gapsOf({ now, own, others, lost, isComplete, damage }: FleetFacts): readonly LogGap[] {
  const gaps: LogGap[] = [];
  const add = (log: string, kind: LogGap['kind'], from: number, until: number, sentence: string): void => {
    gaps.push({ log, kind, from: text(from), until: text(until), sentence });
  };
  if (damage !== undefined) add('store', 'silent', 0, now, `Counts in the store are not known: ${damage}.`);
  if (!isComplete)
    add(
      'store',
      'begins-late',
      own.since,
      now,
      `The store was not read since ${text(own.since)}: the counts of other replicas are not known.`,
    );
  else if (lost !== undefined)
    add(
      'store',
      'ends-early',
      lost.at,
      now,
      `The store is out of reach since ${text(lost.at)}: what other replicas count is not known.`,
    );
  for (const one of others) {
    const { name, at, hasStopped } = one;
    if (!hasStopped && now - at >= SILENT_MS) {
      const until = Math.min(now, at + ENDED_MS);
      const how =
        now - at < ENDED_MS
          ? `has added nothing since ${text(at)}`
          : `ended after ${text(at)} without adding its last counts`;
      add(name, 'ends-early', at, until, `Replica ${name} ${how}.`);
    }
  }
  for (const { name, lost: part } of [{ name: 'this one', ...own }, ...others])
    if (part !== undefined)
      add(
        name,
        'silent',
        part.from,
        part.until,
        `The store lost counts of replica ${name} between ${text(part.from)} and ${text(part.until)}.`,
      );
  for (const { from, until } of holesOf(
    [...others, { since: own.since, at: now }].sort((one, other) => one.since - other.since),
  ))
    add('store', 'silent', from, until, `No replica counted between ${text(from)} and ${text(until)}.`);
  return gaps;
}

function* holesOf(
  runs: readonly Pick<ReplicaFigures, 'since' | 'at'>[],
): Generator<{ readonly from: number; readonly until: number }> {
  let covered: number | undefined;
  for (const { since, at } of runs) {
    if (covered !== undefined && since - covered >= HOLE_MS) yield { from: covered, until: since };
    covered = Math.max(covered ?? at, at);
  }
}

function text(time: number): string {
  return new Date(time).toISOString();
}
