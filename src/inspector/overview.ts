import { MAX_ROW_CLIENTS } from '../report/census.ts';
import {
  type ClientReport,
  clientWouldFail,
  type Outcome,
  outcomeWords,
  unfitCalls,
} from '../report/client-report.ts';
import type { Report } from '../report/report.ts';
import { capital, clientName, countedClients, namedClients } from '../report/text.ts';
import { count, counted, listed } from '../rules/words.ts';
import { isNotice } from '../rewrite-log/answers.ts';
import { ENOUGH } from '../rewrite-log/health/trouble.ts';
import { AS_V2_SENT_IT, errorValue, NO_KEY, OTHER_CALLS } from '../rewrite-log/entry.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import type { LastHour, RequestSums } from '../rewrite-log/history.ts';
import { GONE, wouldFail } from '../rollout/body-checks.ts';
import { chooseMode } from '../rollout/modes-in-force.ts';
import type { ModeView, RolloutView } from '../rollout/rollout-tally.ts';
import type { ErrorGroup, ErrorGroups, Overview, OverviewItem, RulesView } from './api.ts';
import { type Place, REPORTED_MS } from './condition.ts';
import { endSentences, hasEndedFor, isAtEnd } from './end-of-v1.ts';
import { callsAfterEnd } from '../report/endings.ts';
import {
  comparedSentence,
  hasV1Mode,
  isComparing,
  isMeant,
  modesOf,
  operationOf,
  otherModes,
} from './rollout-effect.ts';

export interface OverviewFacts {
  readonly sums: Readonly<RequestSums>;
  readonly lastHour: Pick<LastHour, 'asV2SentIt'>;
  /** Replicas whose sums these are. */
  readonly replicas?: number;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Address of the gateway. */
  readonly origin: string;
  /** The errors of the kept entries, for those of dry runs. */
  readonly errors: ErrorGroups;
  readonly report: Report;
  /** Operations of problems that are not over. */
  readonly failing?: readonly string[];
  readonly rules: Pick<RulesView, 'hash' | 'loadedAt'> & {
    readonly operations: number;
    readonly changes: number;
    /** Ids of the operations that V2 does not have any more. */
    readonly gone: readonly string[];
  };
  /** Absent if the rollout cannot be read. */
  readonly rollout: RolloutView | undefined;
}

/** Maximum items of one kind, so that the list can be read at a glance. */
const MOST = 3;

/** Maximum names that a sentence lists. */
const MAX_OTHERS = 5;

/** Milliseconds for which an address that the rule book does not know is reported. */
const DAY_MS = 86_400_000;

/** The filter of V1 requests that no operation fits. */
const UNFIT = 'op:- route:v1,none';

const ORDER: readonly OverviewItem['level'][] = ['bad', 'note', 'good'];

/** What is to know beside the verdict, its conditions and the problems, worst first. */
export function overviewOf(facts: OverviewFacts): Pick<Overview, 'whose' | 'items'> {
  const { rollout, now } = facts;
  const end = rollout !== undefined && isAtEnd(rollout, now) ? rollout : undefined;
  const left = end === undefined ? facts : afterEnd(end, facts);
  const empty = emptyHanded(facts);
  const items = [
    ...empty.map((client) => emptyHandedItem(client)),
    ...responseItems(facts),
    ...(end === undefined ? modeItems(facts) : lateItems(end, facts)),
    ...errorItems(left),
    ...unfitItems(without(empty, left)),
    ...goneItems(left),
    ...refusedItems(without(empty, left)),
    ...clientItems(left),
    // These are about the migration as a whole.
    ...(end === undefined ? [...comparisonItems(facts), ...dryRunItems(facts), ...endItems(facts)] : []),
    ruleBookItem(facts),
  ];
  return {
    whose: whoseWords(facts),
    items: items.toSorted((one, other) => ORDER.indexOf(one.level) - ORDER.indexOf(other.level)),
  };
}

/** The facts about the clients that the end of V1 excepts: only their requests are still migrated. */
function afterEnd(end: RolloutView, { report, errors, ...facts }: OverviewFacts): OverviewFacts {
  const sunset = Date.parse(end.sunset ?? '');
  const clients = report.clients.filter(({ client }) => !hasEndedFor(end, facts.now, undefined, [client]));
  const groups = errors.groups.filter(({ lastSeen }) => Date.parse(lastSeen) >= sunset);
  return { ...facts, report: { ...report, clients }, errors: { ...errors, groups } };
}

