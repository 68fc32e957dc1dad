import type { VNode } from 'preact';
import type { Verdict } from '../../rewrite-log/entry.ts';
import { el } from './element.ts';

/** The verdicts in the order in which charts and legends show them, with a sentence each. */
export const VERDICTS: Readonly<Record<Verdict, string>> = {
  rewritten: 'V1 request with an edited body',
  unchanged: 'V1 request with an unchanged body',
  refused: 'refused by the gateway; V2 got nothing',
  passed: 'native V2 request, passed unread',
};

/** The names of the verdicts, in that order. */
export const VERDICT_NAMES: readonly Verdict[] = ['rewritten', 'unchanged', 'refused', 'passed'];

/** A verdict as a word with a symbol, so that it is readable without colour. */
export function VerdictBadge({ verdict }: { readonly verdict: Verdict }): VNode {
  return el(
    'span',
    { class: `verdict verdict-${verdict}`, title: VERDICTS[verdict] },
    el(
      'svg',
      { class: 'verdict-sign', viewBox: '0 0 12 12', 'aria-hidden': true },
      el('path', { d: SIGNS[verdict] }),
    ),
    verdict,
  );
}

const SIGNS: Readonly<Record<Verdict, string>> = {
  rewritten: 'M1.5 8.5 8 2l2 2-6.5 6.5-2.5.5z',
  unchanged: 'M2 4.5h8M2 7.5h8',
  refused: 'M2.5 2.5l7 7m0-7l-7 7',
  passed: 'M2 6h8M7 3l3 3-3 3',
};
