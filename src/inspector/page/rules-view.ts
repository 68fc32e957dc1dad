import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type {
  ChangeView,
  Hits,
  OperationView,
  RulesView as Rules,
  TrialDifference,
  TrialOutcome,
} from '../api.ts';
import { type Asked, postText, useAttempt } from './admin-client.ts';
import { ago, clockTime, count, counted, dayTime, type HueOf } from './format.ts';
import { type Go, toExchanges } from './page-state.ts';
import {
  button,
  card,
  type Column,
  CopyButton,
  el,
  fact,
  form,
  linkButton,
  Loading,
  type PageTools,
  part,
  scrollTable,
  sentence,
  sentenceList,
  unbrokenWords,
  visibleText,
} from './parts.ts';

/** The text of a trial, and what shows its outcome. */
interface TrialDraft extends Pick<PageTools, 'go' | 'announce'> {
  /** Undefined while it is that of the rule book in force. */
  readonly draft: string | undefined;
  readonly setDraft: (draft: string | undefined) => void;
}

/** Properties of the rule book. */
interface RulesViewProps extends TrialDraft {
  readonly asked: Asked<Rules>;
  readonly hueOf: HueOf;
}

/** The rule book in force: its changes, operations and assumptions, with their hits. */
export function RulesView({ asked, go, hueOf, announce, draft, setDraft }: RulesViewProps): VNode {
  const { response: rules, failure } = asked;
  if (rules === undefined) return part(Loading, { failure, subject: 'the rule book' });
  return el(
    'div',
    { class: 'view rules' },
    el('h2', null, 'Rule book'),
    el(
      'p',
      { class: 'lead' },
      ...(rules.version === undefined
        ? []
        : ['Targets V2 release ', el('strong', null, rules.version), '. ']),
      'In force since ',
      el('time', { dateTime: rules.loadedAt }, dayTime(rules.loadedAt)),
      ', hash ',
      el('code', null, rules.hash),
      '.',
    ),
    el('p', { class: 'coverage' }, sentence(rules.counts)),
    el('h3', null, counted(rules.changes.length, 'change')),
    el(
      'ol',
      { class: 'changes' },
      rules.changes.map((change) => changeCard(change, hueOf, go)),
    ),
    el('h3', null, counted(rules.operations.filter(({ id }) => id !== '(other)').length, 'operation')),
    operationTable(rules.operations, hueOf, go),
    rules.assumptions.length > 0 &&
      card(
        'Assumptions',
        undefined,
        el(
          'p',
          { class: 'lead' },
          'Neither the specification nor the documentation shows these. Confirm them with the owners of the service.',
        ),
        sentenceList(rules.assumptions, (one) => one),
      ),
    card(
      'Policies',
      undefined,
      el(
        'dl',
        { class: 'facts' },
        Object.entries(rules.policies).map(([name, value]) => fact(name, value)),
      ),
    ),
    part(RulesTrial, { text: rules.text, go, announce, draft, setDraft }),
  );
}

function changeCard(change: ChangeView, hueOf: HueOf, go: Go): VNode {
  const rules = [...change.request, ...change.response.map((rule) => ({ ...rule, hits: undefined }))];
  return el(
    'li',
    { key: change.id, class: `card change hue-${hueOf(change.id)}` },
    el('h4', null, change.id, change.assumed && assumedSign()),
    el('p', null, change.summary),
    el('p', { class: 'hits' }, hits(change, toExchanges(go, `change:${change.id}`))),
    el(
      'ul',
      { class: 'rule-list' },
      rules.map((rule, index) =>
        el(
          'li',
          { key: index },
          el('code', null, unbrokenWords(rule.text)),
          el('span', null, rule.hits === undefined ? 'on responses' : count(rule.hits)),
        ),
      ),
    ),
    el(
      'p',
      { class: 'on' },
      change.on === 'every' ? 'Every POST and PATCH with a JSON body' : `On ${change.on.join(', ')}`,
    ),
  );
}

function hits({ hits: times, lastHit }: Hits, show: () => void): (VNode | string)[] {
  if (times === 0) return ['No hits'];
  return [
    linkButton(counted(times, 'hit'), show),
    ', last ',
    el('time', { dateTime: lastHit ?? '' }, ago(lastHit)),
  ];
}

/** Properties of a trial. */
interface RulesTrialProps extends TrialDraft {
  /** The source text of the rule book in force. */
  readonly text: string;
}

/** Edits the rule book as a trial, shows which of the kept exchanges would differ, and exports the change as a patch. */
function RulesTrial({ text, go, announce, draft, setDraft }: RulesTrialProps): VNode {
  const [run, setRun] = useState<TrialOutcome | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const [isBusy, setIsBusy] = useState(false);
  const change = (next: string | undefined): void => {
    setDraft(next);
    setRun(undefined);
  };
  const tryOut = async (): Promise<void> => {
    setIsBusy(true);
    await attempt(async () => setRun(await postText<TrialOutcome>('rules/try', draft ?? text)));
    setIsBusy(false);
  };
  return card(
    'Try a change',
    'on kept exchanges; nothing is applied from here',
    form(
      { class: 'trial' },
      tryOut,
      el('label', { for: 'rules-draft' }, 'Rule book'),
      el('textarea', {
        id: 'rules-draft',
        class: 'file',
        rows: 18,
        spellcheck: false,
        wrap: 'off',
        value: draft ?? text,
        onInput: ({ currentTarget }) => change(currentTarget.value),
      }),
      el(
        'div',
        { class: 'actions' },
        el('button', { type: 'submit', class: 'button primary', disabled: isBusy }, 'Try it'),
        draft !== undefined && button('Back to the rule book in force', () => change(undefined)),
      ),
      fault !== '' && el('p', { class: 'fault', role: 'alert' }, fault),
    ),
    run !== undefined && outcome(run, go, announce),
  );
}