/** A client that got nothing but refusals in the last day, none of them on purpose; all of these. */
interface EmptyHanded {
  readonly client: ClientReport;
  readonly outcomes: readonly Outcome[];
}

/** The clients with a key that have got nothing but refusals, unless these count as failing. */
function emptyHanded({ report, failing = [], now }: OverviewFacts): readonly EmptyHanded[] {
  return report.clients.flatMap((client) => {
    const outcomes = client.outcomes.filter(({ lastSeen }) => now - Date.parse(lastSeen) < DAY_MS);
    const isEmpty =
      client.client !== NO_KEY &&
      outcomes.reduce((sum, one) => sum + one.count, 0) >= ENOUGH &&
      outcomes.every(({ status, code }) => status >= 400 && status < 500 && !isNotice(code)) &&
      !client.operations.some(({ operation }) => failing.includes(operation));
    return isEmpty ? [{ client, outcomes }] : [];
  });
}

function emptyHandedItem({ client, outcomes }: EmptyHanded): OverviewItem {
  const terms = [{ negated: false, field: 'client', values: [client.client] }] as const;
  const calls = listed(
    client.operations.map(({ operation }) => operation),
    MAX_OTHERS,
  );
  const sentence = `${clientName(client)} gets nothing but refusals: ${outcomeWords(outcomes)}, in ${calls}, the last at ${client.lastSeen}.`;
  return item('note', sentence, 'traffic', printFilter(terms));
}

function without(told: readonly EmptyHanded[], { report, ...facts }: OverviewFacts): OverviewFacts {
  const all = new Set(told.map(({ client }) => client));
  return { ...facts, report: { ...report, clients: report.clients.filter((one) => !all.has(one)) } };
}

/** What became of the requests since the start, in one sentence. */
export function stateSentence({
  sums,
  origin,
  startedAt,
}: Pick<OverviewFacts, 'sums' | 'origin' | 'startedAt'>): string {
  const {
    all,
    migrated,
    onV1,
    passed,
    outside,
    refusedByV2,
    refusedByV1,
    refusedByGateway,
    onPurpose,
    failed,
  } = sums;
  if (all === 0) return `Send a request to ${origin} to see it here.`;
  const refused = (
    [
      [refusedByV2, 'by V2'],
      [refusedByV1, 'by V1'],
      [refusedByGateway, 'by the gateway'],
      [onPurpose, 'on purpose'],
    ] as const
  ).filter(([times]) => times > 0);
  const unsent = all - migrated - onV1 - passed - outside;
  const sent = (
    [
      [migrated, 'sent to V2'],
      [onV1, 'sent to V1'],
      [unsent, 'not sent'],
      [passed, "of V2's own clients"],
      [outside, 'under neither prefix'],
    ] as const
  ).filter(([times]) => times > 0);
  // Each request counts once: one that failed was not refused.
  const refusals = refused.reduce((sum, [times]) => sum + times, 0);
  const [whose = ''] = refused.length === 1 ? refused.map(([, who]) => ` ${who}`) : [];
  const by = refused.length === 1 ? '' : `: ${listedCounts(refused)}`;
  const refusedWords =
    refusals === 0
      ? ''
      : ` ${count(refusals)}${failed === 0 ? '' : refusals === 1 ? ' other' : ' others'} ${refusals === 1 ? 'was' : 'were'} refused${whose}${by}.`;
  return `${counted(all, 'request')} since the start at ${startedAt}: ${listedCounts(sent)}. ${failed === 0 ? 'None' : count(failed)} failed.${refusedWords}`;
}

function listedCounts(counts: readonly (readonly [times: number, words: string])[]): string {
  return counts.map(([times, words]) => `${count(times)} ${words}`).join(', ');
}

/** Whose counts these are; empty for the only replica. */
function whoseWords({ replicas = 1, rollout, report: { coverage } }: OverviewFacts): string {
  const replica = rollout?.replica;
  const isOnly = replicas === 1 && coverage?.kind === 'fleet' && coverage.replicas === 1;
  if (replica === undefined || isOnly) return '';
  const own =
    replicas === 1
      ? `Counted by ${replica.name} alone.`
      : `Counted by ${replicas} replicas; problems, charts and what is to know are those of ${replica.name} alone.`;
  return coverage === undefined ? own : `${own} For clients and the end of V1: ${coverage.sentence}`;
}

