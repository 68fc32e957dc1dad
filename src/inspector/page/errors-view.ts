import type { VNode } from 'preact';
import { errorName, type ErrorSource } from '../../rewrite-log/entry-outcome.ts';
import { printFilter } from '../../rewrite-log/filter.ts';
import type { ErrorGroup, ErrorGroups } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { ago, count, counted, dayTime } from './format.ts';
import type { Go } from './page-state.ts';
import { card, el, Loading, part, scrollTable, visibleText } from './parts.ts';

const REFRESH_MS = 5000;

const SOURCES: Readonly<Record<ErrorSource, string>> = {
  gateway: 'the gateway',
  v1: 'V1',
  v2: 'V2',
  would: 'a dry run',
  schema: 'V2’s schema, V2 was not asked',
};

/** The errors of what is kept, grouped by who found them, code and place. */
export function ErrorsView({ go }: { readonly go: Go }): VNode {
  const { response, failure } = useAsked<ErrorGroups>('errors', REFRESH_MS);
  if (response === undefined) return part(Loading, { failure, subject: 'the errors' });
  const { groups, exchanges, omitted } = response;
  return el(
    'div',
    { class: 'view errors' },
    el('h2', null, 'Errors'),
    card(
      counted(groups.length, 'kind'),
      `in the ${counted(exchanges, 'exchange')} that are kept; failures are kept for longer than others`,
      groups.length === 0
        ? el(
            'p',
            { class: 'empty' },
            exchanges === 0 ? 'No exchange is kept yet.' : 'None of them has an error.',
          )
        : scrollTable(
            'Errors',
            {
              columns: ['Code', 'Found by', 'At', 'Operations', 'Exchanges', 'Clients', 'First', 'Last'],
              numbers: ['Exchanges', 'Clients'],
            },
            groups.map((group) => groupRow(group, go)),
            'wide',
          ),
      omitted > 0 && el('p', null, `${counted(omitted, 'error')} of further kinds, not listed.`),
    ),
  );
}

function groupRow(group: ErrorGroup, go: Go): VNode {
  const { error, count: times, clients, operations, firstSeen, lastSeen } = group;
  const name = errorName(error);
  const filter = printFilter([{ negated: false, field: 'error', values: [name] }]);
  return el(
    'tr',
    { key: name },
    el(
      'th',
      { scope: 'row' },
      el(
        'button',
        {
          type: 'button',
          class: 'link',
          'aria-label': `Show the exchanges with ${name}`,
          onClick: () => go({ view: 'traffic', filter, entry: undefined }),
        },
        visibleText(error.code),
      ),
    ),
    el('td', null, SOURCES[error.by]),
    el(
      'td',
      null,
      error.pointer === undefined
        ? '–'
        : el('code', null, visibleText(error.pointer === '' ? '/' : error.pointer)),
    ),
    el(
      'td',
      null,
      operations.length === 0
        ? 'not read'
        : visibleText(operations.map((operation) => (operation === '-' ? '(other)' : operation)).join(', ')),
    ),
    el('td', { class: 'number' }, count(times)),
    el('td', { class: 'number' }, clients === 0 ? 'not known' : count(clients)),
    el('td', null, el('time', { dateTime: firstSeen, title: firstSeen }, dayTime(firstSeen))),
    el('td', null, el('time', { dateTime: lastSeen, title: lastSeen }, ago(lastSeen))),
  );
}
