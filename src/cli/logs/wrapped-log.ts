import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import type { LogPiece } from './log-piece.ts';

/** Maximum nesting at which lines are looked for; a message of a queue is at seven. */
const MAX_DEPTH = 10;
/** Maximum size of a record in characters; what is longer is passed on as it is, and counts as unreadable. */
const MAX_RECORD = 64 * 1024 * 1024;

/**
 * Takes the lines of a log out of the records in which Cloudflare keeps them: events of `wrangler tail --format json` and of Logpush,
 * results of a query of Workers Logs, messages pulled from a queue. A log that begins with a line of its own is passed on as it is.
 */
export async function* unwrapLog(pieces: AsyncIterable<LogPiece>): AsyncGenerator<LogPiece> {
  let records: Records | undefined;
  let isFirst = true;
  let read = 0;
  for await (const piece of pieces) {
    if (isFirst) records = isWrapped(piece.bytes) ? new Records() : undefined;
    isFirst = false;
    ({ read } = piece);
    if (records === undefined) yield piece;
    else yield { bytes: Buffer.from(records.add(piece.bytes.toString())), read };
  }
  if (records !== undefined) yield { bytes: Buffer.from(records.end()), read };
}

/** True when the first line is neither an entry nor a line of the process log, but begins a JSON value that may hold some. */
function isWrapped(bytes: Buffer): boolean {
  const feed = bytes.indexOf(0x0a);
  const line = bytes
    .subarray(0, feed === -1 ? bytes.length : feed)
    .toString()
    .trim();
  if (!/^[[{]/.test(line)) return false;
  const value = parsedJson(line);
  // An opening bracket alone: the value goes on in the next lines.
  if (value === undefined) return /^[[{]$/.test(line);
  return !isLine(value) && linesWithin(value).length > 0;
}

/** Cuts a text into records: one a line, or printed over many lines of which the last has no indent. */
class Records {
  private record = '';

  /** Returns the lines within the records that are complete. */
  add(text: string): string {
    let found = '';
    for (const line of text.split('\n')) {
      this.record += `${line}\n`;
      const isEnd = /^[\]}]/.test(line) || (/^[[{]./.test(line) && parsedJson(line) !== undefined);
      if (isEnd || this.record.length > MAX_RECORD) found += this.end();
    }
    return found;
  }

  /** Returns the lines within the last record. */
  end(): string {
    const { record } = this;
    this.record = '';
    if (record.trim() === '') return '';
    const value = parsedJson(record);
    if (value === undefined) return record;
    return linesWithin(value)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');
  }
}

/** Entries and lines of the process log anywhere within a value: as values, or as texts, also in Base64. */
function linesWithin(value: unknown, depth = 0): readonly object[] {
  if (depth > MAX_DEPTH) return [];
  if (typeof value === 'string') {
    const parsed = parsedText(value);
    return parsed === undefined ? [] : linesWithin(parsed, depth + 1);
  }
  if (typeof value !== 'object' || value === null) return [];
  if (isLine(value)) return [value];
  return Object.values(value).flatMap((member) => linesWithin(member, depth + 1));
}

function parsedText(text: string): unknown {
  if (text.startsWith('{')) return parsedJson(text);
  // `{"` in Base64.
  return text.startsWith('eyJ') ? parsedJson(Buffer.from(text, 'base64').toString()) : undefined;
}

function isLine(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || !('time' in value)) return false;
  return ('route' in value && 'verdict' in value) || ('event' in value && 'level' in value && 'msg' in value);
}
