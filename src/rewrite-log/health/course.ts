import { divergence } from '../../rollout/evidence.ts';
import { leastDifference } from '../../rollout/rollout-state.ts';
import type { RollbackRule } from '../../rules/rollout.ts';
import { Failures, type HealthEntry } from './failures.ts';
import { type Counts, evidenceOf, type OperationTrouble, type Past, RECOVERED } from './trouble.ts';

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
  /** Requests since it began that V1 or V2 served. */
  served: number;
  /** The latest requests, which may show that it is over, and what it was until then. */
  latest:
    | {
        requests: number;
        failed: number;
        readonly until: Pick<Trouble, 'upToLast' | 'served' | 'last' | 'failures'>;
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
    served: trouble.requests,
    latest: undefined,
    isReported: false,
    isMoved: false,
    isApart: false,
  };
}

export function goOn(trouble: Trouble, request: Request, rule: RollbackRule): void {
  const { entry, failed, time } = request;
  count(trouble, failed);
  trouble.requests += 1;
  if (failed) {
    trouble.upToLast = trouble.requests;
    trouble.last = time;
    trouble.failures.add(entry);
  } else if (trouble.kind === 'always') trouble.kind = 'more';
  endWhenWell(trouble, rule);
}

/** A request that V1 served while trouble goes on, as in a canary: it may be over because V1 serves all of them. */
export function goOnAtV1(trouble: Trouble | undefined, failed: boolean, rule: RollbackRule): void {
  if (!isLasting(trouble)) return;
  count(trouble, failed);
  endWhenWell(trouble, rule);
}

/**
 * Counts a request among the latest ones, with which trouble may be over: since the failure after which they have failed less often than
 * halfway from the share before the trouble to its own.
 */
function count(trouble: Trouble, failed: boolean): void {
  const { compared, upToLast, served, last, failures } = trouble;
  const latest = (trouble.latest ??= { requests: 0, failed: 0, until: { upToLast, served, last, failures } });
  trouble.served += 1;
  latest.requests += 1;
  if (!failed) return;
  latest.failed += 1;
  const halfway = (shareOf(compared) + ownShareOf(latest.until)) / 2;
  if (shareOf(latest) >= halfway) trouble.latest = undefined;
  else if (latest.until.failures === failures) trouble.failures = Failures.of([failures]);
}

/**
 * Ends trouble once no larger share fails than before it, by the margin of the test, and with its own share so few failures of the latest
 * requests would be improbable, however often that is asked (the bound of Chernoff).
 */
function endWhenWell(trouble: Trouble, rule: RollbackRule): void {
  const { latest, compared, served } = trouble;
  if (latest === undefined || latest.requests < RECOVERED) return;
  const { until, requests } = latest;
  const now = shareOf(latest);
  if ((now - shareOf(compared)) * 100 >= leastDifference(rule)) return;
  if (requests * divergence(now, ownShareOf(until)) < Math.log(served / (1 - rule.certainty / 100))) return;
  const later = {
    requests: trouble.requests - until.upToLast,
    failed: trouble.failures.count - until.failures.count,
  };
  Object.assign(trouble, until, { requests: until.upToLast, until: until.last, later });
  trouble.recovered = later.requests - later.failed;
  trouble.isMoved = later.requests === 0;
}

function shareOf({ requests, failed }: Counts): number {
  return requests === 0 ? 0 : failed / requests;
}

/** The share of trouble's requests that failed, to V1 or to V2: not all of them, since the next one may do well. */
function ownShareOf({ served, failures }: Pick<Trouble, 'served' | 'failures'>): number {
  return failures.count / (served + 1);
}

/** Ends trouble that lasts with its last failure: later requests do not count for it. */
export function end(trouble: Trouble, isMoved = false): void {
  if (!isLasting(trouble)) return;
  const { requests, upToLast, last } = trouble;
  const later = { requests: requests - upToLast, failed: 0 };
  Object.assign(trouble, { requests: upToLast, until: last, later, isMoved });
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
    served: _served,
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
