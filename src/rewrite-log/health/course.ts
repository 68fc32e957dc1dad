import type { RollbackRule } from '../../rules/rollout.ts';
import { Failures, type HealthEntry } from './failures.ts';
import { type Counts, evidenceOf, type OperationTrouble, type Past, RECOVERED } from './trouble.ts';

/** Successive responses after which trouble is over if no larger share of them failed than before. */
const AS_BEFORE = 50;

/** Milliseconds for which trouble is reported after its last failure if nothing shows that it is over. */
const LASTING_MS = 86_400_000;

/** An exchange, and when it began and ended: milliseconds since 1970. */
export interface Request {
  readonly entry: HealthEntry;
  /** In the course of outages: whether V2 did not respond. */
  readonly failed: boolean;
  readonly began: number;
  readonly time: number;
}

/** A trouble while it goes on. */
export interface Trouble {
  kind: OperationTrouble['kind'];
  requests: number;
  upToLast: number;
  failures: Failures;
  since: number;
  last: number;
  until: number | undefined;
  recovered: number;
  /** All requests before it, and those with which it is compared: no earlier trouble is among them. */
  readonly before: Counts;
  readonly compared: Past;
  /** Once it has ended, and until they are counted: the requests after it. */
  later: Counts | undefined;
  /** The latest successive requests without a failure: V1 or V2 served them. */
  wells: number;
  /** The latest requests, the time of the first, and the counts of the trouble until then. */
  latest:
    | {
        requests: number;
        failed: number;
        readonly since: number;
        readonly until: Pick<Trouble, 'requests' | 'failures'>;
      }
    | undefined;
  /** True once most of its requests, or clearly more than before, had failed: also if fewer of the later ones do. */
  isSevere: boolean;
  isReported: boolean;
  /** True if V1 served these requests when it ended, so that nothing shows that V2 is well. */
  isMoved: boolean;
  /** True for trouble of a client that does not count for the operation, because other clients do well there. */
  isApart: boolean;
}

type LastingTrouble = Trouble & { readonly until: undefined };

/** An operation, or one of its clients, whose requests are judged. */
export interface Judged {
  /** The successive requests that all failed, or that all succeeded. */
  row: { failed: boolean; requests: number; since: number; failures: Failures };
  trouble: Trouble | undefined;
}

/** {@link Counts} that grow. */
export interface Tallied {
  requests: number;
  failed: number;
}

export function isLasting(trouble: Trouble | undefined): trouble is LastingTrouble {
  return trouble !== undefined && trouble.until === undefined;
}

export function begun(
  trouble: Pick<Trouble, 'kind' | 'requests' | 'failures' | 'since' | 'before' | 'compared'>,
  last: number,
): Trouble {
  return {
    ...trouble,
    isSevere: trouble.kind === 'always',
    upToLast: trouble.requests,
    last,
    until: undefined,
    recovered: 0,
    later: undefined,
    wells: 0,
    latest: undefined,
    isReported: false,
    isMoved: false,
    isApart: false,
  };
}

export function goOn(trouble: Trouble, { entry, failed, time }: Request): void {
  trouble.requests += 1;
  if (failed) {
    trouble.upToLast = trouble.requests;
    trouble.last = time;
    trouble.failures.add(entry);
  } else if (trouble.kind === 'always') trouble.kind = 'more';
  endWhenWell(trouble, failed);
}

/** Ends trouble after {@link RECOVERED} successive requests without a failure: V1 or V2 served them, or both, as in a canary. */
export function endWhenWell(trouble: Trouble | undefined, failed: boolean): void {
  if (!isLasting(trouble)) return;
  trouble.wells = failed ? 0 : trouble.wells + 1;
  if (trouble.wells < RECOVERED) return;
  trouble.recovered = trouble.requests - trouble.upToLast;
  end(trouble, trouble.recovered === 0);
}

/** Ends trouble that lasts with its last failure: later requests do not count for it. */
export function end(trouble: Trouble, isMoved = false): void {
  if (!isLasting(trouble)) return;
  const { requests, upToLast, last } = trouble;
  const later = { requests: requests - upToLast, failed: 0 };
  Object.assign(trouble, { requests: upToLast, until: last, later, isMoved });
}

/** Ends trouble once no larger share fails than before it began: an operation may always have failed at times. */
export function endAsBefore({ trouble }: Judged, { failed, time }: Request): void {
  if (!isLasting(trouble)) return;
  const { compared, requests, failures } = trouble;
  const latest = (trouble.latest ??= {
    requests: 0,
    failed: 0,
    since: time,
    until: { requests, failures: Failures.of([failures]) },
  });
  latest.requests += 1;
  if (failed) latest.failed += 1;
  if (latest.requests < AS_BEFORE) return;
  trouble.latest = undefined;
  if (compared.requests === 0 || latest.failed * compared.requests > compared.failed * latest.requests)
    return;
  const { until } = latest;
  const later = { requests: requests - until.requests, failed: failures.count - until.failures.count };
  Object.assign(trouble, until, { until: latest.since, recovered: RECOVERED, later });
}

function noRow(failed: boolean, since: number): Judged['row'] {
  return { failed, requests: 0, since, failures: new Failures() };
}

export function unjudged(time: number): Judged {
  return { row: noRow(false, time), trouble: undefined };
}

export function addToRow(judged: Judged, { entry, failed, began }: Request): void {
  if (judged.row.requests === 0 || judged.row.failed !== failed) judged.row = noRow(failed, began);
  judged.row.requests += 1;
  if (failed) judged.row.failures.add(entry);
}

/** What is known of the trouble of an operation, or of a call. */
export function troubleOf(
  operation: string,
  {
    wells: _wells,
    later: _later,
    latest: _latest,
    isReported: _isReported,
    isApart: _isApart,
    isMoved,
    failures,
    ...trouble
  }: Trouble,
  rule: RollbackRule,
  isOutage = false,
): OperationTrouble {
  const { count: failed, isRefusal, answer, inCanary, clients: hit } = failures;
  const present = { requests: trouble.requests, failed };
  return {
    operation,
    ...trouble,
    failed,
    isRefusal,
    isOutage,
    ...(answer === undefined ? {} : { answer }),
    ...(inCanary ? { inCanary } : {}),
    ...(isMoved ? { isMoved } : {}),
    hit,
    evidence: evidenceOf(trouble, present, rule),
  };
}

export function isReported(
  { until, last }: Pick<Trouble, 'until' | 'last'>,
  now: number,
  reportedMs: number,
): boolean {
  return until === undefined ? now - last < LASTING_MS : now - until < reportedMs;
}

export function endOf({ until, last }: Pick<Trouble, 'until' | 'last'>): number {
  return until ?? last;
}
