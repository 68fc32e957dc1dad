import type { ClientClass, ClientReport } from './client-report.ts';
import type { Report } from './report.ts';
import { csvField, markdownBlock, markdownCode, markdownText } from './untrusted-text.ts';

/** Display names of the classes. */
export const CLASS_WORDS: Readonly<Record<ClientClass, string>> = {
  'field-work': 'field work',
  'unwrap-only': 'unwrap only',
  'url-only': 'URL only',
  gone: 'gone',
};

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
] as const;

/** Formats the clients of a report as CSV (RFC 4180), one per line. */
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
  return [
    ['# Who still needs V1'],
    [
      since === undefined
        ? 'There are no entries yet.'
        : `From ${markdownText(since)} to ${markdownText(until ?? since)}: ${count(report.v1)} requests through V1, ${count(report.v2)} through V2.`,
    ],
    ['## Remaining work before V1 can be switched off'],
    report.canSwitchOff ? ['None: every client that used V1 is gone.'] : list(report.remaining),
    tableLines(
      ['class', 'clients'],
      [
        [CLASS_WORDS['field-work'], count(classes['field-work'])],
        [CLASS_WORDS['unwrap-only'], count(classes['unwrap-only'])],
        [CLASS_WORDS['url-only'], count(classes['url-only'])],
        [`${CLASS_WORDS.gone} (no V1 request for ${report.goneAfterDays} days)`, count(classes.gone)],
      ],
    ),
    ['## Clients'],
    tableLines(
      ['client', 'class', 'V1', 'V2', 'refused', 'first seen', 'last seen', 'operations', 'changes'],
      mapped(report.clients, clientRow),
    ),
    ['## Burn-down'],
    tableLines(
      ['day', 'V1', 'V2', 'clients on V1', 'with edits', 'refused'],
      mapped(report.days, ({ day, v1, v2, clients, rewritten, refused }) => [
        markdownText(day),
        ...[v1, v2, clients, rewritten, refused].map(count),
      ]),
    ),
    ...censusSections(census),
    report.unreadable > 0 ? [`${count(report.unreadable)} lines are not entries and were skipped.`] : [],
  ];
}

/** Formats the attribute census as Markdown. */
export function censusMarkdown(census: Report['census']): string {
  return `${censusSections(census)
    .map((lines) => [...lines].join('\n'))
    .join('\n\n')}\n`;
}

function censusSections(census: Report['census']): readonly Iterable<string>[] {
  if (census.rows.length === 0) return [];
  return [
    ['## Attribute census'],
    [`${count(census.sampled)} of ${count(census.exchanges)} V1 requests were sampled for attribute names.`],
    tableLines(
      ['operation', 'attribute', 'requests', 'accepted', '422', 'change'],
      mapped(census.rows, ({ operation, pointer, count: seen, accepted, unprocessable, change }) => [
        markdownText(operation),
        markdownCode(pointer),
        count(seen),
        count(accepted),
        count(unprocessable),
        markdownText(change ?? ''),
      ]),
    ),
    ...(census.omitted > 0
      ? [[`Other names occurred ${count(census.omitted)} times and are not listed.`]]
      : []),
    ...(census.proposal === ''
      ? []
      : [
          ['Never accepted, and not in the rule book. Paste under `changes`:'],
          [markdownBlock('yaml', census.proposal.trimEnd())],
        ]),
  ];
}

function clientRow(client: ClientReport): string[] {
  return [
    client.name === undefined
      ? markdownCode(client.client)
      : `${markdownText(client.name)} ${markdownCode(client.client)}`,
    CLASS_WORDS[client.class],
    count(client.v1),
    count(client.v2),
    count(client.refused),
    markdownText(client.firstSeen),
    markdownText(client.lastSeen),
    client.operations
      .map(({ operation, count: seen }) => `${markdownText(operation)} ${count(seen)}`)
      .join(', '),
    client.changes.map(({ change, count: seen }) => `${markdownText(change)} ${count(seen)}`).join(', '),
  ];
}

/** Prints a Markdown table; its cells are Markdown already (`markdownText`, `markdownCode`). */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [...tableLines(head, rows)].join('\n');
}

/** Generates the lines of a Markdown table; none without rows. */
function* tableLines(
  head: readonly string[],
  rows: Iterable<readonly string[]>,
): Generator<string, void, undefined> {
  let isFirst = true;
  for (const row of rows) {
    if (isFirst) yield `${line(head)}\n|${' --- |'.repeat(head.length)}`;
    isFirst = false;
    yield line(row);
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
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

/** Formats a number with thousands separators, as in `2,310`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
