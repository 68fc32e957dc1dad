import { printPrefix } from '../../rules/rule.ts';
import { wouldFailWords } from '../../rollout/body-checks.ts';
import {
  bodyCheckCounts,
  type ClientReport,
  clientWouldFail,
  outcomeWords,
  reasonsOf,
} from '../client-report.ts';
import { MAX_CALLS } from '../fleet/client-shard.ts';
import type { Rollout } from '../../rules/rollout.ts';
import type { Report } from '../report.ts';
import {
  clientName,
  count,
  counted,
  htmlLines,
  htmlText,
  markdownBlock,
  markdownCode,
  markdownText,
  table,
} from '../text.ts';
import {
  type EndOfV1,
  endOfV1,
  type GuideBody,
  type GuideCall,
  type GuideChange,
  type GuideDocument,
  futureWords,
  presentWords,
  shapeWords,
  stepText,
} from './guide-document.ts';
import { type FactChange, factsById } from './guide-facts.ts';

/** The work of a client by its class, for its owner. */
export const WORK: Readonly<Record<ClientReport['class'], string>> = {
  'field-work': 'Members of requests or responses have to change before V2 can be used.',
  'unwrap-only': "Only the wrapper around the requests' parameters has to go.",
  'url-only': 'Only the address has to change.',
  unknown: 'The work is still unknown.',
  gone: 'No V1 request is expected any more.',
};

/** Not a change of any rule book: JSON has no byte order mark. */
const BYTE_ORDER_MARK: GuideChange = { id: 'byte-order-mark', summary: 'Leave out the byte order mark.' };

const UNKNOWN_RESPONSES = "Unknown: no response of V1 has been compared with V2's yet.";

/** A guide loads and runs nothing, and has a style of its own. */
export const GUIDE_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** How the parts of a guide are formatted; each takes and returns text in that format, except plain `text`. */
interface Format {
  /** What its first paragraph says of the calls. */
  readonly lead: string;
  readonly text: (plain: string) => string;
  readonly code: (plain: string) => string;
  /** A pointer in a table. */
  readonly pointer: (plain: string) => string;
  readonly block: (plain: string) => string;
  readonly step: (step: EndOfV1) => string;
  readonly evidence: (body: GuideBody) => string;
  readonly heading: (title: string) => string;
  readonly title: (title: string) => string;
  readonly paragraph: (text: string) => string;
  readonly list: (items: readonly string[]) => string;
  readonly table: (head: readonly string[], rows: readonly (readonly string[])[]) => string;
}

