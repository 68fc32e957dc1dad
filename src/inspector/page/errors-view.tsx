import type { VNode } from 'preact';
import { errorName, type ErrorSource, errorValue } from '../../rewrite-log/entry.ts';
import { printFilter } from '../../rewrite-log/filter.ts';
import type { ErrorGroup, ErrorGroups } from '../api.ts';
import { useAsked } from './admin-client.ts';
import { ago, count, counted, dayTime } from './format.ts';
import { type Go, toExchanges } from './page-state.ts';
import { Card, type Column, LinkButton, Loading, ScrollTable, visibleText } from './parts.tsx';

const REFRESH_MS = 5000;

const SOURCES: Readonly<Record<ErrorSource, string>> = {
  gateway: 'the gateway',
  v1: 'V1',
  v2: 'V2',
  would: 'a dry run',
  schema: 'V2’s schema, without V2',
};

/** The errors of the kept exchanges, grouped by finder, code and place. */
export function ErrorsView({ go, whose }: { readonly go: Go; readonly whose: string | undefined }): VNode {
  const { response, failure } = useAsked<ErrorGroups>('errors', REFRESH_MS);
  if (response === undefined) return <Loading failure={failure} subject="the errors" />;
  const { groups, exchanges, omitted } = response;
  return (
    <div class="view errors">
      <h2>Errors</h2>
      {whose !== undefined && <p class="lead">{visibleText(whose)}</p>}
      <Card
        heading={counted(groups.length, 'kind')}
        note={`in ${counted(exchanges, 'kept exchange')}; failures are kept for longer than others`}
      >
        {groups.length === 0 ? (
          <p class="empty">{exchanges === 0 ? 'No exchange is kept yet.' : 'None of them has an error.'}</p>
        ) : (
          <ScrollTable
            label="Errors"
            columns={errorColumns(go)}
            rows={groups}
            keyOf={({ error }) => errorName(error)}
            isWide
          />
        )}
        {omitted > 0 && <p>{`${counted(omitted, 'error')} of further kinds, not listed.`}</p>}
      </Card>
    </div>
  );
}

function errorColumns(go: Go): readonly Column<ErrorGroup>[] {
  return [
    { name: 'Code', kind: 'head', cell: ({ error }) => codeLink(error, go) },
    { name: 'Found by', cell: ({ error }) => SOURCES[error.by] },
    {
      name: 'At',
      cell: ({ error: { pointer } }) =>
        pointer === undefined ? '–' : <code>{visibleText(pointer === '' ? '/' : pointer)}</code>,
    },
    {
      name: 'Operations',
      cell: ({ operations }) =>
        operations.length === 0
          ? 'not read'
          : visibleText(
              operations.map((operation) => (operation === '-' ? '(other)' : operation)).join(', '),
            ),
    },
    { name: 'Exchanges', kind: 'number', cell: (group) => count(group.count) },
    {
      name: 'Clients',
      kind: 'number',
      cell: ({ clients, isKeyless }) =>
        clients === 0
          ? isKeyless === true
            ? 'no key'
            : 'not known'
          : `${count(clients)}${isKeyless === true ? ' and no key' : ''}`,
    },
    {
      name: 'First',
      cell: ({ firstSeen }) => (
        <time dateTime={firstSeen} title={firstSeen}>
          {dayTime(firstSeen)}
        </time>
      ),
    },
    {
      name: 'Last',
      cell: ({ lastSeen }) => (
        <time dateTime={lastSeen} title={lastSeen}>
          {ago(lastSeen)}
        </time>
      ),
    },
  ];
}

function codeLink(error: ErrorGroup['error'], go: Go): VNode {
  const name = errorName(error);
  const filter = printFilter([{ negated: false, field: 'error', values: [errorValue(error)] }]);
  return (
    <LinkButton onClick={toExchanges(go, filter)} label={`Show the exchanges with ${name}`}>
      {visibleText(error.code)}
    </LinkButton>
  );
}
