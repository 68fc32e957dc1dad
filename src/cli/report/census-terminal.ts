import type { Census } from '../../report/census/census.ts';
import { count, counted } from '../../report/text/number-text.ts';
import { terminalLines, terminalText } from '../../report/text/untrusted-text.ts';
import { printColumns } from '../terminal/columns.ts';
import { painter, type Terminal } from '../terminal/terminal.ts';
import { wrapLines } from '../terminal/wrap-text.ts';

/** Formats the attribute census for a terminal. Rules to paste are not fitted to its width. */
export function censusTerminal(census: Census, terminal: Terminal): string {
  if (census.rows.length === 0) return 'No entry has attribute names.\n';
  const paint = painter(terminal);
  const { columns } = terminal;
  const proposed = new Set(
    census.strips.map(
      ({ operation = '(other)', in: place, member }) => `${operation} ${place ?? ''} ${member}`,
    ),
  );
  const isProposed = (operation: string, pointer: string): boolean => {
    const steps = pointer.split('/').slice(1);
    return proposed.has(`${operation} ${steps.slice(0, -1).join('.')} ${steps.at(-1) ?? ''}`);
  };
  const sections = [
    wrapLines(
      `${paint('bold', 'Attributes that V1 clients send')}  ${count(census.sampled)} of ${counted(census.exchanges, 'request')} sampled`,
      columns,
    ),
    printColumns(
      ['operation', 'attribute', 'requests', 'V2 2xx', 'V2 422', 'at it', 'V1 2xx', 'deprecated', 'change'],
      census.rows.map((row) => [
        terminalText(row.operation),
        isProposed(row.operation, row.pointer)
          ? paint('red', terminalText(row.pointer))
          : terminalText(row.pointer),
        ...[row.count, row.accepted, row.unprocessable, row.named, row.acceptedByV1, row.deprecated].map(
          count,
        ),
        terminalText(row.change ?? ''),
      ]),
      { right: [2, 3, 4, 5, 6, 7], columns },
    ),
    census.proposal === ''
      ? ''
      : `${wrapLines('V2 does not take these, and no rule removes them; to paste under changes, or to write with --apply:', columns, 0)}\n\n${terminalLines(census.proposal.trimEnd())}`,
    census.suspects.length === 0
      ? ''
      : wrapLines(
          `Not known whether V2 takes these:\n${census.suspects
            .map(({ operation, pointer, why }) => `  ${terminalText(`${operation} ${pointer}: ${why}`)}`)
            .join('\n')}`,
          columns,
        ),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}
