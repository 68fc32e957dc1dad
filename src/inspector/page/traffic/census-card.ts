import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { MAX_ROW_CLIENTS } from '../../../report/census/census-row.ts';
import type { Census, CensusRow } from '../../api.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { card } from '../parts/card.ts';
import { classes, el, part } from '../parts/element.ts';
import { count, counted } from '../parts/format.ts';
import { scrollTable } from '../parts/scroll-table.ts';

const FIRST = 30;

/** Every attribute name that clients send, with V2's reactions; names that V2 does not take are proposed for stripping. */
export function CensusCard({
  census,
  announce,
}: {
  readonly census: Census;
  readonly announce: (sentence: string) => void;
}): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const { rows, proposal, sampled, exchanges, suspects, omitted } = census;
  const worstFirst = [...rows.filter(isRejected), ...rows.filter((row) => !isRejected(row))];
  const shown = isWhole ? worstFirst : worstFirst.slice(0, FIRST);
  return card(
    'Attribute census',
    `names of ${count(sampled)} of ${counted(exchanges, 'V1 exchange')}`,
    proposal === ''
      ? el(
          'p',
          { class: 'lead' },
          'No rule to propose: nothing shows for certain that V2 does not take an attribute.',
        )
      : proposalCard(proposal, announce),
    rows.length > 0 &&
      scrollTable(
        'Attribute census',
        {
          columns: ['Operation', 'Attribute', 'Sent', 'Accepted', '422', 'Clients', 'Handled by'],
          numbers: ['Sent', 'Accepted', '422', 'Clients'],
        },
        shown.map(censusRow),
        'wide',
      ),
    rows.length > shown.length &&
      el(
        'button',
        { type: 'button', class: 'button', onClick: () => setIsWhole(true) },
        `Show all ${counted(rows.length, 'name')}`,
      ),
    suspects.length > 0 &&
      el(
        'ul',
        null,
        suspects.map(({ operation, pointer, why }) =>
          el(
            'li',
            { key: `${operation} ${pointer}` },
            `Not known: ${operation} `,
            el('code', null, pointer),
            `: ${why}.`,
          ),
        ),
      ),
    omitted > 0 && el('p', null, `Other names occurred ${counted(omitted, 'time')} and are not listed.`),
  );
}

function proposalCard(proposal: string, announce: (sentence: string) => void): VNode {
  return el(
    'div',
    { class: 'proposal' },
    el(
      'p',
      { class: 'lead' },
      'V2 does not take these names, and no rule handles them. Paste this into the rule book:',
    ),
    el('pre', { class: 'file', tabIndex: 0 }, proposal),
    part(CopyButton, {
      text: proposal,
      label: 'Copy the YAML',
      done: 'Copied: the proposed rules.',
      announce,
    }),
  );
}

function censusRow(row: CensusRow): VNode {
  return el(
    'tr',
    { key: `${row.operation} ${row.pointer}`, class: classes(isRejected(row) && 'rejected') },
    el('td', null, row.operation),
    el('th', { scope: 'row' }, el('code', null, row.pointer)),
    el('td', { class: 'number' }, count(row.count)),
    el('td', { class: 'number' }, count(row.accepted)),
    el('td', { class: 'number' }, count(row.unprocessable)),
    el('td', { class: 'number', title: row.clients.join(', ') }, clientsOf(row)),
    el('td', null, row.change ?? (isRejected(row) ? el('strong', null, 'no rule yet') : '–')),
  );
}

/** The number of clients, of which only the first are listed. */
function clientsOf({ clients }: CensusRow): string {
  return clients.length < MAX_ROW_CLIENTS ? count(clients.length) : `${count(MAX_ROW_CLIENTS)} or more`;
}

/** True when V2 never accepted it, and no rule covers it. */
function isRejected({ accepted, unprocessable, change }: CensusRow): boolean {
  return accepted === 0 && unprocessable > 0 && change === undefined;
}
