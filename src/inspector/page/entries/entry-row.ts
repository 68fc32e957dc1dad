import type { VNode } from 'preact';
import type { NumberedEntry } from '../../api.ts';
import { classes, el, part } from '../parts/element.ts';
import {
  editCount,
  modeOf,
  outcomeOf,
  responseEditCount,
  sentTo,
} from '../../../rewrite-log/entry-outcome.ts';
import {
  accountOf,
  editWords,
  entryName,
  MODE_MEANINGS,
  responseEditWords,
  sentToWords,
  shortClient,
  statusTitle,
  statusTone,
  statusWords,
} from '../../entries/entry-words.ts';
import { count, milliseconds, rowTime } from '../parts/format.ts';
import type { HueOf } from '../traffic/hues.ts';
import { VerdictBadge } from '../parts/verdict-badge.ts';
import { visibleText } from './visible-text.ts';

/** The columns of the list. */
export const COLUMNS = [
  'Time',
  'Client',
  'Operation',
  'What happened',
  'Mode',
  'Sent to',
  'Outcome',
  'Edits',
  'Status',
  'Upstream ms',
  'Total ms',
] as const;

/** Properties of a row. */
export interface EntryRowProps {
  readonly entry: NumberedEntry;
  /** Its index in the list, from 0. */
  readonly index: number;
  /** Pixels from the top of the list. */
  readonly top: number;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly hueOf: HueOf;
  /** The name of a client, where it has one. */
  readonly nameOf: (client: string | undefined) => string | undefined;
  readonly onOpen: (entry: NumberedEntry) => void;
}

/** One exchange as a row of the list. */
export function EntryRow({
  entry,
  index,
  top,
  isActive,
  isOpen,
  hueOf,
  nameOf,
  onOpen,
}: EntryRowProps): VNode {
  return el(
    'div',
    {
      class: classes(
        'row',
        'entry',
        isActive && 'active',
        isOpen && 'open',
        entry.verdict === 'refused' && 'refused',
      ),
      role: 'row',
      id: `entry-${entry.seq}`,
      'aria-rowindex': index + 2,
      'aria-selected': isOpen,
      style: { transform: `translateY(${top}px)` },
      onClick: () => onOpen(entry),
    },
    cell('time', rowTime(entry.time), entry.time),
    cell('client', nameOf(entry.client) ?? shortClient(entry.client), entry.client),
    name(entry),
    account(entry),
    mode(entry),
    cell(`sent-to to-${sentTo(entry) ?? 'none'}`, sentToWords(entry)),
    el(
      'span',
      { role: 'gridcell', class: 'cell verdict-cell' },
      part(VerdictBadge, { outcome: outcomeOf(entry) }),
    ),
    edits(entry, hueOf),
    cell(`status status-${statusTone(entry)}`, statusWords(entry), statusTitle(entry)),
    cell('ms upstream', entry.upstreamMs === undefined ? '–' : milliseconds(entry.upstreamMs)),
    cell('ms total', milliseconds(entry.totalMs)),
  );
}

function cell(name: string, text: string, title?: string): VNode {
  return el('span', { role: 'gridcell', class: `cell ${name}`, title }, text);
}

/** The operation, with method and path when there is room. */
function name(entry: NumberedEntry): VNode {
  const { operation, method, path } = entry;
  return el(
    'span',
    { role: 'gridcell', class: 'cell name', title: `${method} ${path}` },
    visibleText(entryName(entry)),
    operation !== undefined && el('span', { class: 'asked' }, visibleText(`${method} ${path}`)),
  );
}

/** What happened, in sentences, when there is room. */
function account(entry: NumberedEntry): VNode {
  const words = accountOf(entry).join(' ');
  return el('span', { role: 'gridcell', class: 'cell account-cell', title: words }, visibleText(words));
}

function mode(entry: NumberedEntry): VNode {
  const applied = modeOf(entry);
  return applied === undefined
    ? cell('mode', '–', 'V2 request')
    : cell(`mode mode-${applied}`, applied, MODE_MEANINGS[applied]);
}

/** The number of edits of request and response, with a dot for each change that produced some. */
function edits(entry: NumberedEntry, hueOf: HueOf): VNode {
  const all = editCount(entry) + responseEditCount(entry);
  const made = entry.edits.filter(({ note }) => note !== 'already-flat');
  const changes = [...new Set([...made, ...(entry.responseEdits ?? [])].map(({ change }) => change))];
  const words = [editWords(entry), responseEditWords(entry)].filter((part) => part !== undefined).join(', ');
  return el(
    'span',
    {
      role: 'gridcell',
      class: 'cell edits-cell',
      title: changes.length === 0 ? words : `${words}: ${changes.join(', ')}`,
    },
    el('span', { class: 'edit-count' }, all === 0 ? '–' : count(all)),
    changes.slice(0, 4).map((change) => el('span', { key: change, class: `dot hue-${hueOf(change)}` })),
  );
}
