import type { Entry } from '../../rewrite-log/entry.ts';
import type { CapturedExchange, Observer, CaptureLevel } from '../../rewrite-log/observer.ts';
import type { LogSink } from '../log/log-sink.ts';
import type { FromWorker, ObservedExchange } from './worker-messages.ts';

/** What a link needs of the process that it is in. */
export interface WorkerLinkParts {
  /** Sends over the channel, and calls back when it is written. */
  readonly send: (message: FromWorker, done: () => void) => void;
  /** How much of an exchange is wanted beside its entry. */
  readonly wanted: () => CaptureLevel;
  readonly bodyLimit: number;
  /** See `Observer.isSampled`. */
  readonly isSampled?: Observer['isSampled'];
}

/** Milliseconds over which lines and exchanges are gathered. */
const GATHER_MS = 20;
/** Exchanges that are gathered at the most. */
const BATCH_ENTRIES = 500;
/** Characters of lines that wait for the first process at the most. */
const QUEUE_BYTES = 8 * 1024 * 1024;

/** A worker's log and observer: both go to the first process, which alone writes the log and is asked by operators. */
export class WorkerLink implements LogSink, Observer {
  dropped = 0;
  readonly bodyLimit: number;
  readonly isSampled: Observer['isSampled'];
  private readonly parts: WorkerLinkParts;
  private lines: string[] = [];
  private seen: ObservedExchange[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Characters of lines that are gathered. */
  private gathered = 0;
  /** Characters of lines that are sent, and not yet with the first process. */
  private underWay = 0;

  constructor(parts: WorkerLinkParts) {
    this.parts = parts;
    this.bodyLimit = parts.bodyLimit;
    this.isSampled = parts.isSampled;
  }

  write(line: string): void {
    if (this.isFull) {
      this.dropped += 1;
      return;
    }
    this.lines.push(line);
    this.gathered += line.length;
    this.schedule();
  }

  begin(): CaptureLevel {
    return this.parts.wanted();
  }

  observe(entry: Entry, material?: CapturedExchange): void {
    if (this.isFull) return;
    this.seen.push({ entry, captured: material === undefined ? undefined : copied(material) });
    this.schedule();
  }

  /** The file is the first process's. */
  reopen(): boolean {
    return false;
  }

  flush(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, milliseconds);
      this.send(() => {
        clearTimeout(deadline);
        resolve();
      });
    });
  }

  /** The first process does not keep up: what it is told would pile up here without end. */
  private get isFull(): boolean {
    return this.gathered + this.underWay > QUEUE_BYTES;
  }

  private schedule(): void {
    if (this.seen.length >= BATCH_ENTRIES || this.lines.length >= BATCH_ENTRIES) this.send(noop);
    else this.timer ??= setTimeout(() => this.send(noop), GATHER_MS);
  }

  private send(done: () => void): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { lines, seen, gathered } = this;
    this.lines = [];
    this.seen = [];
    this.gathered = 0;
    this.underWay += gathered;
    this.parts.send({ kind: 'seen', lines, seen }, () => {
      this.underWay -= gathered;
      done();
    });
  }
}

/** What is handed in is borrowed, and goes out later. */
function copied(material: CapturedExchange): CapturedExchange {
  return structuredClone(material);
}

function noop(): void {}
