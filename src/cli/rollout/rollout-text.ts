import { goneWords } from '../../inspector/end-of-v1.ts';
import { counted } from '../../report/text/number-text.ts';
import { terminalLines } from '../../report/text/untrusted-text.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { wrapLines } from '../terminal/wrap-text.ts';
import type { BodyCheckCount } from '../../rollout/body-check-tally.ts';
import type { CountView, ModeView, ReplicaView, RolloutView } from '../../rollout/rollout-view.ts';

/** Characters of the labels before each line. */
const LABEL = 12;

/** Formats the state of a rollout for a terminal. */
export function rolloutText(view: RolloutView, { columns }: Pick<Terminal, 'columns'>): string {
  const lines = [
    `V1 origin   ${view.v1Origin ?? 'none: V1 requests can only be migrated'}`,
    `default     ${modeText(view.default)}`,
    ...Object.entries(view.operations).map(([id, mode]) => `operation   ${id}: ${modeText(mode)}`),
    ...Object.entries(view.clients).map(
      ([hash, mode]) =>
        `client      ${mode.name === undefined ? hash : `${mode.name} (${hash})`}: ${modeText(mode)}`,
    ),
    requestsLine(view),
    ...(view.replica === undefined ? [] : replicaLines(view.replica)),
    ...view.canaries.map(
      ({ operation, migrated, v1 }) =>
        `window      ${operation ?? 'default'}: migrated ${countText(migrated)}, V1 ${countText(v1)}`,
    ),
    ...view.rollbacks.map(
      ({ at, by, operation, share, migrated, v1, resolved }) =>
        `roll-back   ${at} ${operation ?? 'default'} at ${share} %${by === undefined ? '' : ` by ${by}`}: migrated ${countText(migrated)}, V1 ${countText(v1)}; ${resolved === undefined ? 'in force until you choose a mode' : `resolved ${resolved}`}`,
    ),
    ...view.shadows.flatMap(({ operation, same, different, unknown, fields }) => [
      `shadow      ${operation ?? '(other)'}: ${same} same, ${different} different, ${unknown} unknown`,
      ...fields
        .slice(0, 10)
        .map(({ path, kind, count }) => `              ${path}: ${kind}, ${counted(count, 'time')}`),
    ]),
    ...bodyCheckLines(view),
    ...view.brownouts.map(
      ({ id, state, share, status }) => `brownout    ${id}: ${state}, ${share} % get ${status}`,
    ),
    ...(view.deprecation === undefined ? [] : [`deprecation ${view.deprecation}`]),
    ...(view.sunset === undefined ? [] : [`sunset      ${view.sunset}: ${goneWords(view, Date.now())}`]),
    ...(view.isSticky
      ? []
      : ['careful     client hashes change at each start: set GATEWAY_CLIENT_SECRET to keep shares stable']),
  ];
  return `${lines.map((line) => wrapLines(terminalLines(line), columns, line.startsWith(' ') ? 2 : LABEL)).join('\n')}\n`;
}

function requestsLine(view: RolloutView): string {
  const { v1, v2 } = view.requests;
  return `requests    ${v2} migrated, ${v1} to V1${scopeWords(view)}`;
}

/** Whose the counts are, where there are others than this gateway. */
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
      ? '1 choice waits for the store, and holds'
      : `${waiting} choices wait for the store, and hold`;
  return [
    `replicas    ${replicas === undefined ? 'not yet counted' : String(replicas)}; this is ${name}`,
    ...(aloneSince === undefined
      ? []
      : [
          `alone       since ${aloneSince} (${aloneReason ?? 'the store is out of reach'}): what was last known holds; ${waiting === 0 ? 'counts are of this replica' : `${choices} on this replica only`}`,
        ]),
  ];
}

/** Pairs of client and operation, and pointers of each, that are listed. */
const MAX_PAIRS = 10;
const MAX_POINTERS = 5;

/** The checks of bodies that were not sent to V2. */
function bodyCheckLines({ bodyChecks, clients, v1Origin }: RolloutView): string[] {
  if (bodyChecks === undefined)
    return v1Origin === undefined
      ? []
      : ["V2's schema not known: no body is checked, as GATEWAY_V2_OPENAPI is not set"];
  const { counts, omitted, warnings = [] } = bodyChecks;
  const warned = warnings.map((text) => `warning     ${text}`);
  if (counts.length === 0) return [...warned, "V2's schema no body was checked yet under this rule book"];
  const rest = omitted + Math.max(0, counts.length - MAX_PAIRS);
  return [
    ...warned,
    ...counts
      .slice(0, MAX_PAIRS)
      .flatMap(({ operation, client, pointers, refused, bodies, refusals, ...count }) => {
        const name = client === undefined ? '(no key)' : (clients[client]?.name ?? client);
        return [
          ...(refused === 0
            ? []
            : [
                `the gateway ${name} ${operation ?? '(other)'}: ${refused} of ${bodies} refused that V1 accepted`,
                ...refusals
                  .slice(0, MAX_POINTERS)
                  .map(({ reason, count: times }) => `              ${reason}: ${counted(times, 'time')}`),
              ]),
          `V2's schema ${name} ${operation ?? '(other)'}: ${checkWords(count)}`,
          ...pointers
            .slice(0, MAX_POINTERS)
            .map(({ at, count: times }) => `              ${at || 'the body'}: ${counted(times, 'time')}`),
        ];
      }),
    ...(rest === 0 ? [] : [`              and ${rest} more`]),
  ];
}

function checkWords({
  valid,
  invalid,
  refusedByBoth,
  unknown,
}: Pick<BodyCheckCount, 'valid' | 'invalid' | 'refusedByBoth' | 'unknown'>): string {
  return valid + invalid + refusedByBoth + unknown === 0
    ? 'no body was checked'
    : `${invalid} refused that V1 accepted, ${valid} accepted, ${refusedByBoth} refused by both, ${unknown} unknown`;
}

const SOURCES: Readonly<Record<ModeView['from'], string>> = {
  default: 'built-in default',
  'rule-book': 'the rule book',
  operator: 'chosen by an operator',
  'roll-back': 'rolled back',
};

function modeText({ mode, share, from }: ModeView): string {
  return `${mode}${share === undefined ? '' : ` ${share} % of the clients`} (${SOURCES[from]})`;
}

function countText({ requests, failures }: CountView): string {
  return `${failures} of ${requests} failed`;
}
