import { styleText } from 'node:util';
import type { Census } from '../report/census.ts';
import { count } from '../report/number-text.ts';
import { terminalLines, terminalText } from '../report/untrusted-text.ts';
import { printColumns } from './columns.ts';

/** Formats the attribute census for a terminal; `colour` enables colour codes. */
export function censusTerminal(census: Census, colour: boolean): string {
  if (census.rows.length === 0) return 'No entry has attribute names.\n';
  const paint = (style: 'bold' | 'red', text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
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
    `${paint('bold', 'Attributes that V1 clients send')}  ${count(census.sampled)} of ${count(census.exchanges)} requests were sampled`,
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
      [2, 3, 4, 5, 6, 7],
    ),
    census.proposal === ''
      ? ''
      : `V2 does not take these, and no rule removes them; to paste under changes, or to write with --apply:\n\n${terminalLines(census.proposal.trimEnd())}`,
    census.suspects.length === 0
      ? ''
      : `Not known whether V2 takes these:\n${census.suspects
          .map(({ operation, pointer, why }) => `  ${terminalText(`${operation} ${pointer}: ${why}`)}`)
          .join('\n')}`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}
