import { isUnfit, NO_KEY, OTHER_CALLS } from '../rewrite-log/entry.ts';
import { clientName, countedClients } from '../report/text.ts';
import { count, counted } from '../rules/words.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import { type OperationTrouble, RECOVERED } from '../rewrite-log/health/trouble.ts';
import { ownMode, type RolloutSubject, sendsToV2 } from '../rollout/modes-in-force.ts';
import type { ChangeRecord } from '../rollout/rollout-tally.ts';
import { type Condition, type ConditionFacts, REPORTED_MS } from './condition.ts';
import { outagesOfV2 } from './fleet-facts.ts';
import { callTerms } from './problems.ts';
import { backAction, contactWords, outageWords, servedWords } from './service-conditions.ts';

/** Milliseconds without a failure after which an operation that failed does not count as failing now. */
const SILENT_MS = 3_600_000;

/** Milliseconds after the end of trouble from which it is past although V2 has responded to fewer than {@link RECOVERED} requests since. */
const PAST_MS = 120_000;

/** Requests before trouble from which the past of an operation counts as known. */
const ENOUGH_BEFORE = 20;

/** Trouble of an operation; with `isBack` V1 gets the operation's requests again, and V2 has not recovered before. */
interface TroubleNow extends OperationTrouble {
  readonly isBack?: true;
}

/**
 * The troubles of operations, without those that ended `reportedMs` ago: `own`, and those of an `outage` in which V2 responded to none of
 * several operations.
 */
export function troublesByCause(
  facts: ConditionFacts,
  reportedMs = REPORTED_MS,
): Record<'outage' | 'own', readonly TroubleNow[]> {
  const troubles = reportedTroubles(facts, reportedMs);
  const outages = outagesOfV2(troubles, facts.stats.breaker !== 'closed');
  return { outage: [...outages], own: troubles.filter((one) => !outages.has(one)) };
}

function reportedTroubles(
  { operations, isAsked = () => true, now }: ConditionFacts,
  reportedMs: number,
): readonly TroubleNow[] {
  return operations.flatMap((trouble): readonly TroubleNow[] => {
    const { operation, hit, last, until, upToLast, recovered } = trouble;
    // If V2 got no requests for a time since the last failure, its later responses say nothing about this trouble.
    const told =
      until !== undefined || isAsked('v2', operation, last, hit)
        ? trouble
        : { ...trouble, requests: upToLast, until: last };
    if (told.until !== undefined && now - told.until >= reportedMs) return [];
    const isRecovered = until !== undefined && recovered > 0;
    return [isRecovered || isAsked('v2', operation, undefined, hit) ? told : { ...told, isBack: true }];
  });
}

/** Reports once that V2 did not respond to several operations, in place of a condition for each of them. */
export function outageCondition(operations: readonly TroubleNow[], facts: ConditionFacts): Condition {
  // A service that counts its outage counts requests without an operation as well.
  const outage = facts.recent.v2.outage ?? {
    requests: operations.reduce((sum, one) => sum + one.failed, 0),
    kept: 0,
    since: Math.min(...operations.map((one) => one.since)),
    last: Math.max(...operations.map((one) => one.last)),
    responded: 0,
  };
  const isOver = outage.responded >= RECOVERED || operations.every((one) => one.until !== undefined);
  const since = new Date(outage.since).toISOString();
  const isServed = operations.every(
    ({ operation, hit }) => facts.isAsked?.('v2', operation, undefined, hit) === false,
  );
  const isPast = isOver && (isServed || outage.responded >= RECOVERED || facts.now - outage.last >= PAST_MS);
  return {
    about: 'v2',
    level: 'note',
    ...(isPast ? { past: outage.requests } : {}),
    ...(isServed && (facts.lastResponses.v2 ?? 0) <= outage.last
      ? { left: operations.flatMap(subjectsOf) }
      : {}),
    label: 'V2 did not respond',
    sentence: `${outageWords('v2', outage, isOver)}.${isServed ? `${servedWords('them', operations, facts)} ${contactWords('v2', facts)}` : ''}`,
    place: { view: 'traffic', part: 'problems' },
    since,
    ...(isOver ? { until: new Date(outage.last).toISOString() } : {}),
  };
}

/** Reports trouble of an operation: `bad` if it fails more than before, but a note for refusals if its past is unknown. */
export function operationCondition(trouble: TroubleNow, facts: ConditionFacts): Condition {
  const { operation, kind, requests, failed, isRefusal, isSevere, clients, inCanary, isBack } = trouble;
  const { since, last, until, before, answer } = trouble;
  const isPast = until !== undefined;
  const isSilent = facts.now - last >= SILENT_MS;
  const isUnknown = isRefusal && before.requests < ENOUGH_BEFORE;
  const isCall = isUnfit(operation);
  const isMissing = isCall && (answer?.status === 404 || answer?.status === 405);
  const [verb, past] = isRefusal && !isCall ? ['is refused', 'was refused'] : ['fails', 'failed'];
  const words = isPast ? past : `${verb}${kind === 'always' ? '' : ' at times'}`;
  const label = `${subjectOf(trouble)} ${words}${whomWords(trouble, facts)}`;
  const of = `${count(failed)} of ${counted(requests, 'request')}${inCanary === true ? ' sent to V2' : ''}`;
  const from = new Date(since).toISOString();
  const period = periodWords(from, isPast ? new Date(until).toISOString() : undefined, clients);
  const lately = !isPast && isSilent ? `, the last failure at ${new Date(last).toISOString()}` : '';
  const response =
    answer === undefined || answer.status >= 500
      ? ''
      : `; ${answer.by === 'v2' ? 'V2' : 'the gateway'} ${isPast ? 'responded' : 'responds'} ${answer.status}`;
  const earlier =
    before.requests < ENOUGH_BEFORE
      ? 'Too little is known about the time before.'
      : `Before that, ${count(Math.round(before.failed))} of ${count(Math.round(before.requests))}${clients === undefined ? '' : ` requests of all clients${before.failed < 1 ? '' : ', these included,'}`} failed.`;
  return {
    about: 'operation',
    level: isPast || isSilent || isUnknown || !isSevere ? 'note' : 'bad',
    label,
    sentence: `${label}: ${of} ${period}${lately}${response}${silenceWords(trouble)}. ${earlier}${isBack === true ? backWords(trouble, facts) : isMissing && !isPast ? UNFIT : ''}`,
    place: { view: 'traffic', filter: filterOf(trouble) },
    operation,
    evidence: trouble.evidence,
    since: from,
    ...(isPast ? { until: new Date(until).toISOString() } : rollBackOf(trouble, facts)),
    ...(isOverFor(trouble, facts.now) ? { past: failed } : {}),
    ...(isBack === true ? { left: subjectsOf(trouble) } : {}),
  };
}

