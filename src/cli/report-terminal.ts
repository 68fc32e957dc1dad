import { styleText } from 'node:util';
import type { Census } from '../report/census.ts';
import type { ClientClass } from '../report/client-report.ts';
import type { Report } from '../report/report.ts';
import { CLASS_WORDS, count } from '../report/report-text.ts';
import { terminalLines, terminalText } from '../report/untrusted-text.ts';
import { printColumns } from './columns.ts';

type Style = Parameters<typeof styleText>[0];

const COLOURS: Readonly<Record<ClientClass, Style>> = {
  'field-work': 'yellow',
  'unwrap-only': 'cyan',
  'url-only': 'green',
  gone: 'dim',
};

/** Maximum clients and days shown on a terminal; the other formats have all. */
const MAX_ROWS = 40;

/** Formats a report for a terminal; `colour` enables colour codes. */
export function reportTerminal(report: Report, colour: boolean): string {
  const paint = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  if (report.since === undefined) return 'The log has no entries.\n';
  const busiest = Math.max(1, ...report.days.map((day) => day.v1));
  const sections = [
    `${paint('bold', 'Who still needs V1')}  ${terminalText(report.since.slice(0, 10))} to ${terminalText((report.until ?? '').slice(0, 10))}, ${count(report.v1)} requests through V1, ${count(report.v2)} through V2`,
    report.canSwitchOff
      ? paint('green', 'Every client that used V1 is gone: it can be switched off.')
      : `Before V1 can be switched off:\n${report.remaining.map((sentence) => `  ${sentence}`).join('\n')}`,
    printColumns(
      ['client', 'class', 'V1', 'refused', 'last seen', 'changes'],
      report.clients
        .slice(0, MAX_ROWS)
        .map((client) => [
          terminalText(
            client.name === undefined ? client.client : `${client.name} ${client.client.slice(0, 6)}`,
          ),
          paint(COLOURS[client.class], CLASS_WORDS[client.class]),
          count(client.v1),
          count(client.refused),
          terminalText(client.lastSeen.slice(0, 16).replace('T', ' ')),
          client.changes
            .map(({ change, count: seen }) => `${terminalText(change)} ${count(seen)}`)
            .join(', '),
        ]),
      [2, 3],
    ),
    more(report.clients.length, 'clients'),
    printColumns(
      ['day', 'V1', 'V2', 'clients', ''],
      report.days
        .slice(-MAX_ROWS)
        .map((day) => [
          terminalText(day.day),
          count(day.v1),
          count(day.v2),
          count(day.clients),
          paint('cyan', '▇'.repeat(Math.round((day.v1 / busiest) * 30))),
        ]),
      [1, 2, 3],
    ),
    report.unreadable === 0 ? '' : `${count(report.unreadable)} lines were not entries.`,
    report.omittedClients === 0
      ? ''
      : `${count(report.omittedClients)} requests came from clients beyond the limit.`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** Formats the attribute census for a terminal. */
export function censusTerminal(census: Census, colour: boolean): string {
  if (census.rows.length === 0) return 'No entry has attribute names.\n';
  const paint = (style: Style, text: string): string =>
    colour ? styleText(style, text, { validateStream: false }) : text;
  const sections = [
    `${paint('bold', 'Attributes that V1 clients send')}  ${count(census.sampled)} of ${count(census.exchanges)} requests were sampled`,
    printColumns(
      ['operation', 'attribute', 'requests', 'accepted', '422', 'change'],
      census.rows.map((row) => [
        terminalText(row.operation),
        row.accepted === 0 && row.unprocessable > 0 && row.change === undefined
          ? paint('red', terminalText(row.pointer))
          : terminalText(row.pointer),
        count(row.count),
        count(row.accepted),
        count(row.unprocessable),
        terminalText(row.change ?? ''),
      ]),
      [2, 3, 4],
    ),
    census.proposal === ''
      ? ''
      : `Never accepted, and not in the rule book; to paste under changes:\n\n${terminalLines(census.proposal.trimEnd())}`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function more(all: number, noun: string): string {
  return all > MAX_ROWS ? `… and ${count(all - MAX_ROWS)} more ${noun}; --format json has all.` : '';
}
