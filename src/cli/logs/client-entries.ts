import type { Buffer } from 'node:buffer';
import type { Entry } from '../../rewrite-log/entry.ts';
import { readEntry } from '../../rewrite-log/read-entry.ts';

/** Finds the entries of one client in whole lines of a log, without parsing any other line. */
export function entriesOfClient(bytes: Buffer, client: string, take: (entry: Entry) => void): void {
  const sign = `"client":"${client}`;
  let at = bytes.indexOf(sign);
  while (at !== -1) {
    const start = bytes.lastIndexOf(0x0a, at) + 1;
    const feed = bytes.indexOf(0x0a, at);
    const end = feed === -1 ? bytes.length : feed;
    const entry = parseEntry(bytes.toString('utf8', start, end));
    if (entry !== undefined) take(entry);
    at = bytes.indexOf(sign, end);
  }
}

/** Parses an entry from a line of the log; undefined when the line holds none. Text before the first brace is skipped. */
export function parseEntry(line: string): Entry | undefined {
  const brace = line.indexOf('{');
  if (brace === -1) return undefined;
  try {
    return readEntry(JSON.parse(line.slice(brace)));
  } catch {
    return undefined;
  }
}
