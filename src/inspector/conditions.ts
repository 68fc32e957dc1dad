import { counted } from '../report/text.ts';
import { errorValue } from '../rewrite-log/entry.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import type { OriginFailures } from '../rewrite-log/history.ts';
import type { GatewayStats } from '../rewrite-log/metric-families.ts';
import { reasonSentence, type RollbackCause, SEVERAL } from '../rollout/rollout-state.ts';
import type { RollbackView, RolloutView } from '../rollout/rollout-tally.ts';

/** State of one part: `bad` makes requests fail now, `note` will or may do so, `unknown` was not used lately. */
export type ConditionLevel = 'bad' | 'note' | 'unknown' | 'good';

/** Current state of one part of the gateway, or of a service behind it. */
export interface Condition {
  readonly about: 'v2' | 'v1' | 'rule-book' | 'roll-back' | 'brownout' | 'replicas' | 'log';
  readonly level: ConditionLevel;
  /** A few words for the header, such as `V2: circuit open`. */
  readonly label: string;
  /** The state, and its effect on requests. */
  readonly sentence: string;
  /** Where the page shows more: a view, and a filter of its exchanges. */
  readonly place?: Place;
}

/** A view of the page, and a filter of its exchanges. */
export interface Place {
  readonly view: 'traffic' | 'hour' | 'errors' | 'rollout' | 'retirement' | 'end' | 'rules';
  readonly filter?: string;
}

/** The facts behind the conditions. */
export interface ConditionFacts {
  readonly stats: Pick<GatewayStats, 'breaker' | 'v1Breaker' | 'droppedLogLines'>;
  /** Requests and failures of the services in the last `RECENT_MINUTES`. */
  readonly recent: OriginFailures;
  /** Hash of the rule book in force. */
  readonly ruleBook: string;
  /** Number of faults in the rule book that was refused last; undefined once a valid one is read. */
  readonly refusedFaults: number | undefined;
  /** Absent where the rollout cannot be seen. */
  readonly rollout: RolloutView | undefined;
}

const ORDER: readonly ConditionLevel[] = ['bad', 'note', 'unknown', 'good'];

/** Minutes over which a service is judged: the current one, which may have just begun, and the one before. */
export const RECENT_MINUTES = 2;

/** Minimum requests for a share of failures to be meaningful. */
const ENOUGH = 5;

/** Successive requests without a failure after which a service counts as recovered. */
const RECOVERED = 20;

/** Percentages of failed requests from which a service fails at times, or fails. */
const TROUBLE = 5;
const FAILING = 50;

/** Says which part of each client's rate limit one process has. */
export function rateLimitSentence({
  requests,
  per,
  processes,
  each,
}: NonNullable<RolloutView['rateLimit']>): string {
  return `Each client's rate limit of ${counted(requests, 'request')} in ${per / 1000} s is divided by ${processes} processes: ${each} in each.`;
}

/** The conditions of V2, V1, the rule book, roll-backs, brownouts, replicas and the log, worst first. */
export function conditionsOf(facts: ConditionFacts): readonly Condition[] {
  const { stats, rollout } = facts;
  const conditions = [
    serviceCondition('v2', stats.breaker, facts),
    ...(rollout?.v1Origin === undefined ? [] : [serviceCondition('v1', stats.v1Breaker ?? 'closed', facts)]),
    ...(rollout === undefined ? [] : rollbackConditions(rollout)),
    ruleBookCondition(facts),
    ...(rollout === undefined ? [] : brownoutConditions(rollout)),
    ...(rollout?.replica === undefined ? [] : [replicaCondition(rollout.replica)]),
    ...(stats.droppedLogLines === 0 ? [] : [logCondition(stats.droppedLogLines)]),
  ];
  return conditions.toSorted((one, other) => ORDER.indexOf(one.level) - ORDER.indexOf(other.level));
}

