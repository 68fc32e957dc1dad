import { NO_KEY } from '../rewrite-log/entry.ts';
import type { Status } from '../inspector/api.ts';
import type { Condition } from '../inspector/condition.ts';
import { causeFilter } from '../inspector/gateway-conditions.ts';
import { endSentences, goneWords } from '../inspector/end-of-v1.ts';
import { REPORTED_MS } from '../inspector/condition.ts';
import { isComparing, rateLimitSentence } from '../inspector/rollout-effect.ts';
import { withShortTimes } from '../report/clock.ts';
import { countedClients, jsonText, terminalLines } from '../report/text.ts';
import { count as number, counted } from '../rules/words.ts';
import {
  evidenceSentence,
  latencySentence,
  type OriginCount,
  reasonSentence,
} from '../rollout/rollout-state.ts';
import { faultPlaces, NEEDS_FORCE, omittedWords, wouldFail, wouldFailWords } from '../rollout/body-checks.ts';
import { sendsToV2 } from '../rollout/modes-in-force.ts';
import type { ModeView, ReplicaView, RolloutRequest, RolloutView } from '../rollout/rollout-tally.ts';
import { type AdminClient, openAdmin } from './admin-client.ts';
import { type CommandFault, isFault } from './command-fault.ts';
import { type Terminal, terminalOf, wrapLines } from './terminal.ts';

export interface RolloutOptions {
  readonly admin: string;
  readonly config?: string;
  readonly format: 'text' | 'json';
  readonly operation?: string;
  readonly client?: string;
  readonly force?: boolean;
  readonly why?: string;
}

/** Shows the rollout, or changes it as `request` says; and prints the resulting state. */
export async function carryOutRollout(
  options: RolloutOptions,
  request: RolloutRequest | undefined,
): Promise<CommandFault | undefined> {
  const client = await openAdmin(options.admin, options.config);
  const body = request && JSON.stringify(request);
  const outcome = isFault(client) ? client : await client.view<RolloutView>('/rollout', 'default', body);
  if (isFault(outcome)) {
    const hint = outcome.code === NEEDS_FORCE ? '\nTo insist, add --force.' : '';
    return { ...outcome, fault: terminalLines(`${outcome.fault}${hint}`) };
  }
  if (options.format === 'json') {
    process.stdout.write(`${jsonText(outcome)}\n`);
    return undefined;
  }
  const conditions = isFault(client) ? [] : await conditionsFrom(client);
  process.stdout.write(rolloutText(outcome, terminalOf(process.stdout), conditions));
  return undefined;
}

/** Asks for the conditions that the page's header shows; returns none if the gateway does not respond. */
async function conditionsFrom(client: AdminClient): Promise<readonly Condition[]> {
  const status = await client.view<Status>('/status', 'conditions');
  // The rollout's state itself is known.
  return isFault(status) ? [] : status.conditions;
}

/** Maximum number of changes to list. */
const MAX_CHANGES = 5;

/** Characters of the labels before each line. */
const LABEL = 12;

/** Lines with the dates of V1's end, which are copied into mails and calendars. */
const DATES = /^(?:deprecation|sunset|end) /;

