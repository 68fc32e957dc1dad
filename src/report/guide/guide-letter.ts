import type { GuideDocument } from './guide-document.ts';
import { guideHtml, oneLine, plainBlocks } from './guide-text.ts';
import { letterOf } from './letter.ts';

/**
 * A sheet of paper on a desk, or when printed, the sheet alone. Mail programs drop styles that they do not support, which leaves a plain
 * letter. Text has a contrast of at least 7 to 1.
 */
const LETTER_STYLE = [
  'html{background:#e9ecf0}',
  'body{font:16px/1.6 Georgia,"Times New Roman",serif;color:#1c2430;background:#fff;max-width:42rem;margin:2.5rem auto;padding:3rem 3.5rem;border-top:6px solid #1f4e8c;box-shadow:0 1px 4px #0003}',
  'h1,h2,h3,th{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;line-height:1.25}',
  'h1{font-size:1.6rem;margin:0 0 1.75rem}',
  'h2{font-size:1.15rem;margin:2.25rem 0 .5rem;padding-top:1.25rem;border-top:1px solid #d5dae1}',
  'h3{font-size:1rem;margin:1.25rem 0 .25rem}',
  'p,ul{margin:0 0 1rem}li{margin:.25rem 0}',
  'code,pre{font:14px/1.5 ui-monospace,Menlo,Consolas,monospace}',
  'code{background:#f3f5f8;padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}',
  'pre{background:#f3f5f8;border:1px solid #d5dae1;border-radius:4px;padding:.75rem 1rem;white-space:pre-wrap;overflow-wrap:anywhere}',
  'table{border-collapse:collapse;width:100%;font-size:15px;margin:0 0 1rem}',
  'th,td{text-align:left;vertical-align:top;padding:.4rem .75rem .4rem 0;border-bottom:1px solid #d5dae1}',
  'td:first-child{min-width:8rem}td:nth-child(2){min-width:6rem}',
  'td:last-child,th:last-child{text-align:right;padding-right:0}',
  'del,ins{display:block;text-decoration:none;margin:0 -1rem;padding:0 1rem}del{background:#ffe9e7}ins{background:#e2f6e6}',
  'h2 code{font-size:inherit;background:none;padding:0}',
  'a{color:#1f4e8c}',
  '@media(max-width:40rem){html{background:#fff}body{margin:0;padding:1.25rem;box-shadow:none}th,td,td code{font-size:13px}td code{overflow-wrap:break-word}td:nth-child(n){min-width:0}}',
  '@media(prefers-color-scheme:dark){html{background:#10141a}body{background:#1a2029;color:#e7ebf0;border-color:#8ab4f0;box-shadow:none}code,pre{background:#232b36}pre,h2,th,td{border-color:#3b4656}a{color:#9cc2f5}del{background:#4a2426}ins{background:#1d3f2a}}',
  '@media print{html,body{background:#fff;color:#000}body{margin:0;padding:0;max-width:none;border:0;box-shadow:none}h2,h3{break-after:avoid}pre,tr{break-inside:avoid}}',
].join('');

/** Prints a guide as a letter to the owner of a client: one HTML page that loads and runs nothing. */
export function guideLetter(guide: GuideDocument): string {
  return guideHtml(guide, { style: LETTER_STYLE });
}

/** Prints a mail to a client's owner as plain text, to be copied: its subject, and the letter. */
export function guideMail(guide: GuideDocument): string {
  const { summary, details } = letterOf(guide);
  return `Subject: ${subjectOf(guide)}\n\n${plainBlocks([...summary, ...details])}\n`;
}

function subjectOf({ name, agent, client }: GuideDocument): string {
  return oneLine(`${name ?? agent ?? `Client ${client}`}: move from V1 to V2 of the API`);
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
  const { title, summary, details } = letterOf(guide);
  const text = `${oneLine(title)}\n\n${plainBlocks([...summary, ...details])}\n`;
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

/** Encodes any text for a header field as encoded words, without cutting a character. */
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
