import { printPrefix } from '../../rules/rule.ts';
import { capital, counted, htmlText } from '../text.ts';
import { type GuideDocument, stepText } from './guide-document.ts';
import { dryRunWords, guideHtml, guideMarkdown } from './guide-text.ts';

/**
 * A sheet of paper on a desk, or when printed, the sheet alone. Mail programs drop styles that they do not support, which leaves a plain
 * letter. Text has a contrast of at least 7 to 1.
 */
const LETTER_STYLE = [
  'html{background:#e9ecf0}',
  'body{font:16px/1.6 Georgia,"Times New Roman",serif;color:#1c2430;background:#fff;max-width:42rem;margin:2.5rem auto;padding:3rem 3.5rem;border-top:6px solid #1f4e8c;box-shadow:0 1px 4px #0003}',
  'h1,h2,h3,th,.kind{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;line-height:1.25}',
  'h1{font-size:1.6rem;margin:0 0 1.75rem}',
  'h2{font-size:1.15rem;margin:2.25rem 0 .5rem;padding-top:1.25rem;border-top:1px solid #d5dae1}',
  'h3{font-size:1rem;margin:1.25rem 0 .25rem}',
  'p,ul{margin:0 0 1rem}li{margin:.25rem 0}',
  'code,pre{font:14px/1.5 ui-monospace,Menlo,Consolas,monospace}',
  'code{background:#f3f5f8;padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}',
  'pre{background:#f3f5f8;border:1px solid #d5dae1;border-radius:4px;padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}',
  'table{border-collapse:collapse;width:100%;font-size:15px;margin:0 0 1rem}',
  'th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid #d5dae1;overflow-wrap:anywhere}',
  'a{color:#1f4e8c}.verified{color:#14532d}.unverified{color:#7a3b00}',
  '@media(max-width:40rem){html{background:#fff}body{margin:0;padding:1.25rem;box-shadow:none}}',
  '@media(prefers-color-scheme:dark){html{background:#10141a}body{background:#1a2029;color:#e7ebf0;border-color:#8ab4f0;box-shadow:none}code,pre{background:#232b36}pre,h2,th,td{border-color:#3b4656}a{color:#9cc2f5}.verified{color:#9fdfb4}.unverified{color:#ffc88a}}',
  '@media print{html,body{background:#fff;color:#000}body{margin:0;padding:0;max-width:none;border:0;box-shadow:none}h2{break-after:avoid}pre,tr{break-inside:avoid}}',
].join('');

/** Prints a guide as a letter to the owner of a client: one HTML page that loads and runs nothing. */
export function guideLetter(guide: GuideDocument): string {
  const { name, client, requests, from, to } = guide;
  if (requests === 0) return guideHtml(guide, [], LETTER_STYLE);
  const words = addressWords(guide, 'this letter');
  return guideHtml(
    guide,
    [
      `<p>To the owner of ${name === undefined ? `the client ${htmlText(client)}` : htmlText(name)},</p>`,
      `<p>your client still uses V1 of the API, under <code>${htmlText(printPrefix(from))}</code>. Please move it to V2, under <code>${htmlText(printPrefix(to))}</code>. This letter says when V1 ends, what changes, and shows each call of your client as it is now and as V2 expects it.</p>`,
      ...(guide.changes.length === 0 ? [`<p>${htmlText(words)}</p>`] : []),
      ...(guide.end.length === 0 ? ['<p>V1 has no end date yet.</p>'] : []),
    ],
    LETTER_STYLE,
  );
}

/** Prints a mail to a client's owner as plain text, to be copied: subject, dates, work, and a note that the guide is attached. */
export function guideMail(guide: GuideDocument): string {
  return `${[`Subject: ${subjectOf(guide)}`, ...mailParagraphs(guide, 'the attached guide')].join('\n\n')}\n`;
}

function subjectOf({ name, client }: GuideDocument): string {
  return oneLine(`${name ?? `Client ${client}`}: move from V1 to V2 of the API`);
}

