import { lengthWords } from '../report/text.ts';
import { count, counted } from '../rules/words.ts';
import type { PastRequests } from '../rewrite-log/history.ts';
import type { GatewayStats } from '../rewrite-log/metric-families.ts';
import { type OperationTrouble, RECOVERED } from '../rewrite-log/health/trouble.ts';
import type { ServiceOutage } from '../rewrite-log/service-outages.ts';
import { sendsToV2 } from '../rollout/modes-in-force.ts';
import type { ModeView, RolloutRequest } from '../rollout/rollout-tally.ts';
import { type Condition, type ConditionFacts, FAILING, RECENT_MINUTES } from './condition.ts';
import { hasEnded, hasEndedFor } from './end-of-v1.ts';
import { commandTitle } from './rollout-effect.ts';

/** Minimum requests for a share of failures to be meaningful. */
const ENOUGH = 5;

/** Percentage of failed requests from which a service fails at times. */
const TROUBLE = 5;

const MINUTE_MS = 60_000;

/** Milliseconds without a request for a service after which its open circuit counts as not affecting clients. */
const NOT_ASKED_MS = 60_000;

/** Reports the state of a service. */
export function serviceCondition(
  about: 'v1' | 'v2',
  breaker: GatewayStats['breaker'],
  facts: ConditionFacts,
): Condition {
  const { recent, fleet, now } = facts;
  const name = about.toUpperCase();
  const { requests, failed, refused, kept, inARow, past } = recent[about];
  const place = { view: 'traffic', part: 'problems' } as const;
  const isRefusal = failed > 0 && refused === failed;
  const how = isRefusal ? `, ${failed === 1 ? 'a refusal' : 'all of them refusals'}` : '';
  const share =
    requests === 0
      ? `No client's request went to ${name} in the last two minutes.`
      : `${count(failed)} of ${counted(requests, 'request')} ${kept === 0 ? 'to' : 'for'} ${name} failed in the last two minutes${past === undefined ? '' : ` (apart from those that no longer go to ${name})`}${how}${keptWords(failed, kept)}.`;
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
    return { about, level: 'bad', label: `${name} does not respond`, sentence, place, ...failingSince };
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
    label: `${name} did not respond, not asked since`,
    sentence,
    place,
    ...(about === 'v2' ? { left: 'all' } : {}),
    ...(failed ? { since: new Date(since).toISOString() } : {}),
  };
}

/** Reports a service that no longer gets requests: its earlier failures do not affect clients now. */
function leftCondition(about: 'v1' | 'v2', past: PastRequests, facts: ConditionFacts): Condition {
  const { recent, rollout, now } = facts;
  const { last, spell } = past;
  const name = about.toUpperCase();
  const other = about === 'v1' ? 'v2' : 'v1';
  const at = new Date(last).toISOString();
  const after =
    rollout !== undefined && hasEnded(rollout, now)
      ? 'V1 has ended since'
      : recent[other].inARow.last > last
        ? recent[other].inARow.failed
          ? `requests have gone to ${other.toUpperCase()} since`
          : `${other.toUpperCase()} has served since`
        : 'no request has gone to it since';
  // The time of the last request is said above.
  const contact = about === 'v2' ? facts.stats.v2Contact : facts.stats.v1Contact;
  const isNews = contact !== undefined || (facts.lastResponses[about] ?? 0) > last;
  if (spell === undefined || spell.failed * 100 < spell.requests * TROUBLE)
    return {
      about,
      level: 'unknown',
      label: `${name} idle`,
      sentence: `The last request went to ${name} at ${at}; ${after}.${isNews ? ` ${contactWords(about, facts)}` : ''}`,
    };
  const { failed, upToLast, unanswered, since, lastFailed } = spell;
  const until = new Date(lastFailed).toISOString();
  const { outage } = recent[about];
  const what =
    outage !== undefined && unanswered === failed
      ? outageWords(about, outage, true)
      : `${name} failed ${count(failed)} of ${counted(upToLast, 'request')} ${periodWords(upToLast, since, lastFailed)}`;
  return {
    about,
    level: 'note',
    label: `${name} failed lately`,
    sentence: `${what}; ${after}. ${contactWords(about, facts)}`,
    place: { view: 'traffic', part: 'problems' },
    until,
    past: failed,
    ...(about === 'v2' && (facts.lastResponses.v2 ?? 0) <= lastFailed ? { left: 'all' } : {}),
  };
}

/** Whether a service that gets no requests now would respond, as far as that is known: an operator must know before going forward again. */
export function contactWords(about: 'v1' | 'v2', { stats, lastResponses, now }: ConditionFacts): string {
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
  return `${lengthWords(milliseconds)} ago`;
}

/** The action while V2 fails: V1 serves everything by default, then also the operations and clients whose own mode names V2. */
function retreatFrom(about: 'v1' | 'v2', facts: ConditionFacts): Pick<Condition, 'action'> {
  const { rollout, now } = facts;
  if (about === 'v1' || rollout?.v1Origin === undefined || hasEnded(rollout, now)) return {};
  const stages: readonly (readonly [ModeView, Pick<RolloutRequest, 'operation' | 'client'>])[] = [
    [rollout.default, {}],
    ...Object.entries(rollout.operations).map(([operation, mode]) => [mode, { operation }] as const),
    ...Object.entries(rollout.clients).map(([client, mode]) => [mode, { client }] as const),
  ];
  const [, target] = stages.find(([mode]) => sendsToV2(mode)) ?? [];
  return target === undefined ? {} : backAction({ mode: 'observe', ...target }, facts);
}

/** Says that V1 serves these operations, which V2 does not get any more; empty after the end of V1 for their clients. */
export function servedWords(
  what: 'it' | 'them',
  operations: readonly Pick<OperationTrouble, 'operation' | 'hit'>[],
  { rollout, now }: ConditionFacts,
): string {
  const isServed =
    rollout === undefined ||
    operations.some(({ operation, hit }) => !hasEndedFor(rollout, now, operation, hit));
  return isServed ? ` V1 serves ${what} now.` : '';
}

/** Says to how many requests a service did not respond, and when. */
export function outageWords(
  about: 'v1' | 'v2',
  { requests, kept, since, last }: ServiceOutage,
  isOver: boolean,
): string {
  const period = isOver
    ? periodWords(requests, since, last)
    : `since ${new Date(since).toISOString()}, the last at ${new Date(last).toISOString()}`;
  return `${about.toUpperCase()} did not respond to ${counted(requests, 'request')} ${period}${keptWords(requests, kept)}`;
}

/** When requests failed that no longer do. */
function periodWords(requests: number, since: number, last: number): string {
  const to = new Date(last).toISOString();
  return requests === 1 ? `at ${to}` : `from ${new Date(since).toISOString()} until ${to}`;
}

/** How many failed requests did not go to the service that they were for. */
function keptWords(failed: number, kept: number): string {
  if (kept === 0) return '';
  const which =
    kept === failed ? 'none of these was' : `${count(kept)} of these ${kept === 1 ? 'was' : 'were'} not`;
  return `; ${which} sent, because its circuit was open`;
}

/** An action with the title that its confirmation has as well. */
export function backAction(
  request: RolloutRequest,
  { rollout, names }: ConditionFacts,
): Pick<Condition, 'action'> {
  if (rollout === undefined) return {};
  return { action: { title: commandTitle(request, rollout, names), request } };
}
