import { type Census, censusNote, handlersIn } from './census.ts';
import {
  CELL_MEMBERS,
  CLASSES,
  CLASS_MEANINGS,
  CLASS_WORDS,
  bodyCheckWords,
  type ClientReport,
  mistakeWords,
  outcomeWords,
  reasonsOf,
  responseWords,
  waitWords,
} from './client-report.ts';
import { metByBrownouts } from './endings.ts';
import type { Report } from './report.ts';
import {
  capital,
  clientName,
  csvField,
  markdownBlock,
  markdownCode,
  markdownText,
  percentWords,
  tableLines,
} from './text.ts';
import { count, counted } from '../rules/words.ts';

/** Display names of the states of a condition. */
const STATE_WORDS = { met: 'met', 'not-met': 'not met', unknown: 'not known' } as const;

const COLUMNS = [
  'client',
  'name',
  'class',
  'v1_requests',
  'v2_requests',
  'refused',
  'invalid_versions',
  'first_seen',
  'last_seen',
  'operations',
  'changes',
  'share',
  'silent_days',
  'response_changes',
  'outcomes',
  'mistakes',
  'unknown',
  'v2_schema',
  'v2_refusals',
  'failed',
] as const;

/** Formats the clients of a report as CSV (RFC 4180), one client per line. */
export function reportCsv(report: Report): string {
  return [...reportCsvLines(report)].join('');
}

/** Like `reportCsv`, line by line. */
export function* reportCsvLines(report: Report): Generator<string, void, undefined> {
  yield `${COLUMNS.join(',')}\r\n`;
  for (const client of report.clients) {
    const fields = [
      client.client,
      client.name ?? '',
      client.class,
      client.v1,
      client.v2,
      client.refused,
      client.invalidVersions,
      client.firstSeen,
      client.lastSeen,
      client.operations.map(({ operation, count: seen }) => `${operation}=${seen}`).join(' '),
      client.changes.map(({ change, count: seen }) => `${change}=${seen}`).join(' '),
      client.share.toFixed(6),
      client.silentDays,
      responseWords(client),
      outcomeWords(client.outcomes),
      mistakeWords(client),
      client.unknown.join(' '),
      bodyCheckWords(client),
      client.refusals.join(' '),
      client.failed,
    ];
    yield `${fields.map(csvField).join(',')}\r\n`;
  }
}

/** Formats a report as Markdown. */
export function reportMarkdown(report: Report): string {
  return [...reportMarkdownParts(report)].join('');
}

/** Like `reportMarkdown`, line by line. */
export function* reportMarkdownParts(report: Report): Generator<string, void, undefined> {
  let separator = '';
  for (const section of sectionsOf(report)) {
    for (const line of section) {
      yield separator + line;
      separator = '\n';
    }
    if (separator === '\n') separator = '\n\n';
  }
  yield '\n';
}

/** Sections of a report as lines; a section without lines is omitted. */
function sectionsOf(report: Report): readonly Iterable<string>[] {
  const { since, until, classes, census } = report;
  const met = metByBrownouts(report.clients);
  return [
    ['# Who still needs V1'],
    [
      since === undefined
        ? 'There are no entries up to the time of the report.'
        : `From ${markdownText(since)} to ${markdownText(until ?? since)}: ${callsIn(report)}.`,
    ],
    report.coverage === undefined ? [] : [markdownText(report.coverage.sentence)],
    [`**${report.switchOff.sentence}** Checked at ${markdownText(report.at)}.`],
    list(
      report.switchOff.conditions.map(({ state, text }) => `${STATE_WORDS[state]}: ${markdownText(text)}`),
    ),
    report.remaining.length === 0 ? [] : ['## Remaining work before V1 can be switched off'],
    list(report.remaining),
    met.length === 0 ? [] : ['## Requests that brownouts refused'],
    list(met.map(({ sentence }) => markdownText(sentence))),
    report.newcomers === undefined ? [] : ['## New to V1'],
    list((report.newcomers ?? []).map(({ sentence }) => markdownText(sentence))),
    report.endings === undefined ? [] : ["## Endings before V1's"],
    list((report.endings ?? []).map(({ sentence }) => markdownText(sentence))),
    tableLines(
      ['class', 'clients'],
      CLASSES.map((name) => [
        `${CLASS_WORDS[name]} (${name === 'gone' ? goneWords(report) : CLASS_MEANINGS[name]})`,
        count(classes[name]),
      ]),
    ),
    ['## Clients'],
    tableLines(
      [
        'client',
        'class',
        "to V1's address",
        'share',
        "to V2's address",
        'failed',
        'refused',
        'first seen',
        'last seen',
        'operations',
        'changes',
        'responses changed',
        'outcomes',
        'refused or would be',
        "V2's schema",
      ],
      mapped(report.clients, (client) => clientRow(client, report.goneAfterDays)),
    ),
    ['## Burn-down'],
    tableLines(
      ['day', "to V1's address", "to V2's address", 'clients', 'with edits', 'refused'],
      mapped(report.days, ({ day, v1, v2, clients, rewritten, refused }) => [
        markdownText(day),
        ...[v1, v2, clients, rewritten, refused].map(count),
      ]),
    ),
    ...censusSections(census),
    report.logs === undefined ? [] : ['## Logs'],
    tableLines(
      ['log', 'from', 'to', 'entries', 'skipped lines'],
      mapped(report.logs ?? [], ({ file, since: from = '', until: to = '', entries, unreadable }) => [
        markdownText(file),
        markdownText(from),
        markdownText(to),
        count(entries),
        count(unreadable),
      ]),
    ),
    list((report.gaps ?? []).map(({ sentence }) => markdownText(sentence))),
    report.unreadable > 0 ? [`Skipped: ${skippedLines(report.unreadable)}.`] : [],
  ];
}

