import {
  certificateSentence,
  clientName,
  count,
  counted,
  countedClients,
  isUnfit,
  lengthWords,
  listed,
  OTHER_CALLS,
} from '../report/text.ts';
import { errorValue } from '../rewrite-log/entry.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import type { HourOfV2, IsAsked, OriginFailures, PastRequests } from '../rewrite-log/history.ts';
import type { ServiceOutage } from '../rewrite-log/service-outages.ts';
import type { GatewayStats } from '../rewrite-log/metric-families.ts';
import { RECOVERED, type OperationTrouble, type TroubleEvidence } from '../rewrite-log/operation-health.ts';
import { isAsked, ownMode, sendsToV2 } from '../rollout/modes-in-force.ts';
import type { Mode, Modes } from '../rules/rollout.ts';
import type { FleetFacts } from './fleet-facts.ts';
import { callTerms, type FreshFailures } from './problems.ts';
import { hasEnded } from './end-of-v1.ts';
import { commandTitle, modesOf, operationOf } from './rollout-effect.ts';
import { type EarlierModes, reasonSentence, type RollbackCause, SEVERAL } from '../rollout/rollout-state.ts';
import type { ModeView, RollbackView, RolloutRequest, RolloutView } from '../rollout/rollout-tally.ts';

/** State of one part: with `bad` requests fail now, with `note` they will or may fail; `unknown` means that it was not used lately. */
export type ConditionLevel = 'bad' | 'note' | 'unknown' | 'good';

/** Current state of one part of the gateway, or of a service behind it. */
export interface Condition {
  readonly about:
    | 'v2'
    | 'v1'
    | 'operation'
    | 'rule-book'
    | 'roll-back'
    | 'brownout'
    | 'end'
    | 'certificate'
    | 'replicas'
    | 'log';
  readonly level: ConditionLevel;
  /** A few words for the header, such as `V2: circuit open`. */
  readonly label: string;
  /** The state, and its effect on requests. */
  readonly sentence: string;
  /** Where the page shows more: a view, and a filter of its exchanges. */
  readonly place?: Place;
  /** The operation that fails, with the shares that failed before and since. */
  readonly operation?: string;
  readonly evidence?: TroubleEvidence;
  /** RFC 3339: since when it fails, and until when; absent where that is not known, and while it lasts. */
  readonly since?: string;
  readonly until?: string;
  /** A command for `POST /rollout` that ends it, and its title. */
  readonly action?: { readonly title: string; readonly request: RolloutRequest };
  /** Failed requests of a fault that is past: it is over, and the service has responded well since. */
  readonly past?: number;
  /** True if an earlier condition reports the same fault of a service for the service's operations. */
  readonly isRepeated?: true;
}

/** A view of the page, and a filter of its exchanges. */
export interface Place {
  readonly view: 'overview' | 'traffic' | 'clients' | 'rules' | 'rollout';
  /** The problems, a part of the view of the traffic. */
  readonly part?: 'problems';
  readonly filter?: string;
}

/** An operation that the gateway rolled back automatically. */
export interface StandingRollBack {
  readonly operation: string;
  /** RFC 3339. */
  readonly at: string;
  /** The counts that showed it. */
  readonly why: string;
}

/** The facts behind the conditions. */
export interface ConditionFacts {
  readonly stats: FleetFacts['stats'];
  /** When each service responded last, also to a copy of a read: milliseconds since 1970. */
  readonly lastResponses?: FleetFacts['lastResponses'];
  /** Requests and failures of the services in the last `RECENT_MINUTES`. */
  readonly recent: OriginFailures;
  /** The trouble of operations, now or within the last hour. */
  readonly operations: readonly OperationTrouble[];
  /** Display names by client hash. */
  readonly names: ReadonlyMap<string, string>;
  /** Texts by which people recognise clients without a name, by client hash. */
  readonly agents?: FleetFacts['agents'];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Hash of the rule book in force. */
  readonly ruleBook: string;
  /** Number of faults in the rule book that was refused last, and when: milliseconds since 1970; undefined once a valid one is read. */
  readonly refusal: { readonly faults: number; readonly at: number } | undefined;
  /** Absent if the rollout cannot be read. */
  readonly rollout: RolloutView | undefined;
  /** See {@link askedIn}; absent if the rollout cannot be read. */
  readonly isAsked?: IsAsked | undefined;
  /** Operations that the gateway rolled back automatically. */
  readonly rolledBack?: readonly StandingRollBack[] | undefined;
  /** The replicas of these facts; absent without others. */
  readonly fleet?: FleetOf | undefined;
  /** The mode that takes an operation off V2; undefined if it sends nothing to V2, or there is no V1 to go back to. */
  readonly modeOnV1?: ((operation: string) => Mode | undefined) | undefined;
}

/** Several replicas that share a store. */
export interface FleetOf extends Pick<FleetFacts, 'replicas' | 'broken' | 'ruleBooks' | 'ruleBookSince'> {
  /** Silent replicas; `at` is milliseconds since 1970. */
  readonly silent: readonly { readonly name: string; readonly at: number }[];
}

/** Maximum calls that a sentence lists. */
const MOST_CALLS = 3;

const ORDER: readonly ConditionLevel[] = ['bad', 'note', 'unknown', 'good'];

/** Minutes over which a service is evaluated. */
export const RECENT_MINUTES = 2;

