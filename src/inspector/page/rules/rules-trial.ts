import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { TrialDifference, TrialOutcome } from '../../api.ts';
import { asFailure, postText } from '../admin-client.ts';
import { card } from '../parts/card.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { el, part } from '../parts/element.ts';
import { clockTime, count, counted } from '../parts/format.ts';
import type { Go } from '../page-state.ts';
import { visibleText } from '../entries/visible-text.ts';

/** Properties of a trial. */
export interface RulesTrialProps {
  /** The source text of the rule book in force. */
  readonly text: string;
  readonly go: Go;
  readonly announce: (sentence: string) => void;
}

/** Edits the rule book as a trial: tells which of the kept exchanges would differ, and exports the change as a patch. */
export function RulesTrial({ text, go, announce }: RulesTrialProps): VNode {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const [run, setRun] = useState<TrialOutcome | undefined>(undefined);
  const [fault, setFault] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const tryOut = async (): Promise<void> => {
    setIsBusy(true);
    try {
      setRun(await postText<TrialOutcome>('rules/try', draft ?? text));
      setFault('');
    } catch (error) {
      setFault(asFailure(error).message);
    } finally {
      setIsBusy(false);
    }
  };
  return card(
    'Try a change',
    'on what is kept; nothing is applied from here',
    el(
      'form',
      {
        class: 'trial',
        onSubmit: (event) => {
          event.preventDefault();
          void tryOut();
        },
      },
      el('label', { for: 'rules-draft' }, 'Rule book'),
      el('textarea', {
        id: 'rules-draft',
        class: 'file',
        rows: 18,
        spellcheck: false,
        wrap: 'off',
        value: draft ?? text,
        onInput: ({ currentTarget }) => {
          setDraft(currentTarget.value);
          setRun(undefined);
        },
      }),
      el(
        'div',
        { class: 'actions' },
        el('button', { type: 'submit', class: 'button primary', disabled: isBusy }, 'Try it'),
        draft !== undefined &&
          el(
            'button',
            {
              type: 'button',
              class: 'button',
              onClick: () => {
                setDraft(undefined);
                setRun(undefined);
              },
            },
            'Back to the rule book in force',
          ),
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
      el(
        'ul',
        { class: 'plain' },
        faults.map(({ line, column, message }) =>
          el(
            'li',
            { key: `${line}:${column} ${message}` },
            visibleText(`Line ${line}, column ${column}: ${message}`),
          ),
        ),
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

/** The limits of the trial, so that nobody takes it for more than it is. */
function notes(
  { kept, tried, responses, withoutValues, patch }: NonNullable<TrialOutcome['result']>,
  against: string,
): string {
  return [
    patch === ''
      ? `The text is that of the rule book in force, ${against}.`
      : `Compared with the rule book in force, ${against}.`,
    ...(tried < kept
      ? [
          `${counted(kept - tried, 'kept exchange')} could not be tried: the body is not kept, or the time was used up.`,
        ]
      : []),
    responses === tried
      ? 'Their responses were compared too.'
      : `Responses were compared for ${count(responses)} of them: of the others no response of V2 is kept.`,
    ...(withoutValues > 0
      ? [
          `Of ${count(withoutValues)} the values are not kept: placeholders stand for them, so rules that map values have no effect there.`,
        ]
      : []),
  ].join(' ');
}

function differenceItem(difference: TrialDifference, go: Go): VNode {
  const { seq, requestId, name, time, request, response, before, now } = difference;
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
      el(
        'div',
        null,
        el('h5', null, 'V2 body by the rule book in force'),
        el('pre', { class: 'file', tabIndex: 0 }, visibleText(before || 'none')),
      ),
      el(
        'div',
        null,
        el('h5', null, 'V2 body by this one'),
        el('pre', { class: 'file', tabIndex: 0 }, visibleText(now || 'none')),
      ),
    ),
    el(
      'button',
      {
        type: 'button',
        class: 'button',
        onClick: () => go({ view: 'traffic', filter: '', entry: { id: requestId, seq } }),
      },
      'Open the exchange',
    ),
  );
}
