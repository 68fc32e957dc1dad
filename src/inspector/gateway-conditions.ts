import { certificateSentence } from '../report/text.ts';
import { count, counted } from '../rules/words.ts';
import { errorValue } from '../rewrite-log/entry.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import { MOST_CLIENTS } from '../rewrite-log/notices.ts';
import type { GatewayStats } from '../rewrite-log/metric-families.ts';
import { type RollbackCause, SEVERAL } from '../rollout/rollout-state.ts';
import type { RolloutView } from '../rollout/rollout-tally.ts';
import {
  type Condition,
  type ConditionFacts,
  type FleetOf,
  type Place,
  REPORTED_MS,
  type StandingRollBack,
} from './condition.ts';
import { goneWords } from './end-of-v1.ts';
import { rollbackWords } from './rollout-effect.ts';

/** Milliseconds without the store after which choices of other replicas may be missing. */
const LONG_ALONE_MS = 60_000;

/** The conditions of roll-backs, the rule book, brownouts, the end of V1, certificates, replicas and the log. */
export function gatewayConditions(facts: ConditionFacts): readonly Condition[] {
  const { stats, rollout, fleet, now } = facts;
  return [
    ...(rollout === undefined ? [] : rollbackConditions(rollout, facts.rolledBack)),
    ruleBookCondition(facts),
    ...(rollout === undefined ? [] : brownoutConditions(rollout, facts)),
    ...endConditions(facts),
    ...certificateConditions(stats.certificates ?? [], now),
    ...(rollout?.replica === undefined ? [] : [replicaCondition(rollout.replica, fleet, now)]),
    ...fleetConditions(fleet),
    ...logConditions(facts),
  ];
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
    sentence: `${operation} was rolled back to V1 at ${at}: ${why}. V1 responds until an operator chooses a mode.`,
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
    const sentence = `${rollbackWords(rollback)} V1 responds until an operator chooses a mode.`;
    return { about, level: 'bad', label: 'Rolled back', sentence, place, since: rollback.at };
  });
  return [...ofCanaries, ...ofOperations];
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

/** The requests that a notice of V1's end has refused since it began (`since`), or if earlier ones are not known, since the restart. */
function refusedWords(
  id: string,
  from: string | undefined,
  since: string,
  { notices: { [id]: notice } = {}, countedFrom = 0 }: ConditionFacts,
): string | undefined {
  if (notice === undefined) return undefined;
  const { requests, clients } = notice;
  const many = clients.length < MOST_CLIENTS ? '' : 'at least ';
  const whose = clients.length === 0 ? '' : ` of ${many}${counted(clients.length, 'client')}`;
  const isWhole = from === undefined ? countedFrom === 0 : countedFrom <= Date.parse(from);
  return `${counted(requests, 'request')}${whose} ${isWhole ? since : `since the restart at ${new Date(countedFrom).toISOString()}`}`;
}

function brownoutConditions({ brownouts }: RolloutView, facts: ConditionFacts): readonly Condition[] {
  const refused = (id: string, from: string | undefined): string => {
    const words = refusedWords(id, from, 'so far', facts);
    return words === undefined ? '' : ` It has refused ${words}.`;
  };
  return brownouts
    .filter(({ state }) => state === 'on')
    .map(({ id, share, status, from, until }) => ({
      about: 'brownout',
      level: 'note',
      label: 'Brownout',
      sentence: `The brownout ${id} responds to ${share} % of its V1 requests with ${status}, on purpose${until === undefined ? '' : `, until ${until}`}.${refused(id, from)}`,
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

function endConditions(facts: ConditionFacts): readonly Condition[] {
  const { rollout, now } = facts;
  const { sunset, gone, ends = [] } = rollout ?? {};
  if (sunset === undefined || gone === undefined || now < Date.parse(sunset)) return [];
  // An operation that ended earlier got 410 before.
  const refused = ends.some((own) => own.kind === 'operation' && own.sunset !== undefined)
    ? undefined
    : refusedWords('sunset', sunset, 'since then', facts);
  return [
    {
      about: 'end',
      level: 'good',
      label: 'V1 has ended',
      sentence: `V1 ended on ${sunset}: ${goneWords({ sunset, gone }, now)}.${refused === undefined ? '' : ` The gateway has refused ${refused}.`}`,
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
