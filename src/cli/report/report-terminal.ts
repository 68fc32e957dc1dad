import type { Census } from '../../report/census.ts';
import {
  bodyCheckWords,
  type ClientClass,
  type ClientReport,
  mistakeWords,
  percentWords,
  reasonsOf,
  responseWords,
} from '../../report/client-report.ts';
import { CLASS_WORDS, skippedLines } from '../../report/report-text.ts';
import type { Report } from '../../report/report.ts';
import { count, counted, terminalLines, terminalText } from '../../report/text.ts';
import { painter, printColumns, type Style, type Terminal, wrapLines } from '../terminal.ts';

const COLOURS: Readonly<Record<ClientClass, Style>> = {
  'field-work': 'yellow',
  'unwrap-only': 'cyan',
  'url-only': 'green',
  unknown: 'magenta',
  gone: 'dim',
};

const VERDICT_STYLES: Readonly<Record<Report['switchOff']['verdict'], Style>> = {
  yes: 'green',
  no: 'yellow',
  unknown: 'magenta',
  'nothing-seen': 'dim',
};

const MARKS = { met: '✓', 'not-met': '✗', unknown: '?' } as const;

/** Maximum clients and days shown on a terminal; the other formats have all. */
const MAX_ROWS = 40;
/** Maximum logs, and gaps of logs, shown on a terminal. */
const MAX_LOGS = 20;

/** Characters of the bar of the busiest day, and those of a line that the other columns take. */
const BAR = { most: 30, least: 8, others: 48 } as const;

/** Formats a report for a terminal. Times and days are those of UTC. */
export function reportTerminal(report: Report, terminal: Terminal): string {
  const paint = painter(terminal);
  const { columns } = terminal;
  if (report.since === undefined) {
    const { sentence, conditions } = report.switchOff;
    const others = conditions.length === 0 ? 'entries' : 'other entries';
    return `${[sentence, ...conditions.map(({ text }) => text)].join(' ')} The log has no ${others}.\n`;
  }
  const bar = Math.max(BAR.least, Math.min(BAR.most, (columns ?? Infinity) - BAR.others));
  const fitted = (text: string): string => wrapLines(text, columns);
  const busiest = Math.max(1, ...report.days.map((day) => day.v1));
  const sections = [
    fitted(
      `${paint('bold', 'Who still needs V1')}  ${terminalText(report.since.slice(0, 10))} to ${terminalText((report.until ?? '').slice(0, 10))} UTC, ${counted(report.v1, 'request')} through V1, ${count(report.v2)} through V2`,
    ),
    fitted(
      [
        paint(VERDICT_STYLES[report.switchOff.verdict], terminalText(report.switchOff.sentence)),
        ...report.switchOff.conditions.map(({ state, text }) => `  ${MARKS[state]} ${terminalText(text)}`),
      ].join('\n'),
    ),
    report.remaining.length === 0
      ? ''
      : fitted(
          `Before V1 can be switched off:\n${report.remaining.map((sentence) => `  ${sentence}`).join('\n')}`,
        ),
    printColumns(
      ['client', 'class', 'V1', 'share', 'refused', 'last seen', 'changes'],
      report.clients
        .slice(0, MAX_ROWS)
        .map((client) => [
          terminalText(
            client.name === undefined ? client.client : `${client.name} ${client.client.slice(0, 6)}`,
          ),
          paint(COLOURS[client.class], CLASS_WORDS[client.class]),
          count(client.v1),
          percentWords(client.share),
          count(client.refused),
          terminalText(`${client.lastSeen.slice(0, 16).replace('T', ' ')}Z`),
          terminalText(workWords(client)),
        ]),
      { right: [2, 3, 4], columns },
    ),
    more(report.clients.length, 'client'),
    printColumns(
      ['day (UTC)', 'V1', 'V2', 'clients', ''],
      report.days
        .slice(-MAX_ROWS)
        .map((day) => [
          terminalText(day.day),
          count(day.v1),
          count(day.v2),
          count(day.clients),
          paint('cyan', '▇'.repeat(Math.round((day.v1 / busiest) * bar))),
        ]),
      { right: [1, 2, 3], columns },
    ),
    more(report.days.length, 'earlier day', MAX_ROWS, ''),
    fitted(logLines(report.logs ?? [])),
    fitted(gapLines(report.gaps ?? [])),
    report.unreadable === 0 ? '' : `Skipped: ${skippedLines(report.unreadable)}.`,
    report.omittedClients === 0
      ? ''
      : `${counted(report.omittedClients, 'request')} came from clients beyond the limit.`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** The logs that were read; of many, the number and the whole time. */
function logLines(logs: NonNullable<Report['logs']>): string {
  const lines = logs
    .slice(0, MAX_LOGS)
    .map(
      ({ file, since, until, entries }) =>
        `${terminalText(file)}: ${since === undefined ? 'no entries' : `${counted(entries, 'entry', 'entries')} from ${terminalText(since)} to ${terminalText(until ?? since)}`}`,
    );
  return [...lines, ...(logs.length > MAX_LOGS ? [more(logs.length, 'log', MAX_LOGS)] : [])].join('\n');
}

/** The times that the logs of replicas lack. */
function gapLines(gaps: NonNullable<Report['gaps']>): string {
  const lines = gaps.slice(0, MAX_LOGS).map(({ sentence }) => terminalText(sentence));
  return [...lines, ...(gaps.length > MAX_LOGS ? [more(gaps.length, 'gap', MAX_LOGS)] : [])].join('\n');
}

/** The work of a client in both directions, and its mistakes. */
function workWords(client: ClientReport): string {
  const requests = client.changes.map(({ change, count: seen }) => `${change} ${count(seen)}`).join(', ');
  const responses = responseWords(client);
  const mistakes = mistakeWords(client);
  const checks = bodyCheckWords(client);
  const parts = [
    requests,
    responses === '' ? '' : `responses: ${responses}`,
    mistakes === '' ? '' : `mistakes: ${mistakes}`,
    checks === '' ? '' : `V2's schema: ${checks}`,
    reasonsOf(client).join(' '),
  ];
  return parts.filter((part) => part !== '').join('; ');
}

function more(all: number, noun: string, shown = MAX_ROWS, kind = 'more '): string {
  return all > shown ? `… and ${counted(all - shown, `${kind}${noun}`)}; --format json has all.` : '';
}

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
