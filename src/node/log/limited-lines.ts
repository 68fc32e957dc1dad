import type { ProcessLine, WriteProcessLine } from './process-log.ts';

/** Milliseconds in which repetitions of a line are counted instead of written. */
const INTERVAL_MS = 10_000;
/** Maximum number of kinds of lines that are counted separately; all others count as one kind. */
const MAX_KINDS = 64;

interface Kind {
  line: ProcessLine;
  repeated: number;
}

/**
 * Writes the first line of a kind at once, and further ones within ten seconds as one line with a count: neither an outage nor an
 * attack fills the log.
 */
export class LimitedLines {
  private readonly write: WriteProcessLine;
  private readonly intervalMs: number;
  private readonly kinds = new Map<string, Kind>();

  constructor(write: WriteProcessLine, intervalMs: number = INTERVAL_MS) {
    this.write = write;
    this.intervalMs = intervalMs;
  }

  /** Takes a line; equal keys are of one kind. */
  add(key: string, line: ProcessLine): void {
    const kindKey = this.kinds.has(key) || this.kinds.size < MAX_KINDS - 1 ? key : OTHERS;
    const kind = this.kinds.get(kindKey);
    if (kind !== undefined) {
      kind.line = line;
      kind.repeated += 1;
      return;
    }
    this.write(line);
    this.watch(kindKey, { line, repeated: 0 });
  }

  private watch(key: string, kind: Kind): void {
    this.kinds.set(key, kind);
    setTimeout(() => {
      this.kinds.delete(key);
      const { line, repeated } = kind;
      if (repeated === 0) return;
      this.write({ ...line, fields: { ...line.fields, repeated } });
      this.watch(key, { line, repeated: 0 });
    }, this.intervalMs).unref();
  }
}

const OTHERS = '';
