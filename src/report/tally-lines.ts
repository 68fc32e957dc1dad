import { LogLineReader } from './log-line.ts';
import type { Tally } from './tally.ts';

/** Adds lines of the rewrite log to a tally. */
export class LineTally {
  /** Lines that are not entries. */
  unreadable = 0;
  lines = 0;
  private readonly tally: Tally;
  private readonly reader = new LogLineReader();

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /** Adds every line of `bytes`. */
  add(bytes: Uint8Array): void {
    let start = 0;
    while (start < bytes.length) {
      const feed = bytes.indexOf(0x0a, start);
      const end = feed === -1 ? bytes.length : feed;
      if (end > start) {
        this.lines += 1;
        const entry = this.reader.read(bytes, start, end);
        if (entry === undefined) this.unreadable += 1;
        else this.tally.add(entry);
      }
      start = end + 1;
    }
  }
}