function outcome(
  { faults, result, against }: TrialOutcome,
  go: Go,
  announce: (sentence: string) => void,
): VNode {
  if (result === undefined)
    return el(
      'div',
      { class: 'trial-outcome', role: 'alert' },
      el('h4', null, `${counted(faults.length, 'fault')}: a gateway would refuse this rule book`),
      sentenceList(
        faults.map(({ line, column, message }) => `Line ${line}, column ${column}: ${message}`),
        visibleText,
      ),
    );
  const { exchanges, differing, patch } = result;
  return el(
    'div',
    { class: 'trial-outcome' },
    el('div', { role: 'status' }, el('h4', null, summary(result))),
    el('p', { class: 'lead' }, notes(result, against)),
    exchanges.map((difference) => differenceItem(difference, go)),
    differing > exchanges.length &&
      el('p', null, `${counted(differing - exchanges.length, 'further exchange')}, not listed.`),
    patch !== '' &&
      el(
        'details',
        { class: 'patch' },
        el('summary', null, 'The change as a patch'),
        el('pre', { class: 'file', tabIndex: 0 }, patch),
        el(
          'div',
          { class: 'actions' },
          part(CopyButton, { text: patch, label: 'Copy the patch', done: 'Copied: the patch.', announce }),
          el(
            'a',
            {
              class: 'button',
              href: `data:text/x-diff;charset=utf-8,${encodeURIComponent(patch)}`,
              download: 'rules.patch',
            },
            'Download',
          ),
        ),
      ),
  );
}

function summary({ tried, differing }: NonNullable<TrialOutcome['result']>): string {
  if (tried === 0) return 'No kept exchange could be tried.';
  return `${differing === 0 ? 'None' : count(differing)} of the ${counted(tried, 'exchange')} that could be tried would differ.`;
}

/** The limits of the trial. */
function notes(
  { kept, tried, responses, withoutValues, patch }: NonNullable<TrialOutcome['result']>,
  against: string,
): string {
  return [
    patch === ''
      ? `The text is unchanged from the rule book in force, ${against}.`
      : `Compared with the rule book in force, ${against}.`,
    ...(tried < kept
      ? [
          `${counted(kept - tried, 'kept exchange')} could not be tried: the body is not kept, or the time was used up.`,
        ]
      : []),
    responses === tried
      ? 'Their responses were compared as well.'
      : `Responses were compared for ${count(responses)} of them: for the others V2’s response is not kept.`,
    ...(withoutValues > 0
      ? [
          `The values of ${count(withoutValues)} are not kept: placeholders replace them, and rules that map values have no effect on those.`,
        ]
      : []),
  ].join(' ');
}

function differenceItem(difference: TrialDifference, go: Go): VNode {
  const { seq, requestId, name, time, request, response, before, now } = difference;
  const body = (title: string, text: string): VNode =>
    el(
      'div',
      null,
      el('h5', null, title),
      el('pre', { class: 'file', tabIndex: 0 }, visibleText(text || 'none')),
    );
  return el(
    'details',
    { key: seq, class: 'difference' },
    el(
      'summary',
      null,
      el('strong', null, visibleText(name)),
      ` at ${clockTime(time)}: `,
      visibleText(
        [
          ...(request.length > 0 ? [`request ${request.join(', ')}`] : []),
          ...(response.length > 0 ? [`response ${response.join(', ')}`] : []),
        ].join('; '),
      ),
    ),
    el(
      'div',
      { class: 'pair' },
      body('V2 body by the rule book in force', before),
      body('V2 body by this one', now),
    ),
    button('Open the exchange', () => go({ view: 'traffic', filter: '', entry: { id: requestId, seq } })),
  );
}

/** The operations of the rule book, with their use through V1. */
function operationTable(operations: readonly OperationView[], hueOf: HueOf, go: Go): VNode {
  const columns: readonly Column<OperationView>[] = [
    { name: 'Operation', kind: 'head', cell: ({ id, assumed }) => [id, assumed && assumedSign()] },
    {
      name: 'V1 request',
      cell: ({ method, template, gone }) => [
        el('code', null, `${method} ${template}`),
        gone !== undefined && ` gone: ${gone}`,
      ],
    },
    {
      name: 'Changes',
      cellClass: 'change-dots',
      cell: ({ changes }) =>
        changes.map((change) =>
          el(
            'span',
            { key: change, class: 'change-name' },
            el('i', { class: `dot hue-${hueOf(change)}` }),
            change,
          ),
        ),
    },
    {
      name: 'Hits',
      kind: 'number',
      cell: ({ id, hits: times }) =>
        times === 0
          ? '0'
          : linkButton(
              count(times),
              toExchanges(go, id === '(other)' ? 'op:- route:v1' : `op:${id}`),
              `Show the ${counted(times, 'exchange')} of ${id}`,
            ),
    },
    { name: 'Last hit', cell: ({ lastHit }) => el('time', { dateTime: lastHit ?? '' }, ago(lastHit)) },
  ];
  return scrollTable('Operations', columns, { rows: operations, keyOf: ({ id }) => id }, 'wide');
}

/** Marks an assumption, which neither the specification nor the documentation confirms. */
function assumedSign(): VNode {
  return el(
    'span',
    { class: 'assumed', title: 'Neither the specification nor the documentation shows this.' },
    'assumed',
  );
}
