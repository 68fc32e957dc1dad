import { terminalLines } from '../report/untrusted-text.ts';
import type { CountView, ModeView, RolloutView } from '../rollout/rollout-view.ts';

/** Formats the state of a rollout for a terminal. */
export function rolloutText(view: RolloutView): string {
  const lines = [
    `V1 origin   ${view.v1Origin ?? 'none: V1 requests can only be migrated'}`,
    `default     ${modeText(view.default)}`,
    ...Object.entries(view.operations).map(([id, mode]) => `operation   ${id}: ${modeText(mode)}`),
    ...Object.entries(view.clients).map(
      ([hash, mode]) =>
        `client      ${mode.name === undefined ? hash : `${mode.name} (${hash})`}: ${modeText(mode)}`,
    ),
    `requests    ${view.requests.v2} migrated, ${view.requests.v1} to V1`,
    ...view.canaries.map(
      ({ operation, migrated, v1 }) =>
        `window      ${operation ?? 'default'}: migrated ${countText(migrated)}, V1 ${countText(v1)}`,
    ),
    ...view.rollbacks.map(
      ({ at, operation, share, migrated, v1, resolved }) =>
        `roll-back   ${at} ${operation ?? 'default'} at ${share} %: migrated ${countText(migrated)}, V1 ${countText(v1)}; ${resolved === undefined ? 'in force until you choose a mode' : `resolved ${resolved}`}`,
    ),
    ...view.shadows.flatMap(({ operation, same, different, unknown, fields }) => [
      `shadow      ${operation ?? '(other)'}: ${same} same, ${different} different, ${unknown} unknown`,
      ...fields.slice(0, 10).map(({ path, kind, count }) => `              ${path}: ${kind}, ${count} times`),
    ]),
    ...view.brownouts.map(
      ({ id, state, share, status }) => `brownout    ${id}: ${state}, ${share} % get ${status}`,
    ),
    ...(view.deprecation === undefined ? [] : [`deprecation ${view.deprecation}`]),
    ...(view.sunset === undefined ? [] : [`sunset      ${view.sunset}`]),
    ...(view.isSticky
      ? []
      : ['careful     client hashes change at each start: set GATEWAY_CLIENT_SECRET to keep shares stable']),
  ];
  return terminalLines(`${lines.join('\n')}\n`);
}

const SOURCES: Readonly<Record<ModeView['from'], string>> = {
  default: 'built-in default',
  'rule-book': 'the rule book',
  operator: 'chosen here',
  'roll-back': 'rolled back',
};

function modeText({ mode, share, from }: ModeView): string {
  return `${mode}${share === undefined ? '' : ` ${share} % of the clients`} (${SOURCES[from]})`;
}

function countText({ requests, failures }: CountView): string {
  return `${failures} of ${requests} failed`;
}
