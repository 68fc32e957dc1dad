import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { FILTER_FIELDS } from '../../rewrite-log/filter/filter-field.ts';
import { el } from './parts/element.ts';
import { KEYS } from './keys.ts';
import type { Prefer, Preferences } from './preferences.ts';
import { unbrokenWords } from './parts/sentence.ts';

/** Properties of the help. */
export interface HelpDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly preferences: Preferences;
  readonly prefer: Prefer;
}

/** The keys, the preferences and the filter language. */
export function HelpDialog({ isOpen, onClose, preferences, prefer }: HelpDialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    if (!isOpen) dialog.current?.close();
  }, [isOpen]);
  return el(
    'dialog',
    { ref: dialog, class: 'help-dialog', 'aria-labelledby': 'help-title', onClose },
    el(
      'header',
      null,
      el('h2', { id: 'help-title' }, 'Help'),
      el(
        'button',
        { type: 'button', class: 'button close', 'aria-label': 'Close the help', onClick: onClose },
        '✕',
      ),
    ),
    el('h3', null, 'Keys'),
    terms(KEYS, 'kbd'),
    check('Single-letter keys', preferences.hasLetters, (hasLetters) => prefer({ hasLetters })),
    check('Compact rows', preferences.density === 'compact', (isCompact) =>
      prefer({ density: isCompact ? 'compact' : 'comfortable' }),
    ),
    el('h3', null, 'Filter'),
    el(
      'p',
      null,
      'An exchange must match every term; spaces separate terms. ',
      el('code', null, '-'),
      ' turns a term round, commas give a choice, a word without a field is looked for in the path: ',
      el('code', null, unbrokenWords('op:order_* -status:2xx client:3fa9,77c1')),
    ),
    terms(
      Object.entries(FILTER_FIELDS).map(([field, help]) => [`${field}:`, help]),
      'code',
    ),
  );
}

function check(label: string, checked: boolean, onChange: (checked: boolean) => void): VNode {
  return el(
    'label',
    { class: 'check' },
    el('input', {
      type: 'checkbox',
      checked,
      onChange: ({ currentTarget }) => onChange(currentTarget.checked),
    }),
    label,
  );
}

function terms(list: readonly (readonly [string, string])[], tag: 'kbd' | 'code'): VNode {
  return el(
    'dl',
    { class: 'terms' },
    list.map(([term, meaning]) =>
      el(
        'div',
        { key: term },
        el('dt', null, tag === 'kbd' ? keyCaps(term) : el(tag, null, term)),
        el('dd', null, meaning),
      ),
    ),
  );
}

/** Each key as a key; the words between keys stay words. */
function keyCaps(keys: string): (VNode | string)[] {
  return keys.split(' ').flatMap((key) => [key === 'or' || key === '–' ? key : el('kbd', { key }, key), ' ']);
}