/** The most important facts for an owner; `where` is the document with the rest. */
function mailParagraphs(guide: GuideDocument, where: string): readonly string[] {
  const { name, client, requests, from, to, changes, end, mistakes } = guide;
  const words = dryRunWords(guide);
  const refused = mistakes.reduce((sum, one) => sum + one.count, 0);
  return [
    `Your client ${oneLine(name === undefined ? client : `${name} (${client})`)} still uses V1 of the API under ${printPrefix(from)}: ${counted(requests, 'request')} ${requests === 1 ? 'was' : 'were'} examined. Please move it to V2, under ${printPrefix(to)}.`,
    end.length === 0
      ? 'V1 has no end date yet.'
      : `When V1 ends:\n${end.map((step) => `- ${oneLine(stepText(step))}`).join('\n')}`,
    changes.length === 0
      ? addressWords(guide, where)
      : `What changed:\n${changes.map(({ summary }) => `- ${oneLine(summary)}`).join('\n')}`,
    ...(words === '' ? [] : [words]),
    ...(refused === 0
      ? []
      : [
          `${counted(refused, 'request')} ${refused === 1 ? 'was' : 'were'} refused for a mistake in ${refused === 1 ? 'it' : 'them'}; ${where} says how to correct each.`,
        ]),
    `${capital(where)} shows each call as your client sends it now and as V2 expects it.`,
  ];
}

/** The work of a client without any change, as far as its requests show it. */
function addressWords({ calls }: GuideDocument, where: string): string {
  if (calls.length === 0) return 'It is unknown what has to change: no accepted request shows it.';
  if (calls.some(({ responsesUnknown, unread }) => responsesUnknown || unread > 0))
    return `As far as is known, only the address changes; ${where} says what is unknown.`;
  return 'Only the address changes.';
}

/** Puts a text of the rule book or a name into one line, so that it cannot add a field or a paragraph to a mail. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** Separates the parts of a message: Base64 has no such line. */
const BOUNDARY = '=_guide';

/** Characters of a line in Base64 (RFC 2045, section 6.8), and bytes of an encoded word, whose line has 76 at most (RFC 2047, section 2). */
const LINE_LENGTH = 76;
const WORD_BYTES = 36;

/**
 * Prints a whole mail (RFC 5322) with the letter as HTML, and as text for programs that show no HTML. Mail programs open such a file as a
 * draft, to which the operator adds the address.
 */
export function guideMessage(guide: GuideDocument): string {
  const text = [...mailParagraphs(guide, 'the guide below'), guideMarkdown(guide)].join('\n\n');
  const part = (type: string, body: string): readonly string[] => [
    `--${BOUNDARY}`,
    `Content-Type: ${type}; charset=utf-8`,
    'Content-Transfer-Encoding: base64',
    '',
    ...base64Lines(body),
    '',
  ];
  const lines = [
    'MIME-Version: 1.0',
    'X-Unsent: 1',
    `Subject: ${encodedWords(subjectOf(guide))}`,
    `Content-Type: multipart/alternative; boundary="${BOUNDARY}"`,
    '',
    ...part('text/plain', text),
    ...part('text/html', guideLetter(guide)),
    `--${BOUNDARY}--`,
    '',
  ];
  return lines.join('\r\n');
}

function base64Lines(text: string): readonly string[] {
  const encoded = base64(new TextEncoder().encode(text));
  const lines: string[] = [];
  for (let at = 0; at < encoded.length; at += LINE_LENGTH) lines.push(encoded.slice(at, at + LINE_LENGTH));
  return lines;
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** A header field's text as encoded words, whatever it contains, without cutting a character. */
function encodedWords(text: string): string {
  if (/^[\x20-\x7e]{1,60}$/.test(text) && !text.includes('=?')) return text;
  const encoder = new TextEncoder();
  const words: string[] = [];
  let word = '';
  const end = (): void => {
    if (word !== '') words.push(`=?UTF-8?B?${base64(encoder.encode(word))}?=`);
    word = '';
  };
  for (const character of text) {
    if (encoder.encode(word + character).length > WORD_BYTES) end();
    word += character;
  }
  end();
  return words.join('\r\n ');
}
