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
  type GuideMistake,
  futureWords,
  presentWords,
  shapeWords,
  stepText,
} from './guide-document.ts';

/** The work of a client by its class, for its owner. */
export const WORK: Readonly<Record<ClientReport['class'], string>> = {
  'field-work': 'Members of requests or responses have to change before V2 can be used.',
  'unwrap-only': "Only the wrapper around the requests' parameters has to go.",
  'url-only': 'Only the address has to change.',
  unknown: 'The work is not known yet.',
  gone: 'No V1 request is expected any more.',
};

/** No rule book declares this change: JSON has no byte order mark. */
const BYTE_ORDER_MARK: GuideChange = { id: 'byte-order-mark', summary: 'Leave out the byte order mark.' };

const UNKNOWN_RESPONSES = "Not known: no response of V1 has been compared with V2's yet.";

/** A guide loads and runs nothing, and has a style of its own. */
export const GUIDE_POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** Prints a guide as one HTML page that loads and runs nothing; `lead` is HTML to put before it. */
export function guideHtml(guide: GuideDocument, lead: readonly string[] = []): string {
  const { name, client, requests, from, to, version, changes, end, calls, mistakes, omitted } = guide;
  const title = `From V1 to V2: ${htmlText(name ?? `client ${client}`)}`;
  const body =
    requests === 0
      ? ['<p>No V1 request of this client is among those examined.</p>']
      : [
          `<p>Made from ${counted(requests, 'request')} to V1. Values are shown as <code>…</code>.</p>`,
          dryRunWords(guide) === '' ? '' : `<p>${htmlText(dryRunWords(guide))}</p>`,
          end.length === 0
            ? ''
            : `<h2>When V1 ends</h2><ul>${end.map((step) => `<li>${htmlStep(step)}</li>`).join('')}</ul>`,
          '<h2>For every call</h2>',
          `<ul><li>The path begins with <code>${htmlText(to)}</code> instead of <code>${htmlText(from)}</code>.</li>${version === undefined ? '' : `<li>Send <code>${htmlText(versionLine(version))}</code>, so that later releases of V2 do not affect you unexpectedly.</li>`}</ul>`,
          changes.length === 0
            ? ''
            : `<h2>What changed</h2><ul>${changes.map(({ summary }) => `<li>${htmlText(summary)}</li>`).join('')}</ul>`,
          ...calls.map((call) => htmlCallSection(call)),
          mistakes.length === 0
            ? ''
            : `<h2>Mistakes</h2>${htmlTable(
                ['call', 'refused as', 'at', 'requests', 'last', 'remedy'],
                mistakes.map((mistake) => [
                  mistake.call,
                  mistake.code,
                  mistake.pointers.join(', '),
                  count(mistake.count),
                  mistake.last,
                  mistake.remedy,
                ]),
              )}`,
          omitted > 0 ? `<p>Not shown: ${counted(omitted, 'request')} of other kinds.</p>` : '',
        ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${GUIDE_POLICY}">
<title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{background:#f2f2f2;color:#111;padding:.75rem;overflow:auto}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.25rem .5rem;text-align:left}.unverified{color:#8a4b00}.verified{color:#17602b}</style>
</head>
<body>
<h1>${title}</h1>
${[...lead, ...body].filter((part) => part !== '').join('\n')}
</body>
</html>
`;
}

/** Prints a mail to a client's owner as plain text: subject, dates, work, and a note that the guide is attached. */
export function guideMail(guide: GuideDocument): string {
  const { name, client, requests, from, to, changes, end, mistakes } = guide;
  const words = dryRunWords(guide);
  const refused = mistakes.reduce((sum, one) => sum + one.count, 0);
  const paragraphs = [
    `Subject: ${oneLine(`${name ?? `Client ${client}`}: move from V1 to V2 of the API`)}`,
    `Your client ${oneLine(name === undefined ? client : `${name} (${client})`)} still uses V1 of the API under ${from}: ${counted(requests, 'request')} ${requests === 1 ? 'was' : 'were'} examined. Please move it to V2, under ${to}.`,
    end.length === 0
      ? 'V1 has no end date yet.'
      : `When V1 ends:\n${end.map((step) => `- ${oneLine(stepText(step))}`).join('\n')}`,
    changes.length === 0
      ? addressWords(guide)
      : `What changed:\n${changes.map(({ summary }) => `- ${oneLine(summary)}`).join('\n')}`,
    ...(words === '' ? [] : [words]),
    ...(refused === 0
      ? []
      : [
          `${counted(refused, 'request')} ${refused === 1 ? 'was' : 'were'} refused for a mistake in ${refused === 1 ? 'it' : 'them'}; the attached guide says how to correct each.`,
        ]),
    'The attached guide shows each call as your client sends it now and as V2 expects it.',
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

/** The work of a client without any change, as far as its requests show it. */
function addressWords({ calls }: GuideDocument): string {
  if (calls.length === 0) return 'What has to change is not known: no request was accepted that shows it.';
  if (calls.some(({ responsesUnknown, unread }) => responsesUnknown || unread > 0))
    return 'As far as is known, only the address changes; the attached guide says what is not known.';
  return 'Only the address changes.';
}

/** Puts a text of the rule book or a name into one line, so that none can add a field or a paragraph to a mail. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** Only a web address becomes a link: the page is opened from a mail. */
function htmlStep({ text, link }: EndOfV1): string {
  if (link === undefined) return htmlText(text);
  const address = htmlText(link);
  return /^https?:\/\//.test(link)
    ? `${htmlText(text)} <a href="${address}">${address}</a>`
    : `${htmlText(text)} ${address}`;
}

function htmlCallSection(call: GuideCall): string {
  const { name, last, bodies, unread, omitted, responses, responsesUnknown, outcomes, bodyChecks } = call;
  return [
    `<h2>${htmlText(name)}</h2>`,
    `<p>${counted(call.count, 'request')}, the last at ${htmlText(last)}.${responsesWords(outcomes, htmlText)}</p>`,
    call.moved === undefined
      ? ''
      : `<p><code>${htmlText(call.moved.v1)}</code> is now <code>${htmlText(call.moved.v2)}</code>.</p>`,
    ...bodies.map((body) => htmlBodySection(body)),
    bodyChecks === undefined
      ? ''
      : `<p>By V2's schema, not V2 itself: ${htmlText(bodyCheckCounts(bodyChecks))}.</p>`,
    unread > 0
      ? `<p>Not shown: ${counted(unread, 'request')} that the gateway did not read in full.</p>`
      : '',
    omitted > 0 ? `<p>Not shown: ${counted(omitted, 'request')} with other bodies.</p>` : '',
    responsesUnknown ? `<h3>Responses</h3><p>${UNKNOWN_RESPONSES}</p>` : '',
    responses.length === 0
      ? ''
      : `<h3>Responses</h3>${htmlTable(
          ['you read today', 'you will read', 'responses'],
          responses.map((member) => [
            presentWords(member, String),
            futureWords(member, String),
            count(member.count),
          ]),
        )}`,
  ].join('\n');
}

function htmlBodySection(body: GuideBody): string {
  const { before, after, moves, isVerified, evidence } = body;
  return [
    `<p>${shapeWords(body)}</p>`,
    `<h3>Before</h3><pre>${htmlLines(before)}</pre>`,
    `<h3>${afterTitle(body)}</h3><pre>${htmlLines(after)}</pre>`,
    `<p class="${isVerified ? 'verified' : 'unverified'}">${htmlText(evidence)}</p>`,
    moves.length === 0
      ? ''
      : htmlTable(
          ['now', 'in V2', 'remark'],
          moves.map(({ from, to, remark }) => [from, to ?? 'leave out', remark]),
        ),
  ].join('\n');
}

function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: 'td' | 'th'): string =>
    `<tr>${cells.map((cell) => `<${tag}>${htmlText(cell)}</${tag}>`).join('')}</tr>`;
  return `<table>${row(head, 'th')}${rows.map((cells) => row(cells, 'td')).join('')}</table>`;
}