/** Formats a rollout's state for a terminal, after those `conditions` that make requests fail or may do so: each fault once. */
export function rolloutText(
  view: RolloutView,
  { columns }: Pick<Terminal, 'columns'>,
  conditions: readonly Condition[] = [],
): string {
  const lines = [
    ...(view.warnings ?? []).map((sentence) => `warning     ${sentence}`),
    ...conditions
      .filter(({ level, isRepeated }) => (level === 'bad' || level === 'note') && isRepeated !== true)
      .map(({ level, sentence }) => `${level.padEnd(LABEL)}${sentence}`),
    `V1 origin   ${view.v1Origin ?? 'none: V1 requests can only be migrated'}`,
    `default     ${modeText(view.default)}`,
    ...Object.entries(view.operations).map(
      ([id, mode]) => `operation   ${id}: ${modeText(mode)}${clearText(view, mode, `--operation ${id}`)}`,
    ),
    ...Object.entries(view.clients).map(
      ([hash, mode]) =>
        `client      ${mode.name === undefined ? hash : `${mode.name} (${hash})`}: ${modeText(mode)}${clearText(view, mode, `--client ${hash}`)}`,
    ),
    requestsLine(view),
    ...(view.replica === undefined ? [] : replicaLines(view.replica)),
    ...(view.rateLimit === undefined ? [] : [`rate limit  ${rateLimitSentence(view.rateLimit)}`]),
    ...view.canaries.flatMap(({ operation, migrated, v1, evidence }) => [
      `window      ${operation ?? 'default'}: migrated ${countText(migrated)}, V1 ${countText(v1)}`,
      ...(evidence === undefined
        ? []
        : [`evidence    ${evidenceSentence(evidence)}`, `latency     ${latencySentence(evidence)}`]),
    ]),
    ...view.rollbacks.flatMap((rollback) => {
      const { at, by, operation, share, cause, resolved } = rollback;
      return [
        `roll-back   ${at} ${operation ?? 'default'} at ${share} %${by === undefined ? '' : ` by ${by}`}, ${resolved === undefined ? 'in force until you choose a mode' : `resolved ${resolved}`}: ${reasonSentence(rollback, cause?.name)}`,
        ...(cause === undefined
          ? []
          : [`            tail --filter '${causeFilter(cause).replaceAll("'", String.raw`'\''`)}'`]),
      ];
    }),
    ...(view.changes ?? [])
      .slice(0, MAX_CHANGES)
      .map(
        ({ at, what, who, by, why }) =>
          `change      ${at} ${what}${who === undefined ? '' : `, by ${who}`}${by === undefined ? '' : `, at ${by}`}${why === undefined ? '' : `: ${why}`}`,
      ),
    ...shadowLines(view, Date.now()),
    ...bodyCheckLines(view, conditions),
    ...view.brownouts.map(
      ({ id, state, share, status }) =>
        `brownout    ${id}: ${state.replace('-', ' ')}, ${share} % ${state === 'over' ? 'got' : 'get'} ${status}`,
    ),
    ...(view.deprecation === undefined ? [] : [`deprecation ${view.deprecation}`]),
    ...(view.sunset === undefined ? [] : [`sunset      ${view.sunset}: ${goneWords(view, Date.now())}`]),
    ...(view.ends === undefined
      ? []
      : endSentences({ ends: view.ends }, Date.now()).map((sentence) => `end         ${sentence}`)),
    ...(view.isSticky
      ? []
      : ['careful     client hashes change at each start: set GATEWAY_CLIENT_SECRET to keep shares stable']),
  ];
  const dated =
    columns === undefined ? lines : lines.map((line) => (DATES.test(line) ? line : withShortTimes(line)));
  return `${dated.map((line) => wrapLines(terminalLines(line), columns, line.startsWith(' ') ? 2 : LABEL)).join('\n')}\n`;
}

/** How to end a choice that keeps requests on V1 while V2 gets the others. */
function clearText(view: RolloutView, mode: ModeView, target: string): string {
  return mode.from === 'rule-book' || sendsToV2(mode) || !sendsToV2(view.default)
    ? ''
    : `; to end this: rollout clear ${target}`;
}

function requestsLine(view: RolloutView): string {
  const { v1, v2 } = view.requests;
  return `requests    ${v2} migrated, ${v1} to V1${scopeWords(view)}`;
}

/** Says whose counts these are, if there are other replicas. */
function scopeWords({ countedSince, replica }: RolloutView): string {
  if (countedSince !== undefined) return `; all counts are of all isolates since ${countedSince}`;
  if (replica === undefined) return '';
  return replica.aloneSince === undefined
    ? '; counts are of this replica, windows of all'
    : '; counts are of this replica';
}

function replicaLines({ name, replicas, aloneSince, aloneReason, waiting }: ReplicaView): string[] {
  const choices =
    waiting === 1
      ? '1 choice waits for the store, and applies'
      : `${waiting} choices wait for the store, and apply`;
  return [
    `replicas    ${replicas === undefined ? 'not yet counted' : String(replicas)}; this is ${name}`,
    ...(aloneSince === undefined
      ? []
      : [
          `alone       since ${aloneSince} (${aloneReason ?? 'the store is unreachable'}): the last known state applies; ${waiting === 0 ? 'counts are of this replica' : `${choices} on this replica only`}`,
        ]),
  ];
}

/** Maximum pairs of client and operation to list, and places for each. */
const MAX_PAIRS = 10;
const MAX_PLACES = 5;