function item(
  level: OverviewItem['level'],
  sentence: string,
  view: Place['view'] | 'problems',
  filter?: string,
): OverviewItem {
  if (view === 'problems') return { level, sentence, place: { view: 'traffic', part: view } };
  return { level, sentence, place: filter === undefined ? { view } : { view, filter } };
}

/** True if V1 serves an operation's requests for some client. A fully migrated operation no longer needs dry runs. */
function isOnV1(rollout: RolloutView | undefined, operation: string | undefined, client?: string): boolean {
  if (rollout === undefined) return true;
  const modes = modesOf(rollout);
  const clients = client === undefined ? [undefined, ...Object.keys(rollout.clients)] : [client];
  return clients.some((one) => chooseMode(modes, { client: one, operation }).origin === 'v1');
}

/** Lists the errors that dry runs found. */
function errorItems({ errors: { groups }, rollout, report }: OverviewFacts): readonly OverviewItem[] {
  const notable = dryRunErrors(groups, rollout);
  const items = notable.slice(0, MOST).map((group) => {
    const filter = printFilter([{ negated: false, field: 'error', values: [errorValue(group.error)] }]);
    return item('note', dryRunSentence(group, report.clients), 'traffic', filter);
  });
  const rest = notable.length - MOST;
  if (rest <= 0) return items;
  return [...items, item('note', `${counted(rest, 'more kind')} of refusals in dry runs.`, 'problems')];
}

/** The errors of dry runs in operations that V1 still serves. */
function dryRunErrors(
  groups: ErrorGroups['groups'],
  rollout: RolloutView | undefined,
): ErrorGroups['groups'] {
  return groups.filter(
    ({ error: { by }, operations }) =>
      (by === 'would' || by === 'schema') && operations.some((operation) => isOnV1(rollout, operation)),
  );
}

/** The operations in which requests of a client would fail after the migration. */
function failingIn({ bodyChecks }: ClientReport): readonly string[] {
  return bodyChecks.flatMap(({ operation, invalid, refused }) => (invalid + refused > 0 ? [operation] : []));
}

/** Responses in V2's form that V1 clients may be unable to read, although their status is that of a success. */
function responseItems({ lastHour: { asV2SentIt: times } }: OverviewFacts): readonly OverviewItem[] {
  if (times === 0) return [];
  const filter = printFilter([{ negated: false, field: 'note', values: AS_V2_SENT_IT }]);
  const sentence = `In the last hour ${counted(times, 'response')} went to V1 clients as V2 sent ${times === 1 ? 'it' : 'them'}, although a response rule applies.`;
  return [item('note', sentence, 'traffic', filter)];
}

function dryRunSentence(group: ErrorGroup, reports: readonly ClientReport[]): string {
  const { error, count: times, clients, isKeyless, operations, lastSeen } = group;
  const { by, code, pointer } = error;
  const at = pointer === undefined ? '' : ` at ${pointer === '' ? 'its root' : pointer}`;
  const named = operations.filter((operation) => operation !== OTHER_CALLS);
  const where = named.length === 0 ? '' : `, in ${listed(named, MAX_OTHERS)}`;
  const failing = reports.filter((one) => failingIn(one).some((operation) => operations.includes(operation)));
  const isKnown = failing.length === clients + Number(isKeyless === true) && failing.length <= MAX_OTHERS;
  const whose = isKnown
    ? ` of ${namedClients(failing, MAX_OTHERS)}`
    : clients === 0
      ? ''
      : ` of ${counted(clients, 'client')}`;
  const keyless =
    isKnown || isKeyless !== true ? '' : clients === 0 ? ' without a key' : ' and without a key';
  const requests = `${counted(times, 'request')}${whose}${keyless}`;
  if (code === GONE)
    return `V2 does not have ${listed(named, MAX_OTHERS)} any more: a migration would have refused ${requests}, the last at ${lastSeen}.`;
  return by === 'would'
    ? `A migration would have refused ${requests} with ${code}${at}${where}, the last at ${lastSeen}.`
    : `V2's schema refuses the bodies of ${requests}${at}${where}, the last at ${lastSeen}. V2 itself was not asked.`;
}

