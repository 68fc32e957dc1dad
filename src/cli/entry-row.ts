import { styleText } from 'node:util';
import type { Entry } from '../rewrite-log/entry.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { pad } from './columns.ts';

type Style = Parameters<typeof styleText>[0];

const VERDICTS: Readonly<Record<string, Style>> = {
  rewritten: 'yellow',
  unchanged: 'green',
  refused: 'red',
  passed: 'dim',
};

/** The header row above entries. */
export const ENTRY_HEAD = `${'time'.padEnd(12)}  ${'client'.padEnd(6)}  ${'verdict'.padEnd(9)}  status  ${'ms'.padStart(8)}  request`;

/** Formats an entry as one line for a terminal. */
export function entryRow(entry: Entry, colour: boolean): string {
  const paint = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const { time, client, verdict, status, totalMs } = entry;
  return [
    paint('dim', terminalText(time.slice(11, 23))),
    pad(terminalText(client?.slice(0, 6) ?? '-'), 6, false),
    pad(paint(VERDICTS[verdict] ?? 'dim', terminalText(verdict)), 9, false),
    pad(paint(statusStyle(status), status === 0 ? 'gone' : String(status)), 6, true),
    pad(totalMs.toFixed(1), 8, true),
    `${terminalText(requestOf(entry))}${paint('dim', terminalText(detailsOf(entry)))}`,
  ].join('  ');
}

function requestOf({ operation, method, path }: Entry): string {
  return operation === undefined ? `${method} ${path}` : `${operation}  ${method} ${path}`;
}

function detailsOf({ edits, note, failure, pointer }: Entry): string {
  const counts = new Map<string, number>();
  for (const edit of edits) {
    const name = edit.note === undefined ? edit.change : `${edit.change} (${edit.note})`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const parts = [...counts].map(([name, times]) => (times === 1 ? name : `${name} ×${times}`));
  if (failure !== undefined) parts.push(pointer === undefined ? failure : `${failure} at ${pointer}`);
  if (note !== undefined) parts.push(note);
  return parts.length === 0 ? '' : `  ${parts.join(', ')}`;
}

function statusStyle(status: number): Style {
  if (status === 0 || status >= 500) return 'red';
  return status >= 400 ? 'yellow' : 'green';
}
