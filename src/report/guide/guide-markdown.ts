import type { GuideBody, GuideCall, GuideDocument, GuideMistake } from './guide-document.ts';
import { shapeWords } from './guide-shape.ts';
import { table } from '../text/markdown-table.ts';
import { count, counted } from '../text/number-text.ts';
import { bodyCheckCounts, futureWords, outcomeWords } from '../text/outcome-words.ts';
import { markdownBlock, markdownCode, markdownText } from '../text/untrusted-text.ts';

/** Prints a guide as Markdown. */
export function guideMarkdown(guide: GuideDocument): string {
  const { name, client, requests, version, changes, calls, mistakes, omitted } = guide;
  const title = `# From V1 to V2: ${markdownText(name ?? `client ${client}`)}`;
  if (requests === 0) return `${title}\n\nNo V1 request of this client is among those examined.\n`;
  const sections = [
    title,
    `Made from ${counted(requests, 'request')} to V1. Each kind of call is shown below as it is now and as V2 expects it. Values are shown as \`…\`.`,
    '## For every call',
    `- The path begins with \`/api/v2\` instead of \`/api/v1\`.\n- Send \`x-api-version: ${version}\`, so that later releases of V2 do not affect you unexpectedly.`,
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
    `${counted(call.count, 'request')}, the last at ${markdownText(call.last)}. Responses: ${markdownText(outcomeWords(call.outcomes))}.`,
    ...call.bodies.map((body) => bodySection(body)),
    ...(call.bodyChecks === undefined
      ? []
      : [`V2's schema, which is not V2: ${markdownText(bodyCheckCounts(call.bodyChecks))}.`]),
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
    fence('After', after),
    markdownText(evidence),
    ...(rows.length === 0 ? [] : [table(['now', 'in V2', 'remark'], rows)]),
  ].join('\n\n');
}

function responseSection({ responses, responsesUnknown }: GuideCall): string[] {
  if (responsesUnknown) return ['**Responses**', "Not known: no response of V1 was compared with V2's yet."];
  if (responses.length === 0) return [];
  const rows = responses.map((member) => [
    markdownCode(member.v1),
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

function fence(title: string, text: string): string {
  return `**${title}**\n\n${markdownBlock('http', text)}`;
}
