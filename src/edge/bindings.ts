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