/** The requests that were checked instead of sent to V2: in total, then the pairs whose requests would fail. */
function bodyCheckLines({ bodyChecks, v1Origin }: RolloutView, conditions: readonly Condition[]): string[] {
  if (bodyChecks === undefined)
    return v1Origin === undefined
      ? []
      : ['dry runs    no body is checked, because GATEWAY_V2_OPENAPI is not set'];
  const { counts, omitted, past, warnings = [] } = bodyChecks;
  const warned = warnings.map((text) => `warning     ${text}`);
  if (counts.length === 0)
    return [
      ...warned,
      past === 0
        ? 'dry runs    no body was checked yet under this rule book'
        : 'dry runs    none now: V1 no longer serves the requests that were checked',
    ];
  const judged = counts.filter((pair) => wouldFail([pair]).judged > 0);
  const clients = countedClients(judged.map(({ client = NO_KEY }) => client));
  const failing = counts.filter(({ invalid, refused }) => invalid + refused > 0);
  // What V2 did with requests says more than their dry run.
  const isFailed = conditions.some(({ left }) => left !== undefined);
  const unlisted = Math.max(0, failing.length - MAX_PAIRS);
  return [
    ...warned,
    judged.length === 0
      ? `dry runs    ${counted(sum(counts, 'bodies'), 'request')}: no body was checked`
      : `dry runs    ${clients}: ${wouldFailWords(wouldFail(judged))}${isFailed ? '; but V2 itself failed lately: see the note above' : ''}`,
    ...failing.slice(0, MAX_PAIRS).flatMap((pair) => {
      const { operation = '(other)', client = '(no key)', name = client } = pair;
      return [
        `would fail  ${name} ${operation}: ${wouldFailWords(wouldFail([pair]))}`,
        ...placeLines('the gateway', faultPlaces([pair], 'refused')),
        ...placeLines('V2', faultPlaces([pair], 'invalid')),
      ];
    }),
    ...(unlisted === 0
      ? []
      : [`              and ${counted(unlisted, 'more pair')} of client and operation`]),
    ...(omitted === 0 ? [] : [`              ${omittedWords(counts, omitted)}`]),
  ];
}

function sum<Name extends string>(parts: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return parts.reduce((all, part) => all + part[name], 0);
}

function placeLines(who: string, places: ReturnType<typeof faultPlaces>): readonly string[] {
  return places
    .slice(0, MAX_PLACES)
    .map(({ place, count: times }) => `              refused by ${who}: ${place}, ${counted(times, 'time')}`);
}

/**
 * Operations whose reads were all the same in one line, then each of the others with its differences. Once no mode compares reads, all of
 * them in one line, for an hour.
 */
function shadowLines(view: RolloutView, now: number): readonly string[] {
  const { shadows } = view;
  return [false, true].flatMap((isVerified) => {
    const label = isVerified ? 'verify      ' : 'shadow      ';
    const all = shadows.filter(({ verified = false }) => verified === isVerified);
    const well = all.filter(({ different }) => different === 0);
    if (!isComparing(view, isVerified)) {
      const last = Math.max(0, ...all.map((one) => Date.parse(one.last ?? '') || 0));
      const different = sum(all, 'different');
      return now - last >= REPORTED_MS
        ? []
        : [
            `${label}over, the last read at ${new Date(last).toISOString()}: ${number(different)} of ${counted(sum(all, 'same') + different, 'read')} differed`,
          ];
    }
    const unknown = sum(well, 'unknown');
    const notCompared = unknown === 0 ? '' : `, ${number(unknown)} could not be compared`;
    return [
      ...(well.length === 0
        ? []
        : [
            `${label}${counted(well.length, 'operation')}: no read differs, ${number(sum(well, 'same'))} are the same${notCompared}`,
          ]),
      ...all
        .filter(({ different }) => different > 0)
        .flatMap(({ operation, same, different, unknown: open, fields }) => [
          `${label}${operation ?? '(other)'}: ${number(different)} of ${counted(same + different, 'read')} differ${open === 0 ? '' : `, ${number(open)} could not be compared`}`,
          ...fields
            .slice(0, 10)
            .map(
              ({ path, kind, count, change }) =>
                `              ${path}: ${kind}, ${counted(count, 'time')}${change === undefined ? '' : ` (${change} removes it)`}`,
            ),
        ]),
    ];
  });
}

const SOURCES: Readonly<Record<ModeView['from'], string>> = {
  default: 'built-in default',
  'rule-book': 'the rule book',
  operator: 'chosen by an operator',
  'roll-back': 'rolled back',
};

function modeText({ mode, share, from }: ModeView): string {
  const of = mode === 'verify' ? 'reads' : 'clients';
  return `${mode}${share === undefined ? '' : ` ${share} % of the ${of}`} (${SOURCES[from]})`;
}

function countText({ requests, failures }: OriginCount): string {
  return requests === 0 ? 'no recent request' : `${number(failures)} of ${number(requests)} failed`;
}
