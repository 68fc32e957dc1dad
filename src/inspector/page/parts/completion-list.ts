import type { VNode } from 'preact';
import type { Completion } from '../../../rewrite-log/filter/filter-completion.ts';
import { classes, el } from './element.ts';

/** Properties of the completions. */
export interface CompletionListProps {
  readonly options: readonly Completion[];
  /** Index of the one that Enter would accept; -1 for none. */
  readonly chosen: number;
  readonly accept: (option: Completion) => void;
}

/** The completions under the filter. */
export function CompletionList({ options, chosen, accept }: CompletionListProps): VNode {
  return el(
    'ul',
    {
      class: 'completions',
      id: 'completions',
      role: 'listbox',
      'aria-label': 'Completions',
      hidden: options.length === 0,
    },
    options.map((option, index) =>
      el(
        'li',
        {
          key: option.insert,
          id: `completion-${index}`,
          role: 'option',
          class: classes(index === chosen && 'chosen'),
          'aria-selected': index === chosen,
          // The field must keep the focus, or the list closes before the click arrives.
          onMouseDown: (event) => event.preventDefault(),
          onClick: () => accept(option),
        },
        el('code', null, option.insert.trim()),
        el('span', null, option.help),
      ),
    ),
  );
}
