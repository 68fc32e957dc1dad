import type { OwnReportOutcome, OwnReportType } from '../../report/own-report.ts';
import type { ReloadedFile } from '../clients/client-listener.ts';
import type { ProcessLine } from '../log/process-log.ts';
import type { CertificateUse, TlsTexts } from '../tls-files.ts';
import type { EarlyEnds, ProcessStats } from '../../rewrite-log/metrics/stat-families.ts';
import type { CapturedExchange } from '../../rewrite-log/attributes/observer.ts';
import type { WorkerRollout } from './merged-rollout.ts';
import type { StoreCall, StoreOutcome } from './store-link.ts';
import type { EntryBatch } from './entry-batch.ts';

/** Messages of the first process to a worker. */
export type ToWorker =
  /** Once, first: the settings as flags; they take precedence over the environment that both have. */
  | { readonly kind: 'start'; readonly flags: Readonly<Record<string, string>> }
  /** Read a file again. */
  | { readonly kind: 'reload'; readonly what: ReloadedFile }
  /** Use these certificates for new connections. The first process has checked them: a worker could read one file of a pair before the other is renewed. */
  | { readonly kind: 'renew'; readonly use: CertificateUse; readonly tls: TlsTexts }
  /** Name clients by this key. */
  | { readonly kind: 'client-secret'; readonly secret: string }
  /** Finish requests in flight, then exit. */
  | { readonly kind: 'stop' }
  /** Close all connections, and exit at once. */
  | { readonly kind: 'cut' }
  /** The report that a worker asked for. */
  | { readonly kind: 'own-report'; readonly id: number; readonly outcome: OwnReportOutcome }
  /** The outcome of a call of the store. */
  | { readonly kind: 'store-outcome'; readonly id: number; readonly outcome: StoreOutcome }
  /** The text of a key of the store may be another. */
  | { readonly kind: 'store-changed'; readonly key: string };

/** Exchanges of a worker, gathered over some milliseconds: the first process logs and observes them. */
export interface WorkerReport extends EntryBatch {
  /** Content of sampled exchanges, by the index of their entries. */
  readonly captured: ReadonlyMap<number, CapturedExchange>;
  /** Indexes of entries that are only logged. */
  readonly unobserved: readonly number[];
}

/** State of a worker. */
export interface WorkerStats {
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly breaker: 'closed' | 'open' | 'probing';
  readonly process: ProcessStats;
  /** Lines of the log that the first process did not take in time, since the start. */
  readonly dropped: number;
  readonly earlyEnds: EarlyEnds;
  readonly rollout: WorkerRollout;
}

/** Messages of a worker to the first process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly origin: string }
  /** It cannot start, and exits. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] }
  | ({ readonly kind: 'seen' } & WorkerReport)
  /** A line of the process log. */
  | { readonly kind: 'process-line'; readonly line: ProcessLine }
  | { readonly kind: 'stats'; readonly stats: WorkerStats }
  /** A client of the worker asks for its own report: the first process counts for all. */
  | {
      readonly kind: 'own-report';
      readonly id: number;
      readonly client: string;
      readonly type: OwnReportType;
    }
  /** A call of the store that the first process keeps. */
  | { readonly kind: 'store-call'; readonly id: number; readonly call: StoreCall };

/** True for any object on the channel: only the two processes write to it. */
export function isFromWorker(message: unknown): message is FromWorker {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

/** True for any object on the channel: only the two processes write to it. */
export function isToWorker(message: unknown): message is ToWorker {
  return typeof message === 'object' && message !== null && 'kind' in message;
}