/** The requests to either version's address, whichever service they were sent to. */
export function callsIn({ v1, v2 }: Pick<Report, 'v1' | 'v2'>): string {
  return `${counted(v1, 'request')} to V1's address, ${count(v2)} to V2's`;
}

/** When a client counts as gone. */
function goneWords({ goneAfterDays }: Report): string {
  return `no call to V1 for ${counted(goneAfterDays, 'day')} or more; longer for a client that is hardly known or has paused for long`;
}

/** The number of skipped lines: `1 line that is not an entry`. */
export function skippedLines(lines: number): string {
  return `${counted(lines, 'line')} that ${lines === 1 ? 'is not an entry' : 'are not entries'}`;
}

function clientRow(client: ClientReport, usualDays: number): string[] {
  return [
    client.name === undefined && client.agent === undefined
      ? markdownCode(client.client)
      : `${markdownText(clientName(client))} ${markdownCode(client.client)}`,
    [CLASS_WORDS[client.class], markdownText(reasonsOf(client).join(' '))]
      .filter((part) => part !== '')
      .join(': '),
    count(client.v1),
    percentWords(client.share),
    count(client.v2),
    count(client.failed),
    count(client.refused),
    markdownText(client.firstSeen),
    markdownText([client.lastSeen, waitWords(client, usualDays)].filter(Boolean).join(', ')),
    client.operations
      .map(({ operation, count: seen }) => `${markdownText(operation)} ${count(seen)}`)
      .join(', '),
    client.changes.map(({ change, count: seen }) => `${markdownText(change)} ${count(seen)}`).join(', '),
    markdownText(responseWords(client, CELL_MEMBERS)),
    markdownText(outcomeWords(client.outcomes)),
    markdownText(mistakeWords(client)),
    markdownText(bodyCheckWords(client)),
  ];
}

function* mapped<Item, Row>(
  items: readonly Item[],
  rowOf: (item: Item) => Row,
): Generator<Row, void, undefined> {
  for (const item of items) yield rowOf(item);
}

function list(items: readonly string[]): string[] {
  return items.map((item) => `- ${item}`);
}

/** Formats the attribute census as Markdown. */
export function censusMarkdown(census: Census): string {
  return `${censusSections(census)
    .map((lines) => [...lines].join('\n'))
    .join('\n\n')}\n`;
}

/** Sections of the census in Markdown, each as lines; none without rows. */
function censusSections(census: Census): readonly Iterable<string>[] {
  if (census.rows.length === 0) return [];
  return [
    ['## Attribute census'],
    [`${capital(censusNote(census))}.`],
    tableLines(CENSUS_HEAD, rowsOf(census)),
    [CENSUS_LEGEND],
    ...(census.omitted > 0
      ? [[`Other names occurred ${counted(census.omitted, 'time')} and are not listed.`]]
      : []),
    ...(census.proposal === ''
      ? []
      : [
          [
            'V2 does not accept these, and no rule removes them. Paste under `changes`, or run with `--apply`:',
          ],
          [markdownBlock('yaml', census.proposal.trimEnd())],
        ]),
    ...(census.suspects.length === 0
      ? []
      : [
          ['V2 may not accept these:'],
          census.suspects.map(
            ({ operation, pointer, why }) =>
              `- ${markdownText(operation)} ${markdownCode(pointer)}: ${markdownText(why)}`,
          ),
        ]),
  ];
}

function* rowsOf(census: Census): Generator<string[], void, undefined> {
  for (const { operation, pointer, numbers, handler } of censusRows(census))
    yield [markdownText(operation), markdownCode(pointer), ...numbers.map(count), markdownText(handler)];
}

/** The columns of the census, as the page names them. */
export const CENSUS_HEAD = [
  'operation',
  'attribute',
  'sent',
  'V1 accepted',
  'V2 accepted',
  'V2 422',
  'V2 named it',
  'deprecated',
  'handled by',
] as const;

export const CENSUS_LEGEND =
  'The numbers are of requests with the attribute: all, those that V1 or V2 accepted (2xx), those that V2 refused with 422, those for which an error of V2 points at the attribute, and those for which V1 calls it deprecated. The last column has the change that moves, converts or removes it.';

/** The rows of the census, their numbers in the order of its columns. */
export function censusRows(census: Census): readonly {
  readonly operation: string;
  readonly pointer: string;
  readonly numbers: readonly number[];
  readonly handler: string;
}[] {
  const handlerOf = handlersIn(census);
  return census.rows.map((row) => ({
    operation: row.operation,
    pointer: row.pointer,
    numbers: [row.count, row.acceptedByV1, row.accepted, row.unprocessable, row.named, row.deprecated],
    handler: handlerOf(row),
  }));
}