/** Minimum requests for a share of failures to be meaningful. */
const ENOUGH = 5;

/** Percentages of failed requests from which a service fails at times, or fails. */
const TROUBLE = 5;
const FAILING = 50;

const MINUTE_MS = 60_000;

/** Milliseconds without a request for a service after which its open circuit counts as not affecting clients. */
const NOT_ASKED_MS = 60_000;

/** Milliseconds without the store after which choices of other replicas may be missing. */
const LONG_ALONE_MS = 60_000;

/** Milliseconds without a failure after which an operation that failed does not count as failing now. */
const SILENT_MS = 3_600_000;

/** Milliseconds for which a condition is reported after its end. */
const REPORTED_MS = 3_600_000;

/** Milliseconds after the end of trouble from which fewer than {@link RECOVERED} responses show that it is past. */
const PAST_MS = 600_000;

/** Requests before trouble from which the past of an operation counts as known. */
const ENOUGH_BEFORE = 20;

/** Says which part of each client's rate limit one process has. */
export function rateLimitSentence({
  requests,
  per,
  processes,
  each,
}: NonNullable<RolloutView['rateLimit']>): string {
  return `Each client's rate limit of ${counted(requests, 'request')} in ${per / 1000} s is divided by ${processes} processes: ${each} in each.`;
}

/** Tells which services get requests for which operations in the modes in force; after the end of V1, none do. */
export function askedIn(rollout: RolloutView, earlier: readonly EarlierModes[], now: number): IsAsked {
  const modes = modesOf(rollout);
  const hasV1Ended = hasEnded(rollout, now);
  const since = new Map<string, number | undefined>();
  return (service, call, at = Number.POSITIVE_INFINITY) => {
    const key = `${service} ${call}`;
    if (!since.has(key)) since.set(key, askedSince(modes, earlier, service, operationOf(call)));
    const from = since.get(key);
    return !hasV1Ended && from !== undefined && at >= from;
  };
}

/** When the first such request could go to the service after the last change before which none did: milliseconds since 1970. */
function askedSince(
  modes: Modes,
  earlier: readonly EarlierModes[],
  service: 'v1' | 'v2',
  operation: string | undefined,
): number | undefined {
  if (!isAsked(modes, service, operation)) return undefined;
  return earlier.find((one) => !isAsked(one.modes, service, operation))?.at ?? 0;
}

/** The conditions of V2, V1, the rule book, roll-backs, brownouts, replicas and the log, worst first. */
export function conditionsOf(facts: ConditionFacts): readonly Condition[] {
  const { stats, rollout, now } = facts;
  const v2 = serviceCondition('v2', stats.breaker, facts);
  const services = [
    v2,
    ...(rollout?.v1Origin === undefined ? [] : [serviceCondition('v1', stats.v1Breaker ?? 'closed', facts)]),
  ];
  const { outage, own } = byCause(facts, operationsNow(facts));
  const lasting = own.filter(({ until }) => until === undefined);
  // Failures of one operation, or a service that only refuses, are better described by operation; failures of several, by service.
  const reported = lasting.length === 0 ? own : lasting;
  const isOfOperations =
    stats.breaker === 'closed' &&
    outage.every(({ until }) => until !== undefined) &&
    // Trouble that is over does not explain why V2 fails now.
    (lasting.length > 0 || v2.level !== 'bad') &&
    (reported.length === 1 || (reported.length > 1 && reported.every(({ isRefusal }) => isRefusal)));
  // What a service failed lately in an outage is told once, with the whole outage.
  const isOfOutage = outage.length > 0 && stats.breaker === 'closed' && v2.until !== undefined;
  const operations = [
    ...own
      .filter(({ isRefusal }) => isRefusal || isOfOperations || v2.level !== 'bad')
      .map((trouble) => operationCondition(trouble, facts)),
    ...(outage.length === 0 || stats.breaker !== 'closed' || v2.level === 'bad'
      ? []
      : [outageCondition(outage, facts)]),
  ];
  const conditions = [
    ...(isOfOperations
      ? [...operations, ...services.map(repeated)]
      : isOfOutage
        ? [...operations, repeated(v2), ...services.slice(1)]
        : [...services, ...operations]),
    ...(rollout === undefined ? [] : rollbackConditions(rollout, facts.rolledBack)),
    ruleBookCondition(facts),
    ...(rollout === undefined ? [] : brownoutConditions(rollout)),
    ...endConditions(rollout, now),
    ...certificateConditions(stats.certificates ?? [], now),
    ...(rollout?.replica === undefined ? [] : [replicaCondition(rollout.replica, facts.fleet, now)]),
    ...fleetConditions(facts.fleet),
    ...logConditions(facts),
  ];
  return conditions.toSorted(
    (one, other) =>
      ORDER.indexOf(one.level) - ORDER.indexOf(other.level) || Number(isOver(one)) - Number(isOver(other)),
  );
}

function isOver({ until }: Condition): boolean {
  return until !== undefined;
}

/** Trouble of an operation; with `isBack` V2 no longer gets the operation's requests. */
interface TroubleNow extends OperationTrouble {
  readonly isBack?: true;
}