const HTML: Format = {
  lead: '',
  text: htmlText,
  code: (plain) => `<code>${htmlText(plain)}</code>`,
  pointer: htmlText,
  block: (plain) => `<pre>${htmlLines(plain)}</pre>`,
  step: htmlStep,
  evidence: ({ isVerified, evidence }) =>
    `<p class="${isVerified ? 'verified' : 'unverified'}">${htmlText(evidence)}</p>`,
  heading: (title) => `<h2>${title}</h2>`,
  title: (title) => `<h3>${title}</h3>`,
  paragraph: (text) => `<p>${text}</p>`,
  list: (items) => `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`,
  table: (head, rows) => {
    const row = (cells: readonly string[], tag: 'td' | 'th'): string =>
      `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
    return `<table>${row(head, 'th')}${rows.map((cells) => row(cells, 'td')).join('')}</table>`;
  },
};

const MARKDOWN: Format = {
  lead: 'Each kind of call is shown below as it is now and as V2 expects it. ',
  text: markdownText,
  code: markdownCode,
  pointer: markdownCode,
  block: (plain) => markdownBlock('http', plain),
  step: (step) => markdownText(stepText(step)),
  evidence: ({ evidence }) => markdownText(evidence),
  heading: (title) => `## ${title}`,
  title: (title) => `**${title}**`,
  paragraph: (text) => text,
  list: (items) => items.map((item) => `- ${item}`).join('\n'),
  table,
};

/** The style of a page, as the client itself reads it. */
const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{background:#f2f2f2;color:#111;padding:.75rem;overflow:auto}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.25rem .5rem;text-align:left}.unverified{color:#8a4b00}.verified{color:#17602b}';

/** Prints a guide as one HTML page that loads and runs nothing; `lead` is HTML to put before it. */
export function guideHtml(guide: GuideDocument, lead: readonly string[] = [], style = STYLE): string {
  const title = titleOf(guide, HTML);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${GUIDE_POLICY}">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<h1>${title}</h1>
${[...lead, ...partsOf(guide, HTML)].join('\n')}
</body>
</html>
`;
}

/** Prints a guide as Markdown. */
export function guideMarkdown(guide: GuideDocument): string {
  return `${[`# ${titleOf(guide, MARKDOWN)}`, ...partsOf(guide, MARKDOWN)].join('\n\n')}\n`;
}

function titleOf({ name, client }: GuideDocument, { text }: Format): string {
  return `From V1 to V2: ${text(name ?? `client ${client}`)}`;
}

function partsOf(guide: GuideDocument, format: Format): readonly string[] {
  const { requests, from, alsoFrom, to, version, changes, end, calls, mistakes, omitted } = guide;
  const { text, code, pointer, heading, paragraph, list } = format;
  if (requests === 0) return [paragraph('No V1 request of this client is among those examined.')];
  const dryRuns = dryRunWords(guide);
  const made = `Made from ${counted(requests, 'request')} to V1. ${format.lead}Values are shown as ${code('…')}.`;
  const everywhere = [
    `The path begins with ${code(printPrefix(to))} instead of ${[from, ...(alsoFrom ?? [])].map((prefix) => code(printPrefix(prefix))).join(' or ')}.`,
    ...(version === undefined
      ? []
      : [
          `Send ${code(`${version.field}: ${version.value}`)}, so that later releases of V2 do not affect you unexpectedly.`,
        ]),
  ];
  const gone = mistakes.filter(({ code }) => code === GONE);
  const others = mistakes.filter(({ code }) => code !== GONE);
  const refused = others.map((mistake) => [
    text(mistake.call),
    text(mistake.code),
    mistake.pointers.map(pointer).join(', '),
    count(mistake.count),
    text(mistake.last),
    text(mistake.remedy),
  ]);
  return [
    paragraph(made),
    ...when(dryRuns !== '', paragraph(text(dryRuns))),
    ...when(end.length > 0, heading('When V1 ends'), list(end.map(format.step))),
    ...when(
      gone.length > 0,
      heading('Calls that V2 does not have'),
      list(
        gone.map(
          (call) =>
            `${text(call.call)}: ${counted(call.count, 'request')}, the last at ${text(call.last)}. ${text(call.remedy)}`,
        ),
      ),
    ),
    heading('For every call'),
    list(everywhere),
    ...when(changes.length > 0, heading('What changed'), list(changes.map(({ summary }) => text(summary)))),
    ...calls.flatMap((call) => callParts(call, format)),
    ...when(
      others.length > 0,
      heading('Mistakes'),
      format.table(['call', 'refused as', 'at', 'requests', 'last', 'remedy'], refused),
    ),
    ...when(omitted > 0, paragraph(`Not shown: ${counted(omitted, 'request')} of other kinds.`)),
  ];
}

/** The refusal of an operation that ends with V1: no correction of the request helps. */
const GONE = 'operation-gone';

function when(isThere: boolean, ...parts: readonly string[]): readonly string[] {
  return isThere ? parts : [];
}

function callParts(call: GuideCall, format: Format): readonly string[] {
  const { name, last, moved, bodies, bodyChecks, unread, omitted, responses, responsesUnknown } = call;
  const { text, code, pointer, title, paragraph } = format;
  const outcomes = call.outcomes.length === 0 ? '' : ` Responses: ${text(outcomeWords(call.outcomes))}.`;
  const read = responses.map((member) => [
    presentWords(member, pointer),
    futureWords(member, pointer, text),
    count(member.count),
  ]);
  return [
    format.heading(text(name)),
    paragraph(`${counted(call.count, 'request')}, the last at ${text(last)}.${outcomes}`),
    ...(moved === undefined ? [] : [paragraph(`${code(moved.v1)} is now ${code(moved.v2)}.`)]),
    ...bodies.flatMap((body) => bodyParts(body, format)),
    ...(bodyChecks === undefined
      ? []
      : [paragraph(`By V2's schema, not V2 itself: ${text(bodyCheckCounts(bodyChecks))}.`)]),
    ...when(
      unread > 0,
      paragraph(`Not shown: ${counted(unread, 'request')} that the gateway did not read in full.`),
    ),
    ...when(omitted > 0, paragraph(`Not shown: ${counted(omitted, 'request')} with other bodies.`)),
    ...when(responsesUnknown || read.length > 0, title('Responses')),
    ...(responsesUnknown
      ? [paragraph(UNKNOWN_RESPONSES)]
      : when(read.length > 0, format.table(['you read today', 'you will read', 'responses'], read))),
  ];
}

function bodyParts(body: GuideBody, format: Format): readonly string[] {
  const { before, after, moves, isKnownToFail } = body;
  const { text, pointer, block, title, paragraph } = format;
  const moved = moves.map(({ from, to, remark }) => [
    pointer(from),
    to === undefined ? 'leave out' : pointer(to),
    text(remark),
  ]);
  return [
    paragraph(shapeWords(body)),
    title('Before'),
    block(before),
    // A request that is known to fail is not called *After*, because readers of the guide copy that.
    title(isKnownToFail === true ? 'The gateway sends this, and V2 does not accept it' : 'After'),
    block(after),
    format.evidence(body),
    ...when(moved.length > 0, format.table(['now', 'in V2', 'remark'], moved)),
  ];
}

/** Only a web address becomes a link: the page is opened from a mail. */
function htmlStep({ text, link }: EndOfV1): string {
  if (link === undefined) return htmlText(text);
  const address = htmlText(link);
  return /^https?:\/\//.test(link)
    ? `${htmlText(text)} <a href="${address}">${address}</a>`
    : `${htmlText(text)} ${address}`;
}

/** Says how many of a client's requests would fail after the migration, by dry runs; empty without a verdict. */
export function dryRunWords({ dryRuns }: GuideDocument): string {
  const words = wouldFailWords(dryRuns);
  return words === '' ? '' : `Requests of this client were checked without sending them to V2: ${words}.`;
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
): readonly ClientDigest[] {
  const summaries = factsById([BYTE_ORDER_MARK, ...changes]);
  return report.clients
    .filter((client) => client.class !== 'gone')
    .map((client) => ({
      client: client.client,
      ...(client.name === undefined ? {} : { name: client.name }),
      subject: `V1 of the API: ${counted(client.v1, 'request')}, the last at ${client.lastSeen}`,
      sentences: [
        ...endOfV1(rollout, client.client, callsOf(client)).map(stepText),
        ...sentencesOf(client, summaries),
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
    ...responses.map(responseSentence),
    ...(clientWouldFail(client) === ''
      ? []
      : [`Requests of this client were checked without sending them to V2: ${clientWouldFail(client)}.`]),
    ...bodyChecks
      .filter(({ invalid, refused }) => invalid + refused > 0)
      .map((checks) => `V2's schema, for ${checks.operation}: ${bodyCheckCounts(checks)}.`),
    ...mistakes.map(
      ({ code, count: seen, lastSeen }) => `Mistake ${code}: ${count(seen)}×, the last at ${lastSeen}.`,
    ),
    ...reasonsOf(client),
  ];
}

/** Adds the full stop that a summary of the rule book may lack, since another sentence follows it. */
function ended(summary: string): string {
  const text = summary.trim();
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function responseSentence({ v1, v2, hasOtherValues }: ClientReport['responses'][number]): string {
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
