import type { VNode } from 'preact';
import { classes, el } from './element.ts';

/** Properties of a table header. */
export interface TableHeadProps {
  readonly columns: readonly string[];
  /** Columns that hold numbers, which are right-aligned. */
  readonly numbers: readonly string[];
}

/** The header of a table. */
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