function operationsNow({
  operations,
  isAsked: isAskedNow = () => true,
  now,
}: ConditionFacts): readonly TroubleNow[] {
  return operations.flatMap((trouble): readonly TroubleNow[] => {
    const { operation, last, until, upToLast = trouble.requests } = trouble;
    // Responses after the last change of the mode are none of what failed before it.
    const over =
      until !== undefined || isAskedNow('v2', operation, last)
        ? trouble
        : { ...trouble, requests: upToLast, until: last };
    if (over.until !== undefined && now - over.until >= REPORTED_MS) return [];
    const isRecovered = until !== undefined && (trouble.recovered ?? 0) > 0;
    return [isRecovered || isAskedNow('v2', operation) ? over : { ...over, isBack: true }];
  });
}

/** The trouble of operations; if V2 responds to none of several, V2 is named as the cause instead of the operations. */
function byCause(
  { stats }: ConditionFacts,
  operations: readonly TroubleNow[],
): Record<'outage' | 'own', readonly TroubleNow[]> {
  const outage = operations.filter(({ isOwn }) => !isOwn);
  return outage.length > 1 || stats.breaker !== 'closed'
    ? { outage, own: operations.filter((one) => !outage.includes(one)) }
    : { outage: [], own: operations };
}

/** Reports once that V2 did not respond to several operations, in place of a condition for each of them. */
function outageCondition(operations: readonly TroubleNow[], facts: ConditionFacts): Condition {
  const outages = operations.map((one) => one.outage ?? one);
  // A service that counts its outage counts requests without an operation as well.
  const outage = facts.recent.v2.outage ?? {
    requests: operations.reduce((sum, one) => sum + one.unanswered, 0),
    kept: 0,
    since: Math.min(...outages.map((one) => one.since)),
    last: Math.max(...outages.map((one) => one.last)),
    responded: 0,
  };
  const isOver = outage.responded >= RECOVERED || operations.every((one) => one.until !== undefined);
  const since = new Date(outage.since).toISOString();
  const onV1 = operations.filter(({ operation }) => facts.isAsked?.('v2', operation) === false);
  const isServed = onV1.length === operations.length;
  return {
    about: 'v2',
    level: 'note',
    ...(outage.responded >= RECOVERED && onV1.length === 0 ? { past: outage.requests } : {}),
    label: 'V2 did not respond',
    sentence: `${outageWords('v2', outage, isOver)}.${isServed ? `${servedWords('them', facts)} ${contactWords('v2', facts)}` : ''}`,
    place: { view: 'traffic', part: 'problems' },
    since,
    ...(isOver ? { until: new Date(outage.last).toISOString() } : {}),
  };
}

/** Says that V1 serves what V2 does not get any more; empty after the end of V1. */
function servedWords(what: 'it' | 'them', { rollout, now }: ConditionFacts): string {
  return rollout !== undefined && hasEnded(rollout, now) ? '' : ` V1 serves ${what} now.`;
}

function outageWords(
  about: 'v1' | 'v2',
  { requests, kept, since, last }: ServiceOutage,
  isOver: boolean,
): string {
  const [from, to] = [new Date(since).toISOString(), new Date(last).toISOString()];
  const period = isOver ? `from ${from} until ${to}` : `since ${from}, the last at ${to}`;
  return `${about.toUpperCase()} did not respond to ${counted(requests, 'request')} ${period}${keptWords(requests, kept)}`;
}

/** How many failed requests did not go to the service that they were for. */
function keptWords(failed: number, kept: number): string {
  if (kept === 0) return '';
  const which =
    kept === failed ? 'none of these was' : `${count(kept)} of these ${kept === 1 ? 'was' : 'were'} not`;
  return `; ${which} sent, because its circuit was open`;
}

