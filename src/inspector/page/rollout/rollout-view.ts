// Longer than other files: the cards of one view, each a table of a few lines.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { RulesView } from '../../api.ts';
import type {
  CountView,
  ModeView,
  RollbackView,
  RolloutView as Rollout,
} from '../../../rollout/rollout-view.ts';
import { endSentences } from '../../end-of-v1.ts';
import { useAsked } from '../admin-client.ts';
import { card } from '../parts/card.ts';
import { el, part } from '../parts/element.ts';
import { ago, clockTime, count, counted } from '../parts/format.ts';
import { Loading } from '../parts/loading.ts';
import type { Go } from '../page-state.ts';
import { RolloutForm } from './rollout-form.ts';
import { scrollTable } from '../parts/scroll-table.ts';
import { sentence } from '../parts/sentence.ts';
import { visibleText } from '../entries/visible-text.ts';

const REFRESH = 2000;

/** Properties of the rollout. */
export interface RolloutViewProps {
  readonly go: Go;
  readonly announce: (sentence: string) => void;
  readonly rules: RulesView | undefined;
}

/** The modes of V1 traffic, the state of the canary, the results of shadowing, and the notices to V1 clients. */
export function RolloutView({ go, announce, rules }: RolloutViewProps): VNode {
  const { response: asked, failure } = useAsked<Rollout>('rollout', REFRESH);
  const [changed, setChanged] = useState<Rollout | undefined>(undefined);
  const response = changed !== undefined && changed.revision > (asked?.revision ?? 0) ? changed : asked;
  if (response === undefined) return part(Loading, { failure, subject: 'the rollout' });
  return el(
    'div',
    { class: 'view rollout' },
    el('h2', null, 'Rollout'),
    banner(response),
    modesCard(response, go),
    part(RolloutForm, {
      rollout: response,
      operations: rules?.operations.flatMap(({ id }) => (id === '(other)' ? [] : [id])) ?? [],
      announce,
      onChanged: setChanged,
    }),
    canariesCard(response),
    shadowsCard(response),
    endCard(response),
    bodyChecksCard(response),
  );
}

function banner(rollout: Rollout): VNode {
  const standing = rollout.rollbacks.filter(({ resolved }) => resolved === undefined);
  const sentences = [
    ...standing.map(rollbackSentence),
    ...aloneSentences(rollout),
    ...(rollout.bodyChecks?.fault === undefined ? [] : [rollout.bodyChecks.fault]),
    ...(rollout.isSticky
      ? []
      : ['Client hashes change at each start, so shares are not stable: set GATEWAY_CLIENT_SECRET.']),
    ...(rollout.v1Origin === undefined
      ? ['No V1 service is configured, so V1 requests can only be migrated.']
      : []),
  ];
  const isWarning =
    standing.length > 0 ||
    rollout.bodyChecks?.fault !== undefined ||
    rollout.replica?.aloneSince !== undefined;
  return el(
    'section',
    {
      class: isWarning ? 'response no' : 'response yes',
      role: isWarning ? 'alert' : undefined,
    },
    el('h3', null, standing.length > 0 ? 'Rolled back' : modeText(rollout.default)),
    sentences.length > 0 &&
      el(
        'ul',
        { class: 'plain' },
        sentences.map((text) => el('li', { key: text }, sentence(text))),
      ),
  );
}

/** What an operator must know of a replica without its store. */
function aloneSentences({ replica, revision }: Rollout): readonly string[] {
  if (replica?.aloneSince === undefined) return [];
  const { name, aloneSince, aloneReason = '', waiting } = replica;
  return [
    `Alone since ${clockTime(aloneSince)}: ${name} does not reach the store (${aloneReason}). Revision ${revision} holds, and the counts are of this replica.`,
    ...(waiting === 0
      ? []
      : [`${counted(waiting, 'choice')} made here ${waiting === 1 ? 'waits' : 'wait'} for the store.`]),
  ];
}