function modeItems({ rollout, report }: OverviewFacts): readonly OverviewItem[] {
  if (rollout === undefined) return [];
  return [
    item('good', modeSentence(rollout), 'rollout'),
    ...emptyCanaries(rollout, report).map((sentence) => item('note', sentence, 'rollout')),
  ];
}

/** Names the service that gets V1 requests, and every operation and client with another mode. */
function modeSentence(rollout: RolloutView): string {
  const words = otherModes(rollout).map(
    ({ name, mode }) => `${name} (${mode.mode}${mode.share === undefined ? '' : ` ${mode.share} %`})`,
  );
  return `${modeWords(rollout.default)}${words.length === 0 ? '' : `, except for ${listed(words, MAX_OTHERS)}`}.`;
}

function modeWords({ mode, share = 0 }: ModeView): string {
  switch (mode) {
    case 'migrate':
      return 'V1 requests are migrated and go to V2';
    case 'observe':
      return 'V1 requests go to V1, and a migration is a dry run';
    case 'shadow':
      return 'V1 requests go to V1, and reads are compared with V2';
    case 'verify':
      return `V1 requests are migrated and go to V2, and V1 gets ${share} % of the reads as well`;
    case 'canary':
      return `A canary migrates ${share} % of the clients, and the requests of the others go to V1`;
  }
}

/** Names the canaries that migrate none of the clients seen, so that they compare nothing. */
function emptyCanaries(rollout: RolloutView, { clients }: Report): readonly string[] {
  const modes = modesOf(rollout);
  return rollout.canaries.flatMap(({ operation, migrated }) => {
    const subjects = clients.flatMap(({ client, operations }) =>
      operations.map((call) => ({
        client: client === NO_KEY ? undefined : client,
        operation: operationOf(call.operation),
      })),
    );
    const chosen = subjects
      .map((subject) => chooseMode(modes, subject))
      .filter(({ canary }) => canary !== undefined && canary.operation === operation);
    const isEmpty = chosen.length > 0 && chosen.every(({ origin }) => origin === 'v1');
    if (!isEmpty || migrated.requests > 0) return [];
    const stage = operation === undefined ? 'The canary' : `The canary of ${operation}`;
    return [`${stage} migrates no client: none that was seen is in its share.`];
  });
}

function comparisonItems({ rollout, now }: OverviewFacts): readonly OverviewItem[] {
  const shadows = rollout?.shadows ?? [];
  const sentence = comparedSentence(shadows);
  if (sentence === undefined) return [];
  const latest = (kind: 'last' | 'lastDifferent'): number =>
    Math.max(0, ...shadows.map((each) => Date.parse(each[kind] ?? '') || 0));
  const isOver = rollout !== undefined && !isComparing(rollout, false) && !isComparing(rollout, true);
  if (isOver && now - latest('last') >= REPORTED_MS) return [];
  // A shadow says nothing new once all is migrated.
  const isToCome = rollout !== undefined && hasV1Mode(rollout, now);
  const isOpen = isToCome || shadows.some((each) => each.verified === true && each.different > 0);
  const isNews = !isMeant(shadows) && isOpen && now - latest('lastDifferent') < REPORTED_MS;
  return [item(isNews ? 'note' : 'good', sentence, 'rollout')];
}

/**
 * Lists clients whose requests would fail after a migration, unless the errors of dry runs say it, and members that no rule handles; clients
 * that are gone need nothing.
 */
