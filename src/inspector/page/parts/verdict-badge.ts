import type { VNode } from 'preact';
import type { Outcome } from '../../../rewrite-log/entry-outcome.ts';
import { OUTCOME_MEANINGS, OUTCOME_WORDS } from '../../entries/entry-words.ts';
import { classes, el } from './element.ts';

/** An outcome as words with a symbol, so that it is readable without colour; dashed for a dry run. */
export function VerdictBadge({ outcome }: { readonly outcome: Outcome }): VNode {
  const isDryRun = outcome.startsWith('would-');
  const hue = isDryRun ? outcome.slice('would-'.length) : outcome;
  return el(
    'span',
    {
      class: classes('verdict', `verdict-${hue}`, isDryRun && 'dry-run'),
      title: OUTCOME_MEANINGS[outcome],
    },
    el(
      'svg',
      { class: 'verdict-sign', viewBox: '0 0 12 12', 'aria-hidden': true },
      el('path', { d: SIGNS[outcome] }),
    ),
    OUTCOME_WORDS[outcome],
  );
}

const REWRITTEN = 'M1.5 8.5 8 2l2 2-6.5 6.5-2.5.5z';
const UNCHANGED = 'M2 4.5h8M2 7.5h8';
const REFUSED = 'M2.5 2.5l7 7m0-7l-7 7';
const PASSED = 'M2 6h8M7 3l3 3-3 3';

const SIGNS: Readonly<Record<Outcome, string>> = {
  rewritten: REWRITTEN,
  unchanged: UNCHANGED,
  refused: REFUSED,
  passed: PASSED,
  served: UNCHANGED,
  'would-rewritten': REWRITTEN,
  'would-unchanged': UNCHANGED,
  'would-refused': REFUSED,
  'to-v1': PASSED,
};
