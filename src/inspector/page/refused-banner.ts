import type { VNode } from 'preact';
import type { RefusedRuleBook } from '../api.ts';
import { el } from './parts/element.ts';
import { clockTime, counted } from './parts/format.ts';

/** Says that the rule book on disk is not the one in force; it stands until a good one is read. */
export function RefusedBanner({
  refused,
  inForce,
}: {
  readonly refused: RefusedRuleBook;
  /** Hash of the rule book in force. */
  readonly inForce: string;
}): VNode {
  const { at, faults, omitted } = refused;
  return el(
    'section',
    { class: 'refused-book', role: 'alert' },
    el(
      'p',
      null,
      el('strong', null, 'The new rule book was refused'),
      ` at ${clockTime(at)}. The one before it, ${inForce}, stays in force until the file is corrected.`,
    ),
    el(
      'details',
      null,
      el('summary', null, counted(faults.length + omitted, 'fault')),
      el(
        'ul',
        { class: 'plain' },
        faults.map((fault) => el('li', { key: fault }, fault)),
        omitted > 0 && el('li', null, `and ${counted(omitted, 'more fault')}, not listed`),
      ),
    ),
  );
}
