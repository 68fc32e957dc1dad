import { LogLineReader } from './log-line.ts';
import type { Tally } from './tally.ts';

/** Adds lines of the rewrite log to a tally. */
export class LineTally {
  /** Lines that are no entries. */
  unreadable = 0;
  lines = 0;
  readonly #tally: Tally;
  readonly #reader = new LogLineReader();

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** Adds every line of `text`, which is latin1, one character a byte. */
  add(text: string): void {
    let start = 0;
    while (start < text.length) {
      const feed = text.indexOf('\n', start);
      const end = feed === -1 ? text.length : feed;
      if (end > start) {
        this.lines += 1;
        const entry = this.#reader.read(text, start, end);
        if (entry === undefined) this.unreadable += 1;
        else this.#tally.add(entry);
      }
      start = end + 1;
    }
  }
}
