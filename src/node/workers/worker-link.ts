import type { OwnReportOutcome, OwnReportType } from '../../report/own-report.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { CapturedExchange, CaptureLevel, Observer } from '../../rewrite-log/observer.ts';
import type { Store } from '../../rollout/store.ts';
import type { LogQueue } from '../log/log-sink.ts';
import { EntryWriter, type FromWorker } from './worker-messages.ts';

/** Parts of the process that a link needs. */
interface WorkerLinkParts {
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

/** Milliseconds over which entries are gathered. */
const GATHER_MS = 20;
/** Characters of gathered entries that are sent at once. */
const BATCH_BYTES = 64 * 1024;
/** Maximum characters of entries that wait for the first process. */
const QUEUE_BYTES = 8 * 1024 * 1024;

/**
 * A worker's log and observer: both send entries to the first process, which alone writes the log and serves operators. An entry travels
 * once, as a fifth of its line.
 */
export class WorkerLink implements LogQueue, Observer {
  dropped = 0;
  readonly bodyLimit: number;
  readonly isSampled: Observer['isSampled'];
  readonly ownReport: WorkerLinkParts['ownReport'];
  readonly store: Store;
  private readonly parts: WorkerLinkParts;
  private readonly writer = new EntryWriter();
  private captured = new Map<number, CapturedExchange>();
  private unobserved: number[] = [];
  /** The last entry that was logged: it is observed next. */
  private logged: Entry | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Characters that are sent, and not yet received by the first process. */
  private underWay = 0;

  constructor(parts: WorkerLinkParts) {
    this.parts = parts;
    this.bodyLimit = parts.bodyLimit;
    this.isSampled = parts.isSampled;
    this.ownReport = parts.ownReport;
    this.store = parts.store;
  }

  /** Has the first process log an entry. */
  record(entry: Entry): void {
    // When the first process does not keep up, messages to it would pile up here without limit.
    if (this.writer.size + this.underWay > QUEUE_BYTES) {
      this.dropped += 1;
      return;
    }
    this.unobserved.push(this.writer.add(entry));
    this.logged = entry;
    this.timer ??= setTimeout(sendNow, GATHER_MS, this);
  }

  begin(): CaptureLevel {
    return this.parts.wanted();
  }

  /** Observes the entry that was logged last; one that was lost is not observed, either. */
  observe(entry: Entry, captured?: CapturedExchange): void {
    if (entry !== this.logged) return;
    const index = this.unobserved.pop();
    if (index !== undefined && captured !== undefined) this.captured.set(index, copied(captured));
    if (this.writer.size >= BATCH_BYTES) this.send(noop);
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

  /** Sends the gathered entries, and calls back once the first process has them. */
  send(done: () => void): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { captured, unobserved } = this;
    const { size } = this.writer;
    this.captured = new Map();
    this.unobserved = [];
    this.logged = undefined;
    this.underWay += size;
    this.parts.send({ kind: 'seen', captured, unobserved, ...this.writer.take() }, () => {
      this.underWay -= size;
      done();
    });
  }
}

function sendNow(link: WorkerLink): void {
  link.send(noop);
}

/** Entries are borrowed, and are sent later. */
function copied(captured: CapturedExchange): CapturedExchange {
  return structuredClone(captured);
}

function noop(): void {}

/** Maximum time to wait for the first process, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** A worker's requests to the first process for reports of clients about themselves. */
export class ReportRequests {
  private readonly send: (message: FromWorker) => void;
  private readonly pending = new Map<number, (outcome: OwnReportOutcome) => void>();
  private lastId = 0;

  constructor(send: (message: FromWorker) => void) {
    this.send = send;
  }

  /** Asks for the report of the client with this hash; `busy` when the first process does not respond in time. */
  of(client: string, type: OwnReportType): Promise<OwnReportOutcome> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.settle(id, { kind: 'busy' }), TIMEOUT_MS);
      this.pending.set(id, (outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      });
      this.send({ kind: 'own-report', id, client, type });
    });
  }

  /** Ends a request with its outcome. */
  settle(id: number, outcome: OwnReportOutcome): void {
    const done = this.pending.get(id);
    this.pending.delete(id);
    done?.(outcome);
  }
}