function serviceCondition(
  about: 'v1' | 'v2',
  breaker: GatewayStats['breaker'],
  { recent }: ConditionFacts,
): Condition {
  const name = about.toUpperCase();
  const { requests, failed, inARow } = recent[about];
  const place = {
    view: 'traffic',
    filter: `error:${about}-5*,gateway-upstream-*,gateway-circuit-open`,
  } as const;
  const share = `${failed} of ${counted(requests, 'request')} to ${name} failed in the last two minutes.`;
  if (breaker !== 'closed') {
    const meaning =
      breaker === 'open'
        ? 'the circuit is open: requests to it get 503 until it responds to a probe'
        : 'a probe was sent: other requests get 503 until it responds to the probe';
    const sentence = `${name} keeps failing, so ${meaning}. ${share}`;
    return { about, level: 'bad', label: `${name}: circuit ${breaker}`, sentence, place };
  }
  if (requests === 0) {
    const sentence = `No request went to ${name} in the last two minutes, so its state is not known.`;
    return { about, level: 'unknown', label: `${name} idle`, sentence };
  }
  const percent = (failed * 100) / requests;
  const since = `${share} The last ${inARow.requests} ${inARow.failed ? 'all failed' : 'did not fail'}.`;
  // The last requests show sooner than a share that a service has just failed or recovered.
  if (inARow.failed && inARow.requests >= ENOUGH)
    return { about, level: 'bad', label: `${name} fails`, sentence: since, place };
  if (failed > 0 && !inARow.failed && inARow.requests >= RECOVERED)
    return { about, level: 'note', label: `${name} failed lately`, sentence: since, place };
  if (requests >= ENOUGH && percent >= FAILING)
    return { about, level: 'bad', label: `${name} fails`, sentence: share, place };
  if (failed > 0 && (percent >= TROUBLE || requests < ENOUGH))
    return { about, level: 'note', label: `${name} fails at times`, sentence: share, place };
  return { about, level: 'good', label: `${name} responds`, sentence: share };
}

function rollbackConditions({ rollbacks }: RolloutView): readonly Condition[] {
  const about = 'roll-back';
  const standing = rollbacks.filter(({ resolved }) => resolved === undefined);
  if (standing.length === 0)
    return [{ about, level: 'good', label: 'No roll-back', sentence: 'No canary is rolled back.' }];
  return standing.map((rollback) => {
    const { cause } = rollback;
    const place: Place =
      cause === undefined ? { view: 'rollout' } : { view: 'traffic', filter: causeFilter(cause) };
    return { about, level: 'bad', label: 'Rolled back', sentence: rollbackWords(rollback), place };
  });
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

function ruleBookCondition({ ruleBook, refusedFaults }: ConditionFacts): Condition {
  const [about, place] = ['rule-book', { view: 'rules' }] as const;
  if (refusedFaults === undefined) {
    const sentence = `The rule book ${ruleBook} is in force, as in its file.`;
    return { about, level: 'good', label: 'Rule book in force', sentence, place };
  }
  const sentence = `The rule book on disk has ${counted(refusedFaults, 'fault')} and was refused; the one before it, ${ruleBook}, stays in force.`;
  return { about, level: 'bad', label: 'Rule book refused', sentence, place };
}

function brownoutConditions({ brownouts }: RolloutView): readonly Condition[] {
  return brownouts
    .filter(({ state }) => state === 'on')
    .map(({ id, share, status, until }) => ({
      about: 'brownout',
      level: 'note',
      label: 'Brownout',
      sentence: `The brownout ${id} responds to ${share} % of its V1 requests with ${status}, on purpose${until === undefined ? '' : `, until ${until}`}.`,
      place: { view: 'traffic', filter: 'error:gateway-brownout' },
    }));
}

function replicaCondition({
  name,
  replicas,
  aloneSince,
  aloneReason = 'no reason known',
}: NonNullable<RolloutView['replica']>): Condition {
  const [about, place] = ['replicas', { view: 'rollout' }] as const;
  if (aloneSince !== undefined) {
    const sentence = `${name} has not reached the store since ${aloneSince} (${aloneReason}): it does not learn of newer choices, and counts only its own requests.`;
    return { about, level: 'bad', label: 'Store out of reach', sentence, place };
  }
  const label = replicas === undefined ? 'Replicas' : counted(replicas, 'replica');
  const sentence = `${label} ${replicas === 1 ? 'uses' : 'use'} the store of ${name}.`;
  return { about, level: 'good', label, sentence, place };
}

function logCondition(dropped: number): Condition {
  return {
    about: 'log',
    level: 'note',
    label: `${counted(dropped, 'log line')} dropped`,
    sentence: `${counted(dropped, 'line')} of the rewrite log ${dropped === 1 ? 'was' : 'were'} lost since the start, because its reader was too slow; reports from it have gaps.`,
  };
}
