import type { GuideBody, GuideCall, GuideDocument } from './guide-document.ts';
import { shapeWords } from './guide-shape.ts';
import { count, counted } from '../text/number-text.ts';
import { bodyCheckCounts, futureWords, outcomeWords } from '../text/outcome-words.ts';
import { htmlLines, htmlText } from '../text/untrusted-text.ts';

/** Prints a guide as one HTML page that loads nothing and runs nothing; `lead` is HTML to stand before it. */
export function guideHtml(guide: GuideDocument, lead: readonly string[] = []): string {
  const { name, client, requests, version, changes, calls, mistakes, omitted } = guide;
  const title = `From V1 to V2: ${htmlText(name ?? `client ${client}`)}`;
  const body =
    requests === 0
      ? ['<p>No V1 request of this client is among those examined.</p>']
      : [
          `<p>Made from ${counted(requests, 'request')} to V1. Values are shown as <code>…</code>.</p>`,
          '<h2>For every call</h2>',
          `<ul><li>The path begins with <code>/api/v2</code> instead of <code>/api/v1</code>.</li><li>Send <code>x-api-version: ${htmlText(version)}</code>, so that later releases of V2 do not affect you unexpectedly.</li></ul>`,
          changes.length === 0
            ? ''
            : `<h2>What changed</h2><ul>${changes.map(({ summary }) => `<li>${htmlText(summary)}</li>`).join('')}</ul>`,
          ...calls.map((call) => callSection(call)),
          mistakes.length === 0
            ? ''
            : `<h2>Mistakes</h2>${table(
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
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
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

function callSection(call: GuideCall): string {
  const { name, last, bodies, unread, omitted, responses, responsesUnknown, outcomes, bodyChecks } = call;
  return [
    `<h2>${htmlText(name)}</h2>`,
    `<p>${counted(call.count, 'request')}, the last at ${htmlText(last)}. Responses: ${htmlText(outcomeWords(outcomes))}.</p>`,
    ...bodies.map((body) => bodySection(body)),
    bodyChecks === undefined
      ? ''
      : `<p>V2's schema, which is not V2: ${htmlText(bodyCheckCounts(bodyChecks))}.</p>`,
    unread > 0
      ? `<p>Not shown: ${counted(unread, 'request')} that the gateway did not read in full.</p>`
      : '',
    omitted > 0 ? `<p>Not shown: ${counted(omitted, 'request')} with other bodies.</p>` : '',
    responsesUnknown
      ? "<h3>Responses</h3><p>Not known: no response of V1 was compared with V2's yet.</p>"
      : '',
    responses.length === 0
      ? ''
      : `<h3>Responses</h3>${table(
          ['you read today', 'you will read', 'responses'],
          responses.map((member) => [member.v1, futureWords(member, String), count(member.count)]),
        )}`,
  ].join('\n');
}

function bodySection(body: GuideBody): string {
  const { before, after, moves, isVerified, evidence } = body;
  return [
    `<p>${shapeWords(body)}</p>`,
    `<h3>Before</h3><pre>${htmlLines(before)}</pre>`,
    `<h3>After</h3><pre>${htmlLines(after)}</pre>`,
    `<p class="${isVerified ? 'verified' : 'unverified'}">${htmlText(evidence)}</p>`,
    moves.length === 0
      ? ''
      : table(
          ['now', 'in V2', 'remark'],
          moves.map(({ from, to, remark }) => [from, to ?? 'leave out', remark]),
        ),
  ].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: 'td' | 'th'): string =>
    `<tr>${cells.map((cell) => `<${tag}>${htmlText(cell)}</${tag}>`).join('')}</tr>`;
  return `<table>${row(head, 'th')}${rows.map((cells) => row(cells, 'td')).join('')}</table>`;
}
