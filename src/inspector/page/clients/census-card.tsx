import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { censusNote, handlersIn, MAX_ROW_CLIENTS, NO_RULE } from '../../../report/census.ts';
import { clientName, nameIn } from '../../../report/text.ts';
import type { Census, CensusRow, ClientReport } from '../../api.ts';
import { count, counted } from '../format.ts';
import { Button, Card, classes, type Column, CopyButton, ScrollTable } from '../parts.tsx';

/** Rows that are shown before the operator asks for all. */
const FIRST = 10;

/** Every attribute name that clients send, with V2's reactions and rules that strip the names which V2 refuses. */
export function CensusCard({
  census,
  clients,
  announce,
}: {
  readonly census: Census;
  /** The clients that it may name. */
  readonly clients: readonly ClientReport[];
  readonly announce: (sentence: string) => void;
}): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const { rows, proposal, suspects, omitted } = census;
  const handlerOf = handlersIn(census);
  const names = new Map(clients.map((one) => [one.client, clientName(one)]));
  const isRejected = (row: CensusRow): boolean => handlerOf(row) === NO_RULE;
  const worstFirst = [...rows.filter(isRejected), ...rows.filter((row) => !isRejected(row))];
  const shown = isWhole ? worstFirst : worstFirst.slice(0, FIRST);
  return (
    <Card heading="Attribute census" note={censusNote(census)}>
      {proposal === '' ? (
        <p class="lead">No rule to propose: no attribute is certain to be refused by V2.</p>
      ) : (
        proposalCard(proposal, announce)
      )}
      {rows.length > 0 && (
        <ScrollTable
          label="Attribute census"
          columns={censusColumns(handlerOf, names)}
          rows={shown}
          keyOf={rowPlace}
          classOf={(row) => classes(isRejected(row) && 'rejected')}
          isWide
        />
      )}
      {rows.length > shown.length && (
        <Button onClick={() => setIsWhole(true)}>{`Show all ${counted(rows.length, 'name')}`}</Button>
      )}
      {suspects.length > 0 && (
        <ul>
          {suspects.map(({ operation, pointer, why }) => (
            <li key={`${operation} ${pointer}`}>
              {`Not known: ${operation} `}
              <code>{pointer}</code>
              {`: ${why}.`}
            </li>
          ))}
        </ul>
      )}
      {omitted > 0 && <p>{`Other names occurred ${counted(omitted, 'time')} and are not listed.`}</p>}
    </Card>
  );
}

function proposalCard(proposal: string, announce: (sentence: string) => void): VNode {
  return (
    <div class="proposal">
      <p class="lead">
        V2 does not take these names, and no rule handles them. Paste this into the rule book:
      </p>
      <pre class="file" tabIndex={0}>
        {proposal}
      </pre>
      <CopyButton
        text={proposal}
        label="Copy the YAML"
        done="Copied: the proposed rules."
        announce={announce}
      />
    </div>
  );
}

/** The verdicts of V1, which responds to observed clients, and of V2 are in separate columns. */
function censusColumns(
  handlerOf: (row: CensusRow) => string,
  names: ReadonlyMap<string, string>,
): readonly Column<CensusRow>[] {
  return [
    { name: 'Operation', cell: ({ operation }) => operation },
    { name: 'Attribute', kind: 'head', cell: ({ pointer }) => <code>{pointer}</code> },
    { name: 'Sent', kind: 'number', cell: (row) => count(row.count) },
    { name: 'V1 accepted', kind: 'number', cell: ({ acceptedByV1 }) => count(acceptedByV1) },
    { name: 'V2 accepted', kind: 'number', cell: ({ accepted }) => count(accepted) },
    { name: 'V2 422', kind: 'number', cell: ({ unprocessable }) => count(unprocessable) },
    {
      name: 'Clients',
      kind: 'number',
      title: ({ clients }) => clients.map((client) => nameIn(names, client)).join(', '),
      cell: clientsOf,
    },
    {
      name: 'Handled by',
      cell: (row) => {
        const handler = handlerOf(row);
        return handler === NO_RULE ? <strong>{handler}</strong> : handler;
      },
    },
  ];
}

/** The number of clients; the census keeps only so many per row. */
function clientsOf({ clients }: CensusRow): string {
  return clients.length < MAX_ROW_CLIENTS ? count(clients.length) : `${count(MAX_ROW_CLIENTS)} or more`;
}

function rowPlace({ operation, pointer }: CensusRow): string {
  return `${operation} ${pointer}`;
}
