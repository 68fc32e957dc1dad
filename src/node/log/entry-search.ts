import type { Entry } from '../../rewrite-log/entry.ts';
import { quoted } from '../../rewrite-log/entry-line.ts';
import { readEntry } from '../../rewrite-log/read-entry.ts';

/** An entry, if one was found, and the bytes that were read for it. */
export interface SearchResult {
  readonly entry?: Entry | undefined;
  readonly bytes: number;
}

/** Finds the entry of one request among lines of a log. */
export class EntrySearch {
  private readonly requestId: string;
  private readonly sign: Buffer;

  constructor(requestId: string) {
    this.requestId = requestId;
    this.sign = Buffer.from(`"requestId":${quoted(requestId)}`);
  }

  /** The last entry of the request in whole lines. */
  lastIn(lines: Buffer): Entry | undefined {
    const { sign, requestId } = this;
    for (let at = lines.lastIndexOf(sign); at !== -1; at = at === 0 ? -1 : lines.lastIndexOf(sign, at - 1)) {
      const start = lines.lastIndexOf(0x0a, at) + 1;
      const feed = lines.indexOf(0x0a, at);
      const entry = entryIn(lines.toString('utf8', start, feed === -1 ? lines.length : feed));
      if (entry?.requestId === requestId) return entry;
    }
    return undefined;
  }
}

function entryIn(line: string): Entry | undefined {
  try {
    return readEntry(JSON.parse(line));
  } catch {
    return undefined;
  }
}