function clientItems({ report, rollout, errors }: OverviewFacts): readonly OverviewItem[] {
  const told = new Set(
    dryRunErrors(errors.groups, rollout)
      .slice(0, MOST)
      .flatMap(({ operations }) => operations),
  );

  const present = report.clients.filter((one) => one.class !== 'gone');
  const hashes = new Set(present.map(({ client }) => client));
  const failing = present
    .filter(({ client, operations }) => {
      const onV1 = operations.filter((call) =>
        isOnV1(rollout, operationOf(call.operation), client === NO_KEY ? undefined : client),
      );
      return onV1.length === operations.length || (onV1.length > 0 && wouldFailOnV1(rollout, client));
    })
    .filter((client) => !failingIn(client).every((operation) => told.has(operation)))
    .map((client) => ({ client, share: shareOf(client) }))
    .filter(({ share }) => share > 0)
    .toSorted((one, other) => other.share - one.share);
  const rest = failing.length - MOST;
  const strips = report.census.strips.filter(({ clients }) =>
    clients.length === 0 ? hashes.has(NO_KEY) : clients.some((client) => hashes.has(client)),
  );
  const sentences = [
    ...failing
      .slice(0, MOST)
      .map(({ client }) => `${nameOf(client)}: ${clientWouldFail(client)}, last seen at ${client.lastSeen}.`),
    ...(rest > 0 ? [`Requests of ${counted(rest, 'more client')} would fail after the migration.`] : []),
    ...strips.slice(0, MOST).map(({ member, operation, clients }) => {
      const hashes = clients.length === 0 ? [NO_KEY] : clients;
      const whose = `${clients.length < MAX_ROW_CLIENTS ? '' : 'at least '}${countedClients(hashes, 'sends', 'send')}`;
      return `${capital(whose)} ${member} in ${operation ?? 'requests'}, which V2 does not take and no rule handles.`;
    }),
  ];
  return sentences.map((sentence) => item('note', sentence, 'clients'));
}

/** Whether requests of a client that V1 still serves would fail, apart from those that are migrated; true if that is not known. */
function wouldFailOnV1(rollout: RolloutView | undefined, client: string): boolean {
  const { omitted, counts } = rollout?.bodyChecks ?? { omitted: 1, counts: [] };
  return (
    omitted > 0 || counts.some((pair) => (pair.client ?? NO_KEY) === client && wouldFail([pair]).failing > 0)
  );
}

/** Who calls addresses that the rule book does not know, such as old ones: no rule applies to them. */
function unfitItems({ report, now }: OverviewFacts): readonly OverviewItem[] {
  const calls = unfitCalls(report.clients).filter(({ lastSeen }) => now - Date.parse(lastSeen) < DAY_MS);
  const kinds = [...Map.groupBy(calls, ({ call }) => call)];
  const items = kinds.slice(0, MOST).map(([call, uses]) => {
    const who = listed(
      uses.map((one) => (one.client === NO_KEY ? 'clients without a key' : clientName(one))),
      MAX_OTHERS,
    );
    const times = uses.reduce((sum, one) => sum + one.count, 0);
    const since = uses.reduce((first, { firstSeen }) => (firstSeen < first ? firstSeen : first), '~');
    const sentence = `No operation of the rule book fits ${call}: ${counted(times, 'request')} of ${who} since ${since}, the last at ${uses[0]?.lastSeen}.`;
    return item('note', sentence, 'traffic', UNFIT);
  });
  const rest = kinds.length - MOST;
  if (rest <= 0) return items;
  return [
    ...items,
    item('note', `No operation fits ${counted(rest, 'more address', 'more addresses')}.`, 'clients'),
  ];
}

/** Names the clients whose requests for an operation are refused each time, unless that counts as failing. */
function refusedItems({ report, failing = [], now }: OverviewFacts): readonly OverviewItem[] {
  const uses = report.clients.flatMap((client) =>
    client.alwaysRefused.flatMap(({ operation, by, lastSeen, status, pointer }) => {
      const { count: times = 0 } = client.operations.find((use) => use.operation === operation) ?? {};
      const isNews = times >= ENOUGH && now - Date.parse(lastSeen) < DAY_MS && !failing.includes(operation);
      const at = pointer === undefined ? '' : ` at ${pointer}`;
      const how = status === undefined ? '' : ` with ${status}${at}`;
      const terms = [
        { negated: false, field: 'op', values: [operation] },
        { negated: false, field: 'client', values: [client.client] },
        { negated: false, field: 'status', values: ['4xx'] },
      ] as const;
      const sentence = `${by.toUpperCase()} has refused each ${operation} of ${clientName(client)}, the last at ${lastSeen}${how}.`;
      return isNews ? [{ lastSeen, item: item('note', sentence, 'traffic', printFilter(terms)) }] : [];
    }),
  );
  const sorted = uses.toSorted((one, other) => (one.lastSeen < other.lastSeen ? 1 : -1));
  const rest = uses.length - MOST;
  return [
    ...sorted.slice(0, MOST).map((use) => use.item),
    ...(rest > 0
      ? [
          item(
            'note',
            `${counted(rest, 'more operation')} of a client ${rest === 1 ? 'is' : 'are'} refused each time.`,
            'clients',
          ),
        ]
      : []),
  ];
}