function versionLine({ field, value }: NonNullable<GuideDocument['version']>): string {
  return `${field}: ${value}`;
}

/** Prints a guide as Markdown. */
export function guideMarkdown(guide: GuideDocument): string {
  const { name, client, requests, from, to, version, changes, end, calls, mistakes, omitted } = guide;
  const title = `# From V1 to V2: ${markdownText(name ?? `client ${client}`)}`;
  if (requests === 0) return `${title}\n\nNo V1 request of this client is among those examined.\n`;
  const sections = [
    title,
    `Made from ${counted(requests, 'request')} to V1. Each kind of call is shown below as it is now and as V2 expects it. Values are shown as \`…\`.`,
    ...(dryRunWords(guide) === '' ? [] : [markdownText(dryRunWords(guide))]),
    ...(end.length === 0
      ? []
      : ['## When V1 ends', end.map((step) => `- ${markdownText(stepText(step))}`).join('\n')]),
    '## For every call',
    `- The path begins with \`${to}\` instead of \`${from}\`.${version === undefined ? '' : `\n- Send \`${versionLine(version)}\`, so that later releases of V2 do not affect you unexpectedly.`}`,
    ...(changes.length === 0
      ? []
      : ['## What changed', changes.map(({ summary }) => `- ${markdownText(summary)}`).join('\n')]),
    ...calls.map((call) => callSection(call)),
    ...(mistakes.length === 0 ? [] : ['## Mistakes', mistakeTable(mistakes)]),
    ...(omitted > 0 ? [`Not shown: ${counted(omitted, 'request')} of other kinds.`] : []),
  ];
  return `${sections.join('\n\n')}\n`;
}

function callSection(call: GuideCall): string {
  return [
    `## ${markdownText(call.name)}`,
    `${counted(call.count, 'request')}, the last at ${markdownText(call.last)}.${responsesWords(call.outcomes, markdownText)}`,
    ...(call.moved === undefined
      ? []
      : [`${markdownCode(call.moved.v1)} is now ${markdownCode(call.moved.v2)}.`]),
    ...call.bodies.map((body) => bodySection(body)),
    ...(call.bodyChecks === undefined
      ? []
      : [`By V2's schema, not V2 itself: ${markdownText(bodyCheckCounts(call.bodyChecks))}.`]),
    ...(call.unread > 0
      ? [`Not shown: ${counted(call.unread, 'request')} that the gateway did not read in full.`]
      : []),
    ...(call.omitted > 0 ? [`Not shown: ${counted(call.omitted, 'request')} with other bodies.`] : []),
    ...responseSection(call),
  ].join('\n\n');
}

