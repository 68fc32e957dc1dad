import type { VNode } from 'preact';
import type { ChangeView, Hits, RulesView as Rules } from '../../api.ts';
import type { Asked } from '../admin-client.ts';
import { card } from '../parts/card.ts';
import { el, part } from '../parts/element.ts';
import { ago, count, counted, dayTime } from '../parts/format.ts';
import type { HueOf } from '../traffic/hues.ts';
import { Loading } from '../parts/loading.ts';
import { assumedSign, OperationTable } from '../traffic/operation-table.ts';
import type { Go } from '../page-state.ts';
import { RulesTrial } from './rules-trial.ts';
import { unbrokenWords } from '../parts/sentence.ts';

/** Properties of the rule book. */
export interface RulesViewProps {
  readonly asked: Asked<Rules>;
  readonly go: Go;
  readonly hueOf: HueOf;
  readonly announce: (sentence: string) => void;
}

/** The rule book in force: its changes, operations and assumptions, with their hits. */
export function RulesView({ asked, go, hueOf, announce }: RulesViewProps): VNode {
  const { response: rules, failure } = asked;
  if (rules === undefined) return part(Loading, { failure, subject: 'the rule book' });
  return el(
    'div',
    { class: 'view rules' },
    el('h2', null, 'Rule book'),
    el(
      'p',
      { class: 'lead' },
      'Targets V2 release ',
      el('strong', null, rules.version),
      '. In force since ',
      el('time', { dateTime: rules.loadedAt }, dayTime(rules.loadedAt)),
      ', hash ',
      el('code', null, rules.hash),
      '.',
    ),
    el('p', { class: 'coverage' }, rules.counts),
    el('h3', null, counted(rules.changes.length, 'change')),
    el(
      'ol',
      { class: 'changes' },
      rules.changes.map((change) => changeCard(change, hueOf, go)),
    ),
    el('h3', null, counted(rules.operations.filter(({ id }) => id !== '(other)').length, 'operation')),
    part(OperationTable, { operations: rules.operations, hueOf, go }),
    assumptions(rules.assumptions),
    policies(rules),
    part(RulesTrial, { text: rules.text, go, announce }),
  );
}

function changeCard(change: ChangeView, hueOf: HueOf, go: Go): VNode {
  const rules = [...change.request, ...change.response.map((rule) => ({ ...rule, hits: undefined }))];
  return el(
    'li',
    { key: change.id, class: `card change hue-${hueOf(change.id)}` },
    el('h4', null, change.id, change.assumed && assumedSign()),
    el('p', null, change.summary),
    el(
      'p',
      { class: 'hits' },
      hits(change, () => go({ view: 'traffic', filter: `change:${change.id}`, entry: undefined })),
    ),
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
    el('button', { type: 'button', class: 'link', onClick: show }, counted(times, 'hit')),
    ', last ',
    el('time', { dateTime: lastHit ?? '' }, ago(lastHit)),
  ];
}

function assumptions(sentences: readonly string[]): VNode | false {
  if (sentences.length === 0) return false;
  return card(
    'Assumptions',
    undefined,
    el(
      'p',
      { class: 'lead' },
      'Neither the specification nor the documentation shows these. Confirm them with the service.',
    ),
    el(
      'ul',
      { class: 'plain' },
      sentences.map((sentence) => el('li', { key: sentence }, sentence)),
    ),
  );
}

function policies({ policies: values }: Rules): VNode {
  return card(
    'Policies',
    undefined,
    el(
      'dl',
      { class: 'facts' },
      Object.entries(values).map(([name, value]) =>
        el('div', { key: name, class: 'fact' }, el('dt', null, name), el('dd', null, value)),
      ),
    ),
  );
}
