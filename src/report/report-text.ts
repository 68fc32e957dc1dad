import type { ClientClass, ClientReport } from './client-report.ts';
import type { Report } from './report.ts';
import { csvField, markdownBlock, markdownCode, markdownText } from './untrusted-text.ts';

/** Classes in words, as people read them. */
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

/** The clients of a report as CSV (RFC 4180), one a line. */
export function reportCsv(report: Report): string {
  const lines = report.clients.map((client) =>
    [
      client.client,
      client.name ?? '',
      client.class,
      client.v1,
      client.v2,
      client.refused,
      client.invalidVersions,
      client.firstSeen,
      client.lastSeen,
      client.operations.map(({ operation, count }) => `${operation}=${count}`).join(' '),
      client.changes.map(({ change, count }) => `${change}=${count}`).join(' '),
    ]
      .map(csvField)
      .join(','),
  );
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

/** A report for people, in Markdown. */
export function reportMarkdown(report: Report): string {
  const { since, until, classes, census } = report;
  const sections = [
    '# Who still needs V1',
    since === undefined
      ? 'There is no entry yet.'
      : `From ${markdownText(since)} to ${markdownText(until ?? since)}: ${count(report.v1)} requests through V1, ${count(report.v2)} through V2.`,
    '## What stands between today and switching V1 off',
    report.canSwitchOff ? 'Nothing: every client that used V1 is gone.' : list(report.remaining),
    table(
      ['class', 'clients'],
      [
        [CLASS_WORDS['field-work'], count(classes['field-work'])],
        [CLASS_WORDS['unwrap-only'], count(classes['unwrap-only'])],
        [CLASS_WORDS['url-only'], count(classes['url-only'])],
        [`${CLASS_WORDS.gone} (no V1 request for ${report.goneAfterDays} days)`, count(classes.gone)],
      ],
    ),
    '## Clients',
    table(
      ['client', 'class', 'V1', 'V2', 'refused', 'first seen', 'last seen', 'operations', 'changes'],
      report.clients.map(clientRow),
    ),
    '## Burn-down',
    table(
      ['day', 'V1', 'V2', 'clients on V1', 'with edits', 'refused'],
      report.days.map(({ day, v1, v2, clients, rewritten, refused }) => [
        markdownText(day),
        ...[v1, v2, clients, rewritten, refused].map(count),
      ]),
    ),
    ...censusSections(census),
    ...(report.unreadable > 0
      ? [`${count(report.unreadable)} lines were no entries and were left out.`]
      : []),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

/** The attribute census for people, in Markdown. */
export function censusMarkdown(census: Report['census']): string {
  return `${censusSections(census).join('\n\n')}\n`;
}

function censusSections(census: Report['census']): string[] {
  if (census.rows.length === 0) return [];
  return [
    '## Attribute census',
    `${count(census.sampled)} of ${count(census.exchanges)} V1 requests had their attribute names looked at.`,
    table(
      ['operation', 'attribute', 'requests', 'accepted', '422', 'change'],
      census.rows.map(({ operation, pointer, count: seen, accepted, unprocessable, change }) => [
        markdownText(operation),
        markdownCode(pointer),
        count(seen),
        count(accepted),
        count(unprocessable),
        markdownText(change ?? ''),
      ]),
    ),
    ...(census.proposal === ''
      ? []
      : [
          'Never accepted, and not in the rule book. To paste under `changes`:',
          markdownBlock('yaml', census.proposal.trimEnd()),
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
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

/** Thousands apart, as in `2,310`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
