import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type Completion,
  completeFilter,
  type KnownValues,
} from '../../../rewrite-log/filter/filter-completion.ts';
import { isFilterFault, parseFilter } from '../../../rewrite-log/filter/filter.ts';
import { CompletionList } from '../parts/completion-list.ts';
import { classes, el, part } from '../parts/element.ts';

/** Properties of the filter. */
export interface FilterBarProps {
  readonly filter: string;
  readonly known: KnownValues;
  /** Called with a valid filter, a moment after the last key. */
  readonly onFilter: (filter: string) => void;
}

/** Pause in typing before the filter takes effect, in milliseconds. */
const SETTLE_MS = 250;
const MAX_OPTIONS = 24;

/** The filter, a combobox: it completes fields and values, and reports invalid terms. */
export function FilterBar({ filter, known, onFilter }: FilterBarProps): VNode {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(filter);
  const [cursor, setCursor] = useState(filter.length);
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const read = parseFilter(text);
  const fault = isFilterFault(read) ? read : undefined;
  const isTyping = isOpen && fault !== undefined && fault.end >= cursor;
  useEffect(() => {
    if (document.activeElement !== input.current) setText(filter);
  }, [filter]);
  const options = isOpen ? completeFilter(text, cursor, known).slice(0, MAX_OPTIONS) : [];
  // A word that may become the name of a field does not start a search yet.
  const isUndecided = options.some(({ insert, start, end }) => insert.endsWith(':') && end > start);
  useEffect(() => {
    if (fault !== undefined || text === filter || isUndecided) return undefined;
    const timer = setTimeout(() => onFilter(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, isUndecided]);
  const follow = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
    setText(currentTarget.value);
    setCursor(currentTarget.selectionStart ?? currentTarget.value.length);
    setChosen(-1);
    setIsOpen(true);
  };
  const accept = (option: Completion): void => {
    const next = text.slice(0, option.start) + option.insert + text.slice(option.end);
    const at = option.start + option.insert.length;
    setText(next);
    setCursor(at);
    setChosen(-1);
    queueMicrotask(() => input.current?.setSelectionRange(at, at));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const option = options[chosen];
    if (event.key === 'ArrowDown' && options.length > 0) setChosen((chosen + 1) % options.length);
    if (event.key === 'ArrowUp' && options.length > 0)
      setChosen((Math.max(chosen, 0) - 1 + options.length) % options.length);
    if (event.key === 'Enter' && option === undefined) {
      if (fault === undefined) onFilter(text);
      setIsOpen(false);
    }
    if ((event.key === 'Enter' || event.key === 'Tab') && option !== undefined) {
      accept(option);
      event.preventDefault();
    }
    if (event.key === 'Escape') {
      if (isOpen) setIsOpen(false);
      if (!isOpen) document.getElementById('entries')?.focus();
      event.stopPropagation();
    }
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') event.preventDefault();
  };
  return el(
    'div',
    { class: 'filter', role: 'search' },
    el('label', { class: 'sr-only', for: 'filter' }, 'Filter'),
    el('input', {
      ref: input,
      id: 'filter',
      type: 'text',
      role: 'combobox',
      class: classes('filter-input', fault !== undefined && !isTyping && 'faulty'),
      value: text,
      placeholder: 'Filter: client:3fa9 status:4xx verdict:refused',
      autocomplete: 'off',
      spellcheck: false,
      autocapitalize: 'off',
      'aria-autocomplete': 'list',
      'aria-expanded': options.length > 0,
      'aria-controls': 'completions',
      'aria-activedescendant': options[chosen] === undefined ? undefined : `completion-${chosen}`,
      'aria-invalid': fault !== undefined && !isTyping,
      'aria-describedby': 'filter-fault',
      'aria-keyshortcuts': '/',
      onInput: follow,
      onClick: follow,
      onKeyDown,
      onFocus: follow,
      onBlur: () => setIsOpen(false),
    }),
    text === ''
      ? el('kbd', { class: 'filter-key', 'aria-hidden': true }, '/')
      : el(
          'button',
          {
            type: 'button',
            class: 'filter-clear',
            'aria-label': 'Clear the filter',
            onClick: () => {
              setText('');
              onFilter('');
            },
          },
          '✕',
        ),
    el('p', { class: 'filter-fault', id: 'filter-fault' }, isTyping ? '' : (fault?.message ?? '')),
    part(CompletionList, { options, chosen, accept }),
  );
}
