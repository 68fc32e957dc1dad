import type { Entry } from '../../rewrite-log/entry.ts';
import type { ProcessLine } from '../log/process-log.ts';
import type { ProcessStats } from '../../rewrite-log/stat-families.ts';
import type { CapturedExchange } from '../../rewrite-log/observer.ts';

/** What the first process says to a worker. */
export type ToWorker =
  /** Once, first: the settings as flags, over the environment that both have. */
  | { readonly kind: 'start'; readonly flags: Readonly<Record<string, string>> }
  /** Rule book and certificates are to be read again. */
  | { readonly kind: 'reload' }
  /** What is in flight is to end, and then the process. */
  | { readonly kind: 'stop' };

/** An exchange that a worker saw. */
export interface ObservedExchange {
  readonly entry: Entry;
  readonly captured: CapturedExchange | undefined;
}

/** What a worker stands at. */
export interface WorkerStats {
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly breaker: 'closed' | 'open' | 'probing';
  readonly process: ProcessStats;
  /** Lines of the log that the first process did not take in time, since the start. */
  readonly dropped: number;
}

/** What a worker says to the first process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly origin: string }
  /** It cannot start, and ends. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] }
  /** Lines of the log, and exchanges for who watches them, gathered over some milliseconds. */
  | { readonly kind: 'seen'; readonly lines: readonly string[]; readonly seen: readonly ObservedExchange[] }
  /** A line of the process log. */
  | { readonly kind: 'told'; readonly line: ProcessLine }
  | { readonly kind: 'figures'; readonly figures: WorkerStats };

/** True for what comes over the channel: nobody but the two processes writes to it. */
export function isFromWorker(message: unknown): message is FromWorker {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

/** True for what comes over the channel: nobody but the two processes writes to it. */
export function isToWorker(message: unknown): message is ToWorker {
  return typeof message === 'object' && message !== null && 'kind' in message;
}
