import { styleText } from 'node:util';
import {
  bodyCheckWords,
  failureWords,
  OUTCOME_WORDS,
  sentToWords,
  statusTone,
  statusWords,
} from '../inspector/entry-words.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { modeOf, type Outcome, outcomeOf, statusFrom } from '../rewrite-log/entry-outcome.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { pad } from './columns.ts';

type Style = Parameters<typeof styleText>[0];

/** The colours of the page; what was only worked out is in italics. */
const OUTCOME_STYLES: Readonly<Record<Outcome, Style>> = {
  rewritten: 'blue',
  unchanged: 'green',
  refused: 'red',
  passed: 'dim',
  served: 'dim',
  'would-rewritten': ['blue', 'italic'],
  'would-unchanged': ['green', 'italic'],
  'would-refused': ['red', 'italic'],
  'to-v1': 'dim',
};

const STATUS_STYLES = { ok: 'green', fault: 'yellow', failure: 'red' } as const;

const COLUMNS = [
  ['time', 12],
  ['client', 6],
  ['mode', 7],
  ['sent to', 7],
  ['outcome', 16],
] as const;

/** The header row above entries. */
export const ENTRY_HEAD = `${COLUMNS.map(([name, width]) => name.padEnd(width)).join('  ')}  status  ${'ms'.padStart(8)}  request`;

/** Formats an entry as one line for a terminal. */
export function entryRow(entry: Entry, colour: boolean): string {
  const paint = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const { time, client, status, totalMs } = entry;
  const outcome = outcomeOf(entry);
  const cells = [
    paint('dim', terminalText(time.slice(11, 23))),
    terminalText(client?.slice(0, 6) ?? '-'),
    paint('dim', terminalText(modeOf(entry) ?? '-')),
    terminalText(sentToWords(entry)),
    paint(OUTCOME_STYLES[outcome] ?? 'dim', terminalText(OUTCOME_WORDS[outcome] ?? outcome)),
  ];
  return [
    ...cells.map((cell, at) => pad(cell, COLUMNS[at]?.[1] ?? 0, false)),
    pad(paint(STATUS_STYLES[statusTone(status)], statusWords(status)), 6, true),
    pad(totalMs.toFixed(1), 8, true),
    `${terminalText(requestOf(entry))}${paint('dim', terminalText(detailsOf(entry)))}`,
  ].join('  ');
}

function requestOf({ operation, method, path }: Entry): string {
  return operation === undefined ? `${method} ${path}` : `${operation}  ${method} ${path}`;
}

function detailsOf(entry: Entry): string {
  const { edits, editsOmitted = 0, note, would, upstreamMs, comparison } = entry;
  const counts = new Map<string, number>();
  for (const edit of edits) {
    const name = edit.note === undefined ? edit.change : `${edit.change} (${edit.note})`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const parts = [...counts].map(([name, times]) => (times === 1 ? name : `${name} ×${times}`));
  if (editsOmitted > 0) parts.push(`${editsOmitted} more edits`);
  const failure = failureWords(entry);
  if (failure !== undefined) parts.push(failure);
  const refusal = would && failureWords(would);
  if (refusal !== undefined) parts.push(`would: ${refusal}`);
  const checked = bodyCheckWords(entry);
  if (checked !== undefined) parts.push(checked);
  if (note !== undefined) parts.push(note);
  if (comparison !== undefined) parts.push(`compared: ${comparison.verdict}`);
  const from = statusFrom(entry);
  if (upstreamMs !== undefined && (from === 'v1' || from === 'v2'))
    parts.push(`${from.toUpperCase()} ${upstreamMs.toFixed(1)} ms`);
  return parts.length === 0 ? '' : `  ${parts.join(', ')}`;
}
