import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Census, CensusRow } from '../api.ts';
import { CopyButton } from './copy-button.ts';
import { classes, el, part } from './element.ts';
import { count, counted } from './format.ts';

const FIRST = 30;

/** Every attribute name that clients send, and what V2 made of it; what it never accepted is proposed for stripping. */
export function CensusCard({
  census,
  say,
}: {
  readonly census: Census;
  readonly say: (sentence: string) => void;
}): VNode {
  const [isWhole, setIsWhole] = useState(false);
  const { rows, proposal, sampled, exchanges, omitted } = census;
  const shown = isWhole ? rows : rows.slice(0, FIRST);
  return el(
    'section',
    { class: 'card' },
    el(
      'h3',
      null,
      'Attribute census',
      el('small', null, `names of ${count(sampled)} of ${counted(exchanges, 'V1 exchange')}`),
    ),
    proposal === ''
      ? el(
          'p',
          { class: 'lead' },
          'Every attribute that clients sent was accepted by V2 at least once: nothing to strip.',
        )
      : proposalCard(proposal, say),
    rows.length > 0 &&
      el(
        'div',
        { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Attribute census' },
        el(
          'table',
          { class: 'wide' },
          el(
            'thead',
            null,
            el(
              'tr',
              null,
              ['Operation', 'Attribute', 'Sent', 'Accepted', '422', 'Clients', 'Taken care of by'].map(
                (name) => el('th', { key: name, scope: 'col' }, name),
              ),
            ),
          ),
          el('tbody', null, shown.map(censusRow)),
        ),
      ),
    rows.length > shown.length &&
      el(
        'button',
        { type: 'button', class: 'button', onClick: () => setIsWhole(true) },
        `Show all ${counted(rows.length, 'name')}`,
      ),
    omitted > 0 && el('p', null, `${counted(omitted, 'name')} beyond the bound, counted but not listed.`),
  );
}

function proposalCard(proposal: string, say: (sentence: string) => void): VNode {
  return el(
    'div',
    { class: 'proposal' },
    el(
      'p',
      { class: 'lead' },
      'V2 never accepted these names and no rule takes care of them. To paste into the rule book:',
    ),
    el('pre', { class: 'file', tabIndex: 0 }, proposal),
    part(CopyButton, { text: proposal, label: 'Copy the YAML', done: 'Copied: the proposed rules.', say }),
  );
}

function censusRow(row: CensusRow): VNode {
  const isRejected = row.accepted === 0 && row.unprocessable > 0 && row.change === undefined;
  return el(
    'tr',
    { key: `${row.operation} ${row.pointer}`, class: classes(isRejected && 'rejected') },
    el('td', null, row.operation),
    el('th', { scope: 'row' }, el('code', null, row.pointer)),
    el('td', { class: 'number' }, count(row.count)),
    el('td', { class: 'number' }, count(row.accepted)),
    el('td', { class: 'number' }, count(row.unprocessable)),
    el('td', { class: 'number', title: row.clients.join(', ') }, count(row.clients.length)),
    el('td', null, row.change ?? (isRejected ? el('strong', null, 'no rule yet') : '–')),
  );
}
