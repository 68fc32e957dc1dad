import type { Entry } from '../../rewrite-log/entry.ts';
import type { OwnReportOutcome, OwnReportType } from '../../report/own-report.ts';
import type { CapturedExchange, Observer, CaptureLevel } from '../../rewrite-log/observer.ts';
import type { Store } from '../../rollout/store.ts';
import type { LogSink } from '../log/log-sink.ts';
import type { FromWorker, ObservedExchange } from './worker-messages.ts';

/** Parts of the process that a link needs. */
export interface WorkerLinkParts {
  /** Sends over the channel, and calls back once it is written. */
  readonly send: (message: FromWorker, done: () => void) => void;
  /** The parts of an exchange to send with its entry. */
  readonly wanted: () => CaptureLevel;
  readonly bodyLimit: number;
  /** See `Observer.isSampled`. */
  readonly isSampled?: Observer['isSampled'];
  /** Asks the first process for the report of a client. */
  readonly ownReport: (client: string, type: OwnReportType) => Promise<OwnReportOutcome>;
  /** The store of the first process. */
  readonly store: Store;
}

/** Milliseconds over which lines and exchanges are gathered. */
const GATHER_MS = 20;
/** Maximum number of gathered exchanges. */
const BATCH_ENTRIES = 500;
/** Maximum characters of lines that wait for the first process. */
const QUEUE_BYTES = 8 * 1024 * 1024;

/** A worker's log and observer: both forward to the first process, which alone writes the log and serves operators. */
export class WorkerLink implements LogSink, Observer {
  dropped = 0;
  readonly bodyLimit: number;
  readonly isSampled: Observer['isSampled'];
  readonly ownReport: WorkerLinkParts['ownReport'];
  readonly store: Store;
  private readonly parts: WorkerLinkParts;
  private lines: string[] = [];
  private seen: ObservedExchange[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Characters of gathered lines. */
  private gathered = 0;
  /** Characters of lines that are sent, and not yet received by the first process. */
  private underWay = 0;

  constructor(parts: WorkerLinkParts) {
    this.parts = parts;
    this.bodyLimit = parts.bodyLimit;
    this.isSampled = parts.isSampled;
    this.ownReport = parts.ownReport;
    this.store = parts.store;
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

  observe(entry: Entry, captured?: CapturedExchange): void {
    if (this.isFull) return;
    this.seen.push({ entry, captured: captured === undefined ? undefined : copied(captured) });
    this.schedule();
  }

  /** The file belongs to the first process. */
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

  /** When the first process does not keep up, messages to it would pile up here without limit. */
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

/** Entries are borrowed, and are sent later. */
function copied(captured: CapturedExchange): CapturedExchange {
  return structuredClone(captured);
}

function noop(): void {}