function serviceCondition(
  about: 'v1' | 'v2',
  breaker: GatewayStats['breaker'],
  facts: ConditionFacts,
): Condition {
  const { recent, fleet, now } = facts;
  const name = about.toUpperCase();
  const { requests, failed, refused, kept = 0, inARow, past } = recent[about];
  const place = { view: 'traffic', part: 'problems' } as const;
  const isRefusal = failed > 0 && refused === failed;
  const how = isRefusal ? `, ${failed === 1 ? 'a refusal' : 'all of them refusals'}` : '';
  const share =
    requests === 0
      ? `No client's request went to ${name} in the last two minutes.`
      : `${failed} of ${counted(requests, 'request')} ${kept === 0 ? 'to' : 'for'} ${name} failed in the last two minutes${how}${keptWords(failed, kept)}.`;
  const since = inARow.failed ? new Date(inARow.since).toISOString() : undefined;
  const failingSince = since === undefined ? {} : { since, ...retreatFrom(about, facts) };
  const isLeft = requests === 0 && past !== undefined;
  if (breaker !== 'closed' && (isLeft || now - inARow.last >= NOT_ASKED_MS))
    return notAskedCondition(about, breaker, facts);
  if (breaker !== 'closed') {
    const where =
      fleet === undefined || fleet.broken[about] === fleet.replicas
        ? ''
        : ` at ${fleet.broken[about]} of ${counted(fleet.replicas, 'replica')}`;
    const meaning =
      breaker === 'open'
        ? `the circuit is open${where}: requests to it get 503 until it responds to a probe`
        : `a probe was sent${where}: other requests get 503 until it responds to the probe`;
    const fails = since === undefined ? `${name} keeps failing` : `${name} has failed since ${since}`;
    const sentence = `${fails}, so ${meaning}. ${share}`;
    return { about, level: 'bad', label: `${name}: circuit ${breaker}`, sentence, place, ...failingSince };
  }
  if (isLeft) return leftCondition(about, past, facts);
  if (requests === 0) {
    const sentence = `No client's request went to ${name} in the last two minutes. ${contactWords(about, facts)}`;
    return { about, level: 'unknown', label: `${name} idle`, sentence };
  }
  const percent = ((isRefusal ? failed : failed - refused) * 100) / requests;
  // A service that refuses requests does respond: its operations show whether these refusals are new.
  if (isRefusal && (percent >= TROUBLE || requests < ENOUGH)) {
    const label = failed === requests ? `${name} refuses requests` : `${name} refuses some requests`;
    return { about, level: 'note', label, sentence: share, place };
  }
  if (isRefusal) return { about, level: 'good', label: `${name} responds`, sentence: share };
  const last =
    inARow.requests < 2
      ? ''
      : ` ${since === undefined && refused > 0 ? `Apart from ${counted(refused, 'refusal')}, the` : 'The'} last ${count(inARow.requests)} ${since === undefined ? 'did not fail' : `all failed, since ${since}`}.`;
  const lately = `${share}${last}`;
  // The last requests show sooner than the share of failures that a service has just failed or recovered.
  if (inARow.failed && inARow.requests >= ENOUGH)
    return { about, level: 'bad', label: `${name} fails`, sentence: lately, place, ...failingSince };
  // A share of failures from before that says nothing about the present.
  const isWell = !inARow.failed && inARow.requests >= (percent >= FAILING ? ENOUGH : RECOVERED);
  if (failed > 0 && isWell)
    return {
      about,
      level: 'note',
      label: `${name} failed lately`,
      sentence: lately,
      place,
      until: new Date(inARow.since).toISOString(),
      ...(inARow.requests >= RECOVERED ? { past: failed } : {}),
    };
  if (requests >= ENOUGH && percent >= FAILING)
    return { about, level: 'bad', label: `${name} fails`, sentence: lately, place };
  if (failed > 0 && (percent >= TROUBLE || requests < ENOUGH)) {
    // A few requests that all failed are too few for more than a note, but they do not mean occasional failures.
    const isAlways = failed === requests;
    const label = isAlways ? `${name} fails` : `${name} fails at times`;
    return { about, level: 'note', label, sentence: share, place, ...(isAlways ? failingSince : {}) };
  }
  return { about, level: 'good', label: `${name} responds`, sentence: share };
}

/** Reports an open circuit to a service that gets no requests: no client gets failures from it, and nothing shows whether it still fails. */
function notAskedCondition(
  about: 'v1' | 'v2',
  breaker: GatewayStats['breaker'],
  facts: ConditionFacts,
): Condition {
  const { recent } = facts;
  const name = about.toUpperCase();
  const other = about === 'v1' ? 'v2' : 'v1';
  const { last, failed, since } = recent[about].inARow;
  const isServed = recent[other].requests > 0 && recent[other].inARow.last > last;
  const asked = last === 0 ? '' : ` when it was asked last, at ${new Date(last).toISOString()}`;
  const sentence = `${name} failed${asked}, so its circuit is still ${breaker}. No request has gone to it since${isServed ? `: ${other.toUpperCase()} serves the clients now` : ''}. ${contactWords(about, facts)}`;
  const place = { view: 'traffic', part: 'problems' } as const;
  return {
    about,
    level: 'note',
    label: `${name}: circuit ${breaker}, not asked`,
    sentence,
    place,
    ...(failed ? { since: new Date(since).toISOString() } : {}),
  };
}

/** Reports a service that no longer gets requests: its earlier failures do not affect clients now. */
function leftCondition(
  about: 'v1' | 'v2',
  { requests, failed, since = 0, last }: PastRequests,
  facts: ConditionFacts,
): Condition {
  const { recent, rollout, now } = facts;
  const name = about.toUpperCase();
  const other = about === 'v1' ? 'v2' : 'v1';
  const at = new Date(last).toISOString();
  const after =
    rollout !== undefined && hasEnded(rollout, now)
      ? 'V1 has ended since'
      : recent[other].inARow.last > last
        ? `${other.toUpperCase()} has served since`
        : 'no request has gone to it since';
  // The time of the last request is said above.
  const contact = about === 'v2' ? facts.stats.v2Contact : facts.stats.v1Contact;
  const isNews = contact !== undefined || (facts.lastResponses?.[about] ?? 0) > last;
  if (failed === 0 || failed * 100 < requests * TROUBLE)
    return {
      about,
      level: 'unknown',
      label: `${name} idle`,
      sentence: `The last request went to ${name} at ${at}; ${after}.${isNews ? ` ${contactWords(about, facts)}` : ''}`,
    };
  const { outage } = recent[about];
  const isOutage = outage !== undefined && now - outage.last < RECENT_MINUTES * MINUTE_MS;
  const what = isOutage
    ? outageWords(about, outage, true)
    : `${name} failed ${count(failed)} of ${counted(requests, 'request')} from ${new Date(since).toISOString()} until ${at}`;
  return {
    about,
    level: 'note',
    label: `${name} failed lately`,
    sentence: `${what}; ${after}. ${contactWords(about, facts)}`,
    place: { view: 'traffic', part: 'problems' },
    until: isOutage ? new Date(outage.last).toISOString() : at,
  };
}

