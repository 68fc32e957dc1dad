import type { ComponentChildren, VNode } from 'preact';
import { classes, el } from './element.ts';

/** The head of a table. */
export interface TableHead {
  readonly columns: readonly string[];
  /** Those of them that hold numbers, which stand to the right. */
  readonly numbers: readonly string[];
}

/** A table that scrolls by itself, by keyboard too; `label` names it. */
export function scrollTable(label: string, head: TableHead, rows: ComponentChildren, style?: 'wide'): VNode {
  return el(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': label },
    el('table', style === undefined ? null : { class: style }, tableHead(head), el('tbody', null, rows)),
  );
}

function tableHead({ columns, numbers }: TableHead): VNode {
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