/** The clients that a trouble hits, with its operation. */
function subjectsOf({ operation: call, hit }: OperationTrouble): readonly RolloutSubject[] {
  const operation = isUnfit(call) ? undefined : call;
  const clients = hit.map((client) => (client === NO_KEY ? undefined : client));
  return (clients.length === 0 ? [undefined] : clients).map((client) => ({ client, operation }));
}

/** The time that the counts cover; each of several clients' requests count while they failed. */
function periodWords(from: string, until: string | undefined, clients: readonly string[] = []): string {
  if (clients.length < 2) return until === undefined ? `since ${from}` : `from ${from} until ${until}`;
  return until === undefined
    ? `since each began to fail, the first at ${from}`
    : `from when each began to fail, the first at ${from}, until each stopped, the last at ${until}`;
}

/**
 * When operations began to fail, and when they stopped: the times of their conditions, also of those that are reported no more. Where V1
 * took over, the change of modes says so; where V1 has ended, nothing shows that V2 is well.
 */
export function operationEvents(facts: ConditionFacts): readonly ChangeRecord[] {
  return troublesByCause(facts, Number.POSITIVE_INFINITY).own.flatMap((trouble): readonly ChangeRecord[] => {
    const { until, isMoved = false, isBack = false, whole = trouble } = trouble;
    const { requests, failed, since } = whole;
    const [subject, whom] = [subjectOf(trouble), whomWords(whole, facts)];
    const event = (at: number, what: string): ChangeRecord => ({
      at: new Date(at).toISOString(),
      kind: 'event',
      what,
    });
    return [
      event(since, `${subject} began to fail${whom}: ${count(failed)} of ${counted(requests, 'request')}`),
      ...(until === undefined || isMoved || isBack
        ? []
        : [event(until, `${subject} stopped failing${whom}`)]),
    ];
  });
}

/** What to do about a call that no operation fits. */
const UNFIT =
  ' No operation of the rule book fits it: add one that says where V2 has it, or that it is gone.';

function subjectOf({ operation }: OperationTrouble): string {
  return operation === OTHER_CALLS ? 'Calls of further addresses' : operation;
}

/** Names one or two clients that a trouble hits, or counts them. */
function whomWords({ hit }: Pick<OperationTrouble, 'hit'>, { names, agents }: ConditionFacts): string {
  if (hit.length === 0) return '';
  const named = hit.map((client) => clientName({ client, name: names.get(client) ?? agents[client] }));
  const isClear = hit.length < 3 && new Set(named).size === named.length;
  return ` for ${isClear ? named.join(' and ') : countedClients(hit)}`;
}

function silenceWords({ isOutage, failed }: OperationTrouble): string {
  return isOutage ? `; V2 did not respond to ${failed === 1 ? 'it' : 'any of these'}` : '';
}

function backWords(trouble: OperationTrouble, facts: ConditionFacts): string {
  return `${servedWords('it', [trouble], facts)}${trouble.isOutage ? ` ${contactWords('v2', facts)}` : ''}`;
}

/** Finds the exchanges of an operation, or of a call that no operation fits, for the one client that it is about. */
function filterOf({ operation, clients = [] }: OperationTrouble): string {
  const [client] = clients;
  const ofClient =
    client === undefined || clients.length > 1
      ? []
      : [{ negated: false, field: 'client', values: [client] } as const];
  return printFilter([...callTerms(operation), ...ofClient]);
}

/** Whether the trouble is past: V2 has recovered, gets no more of these requests, or has not failed like that for a time. */
function isOverFor({ until, isBack, isEarlier, recovered }: TroubleNow, now: number): boolean {
  return (
    until !== undefined &&
    (isBack === true || isEarlier === true || recovered >= RECOVERED || now - until >= PAST_MS)
  );
}

/** The action while an operation fails: to take it off V2, or the one client whose own mode still sends it there. */
function rollBackOf({ operation, hit }: OperationTrouble, facts: ConditionFacts): Pick<Condition, 'action'> {
  const { modeOnV1, rollout } = facts;
  const mode = modeOnV1?.(operation);
  if (mode !== undefined) return backAction({ ...mode, operation }, facts);
  const [client] = hit;
  if (client === undefined || hit.length > 1 || rollout?.v1Origin === undefined) return {};
  const own = ownMode(rollout.clients, client);
  return own !== undefined && sendsToV2(own) ? backAction({ mode: 'observe', client }, facts) : {};
}