/** Whether a service that gets no requests now would respond, as far as that is known: an operator must know before going forward again. */
function contactWords(about: 'v1' | 'v2', { stats, lastResponses = {}, now }: ConditionFacts): string {
  const name = about.toUpperCase();
  const [breaker, contact] =
    about === 'v2' ? [stats.breaker, stats.v2Contact] : [stats.v1Breaker ?? 'closed', stats.v1Contact];
  if (contact?.isAway === true)
    return `${name} accepts no connection: the gateway keeps trying, and the circuit closes once it succeeds.`;
  const at = lastResponses[about];
  if (breaker !== 'closed')
    return `It is not known whether ${name} responds; the circuit closes with the first response.`;
  if (contact !== undefined && contact.since > (at ?? 0))
    return `${name} has accepted connections again since ${new Date(contact.since).toISOString()}; it has had no request since.`;
  if (at === undefined) return `It is not known whether ${name} responds.`;
  const last = `${name} responded last at ${new Date(at).toISOString()}, ${agoWords(now - at)}`;
  return now - at < RECENT_MINUTES * MINUTE_MS ? `${last}.` : `${last}; no request goes to it now.`;
}

function agoWords(milliseconds: number): string {
  return milliseconds < MINUTE_MS ? 'less than a minute ago' : `${lengthWords(milliseconds)} ago`;
}

/** The action while V2 fails: to let V1 serve everything, and then what a mode of its own still sends to V2. */
function retreatFrom(about: 'v1' | 'v2', facts: ConditionFacts): Pick<Condition, 'action'> {
  const { rollout } = facts;
  if (about === 'v1' || rollout?.v1Origin === undefined) return {};
  const stages: readonly (readonly [ModeView, Pick<RolloutRequest, 'operation' | 'client'>])[] = [
    [rollout.default, {}],
    ...Object.entries(rollout.operations).map(([operation, mode]) => [mode, { operation }] as const),
    ...Object.entries(rollout.clients).map(([client, mode]) => [mode, { client }] as const),
  ];
  const [, target] = stages.find(([mode]) => sendsToV2(mode)) ?? [];
  return target === undefined ? {} : backAction({ mode: 'observe', ...target }, facts);
}

function repeated(condition: Condition): Condition {
  if (condition.level !== 'bad' && condition.level !== 'note') return condition;
  return { ...condition, level: 'note', isRepeated: true };
}

/** Reports trouble of an operation: `bad` if it fails more than before, but a note for refusals if its past is unknown. */
function operationCondition(trouble: TroubleNow, facts: ConditionFacts): Condition {
  const { operation, kind, requests, failed, isRefusal, clients, inCanary, isBack } = trouble;
  const { since, last, until, before, answer } = trouble;
  const isPast = until !== undefined;
  const isSilent = facts.now - last >= SILENT_MS;
  const isUnknown = isRefusal && before.requests < ENOUGH_BEFORE;
  const isMost = kind === 'always' || failed * 100 >= requests * FAILING;
  const isCall = isUnfit(operation);
  const isMissing = isCall && (answer?.status === 404 || answer?.status === 405);
  const [verb, past] = isRefusal && !isCall ? ['is refused', 'was refused'] : ['fails', 'failed'];
  const subject = operation === OTHER_CALLS ? 'Calls of further addresses' : operation;
  const words = isPast ? past : `${verb}${kind === 'always' ? '' : ' at times'}`;
  const label = `${subject} ${words}${whomWords(trouble, facts)}`;
  const of = `${count(failed)} of ${counted(requests, 'request')}${inCanary === true ? ' sent to V2' : ''}`;
  const from = new Date(since).toISOString();
  const period = isPast ? `from ${from} until ${new Date(until).toISOString()}` : `since ${from}`;
  const lately = !isPast && isSilent ? `, the last at ${new Date(last).toISOString()}` : '';
  const response =
    answer === undefined || answer.status >= 500
      ? ''
      : `; ${answer.by === 'v2' ? 'V2' : 'the gateway'} ${isPast ? 'responded' : 'responds'} ${answer.status}`;
  const earlier =
    before.requests < ENOUGH_BEFORE
      ? 'Too little is known about the time before.'
      : `Before that, ${count(Math.round(before.failed))} of ${count(Math.round(before.requests))}${clients === undefined ? '' : ' of all clients'} failed.`;
  return {
    about: 'operation',
    level: isPast || isSilent || isUnknown || !isMost ? 'note' : 'bad',
    label,
    sentence: `${label}: ${of} ${period}${lately}${response}${silenceWords(trouble)}. ${earlier}${isBack === true ? backWords(trouble, facts) : isMissing && !isPast ? UNFIT : ''}`,
    place: { view: 'traffic', filter: filterOf(trouble) },
    operation,
    evidence: trouble.evidence,
    since: from,
    ...(isPast ? { until: new Date(until).toISOString() } : rollBackOf(trouble, facts)),
    ...(isRecovered(trouble, facts.now) ? { past: failed } : {}),
  };
}

/** What to do about a call that no operation fits. */
const UNFIT =
  ' No operation of the rule book fits it: add one that says where V2 has it, or that it is gone.';

/** Names one or two clients that a trouble hits, or counts them. */
function whomWords({ hit = [] }: OperationTrouble, { names, agents = {} }: ConditionFacts): string {
  if (hit.length === 0) return '';
  const named = hit.map((client) => clientName({ client, name: names.get(client) ?? agents[client] }));
  const isClear = hit.length < 3 && new Set(named).size === named.length;
  return ` for ${isClear ? named.join(' and ') : countedClients(hit)}`;
}