function rollbackSentence({ operation, share, migrated, v1, at, by }: RollbackView): string {
  const stage = operation === undefined ? 'The canary' : `The canary of ${operation}`;
  return `${stage} of ${share} % went back to observe ${ago(at)}${by === undefined ? '' : `, by ${by}`}: ${ofAll(migrated)} migrated requests failed, ${ofAll(v1)} on V1. It stays until you choose a mode, here or with the command rollout.`;
}

function modesCard(rollout: Rollout, go: Go): VNode {
  const { requests, replica } = rollout;
  const since = replica === undefined ? 'since the start' : 'by this replica since its start:';
  return card(
    'Modes',
    `${since} ${counted(requests.v2, 'V1 request')} sent to V2, ${count(requests.v1)} to V1`,
    table(
      ['For', 'Mode', 'Chosen by'],
      [],
      [
        modeRow('everything else', rollout.default),
        ...Object.entries(rollout.operations).map(([id, mode]) =>
          modeRow(id, mode, () => go({ view: 'traffic', filter: `op:${id}`, entry: undefined })),
        ),
        ...Object.entries(rollout.clients).map(([hash, mode]) =>
          modeRow(mode.name ?? hash, mode, () =>
            go({ view: 'traffic', filter: `client:${hash}`, entry: undefined }),
          ),
        ),
      ],
    ),
  );
}

function modeRow(name: string, mode: ModeView, onOpen?: () => void): VNode {
  return el(
    'tr',
    { key: name },
    el(
      'th',
      { scope: 'row' },
      onOpen === undefined ? name : el('button', { type: 'button', class: 'link', onClick: onOpen }, name),
    ),
    el('td', null, sentence(modeText(mode))),
    el('td', null, SOURCES[mode.from]),
  );
}

const SOURCES: Readonly<Record<ModeView['from'], string>> = {
  default: 'nobody',
  'rule-book': 'the rule book',
  operator: 'an operator',
  'roll-back': 'a roll-back',
};

const MODES: Readonly<Record<ModeView['mode'], string>> = {
  migrate: 'Migrate',
  observe: 'Observe: V1 responds',
  shadow: 'Shadow: V1 responds, reads are compared',
  canary: 'Canary',
};

function modeText({ mode, share }: ModeView): string {
  return share === undefined ? MODES[mode] : `${MODES[mode]}: ${share} % of the clients are migrated`;
}

function canariesCard({ canaries, rollbacks, rollback }: Rollout): VNode | false {
  if (canaries.length === 0 && rollbacks.length === 0) return false;
  const rule = `back to observe when migrated requests fail ${rollback.margin} points more often than V1's, status by status, of at least ${rollback.requests} in ${rollback.window / 1000} s`;
  return card(
    'Canaries',
    rule,
    table(
      ['Stage', 'Migrated', 'V1', 'State'],
      [],
      [
        ...canaries.map(({ operation, migrated, v1 }) =>
          canaryRow(`now ${operation ?? ''}`, operation, migrated, v1, 'on watch'),
        ),
        ...rollbacks.map(({ at, operation, migrated, v1, resolved }) =>
          canaryRow(
            at,
            operation,
            migrated,
            v1,
            `rolled back ${ago(at)}${resolved === undefined ? '' : ', resolved'}`,
          ),
        ),
      ],
    ),
  );
}

function canaryRow(
  key: string,
  operation: string | undefined,
  migrated: CountView,
  v1: CountView,
  state: string,
): VNode {
  return el(
    'tr',
    { key },
    el('th', { scope: 'row' }, operation ?? 'everything else'),
    el('td', null, countText(migrated)),
    el('td', null, countText(v1)),
    el('td', null, state),
  );
}

/** Fields that differ, listed for one operation. */
const MAX_FIELDS = 10;

