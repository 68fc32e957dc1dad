import { bodyCheckCounts, type ClientReport, clientWouldFail, isOnV2, reasonsOf } from '../client-report.ts';
import { wouldFail } from '../../rollout/body-checks.ts';
import { MAX_ROW_CLIENTS, type StripProposal } from '../census.ts';
import { MAX_CALLS } from '../fleet/client-shard.ts';
import type { Rollout } from '../../rules/rollout.ts';
import type { DiffLine } from '../line-diff.ts';
import type { Report } from '../report.ts';
import {
  clientName,
  htmlLines,
  htmlText,
  markdownBlock,
  markdownCode,
  markdownText,
  table,
  terminalText,
} from '../text.ts';
import { count, counted } from '../../rules/words.ts';
import { endOfV1, type GuideChange, type GuideDocument, NOT_KNOWN, stepText } from './guide-document.ts';
import { type FactChange, factsById } from './guide-facts.ts';
import { type Block, checkedBefore, ended, type Inline, letterOf } from './letter.ts';

export const WORK: Readonly<Record<ClientReport['class'], string>> = {
  blocked: 'V2 refuses each of these calls, or does not have some of them.',
  'field-work': 'Members of requests or responses have to change before V2 can be used.',
  'unwrap-only': "Only the wrapper around the requests' parameters has to go.",
  'url-only': 'Only the address has to change.',
  unknown: 'The work is still unknown.',
  unserved: 'No service has the addresses of these calls: remove the calls.',
  gone: 'No V1 request is expected any more.',
};

/** Not a change of any rule book: JSON has no byte order mark. */
const BYTE_ORDER_MARK: GuideChange = { id: 'byte-order-mark', summary: 'Leave out the byte order mark.' };

/** A guide loads and runs nothing; its style is in the page. */
export const GUIDE_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** The style of a page, as the client itself reads it. */
const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{background:#f2f2f2;color:#111;padding:.75rem;overflow:auto}del,ins{display:block;text-decoration:none}del{background:#ffd7d5;color:#111}ins{background:#ccffd8;color:#111}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.25rem .5rem;text-align:left}';

/** Prints a guide as one HTML page that loads and runs nothing: a letter with its style in the page, or with HTML before it for the client itself. */
export function guideHtml(
  guide: GuideDocument,
  { lead = [], style }: { readonly lead?: readonly string[]; readonly style?: string } = {},
): string {
  const { title, summary, details } = letterOf(guide);
  const blocks = [...summary, ...details];
  const part = blocks.findIndex(({ kind }) => kind === 'heading');
  const firstPart = part === -1 ? blocks.length : part;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${GUIDE_POLICY}">
<meta name="viewport" content="width=device-width">
<title>${htmlText(title)}</title>
<style>${style ?? STYLE}</style>
</head>
<body>
<main>
<h1>${htmlText(title)}</h1>
${[...lead, ...blocks.map((block, at) => htmlBlock(block, at < firstPart))].join('\n')}
</main>
</body>
</html>
`;
}

/** A label before the first heading is one itself. */
function htmlBlock(block: Block, isFirst: boolean): string {
  switch (block.kind) {
    case 'heading':
      return `<h2>${htmlInlines(block.text)}</h2>`;
    case 'label':
      return isFirst ? `<h2>${htmlInlines(block.text)}</h2>` : `<h3>${htmlInlines(block.text)}</h3>`;
    case 'paragraph':
      return `<p>${htmlInlines(block.text)}</p>`;
    case 'bullets':
      return `<ul>${block.items.map((item) => `<li>${htmlInlines(item)}</li>`).join('')}</ul>`;
    case 'table':
      return `<table><thead>${htmlRow(
        block.head.map((text) => [text]),
        'th',
      )}</thead><tbody>${block.rows.map((row) => htmlRow(row, 'td')).join('')}</tbody></table>`;
    case 'example':
      // The marks stay where a mail program shows no colours.
      return `<pre>${block.lines.map(htmlLine).join('')}</pre>`;
  }
}

function htmlRow(cells: readonly (readonly Inline[])[], tag: 'td' | 'th'): string {
  // A narrow window breaks an address before a slash, and not within a name.
  const html = (cell: readonly Inline[]): string =>
    cell
      .map((text) =>
        typeof text === 'object' && 'code' in text
          ? htmlInline(text).replaceAll(/(?<=[^<])\//g, '<wbr>/')
          : htmlInline(text),
      )
      .join('');
  return `<tr>${cells.map((cell) => `<${tag}>${html(cell)}</${tag}>`).join('')}</tr>`;
}

function htmlLine({ sign, text }: DiffLine): string {
  const line = htmlLines(`${sign} ${text}`);
  if (sign === ' ') return `${line}\n`;
  return sign === '-' ? `<del>${line}</del>` : `<ins>${line}</ins>`;
}

function htmlInlines(text: readonly Inline[]): string {
  return text.map(htmlInline).join('');
}

/** Only a web address becomes a link: the page is opened from a mail. */
function htmlInline(text: Inline): string {
  if (typeof text === 'string') return htmlText(text);
  if ('code' in text) return `<code>${htmlText(text.code)}</code>`;
  const address = htmlText(text.link);
  return /^https?:\/\//.test(text.link) ? `<a href="${address}">${address}</a>` : address;
}

/** Prints a guide as Markdown. */
export function guideMarkdown(guide: GuideDocument): string {
  const { title, summary, details } = letterOf(guide);
  const parts = [...summary, ...details].map(markdownBlockOf);
  return `${[`# ${markdownText(title)}`, ...parts].join('\n\n')}\n`;
}

function markdownBlockOf(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `## ${markdownInlines(block.text)}`;
    case 'label':
      return `**${markdownInlines(block.text)}**`;
    case 'paragraph':
      return markdownInlines(block.text);
    case 'bullets':
      return block.items.map((item) => `- ${markdownInlines(item)}`).join('\n');
    case 'table':
      return table(
        block.head,
        block.rows.map((row) => row.map(markdownInlines)),
      );
    case 'example':
      return markdownBlock('diff', block.lines.map(({ sign, text }) => `${sign} ${text}`).join('\n'));
  }
}

