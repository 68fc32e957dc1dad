import type { Entry } from '../rewrite-log/entry.ts';
import type { SharedState } from '../rollout/shared-state.ts';

/** The bindings of a deployment: settings as variables and secrets, and destinations for entries beside the log. */
export interface EdgeBindings {
  /** Receives every entry, when bound. */
  readonly REWRITE_LOG_QUEUE?: {
    send(entry: Entry, options: { readonly contentType: 'json' }): Promise<unknown>;
  };
  /** Receives a data point for every entry, when bound. */
  readonly REWRITE_LOG_ANALYTICS?: { writeDataPoint(point: DataPoint): void };
  /** The object that all isolates share, when bound; without it, each isolate follows the rule book and counts alone. */
  readonly ROLLOUT?: RolloutNamespace;
  /** Holds a copy of the rollout, when bound: for isolates that start while the object does not respond. */
  readonly ROLLOUT_COPY?: CopyNamespace;
}

/** A namespace of Durable Objects. */
export interface RolloutNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): RemoteStore;
}

/** The methods of `RolloutObject` for isolates. */
export type RemoteStore = Pick<SharedState, 'read' | 'compareAndSet' | 'exchange'>;

/** A namespace of Workers KV. */
export interface CopyNamespace {
  get(key: string): Promise<string | null>;
  put(key: string, text: string): Promise<void>;
}

/** A row of Analytics Engine. */
export interface DataPoint {
  readonly indexes: readonly string[];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/** The variables and secrets among the bindings: the worker's equivalent of environment variables. */
export function environmentOf(bindings: object): Record<string, string> {
  const texts = Object.entries(bindings).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}

/** Converts an entry to a data point: sampled by client, with the columns that the retirement queries use. */
export function dataPoint(entry: Entry): DataPoint {
  const changes = [...new Set(entry.edits.map(({ change }) => change))].join(',');
  return {
    indexes: [entry.client ?? '-'],
    blobs: [
      entry.route,
      entry.verdict,
      entry.operation ?? '',
      entry.failure ?? '',
      changes,
      entry.apiVersion?.why ?? '',
      entry.ruleBook,
      entry.method,
    ],
    doubles: [
      entry.status,
      entry.totalMs,
      entry.upstreamMs ?? 0,
      entry.bytesIn,
      entry.bytesOut,
      entry.responseBytes,
    ],
  };
}

/** The functions of a worker's platform. */
export interface Platform {
  /** Prints a line of the log, or a message for the operator. */
  readonly print: (line: string) => void;
  /** Keeps the worker alive until this is done, even after the response is sent. */
  readonly later: (work: Promise<unknown>) => void;
}

/** Milliseconds after which a binding that fails again is reported again. */
const REPORT_MS = 60_000;

/** The consequence of each failing binding, for the process log. */
const LOST = {
  REWRITE_LOG_ANALYTICS: 'entries are missing in Analytics Engine; the log has them.',
  REWRITE_LOG_QUEUE: 'entries are missing in the queue; the log has them.',
  ROLLOUT_COPY: 'an isolate that starts while ROLLOUT does not respond follows the rule book.',
} as const;

/**
 * Calls bindings that no response depends on. If one rejects or throws, the fault is the platform's or the deployment's: the process log
 * names it, at most once a minute.
 */
export class BindingCalls {
  private readonly parts: Platform;
  private readonly reportedAt = new Map<string, number>();

  constructor(parts: Platform) {
    this.parts = parts;
  }

  /** Resolves to the result of a call; undefined if it failed. The worker stays alive until the call is done. */
  result<Value>(binding: keyof typeof LOST, call: () => Promise<Value>): Promise<Value | undefined> {
    const result = call().catch((error: unknown) => {
      this.report(binding, error);
      return undefined;
    });
    this.parts.later(result);
    return result;
  }

  private report(binding: keyof typeof LOST, error: unknown): void {
    const now = Date.now();
    if (now - (this.reportedAt.get(binding) ?? -Infinity) < REPORT_MS) return;
    this.reportedAt.set(binding, now);
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `The binding ${binding} fails (${reason}): ${LOST[binding]}`;
    this.parts.print(edgeProcessLine('warn', 'binding-failed', sentence, { binding }));
  }
}

/** Formats a process log line as Node does: a platform's console mixes both logs, and every line of it must parse. */
export function edgeProcessLine(
  level: 'info' | 'warn' | 'error',
  event: string,
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ level, time: new Date().toISOString(), event, ...fields, msg: message });
}
