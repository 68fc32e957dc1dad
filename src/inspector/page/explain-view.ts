import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Explanation, ExplainRequest, RuleOutcome, RulesView } from '../api.ts';
import { asFailure, postJson } from './admin-client.ts';
import { curlButtons } from './curl-buttons.ts';
import { DiffPane } from './diff-pane.ts';
import { classes, el, part } from './element.ts';
import type { HueOf } from './hues.ts';
import { VerdictBadge } from './verdict-badge.ts';

/** Properties of an explanation. */
export interface ExplainViewProps {
  readonly rules: RulesView | undefined;
  readonly hueOf: HueOf;
  readonly summaryOf: (change: string) => string | undefined;
  readonly announce: (sentence: string) => void;
}

const EXAMPLE = `{
  "data": {
    "property": {
      "display_name": "The Gables",
      "street_address": "1 High Street",
      "suburb": "Richmond"
    }
  }
}`;

/** Explains a request by the plan that serves live traffic; nothing is sent. */
export function ExplainView(props: ExplainViewProps): VNode {
  const [operation, setOperation] = useState('order_floor_plan');
  const [query, setQuery] = useState('');
  const [body, setBody] = useState(EXAMPLE);
  const [explanation, setExplanation] = useState<Explanation | undefined>(undefined);
  const [fault, setFault] = useState('');
  const operations = props.rules?.operations.filter(({ id }) => id !== '(other)') ?? [];
  const explain = async (): Promise<void> => {
    const named = operations.find(({ id }) => id === operation);
    const target = query === '' || named === undefined ? {} : { target: targetOf(named.template, query) };
    const request: ExplainRequest = { operation, ...target, body };
    try {
      setExplanation(await postJson<Explanation>('explain', request));
      setFault('');
    } catch (error) {
      setFault(asFailure(error).message);
    }
  };
  return el(
    'div',
    { class: 'view explain' },
    el('h2', null, 'Explain a request'),
    el(
      'p',
      { class: 'lead' },
      'Shows what the gateway would do with a request, by the same plan as live traffic. Nothing is sent.',
    ),
    el(
      'form',
      {
        class: 'card',
        onSubmit: (event) => {
          event.preventDefault();
          void explain();
        },
      },
      el('label', { for: 'explain-operation' }, 'Operation'),
      el(
        'select',
        {
          id: 'explain-operation',
          value: operation,
          onChange: ({ currentTarget }) => setOperation(currentTarget.value),
        },
        operations.map(({ id, method, template }) =>
          el('option', { key: id, value: id, selected: id === operation }, `${id} – ${method} ${template}`),
        ),
      ),
      el('label', { for: 'explain-query' }, 'V1 query'),
      el('input', {
        id: 'explain-query',
        type: 'text',
        spellcheck: false,
        placeholder: 'none',
        value: query,
        onInput: ({ currentTarget }) => setQuery(currentTarget.value),
      }),
      el('label', { for: 'explain-body' }, 'V1 body'),
      el('textarea', {
        id: 'explain-body',
        rows: 10,
        spellcheck: false,
        value: body,
        onInput: ({ currentTarget }) => setBody(currentTarget.value),
      }),
      el('button', { type: 'submit', class: 'button primary' }, 'Explain'),
      el('p', { class: 'fault', role: 'alert' }, fault),
    ),
    explanation !== undefined && explained(explanation, props),
  );
}

function targetOf(template: string, query: string): string {
  return `/api/v1${template}?${query.replace(/^\?/, '')}`;
}

function explained(explanation: Explanation, { hueOf, summaryOf, announce }: ExplainViewProps): VNode {
  const { verdict, v1Request, v2Request, diff, edits, refusal, note, curl } = explanation;
  return el(
    'section',
    { class: 'card', 'aria-label': 'Explanation' },
    el('h3', null, part(VerdictBadge, { verdict }), ' ', refusal?.detail ?? note ?? ''),
    part(DiffPane, {
      changed: {
        v1Request,
        ...(v2Request === undefined ? {} : { v2Request }),
        ...(diff === undefined ? {} : { diff }),
        edits,
        missing: refusal === undefined ? 'There is nothing to compare.' : 'Nothing would be sent to V2.',
      },
      hueOf,
      summaryOf,
    }),
    el('div', { class: 'actions' }, ...curlButtons({ curl, announce })),
    el('h4', null, 'Rules'),
    el('ul', { class: 'outcomes' }, explanation.rules.map(ruleOutcome)),
    el('h4', null, 'Policies'),
    el(
      'ul',
      { class: 'outcomes' },
      explanation.policies.map(({ policy, value, used }) =>
        el(
          'li',
          { key: policy, class: classes(used && 'applied') },
          el('code', null, `${policy}: ${value}`),
          el('span', null, used ? 'decided here' : 'not needed'),
        ),
      ),
    ),
  );
}

function ruleOutcome({ change, text, applied, why }: RuleOutcome): VNode {
  return el(
    'li',
    { key: `${change} ${text}`, class: classes(applied && 'applied') },
    el('code', null, text),
    el('span', null, el('strong', null, change), ` – ${why}`),
  );
}
