import { parsedJson } from '../rewrite-log/parsed-json.ts';
import { LogLineReader } from './log-line.ts';
import type { LogCoverage } from './report.ts';
import type { Tally } from './tally.ts';

const OPEN = 0x7b;
const FEED = 0x0a;

const decoder = new TextDecoder();

/** Adds lines of the rewrite log to a tally, and notes the part of the time that each log covers. */
export class LineTally {
  /** Lines that are neither entries nor lines of the process log. */
  unreadable = 0;
  /** Lines of the process log, which containers merge with the rewrite log. */
  others = 0;
  lines = 0;
  private readonly tally: Tally;
  private readonly reader = new LogLineReader();
  private readonly logs: MutableCoverage[] = [];

  constructor(tally: Tally) {
    this.tally = tally;
  }

  /** The time that each log covers, in the order in which they were begun. */
  get coverage(): readonly LogCoverage[] {
    return this.logs;
  }

  /** Begins a log; lines without one belong to none. */
  begin(file: string): void {
    this.logs.push({ file, entries: 0, unreadable: 0 });
  }

  /** Adds every line of `bytes`. */
  add(bytes: Uint8Array): void {
    const log = this.logs.at(-1);
    let start = 0;
    while (start < bytes.length) {
      const feed = bytes.indexOf(FEED, start);
      const end = feed === -1 ? bytes.length : feed;
      if (end > start) {
        this.lines += 1;
        const entry = this.reader.read(bytes, start, end);
        if (entry === undefined) this.skip(bytes.subarray(start, end), log);
        else {
          this.tally.add(entry);
          if (log !== undefined) cover(log, entry.time);
        }
      }
      start = end + 1;
    }
  }

  private skip(line: Uint8Array, log: MutableCoverage | undefined): void {
    if (isProcessLine(line)) {
      this.others += 1;
      return;
    }
    this.unreadable += 1;
    if (log !== undefined) log.unreadable += 1;
  }
}

type MutableCoverage = { -readonly [Key in keyof LogCoverage]: LogCoverage[Key] };

function cover(log: MutableCoverage, time: string): void {
  log.entries += 1;
  if (log.since === undefined || time < log.since) log.since = time;
  if (log.until === undefined || time > log.until) log.until = time;
}

/** Whether a line is one of the process log, also behind the time stamp of a container. */
function isProcessLine(line: Uint8Array): boolean {
  const brace = line.indexOf(OPEN);
  if (brace === -1) return false;
  const value = parsedJson(decoder.decode(line.subarray(brace)));
  return (
    typeof value === 'object' &&
    value !== null &&
    'event' in value &&
    'level' in value &&
    !('verdict' in value)
  );
}