function shadowsCard({ shadows }: Rollout): VNode | false {
  if (shadows.length === 0) return false;
  return card(
    'Reads sent to both services',
    'since the start, noise left out',
    table(
      ['Operation', 'Same', 'Different', 'Unknown', 'Fields that differ'],
      ['Same', 'Different', 'Unknown'],
      shadows.map(({ operation = '(other)', same, different, unknown, fields }) =>
        el(
          'tr',
          { key: operation },
          el('th', { scope: 'row' }, operation),
          el('td', { class: 'number' }, count(same)),
          el('td', { class: 'number' }, count(different)),
          el('td', { class: 'number' }, count(unknown)),
          el(
            'td',
            null,
            fields
              .slice(0, MAX_FIELDS)
              .map(({ path, kind, count: times }) =>
                el('div', { key: `${kind} ${path}` }, el('code', null, path), ` ${kind}, ${count(times)}×`),
              ),
            fields.length > MAX_FIELDS &&
              el('div', null, `and ${counted(fields.length - MAX_FIELDS, 'more field')}, not listed`),
          ),
        ),
      ),
    ),
  );
}

/** Pointers listed for one client and operation. */
const MAX_POINTERS = 5;

const COUNTERS = ['invalid', 'refusedByBoth', 'valid', 'unknown', 'refused'] as const;

function bodyChecksCard({ bodyChecks, clients, v1Origin }: Rollout): VNode | false {
  if (v1Origin === undefined) return false;
  const title = 'Dry runs: bodies for V2, checked against its schema and not sent';
  if (bodyChecks === undefined)
    return card(title, undefined, el('p', null, 'None: GATEWAY_V2_OPENAPI is not set.'));
  const { counts, omitted, warnings = [] } = bodyChecks;
  const warned = warnings.map((text) =>
    el('p', { key: text }, el('strong', null, 'Warning: '), visibleText(text)),
  );
  if (counts.length === 0)
    return card(title, undefined, warned, el('p', null, 'None was seen yet under this rule book.'));
  return card(
    title,
    'since the start or the last change of the rule book',
    warned,
    table(
      [
        'Client',
        'Operation',
        'Refused, V1 accepted',
        'Refused by both',
        'Accepted',
        'Not known',
        'Refused by the gateway, V1 accepted',
        'First fault',
      ],
      [
        'Refused, V1 accepted',
        'Refused by both',
        'Accepted',
        'Not known',
        'Refused by the gateway, V1 accepted',
      ],
      counts.map(({ client, operation = '(other)', pointers, refusals, ...numbers }) =>
        el(
          'tr',
          { key: `${client ?? ''} ${operation}` },
          el('th', { scope: 'row' }, client === undefined ? '(no key)' : (clients[client]?.name ?? client)),
          el('td', null, operation),
          COUNTERS.map((name) => el('td', { class: 'number', key: name }, count(numbers[name]))),
          el(
            'td',
            null,
            [...pointers, ...refusals.map(({ reason, count: times }) => ({ at: reason, count: times }))]
              .slice(0, MAX_POINTERS)
              .map(({ at, count: times }) =>
                el(
                  'div',
                  { key: at },
                  el('code', null, visibleText(at || '(the body)')),
                  ` ${count(times)}×`,
                ),
              ),
          ),
        ),
      ),
      'wide',
    ),
    omitted > 0 && el('p', null, `${counted(omitted, 'more pair')} of client and operation, not listed.`),
  );
}

function endCard(rollout: Rollout): VNode | false {
  const { brownouts } = rollout;
  const sentences = [...endSentences(rollout, Date.now()), ...brownouts.map(brownoutSentence)];
  if (sentences.length === 0) return false;
  return card(
    'The end of V1',
    undefined,
    el(
      'ul',
      { class: 'plain' },
      sentences.map((text) => el('li', { key: text }, sentence(text))),
    ),
  );
}

function brownoutSentence({ id, state, share, status, from, until }: Rollout['brownouts'][number]): string {
  return `Brownout ${id} is ${state.replace('-', ' ')}: ${share} % get ${status}${from === undefined ? '' : `, from ${from}`}${until === undefined ? '' : `, until ${until}`}.`;
}

function countText(counted: CountView): string {
  return `${ofAll(counted)} failed`;
}

function ofAll({ requests, failures }: CountView): string {
  return `${count(failures)} of ${count(requests)}`;
}

function table(
  columns: readonly string[],
  numbers: readonly string[],
  rows: readonly VNode[],
  style?: 'wide',
): VNode {
  return scrollTable(columns.join(', '), { columns, numbers }, rows, style);
}
