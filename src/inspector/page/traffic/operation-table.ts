import type { VNode } from 'preact';
import type { OperationView } from '../../api.ts';
import { el } from '../parts/element.ts';
import { ago, count, counted } from '../parts/format.ts';
import type { HueOf } from './hues.ts';
import type { Go } from '../page-state.ts';
import { scrollTable } from '../parts/scroll-table.ts';

/** Properties of the operations. */
export interface OperationTableProps {
  readonly operations: readonly OperationView[];
  readonly hueOf: HueOf;
  readonly go: Go;
}

/** The operations of the rule book, with their use through V1. */
export function OperationTable({ operations, hueOf, go }: OperationTableProps): VNode {
  return scrollTable(
    'Operations',
    {
      columns: ['Operation', 'V1 request', 'Changes', 'Hits', 'Last hit'],
      numbers: ['Hits'],
    },
    operations.map((operation) =>
      el(
        'tr',
        { key: operation.id },
        el('th', { scope: 'row' }, operation.id, operation.assumed && assumedSign()),
        el('td', null, el('code', null, `${operation.method} ${operation.template}`)),
        el(
          'td',
          { class: 'change-dots' },
          operation.changes.map((change) =>
            el(
              'span',
              { key: change, class: 'change-name' },
              el('i', { class: `dot hue-${hueOf(change)}` }),
              change,
            ),
          ),
        ),
        el(
          'td',
          { class: 'number' },
          operation.hits === 0
            ? '0'
            : el(
                'button',
                {
                  type: 'button',
                  class: 'link',
                  'aria-label': `Show the ${counted(operation.hits, 'exchange')} of ${operation.id}`,
                  onClick: () =>
                    go({ view: 'traffic', filter: operationFilter(operation), entry: undefined }),
                },
                count(operation.hits),
              ),
        ),
        el('td', null, el('time', { dateTime: operation.lastHit ?? '' }, ago(operation.lastHit))),
      ),
    ),
    'wide',
  );
}

function operationFilter({ id }: OperationView): string {
  return id === '(other)' ? 'op:- route:v1' : `op:${id}`;
}

/** Marks an assumption, which neither the specification nor the documentation confirms. */
export function assumedSign(): VNode {
  return el(
    'span',
    { class: 'assumed', title: 'Neither the specification nor the documentation shows this.' },
    'assumed',
  );
}