/** Whom the 410 of an operation hits that V2 does not have any more. */
function goneItems({ report, rules, rollout, now }: OverviewFacts): readonly OverviewItem[] {
  const hit = report.clients.flatMap((client) =>
    client.outcomes
      .filter(({ code, lastSeen }) => code === GONE && now - Date.parse(lastSeen) < REPORTED_MS)
      .map((outcome) => ({ client, ...outcome })),
  );
  if (hit.length === 0) return [];
  const clients = hit.map(({ client }) => client);
  const called = new Set(clients.flatMap(({ operations }) => operations.map(({ operation }) => operation)));
  const times = hit.reduce((sum, one) => sum + one.count, 0);
  const last = hit.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
  const gone = rules.gone.filter((id) => called.has(id));
  // What V1 serves again is told of dry runs.
  if (gone.length > 0 && gone.every((id) => isOnV1(rollout, id))) return [];
  const which = listed(gone, MAX_OTHERS);
  const sentence = `V2 does not have ${which === '' ? 'an operation' : which} any more: ${counted(times, 'request')} of ${namedClients(clients, MAX_OTHERS)} got 410, the last at ${last}.`;
  const error = errorValue({ by: 'gateway', code: GONE });
  return [
    item('note', sentence, 'traffic', printFilter([{ negated: false, field: 'error', values: [error] }])),
  ];
}

function shareOf({ bodyChecks }: ClientReport): number {
  const { failing, judged } = wouldFail(bodyChecks);
  return judged === 0 ? 0 : failing / judged;
}

function nameOf(client: ClientReport): string {
  return client.client === NO_KEY ? 'Clients without a key' : clientName(client);
}

/** Lists the results of dry runs under the rule book in force. */
function dryRunItems({ sums: { would }, rules, rollout }: OverviewFacts): readonly OverviewItem[] {
  const names = [undefined, ...Object.keys(rollout?.operations ?? {})];
  if (!names.some((operation) => isOnV1(rollout, operation))) return [];
  const { ruleBook, rewritten, unchanged, refused, refusedByBoth } = would;
  if (ruleBook !== rules.hash) return [];
  const all = rewritten + unchanged + refused;
  if (all === 0) return [];
  const asBefore =
    refusedByBoth === 0
      ? ''
      : `, of which V1 refused ${refusedByBoth === refused ? 'all' : count(refusedByBoth)} as well`;
  const sentence = `Of ${counted(all, 'request')} in dry runs under this rule book, a migration would have rewritten ${count(rewritten)}, sent ${count(unchanged)} to V2 unchanged, and refused ${count(refused)}${asBefore}. What it makes of responses is not counted.`;
  const filter = refused > 0 ? 'would:refused' : 'origin:v1';
  return [item('good', sentence, 'traffic', filter)];
}

function endItems({ rollout, report, now }: OverviewFacts): readonly OverviewItem[] {
  const dates = rollout === undefined ? [] : endSentences(rollout, now);
  const items = dates.map((sentence) => item('good', sentence, 'clients'));
  if (report.v1 === 0) return items;
  const { sentence, conditions } = report.switchOff;
  const notMet = conditions.filter(({ state }) => state === 'not-met').map(({ text }) => text);
  return [...items, item('good', [sentence, ...notMet].join(' '), 'clients')];
}

/** Lists the clients that have called V1 since its end, without those that it excepts. */
function lateItems(end: RolloutView, { report, now }: OverviewFacts): readonly OverviewItem[] {
  const isRefused = ({ outcomes }: ClientReport): boolean => outcomes.some(({ code }) => code === 'sunset');
  const clients = end.gone?.except === undefined ? report.clients : report.clients.filter(isRefused);
  const late = callsAfterEnd(Date.parse(end.sunset ?? ''), clients);
  return late === undefined
    ? []
    : [item(now - late.last < REPORTED_MS ? 'note' : 'good', late.sentence, 'clients')];
}

function ruleBookItem({ rules }: OverviewFacts): OverviewItem {
  const { hash, loadedAt, operations, changes } = rules;
  const sentence = `The rule book ${hash} with ${counted(changes, 'change')} for ${counted(operations, 'operation')} has been in force since ${loadedAt}.`;
  return item('good', sentence, 'rules');
}