function bodySection(body: GuideBody): string {
  const { before, after, moves, evidence } = body;
  const rows = moves.map(({ from, to, remark }) => [
    markdownCode(from),
    to === undefined ? 'leave out' : markdownCode(to),
    markdownText(remark),
  ]);
  return [
    shapeWords(body),
    fence('Before', before),
    fence(afterTitle(body), after),
    markdownText(evidence),
    ...(rows.length === 0 ? [] : [table(['now', 'in V2', 'remark'], rows)]),
  ].join('\n\n');
}

/** Says how many of a client's requests would fail after the migration, by dry runs; empty without a verdict. */
function dryRunWords({ dryRuns }: GuideDocument): string {
  const words = wouldFailWords(dryRuns);
  return words === '' ? '' : `Requests of this client were checked without sending them to V2: ${words}.`;
}

function responsesWords(outcomes: GuideCall['outcomes'], escaped: (text: string) => string): string {
  return outcomes.length === 0 ? '' : ` Responses: ${escaped(outcomeWords(outcomes))}.`;
}

/** A request that is known to fail is not called *After*: readers of the guide copy that. */
function afterTitle({ isKnownToFail }: GuideBody): string {
  return isKnownToFail === true ? 'The gateway sends this, and V2 does not accept it' : 'After';
}

function fence(title: string, text: string): string {
  return `**${title}**\n\n${markdownBlock('http', text)}`;
}

function responseSection({ responses, responsesUnknown }: GuideCall): string[] {
  if (responsesUnknown) return ['**Responses**', UNKNOWN_RESPONSES];
  if (responses.length === 0) return [];
  const rows = responses.map((member) => [
    presentWords(member, markdownCode),
    futureWords(member, markdownCode),
    count(member.count),
  ]);
  return ['**Responses**', table(['you read today', 'you will read', 'responses'], rows)];
}

function mistakeTable(mistakes: readonly GuideMistake[]): string {
  const rows = mistakes.map(({ call, code, pointers, count: seen, last, remedy }) => [
    markdownText(call),
    markdownText(code),
    pointers.map(markdownCode).join(', '),
    count(seen),
    markdownText(last),
    markdownText(remedy),
  ]);
  return table(['call', 'refused as', 'at', 'requests', 'last', 'remedy'], rows);
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
  changes: readonly GuideChange[],
  rollout?: Rollout,
): readonly ClientDigest[] {
  const summaries = new Map([BYTE_ORDER_MARK, ...changes].map(({ id, summary }) => [id, summary]));
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
    ...changes.map(
      ({ change, count: seen, lastSeen }) =>
        `${ended(summaries.get(change) ?? `The rule book does not have the change ${change}.`)} This concerns ${counted(seen, 'request')}, the last at ${lastSeen}.`,
    ),
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
  const sections = all.map(({ client, name, subject, sentences }) =>
    [
      `## ${markdownText(name ?? (client === '-' ? 'requests without a key' : client))}`,
      markdownText(subject),
      sentences.map((sentence) => `- ${markdownText(sentence)}`).join('\n'),
    ].join('\n\n'),
  );
  return `${sections.join('\n\n')}\n`;
}