function silenceWords({ unanswered, failed }: OperationTrouble): string {
  if (unanswered === 0) return '';
  const which =
    unanswered === failed ? (failed === 1 ? 'it' : 'any of these') : `${count(unanswered)} of these`;
  return `; V2 did not respond to ${which}`;
}

function backWords({ unanswered }: OperationTrouble, facts: ConditionFacts): string {
  return `${servedWords('it', facts)}${unanswered === 0 ? '' : ` ${contactWords('v2', facts)}`}`;
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

/** Whether V2 has responded well to the operation since its trouble was over: V1's responses show nothing about V2. */
function isRecovered({ until, isBack, recovered = 0 }: TroubleNow, now: number): boolean {
  if (until === undefined || isBack === true) return false;
  return recovered >= RECOVERED || (recovered > 0 && now - until >= PAST_MS);
}

/** The action while an operation fails at V2: to take it off V2, and then the client that fails there in a mode of its own. */
function rollBackOf(
  { operation, hit = [] }: OperationTrouble,
  facts: ConditionFacts,
): Pick<Condition, 'action'> {
  const { modeOnV1, rollout } = facts;
  const mode = modeOnV1?.(operation);
  if (mode !== undefined) return backAction({ ...mode, operation }, facts);
  const [client] = hit;
  if (client === undefined || hit.length > 1 || rollout?.v1Origin === undefined) return {};
  const own = ownMode(rollout.clients, client);
  return own !== undefined && sendsToV2(own) ? backAction({ mode: 'observe', client }, facts) : {};
}

/** An action with the title that its confirmation has as well. */
function backAction(request: RolloutRequest, { rollout, names }: ConditionFacts): Pick<Condition, 'action'> {
  if (rollout === undefined) return {};
  return { action: { title: commandTitle(request, rollout, names), request } };
}

function endConditions(rollout: RolloutView | undefined, now: number): readonly Condition[] {
  const { sunset, gone } = rollout ?? {};
  if (sunset === undefined || gone === undefined || now < Date.parse(sunset)) return [];
  const whose = gone.clients === undefined ? '' : ` of ${gone.clients.join(', ')}`;
  const but = gone.except === undefined ? '' : `, except those of ${gone.except.join(', ')}`;
  return [
    {
      about: 'end',
      level: 'good',
      label: 'V1 has ended',
      sentence: `V1 ended at ${sunset}: V1 requests${whose} get 410, on purpose${but}.`,
      place: { view: 'clients' },
      since: sunset,
    },
  ];
}

function certificateConditions(
  certificates: NonNullable<GatewayStats['certificates']>,
  now: number,
): readonly Condition[] {
  return certificates.flatMap((certificate) => {
    const sentence = certificateSentence(certificate, now);
    if (sentence === undefined) return [];
    const isOver = certificate.notAfter <= now;
    return [
      {
        about: 'certificate',
        level: isOver ? 'bad' : 'note',
        label: isOver ? 'Certificate ended' : 'Certificate ends',
        sentence,
      },
    ];
  });
}

/** The overall state in one sentence: the same on the page, in `GET /status` and in the command `status`. */
export interface Verdict {
  /** The subject; absent if all is well, or nothing is known. */
  readonly about?: Condition['about'];
  /** `bad`: requests fail, or will soon; `note`: worth knowing; `unknown`: no traffic yet; `good`: all is well. */
  readonly level: ConditionLevel;
  /** A few words for the header. */
  readonly label: string;
  readonly sentence: string;
  /** RFC 3339: since when it has been so; absent if unknown. */
  readonly since?: string;
  /** The evidence for it, and what would end it. */
  readonly evidence?: TroubleEvidence;
  readonly action?: Condition['action'];
}

/** Facts for the verdict in addition to the conditions. */
interface Seen {
  /** Requests since the start. */
  readonly requests: number;
  readonly lastHour: HourOfV2;
  /** Number of replicas that counted these facts, if there are several. */
  readonly replicas?: number | undefined;
  /** Start of the time in which no operation failed more than before: milliseconds since 1970. */
  readonly since: number;
  /** The last change of the modes: milliseconds since 1970; absent without any. */
  readonly changedAt?: number | undefined;
  /** Failures that are new or back, and go on; absent without any. */
  readonly fresh?: FreshFailures | undefined;
  readonly now: number;
}

/** Summarises everything by the worst condition. */
export function verdictOf(
  conditions: readonly Condition[],
  { requests, lastHour, replicas = 1, since, changedAt = 0, fresh, now }: Seen,
): Verdict {
  const all = conditions.filter(
    ({ level, isRepeated }) => (level === 'bad' || level === 'note') && isRepeated !== true,
  );
  const notable = all.filter(({ past }) => past === undefined);
  const [worst] = notable;
  const ended = conditions.find(({ about }) => about === 'end');
  if (worst !== undefined) {
    const others = notable.filter(({ level }) => level === worst.level).slice(1);
    const rest = others.length;
    // An unreachable store makes no request fail, so it must not hide conditions that do.
    const hidden = worst.about === 'replicas' ? notable.find(isOfRequests) : undefined;
    const more = `${rest === 0 ? '' : ` Also: ${others.map(({ label }) => label).join('; ')}.`}${hidden === undefined ? '' : ` ${hidden.sentence}`}${ended === undefined ? '' : ` ${ended.sentence}`}`;
    return {
      about: worst.about,
      level: worst.level,
      label:
        rest === 1
          ? `${worst.label}; ${others[0]?.label}`
          : rest === 0
            ? worst.label
            : `${worst.label}; ${rest} more`,
      sentence: `${worst.sentence}${more}`,
      ...(worst.since === undefined ? {} : { since: worst.since }),
      ...(worst.evidence === undefined ? {} : { evidence: worst.evidence }),
      ...(worst.action === undefined ? {} : { action: worst.action }),
    };
  }
  if (requests === 0)
    return { level: 'unknown', label: 'No request yet', sentence: 'No request yet, so nothing is known.' };
  const before = ended === undefined ? '' : `${ended.sentence} `;
  const from = Math.max(since, changedAt, ...all.map(({ until = '' }) => Date.parse(until) || 0));
  const age = now - from < MINUTE_MS ? 'less than a minute' : lengthWords(now - from);
  const length = from === changedAt ? `${age}, since the modes were changed` : age;
  const whose = replicas === 1 ? '' : ` at ${counted(replicas, 'replica')}`;
  const refusals =
    lastHour.refused === 0
      ? ''
      : ` In the last hour V2 refused ${count(lastHour.refused)} of ${counted(lastHour.requests, 'request')}.`;
  const { failed } = lastHour;
  // A few failures are not trouble of an operation, but "all well" would be wrong, unless a fault that is past explains them.
  const isAll = failed <= all.reduce((sum, { past = 0 }) => sum + past, 0);
  const state = isAll
    ? `All well for ${length}${whose}.`
    : `For ${length}${from === changedAt ? ',' : ''} no operation has failed more than before${whose}. In the last hour ${counted(failed, 'request')} failed.`;
  const over = all.map(({ sentence }) => sentence);
  if (fresh !== undefined) return freshVerdict(fresh, before, now - Math.max(since, changedAt), over);
  return {
    level: 'good',
    label: !isAll ? 'Failures as before' : ended === undefined ? 'All well' : ended.label,
    sentence: [`${before}${state}`, ...over].join(' ') + refusals,
    since: new Date(from).toISOString(),
  };
}

/** Reports failures that are too few, or too rare, to be trouble of an operation; `known` is the time to which they can be compared. */
function freshVerdict(
  { requests, calls, since }: FreshFailures,
  before: string,
  known: number,
  over: readonly string[],
): Verdict {
  const at = new Date(since).toISOString();
  const compared =
    known < RECENT_MINUTES * MINUTE_MS
      ? 'Too little is known about the time before.'
      : 'No operation fails clearly more often than before.';
  const which = listed(
    calls.map((call) => (call === '' ? OTHER_CALLS : call)),
    MOST_CALLS,
  );
  return {
    level: 'note',
    label: counted(requests, 'new failure'),
    sentence: [
      `${before}${counted(requests, 'new failure')} since ${at}, in ${which}. ${compared}`,
      ...over,
    ].join(' '),
    since: at,
  };
}

/** The conditions that the verdict's sentence does not contain. */
export function beyondVerdict(
  { sentence: verdict }: Pick<Verdict, 'sentence'>,
  conditions: readonly Condition[],
): readonly Condition[] {
  return conditions.filter(({ isRepeated, sentence }) => isRepeated !== true && !verdict.includes(sentence));
}

function isOfRequests({ about, until }: Condition): boolean {
  return (about === 'v1' || about === 'v2' || about === 'operation') && until === undefined;
}

function rollbackConditions(
  { rollbacks }: RolloutView,
  operations: readonly StandingRollBack[] = [],
): readonly Condition[] {
  const about = 'roll-back';
  const standing = rollbacks.filter(({ resolved }) => resolved === undefined);
  const ofOperations = operations.map(({ operation, at, why }): Condition => ({
    about,
    level: 'bad',
    label: `${operation} rolled back`,
    sentence: `${operation} was rolled back to V1: ${why}. V1 responds until an operator chooses a mode.`,
    place: { view: 'rollout' },
    operation,
    since: at,
  }));
  if (standing.length + ofOperations.length === 0)
    return [{ about, level: 'good', label: 'No roll-back', sentence: 'No canary is rolled back.' }];
  const ofCanaries = standing.map((rollback): Condition => {
    const { cause } = rollback;
    const place: Place =
      cause === undefined ? { view: 'rollout' } : { view: 'traffic', filter: causeFilter(cause) };
    const sentence = rollbackWords(rollback);
    return { about, level: 'bad', label: 'Rolled back', sentence, place, since: rollback.at };
  });
  return [...ofCanaries, ...ofOperations];
}

function rollbackWords(rollback: RollbackView): string {
  const { operation, share, by, cause } = rollback;
  const stage = operation === undefined ? 'The canary' : `The canary of ${operation}`;
  const where = by === undefined ? '' : ` by ${by}`;
  return `${stage} of ${share} % was rolled back${where}: ${reasonSentence(rollback, cause?.name)} V1 responds until an operator chooses a mode.`;
}

/** The filter for the exchanges with the failure that rolled a canary back. */
export function causeFilter({ status: text, client = '-', operation, pointer }: RollbackCause): string {
  const [status = '', failure] = text.split(' ');
  const at = pointer === undefined ? {} : { pointer };
  const isError = failure !== undefined || /^[45]\d\d$/.test(status);
  const error =
    failure === undefined
      ? errorValue({ by: 'v2', code: status, ...at })
      : errorValue({ by: 'gateway', code: failure, ...at });
  const values = {
    error: isError ? error : undefined,
    status: isError ? undefined : status,
    origin: isError ? undefined : 'v2',
    client: client === SEVERAL ? undefined : client,
    op: operation === SEVERAL ? undefined : operation,
  };
  const fields = ['error', 'status', 'origin', 'client', 'op'] as const;
  return printFilter(
    fields.flatMap((field) => {
      const value = values[field];
      return value === undefined ? [] : [{ negated: false, field, values: [value] }];
    }),
  );
}

function ruleBookCondition({ ruleBook, refusal }: ConditionFacts): Condition {
  const [about, place] = ['rule-book', { view: 'rules' }] as const;
  if (refusal === undefined) {
    const sentence = `The rule book ${ruleBook} is in force, as in its file.`;
    return { about, level: 'good', label: 'Rule book in force', sentence, place };
  }
  const sentence = `The rule book on disk has ${counted(refusal.faults, 'fault')} and was refused; the one before it, ${ruleBook}, stays in force.`;
  const since = new Date(refusal.at).toISOString();
  return { about, level: 'bad', label: 'Rule book refused', sentence, place, since };
}

function brownoutConditions({ brownouts }: RolloutView): readonly Condition[] {
  return brownouts
    .filter(({ state }) => state === 'on')
    .map(({ id, share, status, from, until }) => ({
      about: 'brownout',
      level: 'note',
      label: 'Brownout',
      sentence: `The brownout ${id} responds to ${share} % of its V1 requests with ${status}, on purpose${until === undefined ? '' : `, until ${until}`}.`,
      place: { view: 'traffic', filter: 'error:gateway-brownout' },
      ...(from === undefined ? {} : { since: from }),
    }));
}

function replicaCondition(
  {
    name,
    aloneSince,
    aloneReason = 'no reason known',
    unsteady,
    ...known
  }: NonNullable<RolloutView['replica']>,
  fleet: FleetOf | undefined,
  now: number,
): Condition {
  const replicas = fleet?.replicas ?? known.replicas;
  const [about, place] = ['replicas', { view: 'rollout' }] as const;
  const isLong = aloneSince !== undefined && now - Date.parse(aloneSince) >= LONG_ALONE_MS;
  if (unsteady !== undefined && !isLong) {
    const { since, times, reason } = unsteady;
    const sentence = `The store comes and goes since ${since}: ${name} has lost it ${count(times)} times (${reason}), and learns of newer choices late.`;
    return { about, level: 'note', label: 'Store comes and goes', sentence, place, since };
  }
  if (aloneSince !== undefined) {
    const sentence = `${name} has not reached the store since ${aloneSince} (${aloneReason}): it does not learn of newer choices, and counts only its own requests.`;
    // A store that is slow for a few seconds has no effect.
    const level = isLong ? 'bad' : 'note';
    return { about, level, label: 'Store unreachable', sentence, place, since: aloneSince };
  }
  const label = replicas === undefined ? 'Replicas' : counted(replicas, 'replica');
  const sentence =
    replicas === undefined || replicas === 1
      ? `${label} ${replicas === 1 ? 'uses' : 'use'} the store.`
      : `${label} share the store, and are judged together.`;
  return { about, level: 'good', label, sentence, place };
}

/** Problems of replicas: some are silent, or have another rule book. */
function fleetConditions(fleet: FleetOf | undefined): readonly Condition[] {
  if (fleet === undefined) return [];
  const { silent, ruleBooks, ruleBookSince } = fleet;
  const [about, level] = ['replicas', 'note'] as const;
  const place = { view: 'rollout' } as const;
  return [
    ...silent.map(({ name, at }): Condition => {
      const since = new Date(at).toISOString();
      const sentence = `The replica ${name} has said nothing since ${since}: it is stuck, gone, or cut off from the store. Its requests after that are not counted.`;
      return { about, level, label: `${name} is silent`, sentence, place, since };
    }),
    ...(ruleBooks.length < 2
      ? []
      : [
          {
            about,
            level,
            label: 'Different rule books',
            sentence: `Replicas have had different rule books in force since ${new Date(ruleBookSince).toISOString()}: ${ruleBooks.join(', ')}.`,
            place: { view: 'rules' },
            since: new Date(ruleBookSince).toISOString(),
          } as const,
        ]),
  ];
}

/** Reports lost lines of the log. Lines that were lost long ago are gaps, which the reports mention. */
function logConditions({ stats, now }: ConditionFacts): readonly Condition[] {
  const { droppedLogLines: dropped, lastDroppedLine: last } = stats;
  if (dropped === 0 || last === undefined || now - last >= REPORTED_MS) return [];
  return [
    {
      about: 'log',
      level: 'note',
      label: `${counted(dropped, 'log line')} dropped`,
      sentence: `${counted(dropped, 'line')} of the rewrite log ${dropped === 1 ? 'was' : 'were'} lost since the start, the last at ${new Date(last).toISOString()}, because its reader was too slow; reports from it have gaps.`,
    },
  ];
}
