import type { OwnReportOutcome, OwnReportType } from '../../report/own-report.ts';
import type { FromWorker } from './worker-messages.ts';

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
