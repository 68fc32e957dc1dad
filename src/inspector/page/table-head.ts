import type { VNode } from 'preact';
import { classes, el } from './element.ts';

/** Properties of the head of a table. */
export interface TableHeadProps {
  readonly columns: readonly string[];
  /** Those of them that hold numbers, which stand to the right. */
  readonly numbers: readonly string[];
}

/** The head of a table. */
export function TableHead({ columns, numbers }: TableHeadProps): VNode {
  return el(
    'thead',
    null,
    el(
      'tr',
      null,
      columns.map((name) =>
        el('th', { key: name, scope: 'col', class: classes(numbers.includes(name) && 'number') }, name),
      ),
    ),
  );
}