function markdownInlines(text: readonly Inline[]): string {
  return text
    .map((one) =>
      typeof one === 'string'
        ? markdownText(one)
        : 'code' in one
          ? markdownCode(one.code)
          : markdownText(one.link),
    )
    .join('');
}

/** Prints blocks of a letter as plain text, for a mail. */
export function plainBlocks(blocks: readonly Block[]): string {
  return blocks.map(plainBlock).join('\n\n');
}

function plainBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `--- ${plainInlines(block.text)} ---`;
    case 'label':
      return `${plainInlines(block.text)}:`;
    case 'paragraph':
      return plainInlines(block.text);
    case 'bullets':
      return block.items.map((item) => `- ${plainInlines(item)}`).join('\n');
    case 'table':
      return plainTable(
        block.head,
        block.rows.map((row) => row.map(plainInlines)),
      );
    case 'example':
      return block.lines.map(({ sign, text }) => `  ${terminalText(`${sign} ${text}`)}`).join('\n');
  }
}

/** Characters of a line that mail programs do not break (RFC 5322, section 2.1.1). */
const MAIL_WIDTH = 78;

/**
 * Columns of the same width: mail programs may show them in a font of one width, and others still read line by line. Where they are too
 * wide, each row is an item with a line for each cell.
 */
function plainTable(head: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = [head.map((text) => text.toUpperCase()), ...cells];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  if (widths.reduce((sum, width) => sum + width + 2, -2) > MAIL_WIDTH)
    return cells
      .map(([first, ...others]) =>
        [
          `- ${first}`,
          ...others.map(
            (cell, at) => `  ${cell.endsWith(` ${head[at + 1]}`) ? '' : `${head[at + 1]}: `}${cell}`,
          ),
        ].join('\n'),
      )
      .join('\n');
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Puts a text of the rule book or a name into one line, so that it cannot add a field or a paragraph to a mail. */
function plainInlines(text: readonly Inline[]): string {
  const words = text.map((one) => (typeof one === 'string' ? one : 'code' in one ? one.code : one.link));
  return oneLine(words.join(''));
}

/** Replaces line ends and control characters. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** One client's digest, for a mail to its owner. Its sentences have untrusted text: escape them for their format. */
interface ClientDigest {
  /** The keyed hash, or `-` for requests without a key. */
  readonly client: string;
  readonly name?: string;
  readonly subject: string;
  readonly sentences: readonly string[];
}

/** Makes the digests of the clients that still use V1, for a rule book with these changes and dates. */
export function digests(
  report: Report,
  changes: readonly FactChange[],
  rollout?: Rollout,
  zone?: string,
): readonly ClientDigest[] {
  const summaries = factsById([BYTE_ORDER_MARK, ...changes]);
  return report.clients
    .filter((client) => client.class !== 'gone')
    .map((client) => ({
      client: client.client,
      ...(client.name === undefined ? {} : { name: client.name }),
      subject: `V1 of the API: ${counted(client.v1, 'request')}, the last at ${client.lastSeen}`,
      sentences: [
        ...endOfV1(rollout, client.client, { calls: callsOf(client), zone, now: report.at }).map(stepText),
        ...sentencesOf(client, summaries),
        ...unknownTo(client, report.census.strips),
      ],
    }));
}

/** All operations that a client calls; undefined where it may call more than were counted. */
function callsOf({ operations }: ClientReport): ReadonlySet<string> | undefined {
  return operations.length < MAX_CALLS ? new Set(operations.map(({ operation }) => operation)) : undefined;
}

function sentencesOf(client: ClientReport, summaries: ReadonlyMap<string, string>): string[] {
  const { operations, changes, responses, bodyChecks, mistakes } = client;
  return [
    WORK[client.class],
    `Calls: ${operations.map(({ operation, count: seen }) => `${operation} ${count(seen)}×`).join(', ')}.`,
    ...[
      ...Map.groupBy(
        changes,
        ({ change }) => summaries.get(change) ?? `The rule book does not have the change ${change}.`,
      ),
    ].map(([summary, uses]) => {
      // Changes that say the same may have met the same requests.
      const least = uses.length === 1 ? '' : 'at least ';
      const seen = Math.max(...uses.map((use) => use.count));
      const last = uses.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
      return `${ended(summary)} This concerns ${least}${counted(seen, 'request')}, the last at ${last}.`;
    }),
    ...new Set(responses.map(responseSentence)),
    ...(clientWouldFail(client) === ''
      ? []
      : [
          isOnV2(client)
            ? checkedBefore(wouldFail(bodyChecks), 'request')
            : `Requests of this client were checked before they go to V2: ${clientWouldFail(client)}.`,
        ]),
    ...bodyChecks
      .filter(({ invalid, refused }) => invalid + refused > 0)
      .map((checks) => `V2's schema, for ${checks.operation}: ${bodyCheckCounts(checks)}.`),
    ...mistakes.map(
      ({ code, count: seen, lastSeen }) =>
        `${counted(seen, 'request')} refused as ${code}, the last at ${lastSeen}.`,
    ),
    ...reasonsOf(client),
  ];
}

/** The members that V2 does not know, of calls of a client; the census names only some of the clients that send one. */
function unknownTo(
  { client, operations }: ClientReport,
  strips: readonly StripProposal[],
): readonly string[] {
  return strips.flatMap(({ operation, in: inside, member, clients }) => {
    const isCalled = operation === undefined || operations.some((one) => one.operation === operation);
    const isSent = clients.includes(client);
    if (!isSent && !(isCalled && clients.length >= MAX_ROW_CLIENTS)) return [];
    const name = inside === undefined ? member : `${inside}.${member}`;
    const where = operation === undefined ? '' : ` in ${operation}`;
    return [`${name}${where} ${NOT_KNOWN}${isSent ? '' : ' if you send it'}.`];
  });
}

function responseSentence({ v1, v2, hasOtherValues }: ClientReport['responses'][number]): string {
  if (v1 === '')
    return "A program of the gateway makes responses from V2's today: ask the API's team for its logic.";
  if (v2 === undefined) return `Responses of V2 have no ${v1}.`;
  if (hasOtherValues !== true) return `Read ${v2} instead of ${v1} in responses.`;
  return v2 === v1
    ? `Expect V2's own values of ${v1} in responses.`
    : `Expect V2's own values of ${v1}, in ${v2}, in responses.`;
}

/** Prints digests as Markdown, one section for each client. */
export function digestMarkdown(all: readonly ClientDigest[]): string {
  if (all.length === 0) return 'No client uses V1.\n';
  const sections = all.map(({ subject, sentences, ...client }) =>
    [
      `## ${markdownText(clientName(client))}`,
      markdownText(subject),
      sentences.map((sentence) => `- ${markdownText(sentence)}`).join('\n'),
    ].join('\n\n'),
  );
  return `${sections.join('\n\n')}\n`;
}
