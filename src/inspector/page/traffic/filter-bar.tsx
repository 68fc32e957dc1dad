import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  completeFilter,
  type Completion,
  isFilterFault,
  type KnownValues,
  parseFilter,
} from '../../../rewrite-log/filter.ts';
import type { NumberedEntry, RulesView } from '../../api.ts';
import { zoneOf } from '../format.ts';
import { Button, classes, CompletionList } from '../parts.tsx';
import { filterByClock, filterInUtc } from './time-range.ts';

/** Pause in typing before the filter takes effect, in milliseconds. */
const SETTLE_MS = 250;
const MAX_OPTIONS = 24;

/** The values that a filter can name, from the rule book and from the exchanges in the list. */
export function knownValues(rules: RulesView | undefined, rows: readonly NumberedEntry[]): KnownValues {
  const several = (values: readonly (string | undefined)[]): readonly string[] => [
    ...new Set(values.flatMap((value) => value ?? [])),
  ];
  return {
    op: rules?.operations.flatMap(({ id }) => (id === '(other)' ? [] : [id])) ?? [],
    change: rules?.changes.map(({ id }) => id) ?? [],
    client: several(rows.map(({ client }) => client)).slice(0, 20),
    failure: several(rows.map(({ failure, would }) => failure ?? would?.failure)),
    cause: several(rows.map(({ cause }) => cause)),
  };
}

interface FilterBarProps {
  /** With times in UTC; the field has those of the reader's clock. */
  readonly filter: string;
  readonly known: KnownValues;
  /** Called with a valid filter, a moment after the last key. */
  readonly onFilter: (filter: string) => void;
}

/** The filter as a combobox, which completes fields and values, and reports invalid terms. */
export function FilterBar({ filter, known, onFilter }: FilterBarProps): VNode {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(() => filterByClock(filter));
  const [cursor, setCursor] = useState(text.length);
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const read = parseFilter(text);
  const fault = isFilterFault(read) ? read : undefined;
  const isTyping = isOpen && fault !== undefined && fault.end >= cursor;
  useEffect(() => {
    if (document.activeElement !== input.current) setText(filterByClock(filter));
  }, [filter]);
  const options = (isOpen ? completeFilter(text, cursor, known).slice(0, MAX_OPTIONS) : []).map((option) => ({
    ...option,
    help: byClock(option.help),
  }));
  // A word that may become the name of a field does not start a search yet.
  const isUndecided = options.some(({ insert, start, end }) => insert.endsWith(':') && end > start);
  useEffect(() => {
    if (fault !== undefined || filterInUtc(text) === filter || isUndecided) return undefined;
    const timer = setTimeout(() => onFilter(filterInUtc(text)), SETTLE_MS);
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
  const clear = (): void => {
    setText('');
    onFilter('');
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const option = options[chosen];
    if (event.key === 'ArrowDown' && options.length > 0) setChosen((chosen + 1) % options.length);
    if (event.key === 'ArrowUp' && options.length > 0)
      setChosen((Math.max(chosen, 0) - 1 + options.length) % options.length);
    if (event.key === 'Enter' && option === undefined) {
      if (fault === undefined) onFilter(filterInUtc(text));
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
  return (
    <div class="filter" role="search">
      <label class="sr-only" for="filter">
        Filter
      </label>
      <input
        ref={input}
        id="filter"
        type="text"
        role="combobox"
        class={classes('filter-input', fault !== undefined && !isTyping && 'faulty')}
        value={text}
        placeholder="Filter: client:3fa9 status:4xx verdict:refused"
        autocomplete="off"
        spellcheck={false}
        autocapitalize="off"
        aria-autocomplete="list"
        aria-expanded={options.length > 0}
        aria-controls="completions"
        aria-activedescendant={options[chosen] === undefined ? undefined : `completion-${chosen}`}
        aria-invalid={fault !== undefined && !isTyping}
        aria-describedby="filter-fault"
        aria-keyshortcuts="/"
        onInput={follow}
        onClick={follow}
        onKeyDown={onKeyDown}
        onFocus={follow}
        onBlur={() => setIsOpen(false)}
      />
      {text === '' ? (
        <kbd class="filter-key" aria-hidden>
          /
        </kbd>
      ) : (
        <Button class="filter-clear" aria-label="Clear the filter" onClick={clear}>
          ✕
        </Button>
      )}
      <p class="filter-fault" id="filter-fault">
        {isTyping ? '' : byClock(fault?.message ?? '')}
      </p>
      <CompletionList options={options} chosen={chosen} accept={accept} />
    </div>
  );
}

/** Names the zone of the field's times, where the filter language has UTC. */
function byClock(help: string): string {
  return help.replace('UTC time', `time in ${zoneOf(new Date())}`);
}
