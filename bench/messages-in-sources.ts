import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** HTTP messages that stand in sources, each once; characters are bytes. */
export interface SourceMessages {
  readonly requests: readonly string[];
  readonly responses: readonly string[];
}

/** Reads the messages in the tests below a folder: llhttp's Markdown, gunicorn's `.http` files, and literals in C, Go, Python, Ruby and Rust. */
export function readMessages(folder: string): SourceMessages {
  const texts = new Set<string>();
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const read = READERS[/\.\w+$/.exec(path)?.[0] ?? ''];
    if (read === undefined || !/test|\.rs$/i.test(path)) continue;
    for (const text of read(readFileSync(join(folder, path), 'latin1'))) texts.add(text);
  }
  const all = [...texts];
  return {
    responses: all.filter((text) => RESPONSE.test(text)),
    requests: all.filter((text) => !RESPONSE.test(text) && REQUEST.test(text)),
  };
}

const RESPONSE = /^\s*(?:HTTP|RTSP|ICY|ICE|http)[/ ]\S*\s+\S*\d/;
const REQUEST = /^\s*[!-~]+\s+\S[^\r\n]*\s*(?:HTTP\/|\r?\n)[^]*\n/;

const READERS: Readonly<Record<string, (source: string) => readonly string[]>> = {
  '.md': (source) => [...source.matchAll(/```http\n([^]*?)```/g)].map(([, block = '']) => llhttpBlock(block)),
  '.http': (source) => [escaped(source.replaceAll('\n', ''))],
  '.c': literals,
  '.go': goLiterals,
  '.py': literals,
  '.rb': literals,
  '.rs': literals,
};

/** A block as llhttp's own test reads it: lines end with CR LF, unless their end is escaped. */
function llhttpBlock(block: string): string {
  const lines = block.replace(/\n$/, '').replaceAll('\\\n', '').replaceAll('\n', '\r\n');
  return escaped(lines);
}

/** String literals, with those that follow each other joined, and lines that are continued. */
function literals(source: string): readonly string[] {
  const literal = /b?"((?:[^"\\]|\\[^])*)"|b?'((?:[^'\\\n]|\\.)*)'/g;
  const texts: string[] = [];
  let end = -1;
  for (const match of source.matchAll(literal)) {
    const text = escaped((match[1] ?? match[2] ?? '').replaceAll(/\\\r?\n\s*/g, ''));
    const isNext = end >= 0 && /^[\s\\]*$/.test(source.slice(end, match.index));
    const last = texts.pop();
    if (isNext && last !== undefined) texts.push(last + text);
    else texts.push(...(last === undefined ? [text] : [last, text]));
    end = match.index + match[0].length;
  }
  return texts.filter((text) => text.length > 3 && text.length < 100_000);
}

/** Go's literals: a raw one, in backquotes, has no escapes, and a plus sign joins those that follow each other. */
function goLiterals(source: string): readonly string[] {
  const literal = /"((?:[^"\\\n]|\\.)*)"|`([^`]*)`|'(?:[^'\\\n]|\\.)+'/g;
  const texts: string[] = [];
  let end = -1;
  for (const match of source.matchAll(literal)) {
    const [whole, interpreted, raw] = match;
    const text = interpreted === undefined ? (raw ?? '') : escaped(interpreted);
    const isNext = end >= 0 && /^\s*\+\s*$/.test(source.slice(end, match.index));
    const last = isNext ? texts.pop() : undefined;
    texts.push((last ?? '') + text);
    end = match.index + whole.length;
  }
  // Most of the rest are formats of Go's `printf`.
  return texts.filter(
    (text) => /HTTP\/\d/.test(text) && !/%[+#]?[dqsvx]/.test(text) && text.length < 100_000,
  );
}

function escaped(text: string): string {
  const named: Readonly<Record<string, string>> = {
    r: '\r',
    n: '\n',
    t: '\t',
    f: '\f',
    v: '\v',
    '\\': '\\',
    '"': '"',
    "'": "'",
  };
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))/g,
    (all, hex?: string, octal?: string, name?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return named[name ?? ''] ?? all;
    },
  );
}
